"""Names of columns that a query of the Table API does not name, as Flink gives them.

Aggregates, and properties of windows, are ``EXPR$0``, ``EXPR$1`` and so on, counted over all of
them, also those that have an alias; equal ones are one. A field of a row is called by its path,
``person$name``, a column that is cast by its name and its new type, ``age-STRING``. Every other
expression is ``_c`` with its position. (In SQL all of them are ``EXPR$`` with their position.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from scurry.functions.builtin import Kind, find
from scurry.functions.udfs import UserDefinedFunctionWrapper
from scurry.sql import ast
from scurry.table.expression_core import here
from scurry.table.expression_time import WINDOW_PROPERTIES

__all__ = ["FindFunction", "is_aggregate", "named_items"]

FindFunction = Callable[[tuple[str, ...]], object]
_PROPERTIES = frozenset(WINDOW_PROPERTIES.values())


def named_items(
    items: Sequence[ast.SelectItem], find_function: FindFunction
) -> list[ast.SelectItem]:
    """The items of a select list, each with its name."""
    inner: list[ast.Node] = []
    for item in items:
        inner += [one for one in _aggregates(item.expression, find_function) if one not in inner]
    named = []
    for at, item in enumerate(items):
        name = None if item.alias is not None else _own_name(item.expression, inner)
        if name is None and item.alias is None and not _bare(item.expression):
            name = f"_c{at}"
        named.append(item if name is None else replace(item, alias=_identifier(name)))
    return named


def _bare(node: ast.Expression) -> bool:
    """Whether an expression brings its names along."""
    return isinstance(node, ast.Name | ast.Star)


def _own_name(node: ast.Expression, inner: Sequence[ast.Node]) -> str | None:
    if node in inner:
        return f"EXPR${inner.index(node)}"
    if isinstance(node, ast.Cast) and isinstance(node.operand, ast.Name) and not node.safe:
        return f"{node.operand}-{_type_text(node.type)}"
    if isinstance(node, ast.FieldAccess):
        outer = str(node.operand) if isinstance(node.operand, ast.Name) else None
        outer = outer or _own_name(node.operand, inner)
        return None if outer is None else f"{outer}${node.field.name}"
    return None


def _type_text(given: object) -> str:
    if not isinstance(given, ast.NamedType):
        return str(given)
    numbers = ", ".join(map(str, given.parameters))
    return f"{given.name}({numbers})" if numbers else given.name


def _aggregates(node: ast.Node, find_function: FindFunction) -> Iterator[ast.Node]:
    """The aggregates and properties of windows in an expression, the outermost of each."""
    if isinstance(node, ast.FunctionCall):
        if node.over is None and is_aggregate(node, find_function):
            yield node
            return
    elif isinstance(node, ast.JsonArrayAggregate | ast.JsonObjectAggregate):
        yield node
        return
    for child in node.children():
        yield from _aggregates(child, find_function)


def is_aggregate(node: ast.FunctionCall, find_function: FindFunction) -> bool:
    """Whether a call is one of an aggregate function, or of a property of a window."""
    name = str(node.name)
    if name in _PROPERTIES:
        return True
    function = node.function
    if function is None:
        function = find_function(node.name.names)
    if isinstance(function, UserDefinedFunctionWrapper):
        return function.kind == "aggregate"
    built_in = find(name.upper())
    return built_in is not None and built_in.kind is Kind.AGGREGATE


def _identifier(name: str) -> ast.Identifier:
    return ast.Identifier(name, span=here())
