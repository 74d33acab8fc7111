"""VALUES, and constants as values of another type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from scurry.common.data_types import (
    CharacterStringType,
    DataType,
    DecimalType,
    DoubleType,
    IntegralType,
    NullType,
    VarCharType,
    common_type,
)
from scurry.functions.builtin.signatures import cast_to
from scurry.functions.expressions import Expression, Literal
from scurry.planner.algebra import Column, Node, Project, Union, Values
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.relations import ONE_ROW
from scurry.planner.errors import SqlValidationError
from scurry.sql import ast


def bind_values(node: ast.Values, binder: ExpressionBinder) -> Node:
    """The rows, with one type for each column."""
    rows = [
        [binder.bind(item) for item in row.items]
        if isinstance(row, ast.RowConstructor)
        else [binder.bind(row)]
        for row in node.rows
    ]
    for row, written in zip(rows, node.rows, strict=True):
        if len(row) != len(rows[0]):
            message = f"This row has {len(row)} values, but the first has {len(rows[0])}"
            raise SqlValidationError(message, written.span)
    columns = tuple(
        Column(f"EXPR${at}", _common([row[at] for row in rows], node)) for at in range(len(rows[0]))
    )
    typed = [[as_type(v, c.type) for v, c in zip(row, columns, strict=True)] for row in rows]
    if all(isinstance(value, Literal) for row in typed for value in row):
        literals = tuple(tuple(v for v in row if isinstance(v, Literal)) for row in typed)
        return Values(columns, literals, span=node.span)
    names = tuple(column.name for column in columns)
    made = [Project(ONE_ROW, tuple(row), names, span=node.span) for row in typed]
    return made[0] if len(made) == 1 else Union(tuple(made), span=node.span)


def _common(values: list[Expression], node: ast.Values) -> DataType:
    found = common_type([value.type for value in values])
    if found is None:
        kinds = ", ".join(dict.fromkeys(value.type.describe() for value in values))
        message = f"The values of a column have no common type: {kinds}"
        raise SqlValidationError(message, node.span)
    return found


def as_type(value: Expression, target: DataType) -> Expression:
    """A value as one of another type; constants stay constants where that is simple."""
    if isinstance(value, Literal):
        found = _retyped(value, target)
        if found is not None:
            return found
    return cast_to(value, target)


def _retyped(literal: Literal, target: DataType) -> Literal | None:
    """The constant under another type, where every value of its type fits as it is."""
    kind = target.with_nullability(literal.value is None or target.is_nullable)
    if literal.value is None:
        return Literal(None, kind, span=literal.span)
    same = literal.type.nullable() == target.nullable()
    if same or isinstance(literal.type, NullType):
        return Literal(literal.value, kind, span=literal.span)
    value = _widened(literal.value, literal.type, target)
    return None if value is None else Literal(value, kind, span=literal.span)


def _widened(value: Any, source: DataType, target: DataType) -> Any:
    if isinstance(source, CharacterStringType) and isinstance(target, VarCharType):
        return value if len(value) <= target.length else None
    if isinstance(source, IntegralType):
        if isinstance(target, IntegralType):
            return value if target.bits >= source.bits else None
        if isinstance(target, DoubleType):
            return float(value)
        if isinstance(target, DecimalType):
            fits = len(str(abs(value))) <= target.precision - target.scale
            return Decimal(value) if fits else None
    if isinstance(source, DecimalType) and isinstance(target, DecimalType):
        whole = target.precision - target.scale >= source.precision - source.scale
        return value if whole and target.scale >= source.scale else None
    return None
