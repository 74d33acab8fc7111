"""Queries within expressions, as nodes of typed trees; a pass turns them into joins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from scurry.common.data_types import DataType
from scurry.functions.expressions import Expression
from scurry.planner.algebra import Node
from scurry.planner.expressions_of import expressions_of


@dataclass(frozen=True)
class Subquery(Expression):
    """``kind`` is exists, in or scalar. For ``in`` the operands are what is looked for, one for
    each column of the query; ``operator`` is how they are compared, = unless ANY says something
    else. In the tree of the query, columns of the query around it are
    :class:`~scurry.planner.bind.scope.OuterRef`."""

    kind: str
    query: Node
    operands: tuple[Expression, ...]
    type: DataType
    operator: str = "="
    span: Any = field(default=None, compare=False, repr=False, kw_only=True)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)

    def with_operands(self, operands: tuple[Expression, ...]) -> Subquery:
        return replace(self, operands=operands)

    def __str__(self) -> str:
        """As EXPLAIN shows it, which writes the query itself below the node."""
        if not self.operands:
            return f"{self.kind.upper()}(query)"
        wanted = ", ".join(map(str, self.operands))
        return f"({wanted}) {'IN' if self.operator == '=' else f'{self.operator} ANY'} (query)"


def subqueries_of(node: Node) -> list[Subquery]:
    """The queries within the expressions of a node itself, not those within these queries."""
    parts = (part for tree in expressions_of(node) for part in tree.walk())
    return [part for part in parts if isinstance(part, Subquery)]


@dataclass(frozen=True)
class AggregateRef(Expression):
    """The result of an aggregate that was found in an expression: the ``index``-th of its query."""

    index: int
    type: DataType
    span: Any = field(default=None, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)


@dataclass(frozen=True)
class WindowRef(Expression):
    """``TUMBLE_START`` and the like: a property of the window of GROUP BY."""

    property: str
    type: DataType
    span: Any = field(default=None, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)


@dataclass(frozen=True)
class OverRef(Expression):
    """The result of a function with OVER: the ``index``-th of its query."""

    index: int
    type: DataType
    span: Any = field(default=None, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)
