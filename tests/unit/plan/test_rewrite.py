"""Rewriting plans keeps what is shared, goes from sources to ends, and finds circles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from scurry.connectors.number_seq import NumberSequenceSource
from scurry.functions.transforms import FilterFunction, MapFunction
from scurry.plan.graph import Graph
from scurry.plan.nodes import Filter, Map, Node, Source, Union
from scurry.plan.rewrite import CircularPlan, rewrite


class Same(MapFunction):
    def map(self, value: object) -> object:
        return value


class Every(FilterFunction):
    def filter(self, value: object) -> bool:
        return True


def source() -> Source:
    return Source(name="source", source=NumberSequenceSource(1, 2))


def mapped(name: str, *inputs: Node) -> Map:
    return Map(name=name, inputs=inputs, function=Same())


def renamed(node: Node, made: Mapping[Node, Node]) -> Node:
    return replace(node, name=node.name.upper(), inputs=tuple(made[one] for one in node.inputs))


def test_what_was_shared_is_shared() -> None:
    shared = mapped("shared", source())
    left, right = mapped("left", shared), mapped("right", shared)
    ends = [Union(name="both", inputs=(left, right)), mapped("third", shared)]
    calls: list[str] = []

    def change(node: Node, made: Mapping[Node, Node]) -> Node:
        calls.append(node.name)
        return renamed(node, made)

    graph = rewrite(Graph.of("job", ends), change)
    assert calls == ["source", "shared", "left", "right", "both", "third"]
    names = {node.name: node for node in graph.nodes}
    assert list(names) == ["SOURCE", "SHARED", "LEFT", "RIGHT", "BOTH", "THIRD"]
    assert names["LEFT"].inputs[0] is names["RIGHT"].inputs[0] is names["THIRD"].inputs[0]


def test_a_node_can_be_replaced_by_several_or_left_out() -> None:
    start = source()
    passing = Filter(name="every", inputs=(start,), function=Every())
    end = mapped("end", passing)

    def change(node: Node, made: Mapping[Node, Node]) -> Node:
        if isinstance(node, Filter):
            return made[node.inputs[0]]
        if isinstance(node, Map):
            return replace(node, inputs=(mapped("before", made[node.inputs[0]]),))
        return node

    graph = rewrite(Graph.of("job", [end]), change)
    assert [node.name for node in graph.nodes] == ["source", "before", "end"]
    assert graph.nodes[0] is start


def test_a_node_can_depend_on_others_than_its_inputs() -> None:
    first, second = mapped("first", source()), mapped("second", source())
    order: list[str] = []

    def change(node: Node, made: Mapping[Node, Node]) -> Node:
        order.append(node.name)
        return renamed(node, made)

    graph = Graph.of("job", [first, second])
    rewrite(graph, change, lambda node: [second] if node is first else ())
    assert order.index("second") < order.index("first")
    with pytest.raises(CircularPlan, match=r"'first' \(\) depends on itself") as found:
        rewrite(graph, change, lambda node: [second] if node is first else [first])
    assert found.value.node is first


def test_plans_may_be_long() -> None:
    node: Node = source()
    for number in range(5_000):
        node = mapped(str(number), node)
    graph = rewrite(Graph.of("job", [node]), renamed)
    assert len(graph.nodes) == 5_001
