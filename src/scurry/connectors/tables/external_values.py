"""Values of columns as Python programs get them, and as Java prints them.

A row is a :class:`Row`, a map a dict, an interval a ``timedelta`` (of months: their number), a
timestamp a ``datetime`` (with a time zone, UTC, if the type is TIMESTAMP_LTZ).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RawType,
    RowField,
    RowType,
    TimestampType,
)
from scurry.common.errors import TypeMismatchError
from scurry.common.types import Row, RowKind

__all__ = ["external_rows", "java_text", "row_converter", "to_external"]

#: digits of the seconds of a ``datetime``
_MICROSECONDS = 6

Convert = Callable[[Any], Any]
_KINDS = {kind.value: kind for kind in RowKind}


def external_rows(
    columns: pa.RecordBatch, kinds: Any, row_type: RowType, named: bool = True
) -> list[Row]:
    """The rows of a batch, with their kinds. Those that ``collect`` gives out are not ``named``: as
    in PyFlink their fields have no names, and bytes are a bytearray."""
    lists = [
        _external(column, field, named)
        for column, field in zip(columns.columns, row_type, strict=True)
    ]
    names = tuple(row_type.field_names()) if named else None
    rows = Row.from_tuples(names, list(zip(*lists, strict=True)) or [()] * columns.num_rows)
    if kinds is not None:
        for row, kind in zip(rows, kinds.tolist(), strict=True):
            row.set_row_kind(_KINDS[kind])
    return rows


def _external(column: pa.Array, field: RowField, named: bool) -> list[Any]:
    try:
        return to_external(column, field.data_type, named)
    except OverflowError:
        wrong = next(each for each in column if _is_too_far(each))
        shown = f" {wrong.cast(pa.string())}" if pa.types.is_timestamp(wrong.type) else ""
        raise TypeMismatchError(
            f"the column {field.name!r} holds a time{shown} that Python's datetime cannot hold: it "
            f"goes from the year {MINYEAR} to {MAXYEAR}. Have the query leave such rows out, or "
            f"give the time as a text: CAST({field.name} AS STRING)."
        ) from None


def _is_too_far(value: pa.Scalar) -> bool:
    try:
        value.as_py()
    except OverflowError:
        return True
    return False


def to_external(column: pa.Array, data_type: DataType, named: bool = True) -> list[Any]:
    """A column as Python values."""
    stamps = isinstance(data_type, TimestampType | LocalZonedTimestampType)
    if stamps and column.type.unit == "ns":
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    convert = _converter(data_type, named)
    values = column.to_pylist()
    return values if convert is None else [None if v is None else convert(v) for v in values]


def row_converter(row_type: RowType, named: bool = True) -> Callable[[dict[str, Any]], Row]:
    """What makes a Row of a struct as Arrow gives it."""
    names = tuple(row_type.field_names()) if named else None
    fields = [_maybe(_converter(field.data_type, named)) for field in row_type]

    def row(value: dict[str, Any]) -> Row:
        pairs = zip(fields, value.values(), strict=True)
        return Row.from_tuples(names, [tuple(convert(one) for convert, one in pairs)])[0]

    return row


def _converter(data_type: DataType, named: bool) -> Convert | None:
    if isinstance(data_type, RowType):
        return row_converter(data_type, named)
    if isinstance(data_type, BinaryStringType) and not named:
        return bytearray
    if isinstance(data_type, MapType):
        key, item = (_maybe(_converter(one, named)) for one in data_type.children)
        return lambda value: {key(k): item(v) for k, v in value}
    if isinstance(data_type, MultisetType):
        key = _maybe(_converter(data_type.element_type, named))
        return lambda value: {key(k): count for k, count in value}
    if isinstance(data_type, ArrayType):
        inner = _converter(data_type.element_type, named)
        return None if inner is None else lambda value: list(map(_maybe(inner), value))
    if isinstance(data_type, DayTimeIntervalType):
        return lambda value: timedelta(milliseconds=value)
    if isinstance(data_type, RawType):
        return pickle.loads
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return _without_nanoseconds if data_type.precision > _MICROSECONDS else None
    return None


def _without_nanoseconds(value: datetime) -> datetime:
    """What Arrow gives for nanoseconds is a class of pandas'."""
    return value.to_pydatetime(warn=False) if hasattr(value, "to_pydatetime") else value


def _maybe(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def java_text(value: Any, data_type: DataType) -> str:
    """A value as Java prints the object that Flink makes of it."""
    if value is None:
        return "null"
    if isinstance(data_type, BooleanType):
        return "true" if value else "false"
    if isinstance(data_type, DoubleType):
        return java_float(value)
    if isinstance(data_type, FloatType):
        return java_float(np.float32(value))
    if isinstance(data_type, RowType):
        inner = zip(value, data_type.children, strict=True)
        return f"{RowKind.INSERT}[{', '.join(java_text(*one) for one in inner)}]"
    if isinstance(data_type, ArrayType):
        return f"[{', '.join(java_text(one, data_type.element_type) for one in value)}]"
    if isinstance(data_type, MapType | MultisetType):
        kinds = (*data_type.children, IntType())[:2]
        pairs = (f"{java_text(k, kinds[0])}={java_text(v, kinds[1])}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(data_type, BinaryStringType):
        return f"[{', '.join(str(one - 256 if one > 127 else one) for one in value)}]"
    return _temporal_text(value)


def _temporal_text(value: Any) -> str:
    if isinstance(value, datetime):
        zone = "" if value.tzinfo is None else "Z"
        moment = value if value.tzinfo is None else value.astimezone(UTC)
        return f"{moment:%Y-%m-%d}T{_clock(moment.time(), seconds=bool(zone))}{zone}"
    if isinstance(value, time):
        return _clock(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"PT{value.total_seconds():g}S"
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _clock(value: time, seconds: bool = False) -> str:
    """Java leaves out seconds that are zero, and writes fractions in groups of three digits."""
    text = f"{value:%H:%M}"
    if value.second or value.microsecond or seconds:
        text += f":{value.second:02d}"
    if value.microsecond:
        digits = f"{value.microsecond:06d}"
        text += "." + (digits[:3] if digits.endswith("000") else digits)
    return text


def java_float(value: Any) -> str:
    """A floating-point number as Java writes it."""
    number = float(value)
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        text = np.format_float_positional(value, unique=True, trim="0")
        return text
    text = np.format_float_scientific(value, unique=True, trim="0", exp_digits=1)
    return text.replace("e+", "E").replace("e", "E")
