"""Written types to data types."""

from __future__ import annotations

from scurry.common.data_types import (
    ArrayType,
    DataType,
    DataTypes,
    MapType,
    MultisetType,
    Resolution,
    RowField,
    RowType,
    interval,
    type_from_name,
)
from scurry.common.errors import ScurryError
from scurry.planner.errors import SqlNotSupportedError, SqlValidationError
from scurry.sql import ast

#: types that are as long as can be where a statement gives no length; in texts that the Table API
#: takes, they have a length of one
_UNBOUNDED = {"VARCHAR": DataTypes.STRING, "VARBINARY": DataTypes.BYTES}

#: types that are not declared, and what can be done instead
_INSTEAD = {
    "VARIANT": "Declare STRING: PARSE_JSON makes a VARIANT of it in a query, JSON_STRING a text.",
    "BITMAP": "Use ARRAY.",
}


def bind_type(node: ast.TypeNode) -> DataType:
    """The data type that a written type means."""
    try:
        found = _bind(node)
    except (SqlValidationError, SqlNotSupportedError):
        raise
    except ScurryError as error:
        raise SqlValidationError(str(error), node.span) from None
    return found.not_null() if node.nullable is False else found


def _bind(node: ast.TypeNode) -> DataType:
    if isinstance(node, ast.NamedType):
        return _named(node)
    if isinstance(node, ast.CollectionType):
        kind = ArrayType if node.kind == "ARRAY" else MultisetType
        return kind(bind_type(node.element))
    if isinstance(node, ast.MapTypeNode):
        return MapType(bind_type(node.key), bind_type(node.value))
    if isinstance(node, ast.RowTypeNode):
        return RowType([RowField(f.name.name, bind_type(f.type), f.comment) for f in node.fields])
    if isinstance(node, ast.IntervalType):
        return bind_interval(node.qualifier).nullable()
    if isinstance(node, ast.UserType):
        return type_from_name(str(node.name))
    message = "The data type RAW of Java objects is not supported"
    raise SqlNotSupportedError(message, node.span, "Use BYTES for values of your own.")


def _named(node: ast.NamedType) -> DataType:
    if node.name in _INSTEAD:
        message = f"The type {node.name} is not supported for columns and casts"
        raise SqlNotSupportedError(message, node.span, _INSTEAD[node.name])
    if node.name in _UNBOUNDED and not node.parameters:
        return _UNBOUNDED[node.name]()
    return type_from_name(node.name, list(node.parameters))


def bind_interval(qualifier: ast.IntervalQualifier) -> DataType:
    """The type of an interval of these units."""
    units = Resolution.IntervalUnit
    start = "MONTH" if qualifier.start == "QUARTER" else qualifier.start
    start = "DAY" if start == "WEEK" else start
    first = Resolution(units[start], -1 if qualifier.precision is None else qualifier.precision)
    if qualifier.end is None:
        return interval(first, None).not_null()
    fraction = -1 if qualifier.fraction is None else qualifier.fraction
    return interval(first, Resolution(units[qualifier.end], fraction)).not_null()
