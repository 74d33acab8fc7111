"""Where expressions begin: columns, values, and the functions that are no methods.

from scurry.table.expressions import col, lit

orders.where(col("price") > lit(10)).select(col("id"), (col("price") * 2).alias("double"))
"""

from __future__ import annotations

from typing import Any

from scurry.common.data_types import DataType
from scurry.common.errors import ProgramError
from scurry.functions.udfs import UserDefinedFunctionWrapper
from scurry.sql import ast
from scurry.sql.parser import parse_expression
from scurry.table.expression import Expression, JsonOnNull, TimePointUnit
from scurry.table.expression_core import given, here, name_of, to_node
from scurry.table.expression_summaries import OPERATORS, Called, Printed, function_called

__all__ = [
    "CURRENT_RANGE",
    "CURRENT_ROW",
    "UNBOUNDED_RANGE",
    "UNBOUNDED_ROW",
    "and_",
    "array",
    "atan2",
    "call",
    "call_sql",
    "coalesce",
    "col",
    "concat",
    "concat_ws",
    "convert_tz",
    "current_database",
    "current_date",
    "current_time",
    "current_timestamp",
    "current_watermark",
    "date_format",
    "descriptor",
    "e",
    "from_unixtime",
    "if_then_else",
    "json",
    "json_array",
    "json_array_agg",
    "json_object",
    "json_object_agg",
    "json_string",
    "lag",
    "lead",
    "lit",
    "local_time",
    "local_timestamp",
    "log",
    "map_",
    "map_from_arrays",
    "negative",
    "not_",
    "null_of",
    "object_of",
    "or_",
    "pi",
    "rand",
    "rand_integer",
    "range_",
    "row",
    "row_interval",
    "source_watermark",
    "temporal_overlaps",
    "timestamp_diff",
    "to_date",
    "to_timestamp",
    "to_timestamp_ltz",
    "unix_timestamp",
    "uuid",
    "with_all_columns",
    "with_columns",
    "without_columns",
]

UNBOUNDED_ROW = Expression(ast.Word("UNBOUNDED_ROW"))
UNBOUNDED_RANGE = Expression(ast.Word("UNBOUNDED_RANGE"))
CURRENT_ROW = Expression(ast.Word("CURRENT_ROW"))
CURRENT_RANGE = Expression(ast.Word("CURRENT_RANGE"))


def _call(name: str, *arguments: Any) -> Expression:
    """A call of a built-in function; an argument that is None is NULL."""
    call = ast.FunctionCall(name_of(name), tuple(map(to_node, arguments)), span=here())
    return Expression(call, summary=function_called(name, arguments))


def _made(node: ast.Expression, name: str, *arguments: Any) -> Expression:
    """An expression whose summary is the call of ``name`` with the arguments."""
    return Expression(node, summary=Called(name, arguments))


def col(name: str) -> Expression:
    """A column of the table; ``*`` stands for all of them."""
    if not isinstance(name, str) or not name:
        raise ProgramError(f"col takes the name of a column, got {name!r}.")
    return Expression(ast.Star() if name == "*" else name_of(name))


def lit(v: Any, data_type: DataType | None = None) -> Expression:
    """A value, of a type that it has by itself or of ``data_type``."""
    if data_type is not None and not isinstance(data_type, DataType):
        raise ProgramError(f"lit takes a type such as DataTypes.INT(), got {data_type!r}.")
    if isinstance(v, Expression):
        return v
    if v is None and data_type is None:
        return Expression(ast.NullLiteral(span=here()))
    return Expression(ast.Constant(v, data_type, span=here()))


def range_(start: str | int, end: str | int) -> Expression:
    """The columns from one to another, by name or by position from 1 on; in ``with_columns``."""
    shown = [Printed(str(one)) for one in (start, end)]
    return _made(_call("$RANGE", start, end).node, "rangeTo", *shown)


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether all are true."""
    return _logical("AND", predicate0, predicate1, *predicates)


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression:
    """Whether one is true."""
    return _logical("OR", predicate0, predicate1, *predicates)


def _logical(operator: str, *predicates: Any) -> Expression:
    node = ast.Logical(operator, tuple(map(to_node, predicates)), span=here())
    return _made(node, OPERATORS[operator], *predicates)


def not_(expression: Any) -> Expression:
    """Whether it is false; NULL stays NULL."""
    return _made(ast.Unary("NOT", to_node(expression), span=here()), "not", expression)


def current_database() -> Expression:
    """The name of the current database."""
    return _call("CURRENT_DATABASE")


def current_date() -> Expression:
    """The date, in the session's time zone."""
    return _call("CURRENT_DATE")


