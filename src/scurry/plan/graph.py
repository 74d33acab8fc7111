"""A whole program: its nodes, producers before consumers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scurry.plan.nodes import Node, Operator, SideOutput, Sink, Union


@dataclass(frozen=True)
class Graph:
    """The nodes of a program in topological order."""

    name: str
    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, name: str, ends: Iterable[Node]) -> Graph:
        """The graph of everything that ``ends`` depend on."""
        ordered: list[Node] = []
        seen: set[int] = set()
        for end in ends:
            _visit(end, seen, ordered)
        return cls(name, tuple(ordered))

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The nodes that run."""
        return tuple(node for node in self.nodes if isinstance(node, Operator))

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """The nodes that write."""
        return tuple(node for node in self.nodes if isinstance(node, Sink))


def _visit(node: Node, seen: set[int], ordered: list[Node]) -> None:
    pending: list[tuple[Node, bool]] = [(node, False)]
    while pending:
        current, expanded = pending.pop()
        if expanded:
            ordered.append(current)
        elif id(current) not in seen:
            seen.add(id(current))
            pending.append((current, True))
            pending.extend((source, False) for source in reversed(current.inputs))


def producers(node: Node) -> list[Operator]:
    """The operators whose records reach ``node``."""
    if isinstance(node, Operator):
        return [node]
    if isinstance(node, (Union, SideOutput)) or node.inputs:
        return [producer for source in node.inputs for producer in producers(source)]
    return []
