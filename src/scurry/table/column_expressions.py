"""Expressions that stand for several columns: ranges, all columns, the fields of a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scurry.common.data_types import DataType, RowType
from scurry.common.errors import ProgramError
from scurry.sql import ast
from scurry.table.catalog.errors import nearest
from scurry.table.expression import Expression
from scurry.table.expression_core import here
from scurry.table.expressions import col

__all__ = ["expanded", "names_in", "select_item"]


def select_item(expression: Expression) -> ast.SelectItem:
    """The expression in a select list."""
    if len(expression.names) > 1:
        raise ProgramError(f"{expression!r} is one column, and is given several names.")
    if not expression.names:
        return ast.SelectItem(expression.node, span=here())
    alias = ast.Identifier(expression.names[0], span=here())
    return ast.SelectItem(expression.node, alias, span=here())


def names_in(item: ast.SelectItem) -> list[str]:
    """The name of an item of a select list, none if it has none of its own."""
    if item.alias is not None:
        return [item.alias.name]
    node = item.expression
    return [node.parts[-1].name] if isinstance(node, ast.Name) else []


def expanded(
    expression: Expression,
    row_type: RowType,
    type_of: Callable[[ast.Expression], DataType] | None = None,
) -> Iterator[Expression]:
    """The columns that an expression stands for, most often itself."""
    node = expression.node
    name = str(node.name) if isinstance(node, ast.FunctionCall) else ""
    if isinstance(node, ast.Star):
        yield from map(col, row_type.field_names())
    elif name == "$WITH_COLUMNS":
        yield from map(col, _chosen(node, row_type))
    elif name == "$WITHOUT_COLUMNS":
        gone = set(_chosen(node, row_type))
        yield from (col(one) for one in row_type.field_names() if one not in gone)
    elif name == "FLATTEN" and type_of is not None:
        assert isinstance(node, ast.FunctionCall)
        yield from _flattened(expression, node.arguments[0], type_of)
    else:
        yield expression


def _chosen(node: Any, row_type: RowType) -> list[str]:
    names = row_type.field_names()
    chosen: list[str] = []
    for argument in node.arguments:
        if isinstance(argument, ast.FunctionCall) and str(argument.name) == "$RANGE":
            first, last = (_place(one, names) for one in argument.arguments)
            if first > last:
                raise ProgramError(
                    f"A range of columns goes forward: {names[first]!r} is behind {names[last]!r}."
                )
            chosen += names[first : last + 1]
        elif isinstance(argument, ast.FunctionCall) and str(argument.name).startswith("$WITH"):
            chosen += [str(one.node) for one in expanded(Expression(argument), row_type)]
        else:
            chosen.append(names[_place(argument, names)])
    return chosen


def _place(argument: ast.Expression, names: list[str]) -> int:
    """The position of a column that is given by name, or by number from 1 on."""
    wanted = argument.value if isinstance(argument, ast.Constant) else None
    if isinstance(argument, ast.Name):
        wanted = str(argument)
    if isinstance(wanted, int) and 1 <= wanted <= len(names):
        return wanted - 1
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    raise ProgramError(
        f"There is no column {wanted!r}: give its name, or its number from 1 to {len(names)}. "
        + nearest(str(wanted), names)
    )


def _flattened(
    expression: Expression, inner: ast.Expression, type_of: Callable[[ast.Expression], DataType]
) -> Iterator[Expression]:
    data_type = type_of(inner)
    if not isinstance(data_type, RowType):
        whole = Expression(inner)
        yield whole.alias(*expression.names) if expression.names else whole
        return
    names = expression.names
    if not names:
        # the select list names them, by their paths or positions
        yield from (Expression(inner).get(field) for field in data_type.field_names())
        return
    if len(names) != len(data_type):
        raise ProgramError(
            f"{expression!r} gives {len(data_type)} columns, {data_type.field_names()}, and is "
            f"given {len(names)} names."
        )
    for field, name in zip(data_type.field_names(), names, strict=True):
        yield Expression(inner).get(field).alias(name)
