"""Values between columns and the user's functions: Rows, dates, Decimals, dicts.

A function gets and returns what PyFlink's do: None for NULL, `Row` for ROW, dict for MAP, list for
ARRAY, Decimal, date, time, datetime (aware, in UTC, for TIMESTAMP_LTZ), timedelta for intervals of
milliseconds and a number of months for the others.
"""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RawType,
    RowType,
    TimestampType,
)
from scurry.common.errors import shorten
from scurry.common.pickling import dumps
from scurry.common.types import Row
from scurry.runtime.expressions.errors import EvaluationError

__all__ = ["from_user", "to_user"]

Convert = Callable[[Any], Any]


def to_user(column: pa.Array, data_type: DataType) -> list[Any]:
    """The values of a column as a function of the user's gets them."""
    if isinstance(data_type, TimestampType | LocalZonedTimestampType) and data_type.precision > 6:
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    convert = _incoming(data_type)
    values = column.to_pylist()
    return values if convert is None else [None if v is None else convert(v) for v in values]


def from_user(values: Sequence[Any], data_type: DataType, name: str) -> pa.Array:
    """A column of what a function of the user's returned."""
    convert = _outgoing(data_type)
    if convert is not None:
        values = [None if v is None else convert(v) for v in values]
    try:
        return pa.array(values, data_type.arrow_type())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as failure:
        wrong = _first_wrong(values, data_type)
        raise EvaluationError(
            f"the function {name} returned {shorten(wrong, 80)} ({type(wrong).__name__}), but it "
            f"is declared to return {data_type.describe()}"
        ) from failure


def _first_wrong(values: Sequence[Any], data_type: DataType) -> Any:
    for value in values:
        try:
            pa.array([value], data_type.arrow_type())
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return value
    return None


def _incoming(data_type: DataType) -> Convert | None:
    if isinstance(data_type, DayTimeIntervalType):
        return lambda v: dt.timedelta(milliseconds=v)
    if isinstance(data_type, RawType):
        return pickle.loads
    if isinstance(data_type, RowType):
        names, inner = data_type.names, [_incoming(t) for t in data_type.children]
        return lambda v: _row(names, inner, v)
    if isinstance(data_type, ArrayType):
        element = _incoming(data_type.element_type)
        return None if element is None else lambda v: [_maybe(element, one) for one in v]
    if isinstance(data_type, MapType | MultisetType):
        key = _incoming(data_type.children[0])
        value = _incoming(data_type.children[1]) if isinstance(data_type, MapType) else None
        return lambda v: {_maybe(key, k): _maybe(value, x) for k, x in v}
    return None


def _row(names: Sequence[str], inner: Sequence[Convert | None], value: dict[str, Any]) -> Row:
    row = Row(*(_maybe(c, v) for c, v in zip(inner, value.values(), strict=True)))
    row.set_field_names(list(names))
    return row


def _maybe(convert: Convert | None, value: Any) -> Any:
    return value if convert is None or value is None else convert(value)


def _outgoing(data_type: DataType) -> Convert | None:
    if isinstance(data_type, DayTimeIntervalType):
        return lambda v: v // dt.timedelta(milliseconds=1) if isinstance(v, dt.timedelta) else v
    if isinstance(data_type, RawType):
        return dumps
    if isinstance(data_type, DecimalType):
        return _rounding(data_type)
    if isinstance(data_type, RowType):
        names, inner = data_type.names, [_outgoing(t) for t in data_type.children]
        return lambda v: _fields(names, inner, v)
    if isinstance(data_type, ArrayType):
        element = _outgoing(data_type.element_type)
        return None if element is None else lambda v: [_maybe(element, one) for one in v]
    if isinstance(data_type, MapType | MultisetType):
        key = _outgoing(data_type.children[0])
        value = _outgoing(data_type.children[1]) if isinstance(data_type, MapType) else None
        return lambda v: [(_maybe(key, k), _maybe(value, x)) for k, x in v.items()]
    return None


def _rounding(data_type: DecimalType) -> Convert:
    """To the digits of the type, halves to the even neighbour, as PyFlink rounds what functions
    return. A number that the type has no room for stays as it is, and is refused as a value."""
    unit = Decimal(1).scaleb(-data_type.scale)
    digits = Context(prec=data_type.precision, rounding=ROUND_HALF_EVEN)

    def rounded(value: Any) -> Any:
        if not isinstance(value, Decimal):
            return value
        try:
            return value.quantize(unit, context=digits)
        except InvalidOperation:
            return value

    return rounded


def _fields(names: Sequence[str], inner: Sequence[Convert | None], value: Any) -> dict[str, Any]:
    given = [value[name] for name in names] if isinstance(value, dict) else list(value)
    if len(given) != len(names):
        raise EvaluationError(f"a row of {len(names)} fields is needed, got {shorten(value, 80)}")
    return {n: _maybe(c, v) for n, c, v in zip(names, inner, given, strict=True)}
