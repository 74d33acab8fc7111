"""What all expressions of the Table API share: the syntax tree behind them.

An expression is built by calling methods, and what it builds are the very nodes that the SQL parser
makes of a text (:mod:`scurry.sql.ast`), so that one binder serves both. Where a text has a
position, a node has the file and line of the Python code that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from scurry.common.errors import ProgramError
from scurry.common.spans import SourceText, Span
from scurry.datastream.transformation import caller
from scurry.sql import ast
from scurry.sql.unparse import unparse
from scurry.table.expression_summaries import (
    Called,
    Printed,
    function_called,
    summary_of_node,
)

if TYPE_CHECKING:
    from scurry.table.expression import Expression


def here() -> Span:
    """The place in the user's program that is running now."""
    return Span(SourceText("", caller()), 0, 0)


def name_of(*parts: str) -> ast.Name:
    """A name as the parser would read it."""
    span = here()
    return ast.Name(tuple(ast.Identifier(part, span=span) for part in parts), span=span)


def mapped(node: Any, change: Callable[[ast.Expression], ast.Expression]) -> Any:
    """The node with every expression below it changed."""
    if not is_dataclass(node):
        return node
    changed: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ast.Expression):
            changed[field.name] = change(value)
        elif isinstance(value, tuple) and any(isinstance(one, ast.Node) for one in value):
            changed[field.name] = tuple(
                change(one) if isinstance(one, ast.Expression) else mapped(one, change)
                for one in value
            )
    return replace(node, **changed) if changed and not isinstance(node, type) else node


class ExpressionCore:
    """Holds the node, the names given with ``alias``, and the order given with ``asc``/``desc``."""

    def __init__(
        self,
        node: ast.Expression,
        names: tuple[str, ...] = (),
        descending: bool | None = None,
        summary: Called | Printed | None = None,
    ) -> None:
        self._node = node
        self._names = names
        self._descending = descending
        self._summary = summary

    def __str__(self) -> str:
        return summary_of_node(self._node) if self._summary is None else str(self._summary)

    def __repr__(self) -> str:
        text = unparse(self._node)
        if self._names:
            text += f" AS {', '.join(self._names)}"
        if self._descending is not None:
            text += " DESC" if self._descending else " ASC"
        return text

    @property
    def node(self) -> ast.Expression:
        """The syntax tree."""
        return self._node

    @property
    def names(self) -> tuple[str, ...]:
        """The names given with ``alias``."""
        return self._names

    @property
    def descending(self) -> bool | None:
        """The order given with ``asc`` or ``desc``, None if none was."""
        return self._descending

    def _make(self, node: ast.Expression, summary: Called | Printed | None = None) -> Expression:
        from scurry.table.expression import Expression

        return Expression(node, summary=summary)

    def _made(self, node: ast.Expression, name: str, *arguments: Any) -> Expression:
        """An expression whose summary is the call of ``name`` with the arguments."""
        return self._make(node, Called(name, arguments))

    def _function(self, name: str, *arguments: Any) -> Expression:
        """A call of a built-in function; an argument that is None is NULL."""
        call = ast.FunctionCall(name_of(name), tuple(map(to_node, arguments)), span=here())
        return self._make(call, function_called(name, arguments))

    def _call(self, name: str, *arguments: Any) -> Expression:
        """A call of a built-in function whose first argument this is."""
        return self._function(name, self, *arguments)

    def _trim(self, where: str, character: Any) -> Expression:
        what = ast.StringLiteral(" ", span=here()) if character is None else to_node(character)
        side = ast.Word(where, span=here())
        call = ast.FunctionCall(name_of("TRIM"), (side, self._node, what), span=here())
        start, end = where != "TRAILING", where != "LEADING"
        return self._made(call, "trim", start, end, " " if character is None else character, self)

    def _distinct(self) -> Expression:
        if not isinstance(self._node, ast.FunctionCall):
            raise ProgramError(
                f"distinct belongs behind an aggregate, as in col('a').count.distinct, and not "
                f"behind {self!r}."
            )
        return self._made(replace(self._node, quantifier="DISTINCT"), "distinct", self)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"{self!r} is an expression, which has no elements to go through.")

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self!r} has no truth value while a query is built: write & for and, | for or, ~ for "
            "not, and put comparisons in parentheses."
        )


def given(*optional: Any) -> tuple[Any, ...]:
    """The optional arguments up to the last one that the caller gave."""
    while optional and optional[-1] is None:
        optional = optional[:-1]
    return optional


def to_node(value: Any) -> ast.Expression:
    """The node of an expression, or of a Python value within one."""
    from scurry.table.table import Table

    if isinstance(value, ExpressionCore):
        if value.names:
            raise ProgramError(
                f"{value!r} has an alias, which belongs at the outside of an expression only."
            )
        return value.node
    if isinstance(value, Table):
        raise ProgramError("A table cannot stand within an expression; in_ takes one.")
    if value is None:
        return ast.NullLiteral(span=here())
    return ast.Constant(value, span=here())