def current_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _call("CURRENT_TIME")


def current_timestamp() -> Expression:
    """The moment."""
    return _call("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression:
    """How far event time has come, NULL if nothing is known."""
    return _call("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression:
    """The time of day, in the session's time zone."""
    return _call("LOCALTIME")


def local_timestamp() -> Expression:
    """Date and time, in the session's time zone."""
    return _call("LOCALTIMESTAMP")


def to_date(date_str: Any, format: Any = None) -> Expression:
    """The date that a text means."""
    return _call("TO_DATE", date_str, *given(format))


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression:
    """The timestamp that a text means."""
    return _call("TO_TIMESTAMP", timestamp_str, *given(format))


def to_timestamp_ltz(*args: Any) -> Expression:
    """The moment that a number of seconds, or of milliseconds, or a text means."""
    return _call("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression:
    """Whether two spans of time, each given by a point and an end or a length, overlap."""
    return _call("OVERLAPS", left_time_point, left_temporal, right_time_point, right_temporal)


def date_format(timestamp: Any, format: Any) -> Expression:
    """A timestamp as a text of a pattern."""
    return _call("DATE_FORMAT", timestamp, format)


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression:
    """How many units lie between two points in time."""
    if not isinstance(time_point_unit, TimePointUnit):
        raise ProgramError(f"timestamp_diff takes a TimePointUnit, got {time_point_unit!r}.")
    unit = ast.Word(time_point_unit.name, span=here())
    arguments = (unit, to_node(time_point1), to_node(time_point2))
    call = ast.FunctionCall(name_of("TIMESTAMPDIFF"), arguments, span=here())
    return _made(call, "timestampDiff", time_point_unit, time_point1, time_point2)


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression:
    """A text of date and time in one time zone, as such a text in another."""
    return _call("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression:
    """A number of seconds as a text of date and time."""
    return _call("FROM_UNIXTIME", unixtime, *given(format))


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression:
    """The seconds since 1970, now or of a text of date and time."""
    return _call("UNIX_TIMESTAMP", *given(date_str, format))


def array(head: Any, *tail: Any) -> Expression:
    """An array of values."""
    items = tuple(map(to_node, (head, *tail)))
    return _made(ast.ArrayConstructor("ARRAY", items, span=here()), "array", head, *tail)


def row(head: Any, *tail: Any) -> Expression:
    """A row of values, in fields ``f0``, ``f1`` and so on."""
    items = tuple(map(to_node, (head, *tail)))
    names = tuple(f"f{at}" for at in range(len(items)))
    return _made(ast.RowConstructor(items, names, span=here()), "row", head, *tail)


def map_(key: Any, value: Any, *tail: Any) -> Expression:
    """A map, keys and values in turn."""
    if len(tail) % 2:
        raise ProgramError("map_ takes a value for each key: the last key has none.")
    items = tuple(map(to_node, (key, value, *tail)))
    return _made(ast.MapConstructor(items, span=here()), "map", key, value, *tail)


def map_from_arrays(key: Any, value: Any) -> Expression:
    """The map of an array of keys and one of values."""
    return _call("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression:
    """Columns as such, for table functions that take them."""
    columns = tuple(ast.Identifier(name, span=here()) for name in column_names)
    shown = Printed(f"({', '.join(f'`{name}`' for name in column_names)})")
    return Expression(ast.Descriptor(columns, span=here()), summary=shown)


def object_of(class_name: str, *args: Any) -> Expression:
    """A structured object of a class with attributes, names and values in turn."""
    return _call("OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Expression:
    """So many rows; in windows that count them."""
    if not isinstance(rows, int) or isinstance(rows, bool):
        raise ProgramError(f"row_interval takes a number of rows, got {rows!r}.")
    return Expression(_call("$ROW_INTERVAL", rows).node, summary=Printed(str(rows)))


def pi() -> Expression:
    """The number 3.14159..."""
    return _call("PI")


def e() -> Expression:
    """The number 2.71828..."""
    return _call("E")


def rand(seed: Any = None) -> Expression:
    """A random number from 0 up to, but not including, 1."""
    return _call("RAND", *given(seed))


def rand_integer(bound: Any, seed: Any = None) -> Expression:
    """A random whole number from 0 up to, but not including, ``bound``."""
    if seed is None:
        return _call("RAND_INTEGER", bound)
    return _call("RAND_INTEGER", seed, bound)


def atan2(y: Any, x: Any) -> Expression:
    """The angle of a point."""
    return _call("ATAN2", y, x)


def negative(v: Any) -> Expression:
    """The number with the other sign."""
    return _made(ast.Unary("-", to_node(v), span=here()), "minusPrefix", v)


def concat(first: Any, *others: Any) -> Expression:
    """The texts one after the other; NULL if one is NULL."""
    return _call("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression:
    """The texts with a separator between them, without those that are NULL."""
    return _call("CONCAT_WS", separator, first, *others)


def uuid() -> Expression:
    """A random UUID."""
    return _call("UUID")


def null_of(data_type: DataType) -> Expression:
    """NULL, as a value of that type."""
    return Expression(lit(None).cast(data_type).node, summary=Printed("null"))


def log(v: Any, base: Any = None) -> Expression:
    """The natural logarithm, or that to ``base``."""
    return _made(_call("LN", v).node, "log", v) if base is None else _call("LOG", base, v)


def source_watermark() -> Expression:
    """The watermark that the source itself knows; in a schema."""
    return _call("SOURCE_WATERMARK")


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression:
    """The one value if the condition is true, else the other."""
    return lit(condition).then(if_true, if_false)


def coalesce(*args: Any) -> Expression:
    """The first of the values that is not NULL."""
    return _call("COALESCE", *args)


def with_all_columns() -> Expression:
    """All columns, as ``*`` does in SQL."""
    return Expression(ast.Star(span=here()))


def with_columns(head: Any, *tails: Any) -> Expression:
    """Those columns, by name, by position from 1 on, or as a ``range_``."""
    return _call("$WITH_COLUMNS", head, *tails)


def without_columns(head: Any, *tails: Any) -> Expression:
    """All columns but those."""
    return _call("$WITHOUT_COLUMNS", head, *tails)


def json(value: Any) -> Expression:
    """A JSON text as a part of ``json_object`` or ``json_array``."""
    return _call("JSON", value)


def json_string(value: Any) -> Expression:
    """A value as a JSON text."""
    return _call("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression:
    """A JSON object of keys and values in turn."""
    if len(args) % 2:
        raise ProgramError("json_object takes a value for each key: the last key has none.")
    pairs = zip(args[::2], args[1::2], strict=True)
    entries = tuple(ast.JsonEntry(to_node(k), to_node(v), span=here()) for k, v in pairs)
    node = ast.JsonObject(entries, on_null.name, span=here())
    return _made(node, "JSON_OBJECT", on_null, *args)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression:
    """A JSON object of the keys and values of a group."""
    entry = ast.JsonEntry(to_node(key_expr), to_node(value_expr), span=here())
    node = ast.JsonObjectAggregate(entry, on_null.name, span=here())
    return _made(node, f"JSON_OBJECTAGG_{on_null.name}_ON_NULL", key_expr, value_expr)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression:
    """A JSON array of values."""
    node = ast.JsonArray(tuple(map(to_node, args)), on_null.name, span=here())
    return _made(node, "JSON_ARRAY", on_null, *args)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression:
    """A JSON array of the values of a group."""
    node = ast.JsonArrayAggregate(to_node(item_expr), on_null.name, span=here())
    return _made(node, f"JSON_ARRAYAGG_{on_null.name}_ON_NULL", item_expr)


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value some rows before, in an over window."""
    return _call("LAG", expr, offset, *given(default))


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression:
    """The value some rows behind, in an over window."""
    return _call("LEAD", expr, offset, *given(default))


def call(f: Any, *args: Any) -> Expression:
    """A call of a function: by the name that it is registered under, or the function itself."""
    if isinstance(f, str):
        nodes = tuple(map(to_node, args))
        return _made(ast.FunctionCall(name_of(*f.split(".")), nodes, span=here()), f, *args)
    return call_function(f, *args)


def call_function(function: Any, *args: Any) -> Expression:
    """A call of a function of the user's that is not registered under a name."""
    if not isinstance(function, UserDefinedFunctionWrapper):
        raise ProgramError(
            f"call takes the name of a function, or one made with udf and the like, got "
            f"{function!r}."
        )
    nodes = tuple(map(to_node, args))
    node = ast.FunctionCall(name_of(function.name), nodes, function=function, span=here())
    return Expression(node, function.alias_names, summary=Called(function.name, args))


UserDefinedFunctionWrapper.build_call = call_function


def call_sql(sql_expression: str) -> Expression:
    """An expression written in SQL."""
    return Expression(parse_expression(sql_expression), summary=Printed(f"[{sql_expression}]"))
