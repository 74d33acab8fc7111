"""Rewriting plans: a new graph of changed nodes, made from the sources to the ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from scurry.plan.graph import Graph
from scurry.plan.node import Node

#: Makes the node that takes a node's place, given what became of all it depends on.
Change = Callable[[Node, Mapping[Node, Node]], Node]


class CircularPlan(Exception):
    """A node depends on itself; ``node`` is the first that was found."""

    def __init__(self, node: Node) -> None:
        super().__init__(f"{node.name!r} ({node.location}) depends on itself")
        self.node = node


def rewrite(
    graph: Graph, change: Change, depends: Callable[[Node], Iterable[Node]] | None = None
) -> Graph:
    """The graph of what ``change`` makes of each node of ``graph``.

    A node is changed once, after its inputs, so what several nodes share they still share
    afterwards. ``change`` may return a copy with other inputs, or something else, with anything in
    front of it. ``depends`` names further nodes that have to be changed before a node, because what
    it becomes is made of them; raises :class:`CircularPlan` if that makes a node depend on
    itself.
    """
    fed = {source for node in graph.nodes for source in node.inputs}
    ends = [node for node in graph.nodes if node not in fed]
    made: dict[Node, Node] = {}
    for end in ends:
        _make(end, change, depends, made)
    return Graph.of(graph.name, [made[end] for end in ends])


def _make(
    end: Node,
    change: Change,
    depends: Callable[[Node], Iterable[Node]] | None,
    made: dict[Node, Node],
) -> None:
    #: nodes on the way from the end to the current one
    begun: set[Node] = set()
    pending: list[tuple[Node, bool]] = [(end, False)]
    while pending:
        node, ready = pending.pop()
        if ready:
            made[node] = change(node, made)
            begun.discard(node)
        elif node in begun:
            raise CircularPlan(node)
        elif node not in made:
            begun.add(node)
            pending.append((node, True))
            before = [*node.inputs, *(depends(node) if depends is not None else ())]
            pending.extend((source, False) for source in reversed(before))
