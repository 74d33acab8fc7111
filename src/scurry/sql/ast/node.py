"""What all nodes of a syntax tree have: a span, equality without it, children."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from scurry.common.spans import NOWHERE, Span


@dataclass(frozen=True)
class Node:
    """Part of a statement. Two nodes are equal if they say the same, wherever they stand."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def children(self) -> Iterator[Node]:
        """The nodes right below this one, in the order of the text."""
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Node):
                yield value
            elif isinstance(value, tuple):
                yield from (item for item in value if isinstance(item, Node))


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first, in the order of the text."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(reversed(list(found.children())))


@dataclass(frozen=True)
class Identifier(Node):
    """One name, without its backticks. Names are told apart by case, as in Flink."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Expression(Node):
    """Something that has a value."""


@dataclass(frozen=True)
class Name(Expression):
    """A name of one or more parts: of a column, a field in a column, a table, a function."""

    parts: tuple[Identifier, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The parts as plain text."""
        return tuple(part.name for part in self.parts)

    def __str__(self) -> str:
        return ".".join(self.names)


@dataclass(frozen=True)
class QueryNode(Node):
    """Something that has rows: a query or a body of one."""


@dataclass(frozen=True)
class Statement(Node):
    """Something that can be executed."""
