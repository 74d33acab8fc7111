"""Laying out a graph: what is chained, where records hop, which stage an operator is head of."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.compile.stages import Edge, Layout, lay_out
from scurry.connectors.memory import DiscardingSink
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.functions.adapters import key_selector, map_function
from scurry.plan import nodes
from scurry.plan.graph import Graph
from scurry.plan.nodes import Node, Operator


def source(name: str = "source", **more: Any) -> nodes.Source:
    return nodes.Source(name=name, source=NumberSequenceSource(1, 9), **more)


def mapped(node: Node, name: str = "map", **more: Any) -> nodes.Map:
    return nodes.Map(name=name, inputs=(node,), function=map_function(abs), **more)


def keyed(node: Node) -> nodes.KeyBy:
    return nodes.KeyBy(name="key_by", inputs=(node,), selector=key_selector(abs))


def sink(node: Node, name: str = "sink", **more: Any) -> nodes.Sink:
    return nodes.Sink(name=name, inputs=(node,), sink=DiscardingSink(), **more)


def union(*parts: Node) -> nodes.Union:
    return nodes.Union(name="union", inputs=parts)


def partition(node: Node, how: str) -> nodes.Partition:
    return nodes.Partition(name=how, inputs=(node,), how=how)


def both(first: Node, second: Node) -> nodes.CoProcess:
    function: Any = None
    return nodes.CoProcess(name="both", inputs=(first, second), function=function)


def laid_out(*ends: Node, parallelism: int = 2, chaining: bool = True) -> Layout:
    return lay_out(Graph.of("job", ends), parallelism, chaining)


def places(layout: Layout) -> dict[str, int]:
    return {operator.name: stage for operator, stage in layout.places.items()}


def heads(layout: Layout) -> list[list[str]]:
    return [[operator.name for operator in stage] for stage in layout.stages]


def hops(layout: Layout) -> dict[tuple[str, str], str]:
    """The partitionings of the edges that are no chains."""
    return {
        (edge.producer.name, edge.consumer.name): edge.partitioning.name
        for edge in layout.edges
        if edge.partitioning is not None
    }


def edge_to(layout: Layout, operator: Operator) -> list[Edge]:
    return [edge for edge in layout.edges if edge.consumer is operator]


# --- chains and hops


def test_what_nothing_separates_runs_in_the_ingress() -> None:
    layout = laid_out(sink(mapped(mapped(source(), "one"), "two")))
    assert places(layout) == {"source": 0, "one": 0, "two": 0, "sink": 0}
    assert heads(layout) == []
    assert hops(layout) == {}


def test_a_key_is_a_hop_and_the_operator_behind_it_a_head() -> None:
    layout = laid_out(sink(mapped(mapped(keyed(mapped(source(), "before")), "head"), "behind")))
    assert places(layout) == {"source": 0, "before": 0, "head": 1, "behind": 1, "sink": 1}
    assert heads(layout) == [["head"]]
    assert hops(layout) == {("before", "head"): "hash"}


@pytest.mark.parametrize("how", ["forward", "rebalance", "shuffle", "broadcast", "global"])
def test_each_partitioning_is_a_hop(how: str) -> None:
    layout = laid_out(sink(partition(source(), how)))
    assert hops(layout) == {("source", "sink"): how}
    assert heads(layout) == [["sink"]]


def test_of_two_partitionings_in_a_row_the_last_counts() -> None:
    layout = laid_out(sink(partition(keyed(source()), "global")))
    assert hops(layout) == {("source", "sink"): "global"}


def test_a_side_output_undoes_the_partitioning_before_it() -> None:
    operator = mapped(source(), "operator")
    side = nodes.SideOutput(name="side", inputs=(keyed(operator),), tag="late")
    layout = laid_out(sink(operator, "main"), sink(side, "of late ones"))
    assert hops(layout) == {}
    assert {edge.consumer.name: edge.tag for edge in layout.edges if edge.producer is operator} == {
        "main": None,
        "of late ones": "late",
    }


@pytest.mark.parametrize("chaining", ["head", "never"])
def test_a_chain_that_is_broken_in_front_of_an_operator(chaining: str) -> None:
    layout = laid_out(sink(mapped(source(), chaining=chaining)))
    assert heads(layout)[0] == ["map"]
    assert hops(layout)["source", "map"] == "forward"
    assert places(layout)["sink"] == (1 if chaining == "head" else 2), "never: behind it, too"


def test_without_chaining_every_operator_is_a_head() -> None:
    layout = laid_out(sink(mapped(source())), chaining=False)
    assert heads(layout) == [["map"], ["sink"]]


def test_the_strategy_of_a_source_is_applied_where_the_source_is_read() -> None:
    strategy = nodes.Timestamps(
        name="strategy",
        inputs=(source(),),
        strategy=WatermarkStrategy.for_monotonous_timestamps(),
        of_source=True,
    )
    assert places(laid_out(sink(strategy), chaining=False)) == {
        "source": 0,
        "strategy": 0,
        "sink": 1,
    }


# --- stages


def test_a_head_comes_after_all_that_it_needs() -> None:
    first = mapped(keyed(source("one")), "first")
    second = mapped(keyed(first), "second")
    late = both(keyed(source("two")), keyed(second))
    layout = laid_out(sink(late))
    assert heads(layout) == [["first"], ["second"], ["both"]]
    assert [(edge.producer.name, edge.port) for edge in edge_to(layout, late)] == [
        ("two", 0),
        ("second", 1),
    ]


def test_heads_that_do_not_need_each_other_share_a_stage() -> None:
    start = source()
    layout = laid_out(
        sink(mapped(keyed(start), "one"), "sink of one"),
        sink(mapped(keyed(start), "two"), "sink of two"),
    )
    assert heads(layout) == [["one", "two"]]


def test_the_inputs_of_an_operator_with_two_always_hop() -> None:
    start = source()
    layout = laid_out(sink(both(mapped(start, "one"), mapped(start, "two"))))
    assert heads(layout) == [["both"]]
    assert hops(layout) == {("one", "both"): "forward", ("two", "both"): "forward"}


# --- unions


def test_streams_of_different_sources_may_be_united_in_the_ingress() -> None:
    layout = laid_out(sink(mapped(union(source("one"), mapped(source("two"))), "after")))
    assert places(layout)["after"] == 0
    assert hops(layout) == {}


def test_branches_of_one_source_are_united_by_a_head() -> None:
    start = source()
    layout = laid_out(sink(mapped(union(start, mapped(start, "branch")), "after")))
    assert heads(layout) == [["after"]]
    assert hops(layout) == {("source", "after"): "forward", ("branch", "after"): "forward"}


def test_streams_of_one_stage_are_united_by_a_head_of_the_next() -> None:
    one, two = (mapped(keyed(source(name)), f"of {name}") for name in ("a", "b"))
    layout = laid_out(sink(mapped(union(one, two), "after")))
    assert heads(layout) == [["of a", "of b"], ["after"]]


def test_a_sink_may_be_chained_to_branches_of_one_place() -> None:
    start = source()
    layout = laid_out(sink(union(mapped(start, "one"), mapped(start, "two"))))
    assert hops(layout) == {}
    assert places(layout)["sink"] == 0


def test_a_sink_is_a_head_if_its_streams_are_of_different_places() -> None:
    start = source()
    layout = laid_out(sink(union(start, mapped(keyed(start), "keyed"))))
    assert heads(layout) == [["keyed"], ["sink"]]
    assert hops(layout)["source", "sink"] == "forward"


def test_if_one_stream_of_a_union_hops_all_do() -> None:
    layout = laid_out(sink(union(source("one"), partition(source("two"), "global"))))
    assert hops(layout) == {("one", "sink"): "forward", ("two", "sink"): "global"}


# --- parallelism


def degrees(layout: Layout) -> dict[str, int]:
    return {operator.name: degree for operator, degree in layout.parallelism.items()}


def test_operators_have_the_parallelism_of_the_job_or_their_own() -> None:
    layout = laid_out(sink(mapped(keyed(source()), parallelism=3)), parallelism=2)
    assert degrees(layout) == {"source": 2, "map": 3, "sink": 3}


def test_another_parallelism_than_the_producers_is_a_hop() -> None:
    layout = laid_out(sink(mapped(source(), parallelism=3)), parallelism=2)
    assert hops(layout) == {("source", "map"): "rebalance"}
    assert degrees(layout)["map"] == 3


def test_the_same_parallelism_set_by_hand_is_none() -> None:
    assert hops(laid_out(sink(mapped(source(), parallelism=2)), parallelism=2)) == {}


def test_a_source_has_no_more_tasks_than_it_can_use() -> None:
    limited = source()
    limited.source.max_tasks = 1
    layout = laid_out(sink(mapped(limited, chaining="head")), parallelism=2)
    assert degrees(layout) == {"source": 1, "map": 2, "sink": 2}
    assert hops(layout) == {("source", "map"): "rebalance"}, "so that both slots get something"


def test_what_is_chained_to_a_source_has_its_parallelism() -> None:
    layout = laid_out(sink(mapped(source(parallelism=1))), parallelism=2)
    assert degrees(layout) == {"source": 1, "map": 1, "sink": 1}
