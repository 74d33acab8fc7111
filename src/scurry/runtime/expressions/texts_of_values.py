"""Values as texts, as CAST(x AS STRING) writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    BooleanType,
    CharacterStringType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)
from scurry.runtime.expressions.context import EvaluationContext
from scurry.runtime.expressions.frames import Frame
from scurry.runtime.expressions.python_values import apply
from scurry.runtime.expressions.time_texts import (
    date_text,
    day_interval_text,
    month_interval_text,
    time_text,
    timestamp_text,
)
from scurry.runtime.expressions.times import per_second
from scurry.runtime.expressions.zones import to_local

__all__ = ["java_double", "stamp_texts", "text_column", "usual_years"]


def java_double(value: float, single: bool = False) -> str:
    """A floating-point number as Java writes it: ``1.0``, ``1.0E10``, ``NaN``, ``Infinity``."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    number = np.float32(value) if single else np.float64(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return np.format_float_positional(number, unique=True, trim="0")
    digits = np.format_float_scientific(number, unique=True, trim="0", exp_digits=1)
    return digits.replace("e+", "E").replace("e", "E")


def text_column(column: pa.Array, source: DataType, rows: Frame) -> pa.Array:
    """A column of the values' texts."""
    if isinstance(source, CharacterStringType):
        return column
    if isinstance(source, IntegralType):
        return column.cast(pa.string())
    if isinstance(source, BooleanType):
        return pc.if_else(column, "TRUE", "FALSE")
    if isinstance(source, BinaryStringType):
        return apply(lambda v: v.decode(errors="replace"), (column,), rows, pa.string())
    if isinstance(source, LocalZonedTimestampType):
        column = to_local(column, rows.context.zone)
    if isinstance(source, DateType) and usual_years(column):
        return column.cast(pa.string())
    if isinstance(source, TimestampType | LocalZonedTimestampType) and usual_years(column):
        return stamp_texts(column, source.precision)
    return apply(_writer(source, column.type), (column,), rows, pa.string())


def usual_years(column: pa.Array) -> bool:
    """Whether all years have four digits, which is when Arrow writes dates as Java does."""
    span = pc.min_max(pc.year(column))
    return bool(span["min"].is_valid and span["min"].as_py() > 0 and span["max"].as_py() < 10000)


def stamp_texts(column: pa.Array, precision: int) -> pa.Array:
    """Timestamps with as many digits of a second as the precision says."""
    if precision == 0:
        return pc.floor_temporal(column, unit="second").cast(pa.timestamp("s")).cast(pa.string())
    text = column.cast(pa.string())
    digits = {"ms": 3, "us": 6, "ns": 9}[column.type.unit]
    return text if precision == digits else pc.utf8_slice_codeunits(text, 0, 20 + precision)


def _writer(source: DataType, kind: pa.DataType) -> Callable[[Any], str]:
    if isinstance(source, DecimalType):
        return lambda v: format(v, "f")
    if isinstance(source, FloatType | DoubleType):
        return lambda v: java_double(v, isinstance(source, FloatType))
    if isinstance(source, DateType):
        return date_text
    if isinstance(source, TimeType):
        return lambda v: time_text(v, max(source.precision, 0))
    if isinstance(source, TimestampType | LocalZonedTimestampType):
        nanos = 10**9 // per_second(kind)
        return lambda v: timestamp_text(v * nanos, source.precision)
    if isinstance(source, YearMonthIntervalType):
        return month_interval_text
    if isinstance(source, DayTimeIntervalType):
        return day_interval_text
    return lambda v: _nested_text(v, source)


def value_text(value: Any, source: DataType) -> str:
    """One value inside of another, NULL included."""
    if value is None:
        return "NULL"
    if isinstance(source, CharacterStringType):
        return str(value)
    if isinstance(source, BooleanType):
        return "TRUE" if value else "FALSE"
    if isinstance(source, ArrayType | MapType | MultisetType | RowType):
        return _nested_text(value, source)
    plain = pa.array([value], source.arrow_type())
    return str(text_column(plain, source, Frame((plain,), 1, EvaluationContext(now=0)))[0].as_py())


def _nested_text(value: Any, source: DataType) -> str:
    if isinstance(source, ArrayType):
        return "[" + ", ".join(value_text(v, source.element_type) for v in value) + "]"
    if isinstance(source, MapType):
        pairs = dict(value).items()
        texts = (
            f"{value_text(k, source.key_type)}={value_text(v, source.value_type)}" for k, v in pairs
        )
        return "{" + ", ".join(texts) + "}"
    if isinstance(source, MultisetType):
        texts = (f"{value_text(k, source.element_type)}={v}" for k, v in dict(value).items())
        return "{" + ", ".join(texts) + "}"
    assert isinstance(source, RowType), source
    fields = zip(value.values(), source.children, strict=True)
    return "(" + ", ".join(value_text(v, t) for v, t in fields) + ")"
