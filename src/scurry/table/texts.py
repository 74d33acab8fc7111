"""Values as ``CAST(x AS STRING)`` writes them, which is how results are shown."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

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
    RowType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)
from scurry.connectors.tables.external_values import java_float
from scurry.table.table_config import time_zone

__all__ = ["sql_text"]


def sql_text(value: Any, data_type: DataType, zone: str = "UTC") -> str:
    """A value that is not None as a text; ``zone`` is that of the session."""
    if isinstance(data_type, BooleanType):
        return "TRUE" if value else "FALSE"
    if isinstance(data_type, DoubleType):
        return java_float(value)
    if isinstance(data_type, FloatType):
        return java_float(np.float32(value))
    if isinstance(data_type, BinaryStringType):
        return "x'" + bytes(value).hex() + "'"
    if isinstance(value, datetime | date | time | timedelta) or isinstance(
        data_type, YearMonthIntervalType
    ):
        return _temporal(value, data_type, zone)
    if isinstance(value, Decimal):
        return f"{value:f}"
    return _nested(value, data_type, zone)


def _nested(value: Any, data_type: DataType, zone: str) -> str:
    def inner(one: Any, kind: DataType) -> str:
        return "NULL" if one is None else sql_text(one, kind, zone)

    if isinstance(data_type, ArrayType):
        return f"[{', '.join(inner(one, data_type.element_type) for one in value)}]"
    if isinstance(data_type, MapType | MultisetType):
        kinds = (*data_type.children, IntType())[:2]
        pairs = [f"{inner(k, kinds[0])}={inner(v, kinds[1])}" for k, v in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(data_type, RowType):
        parts = [inner(one, kind) for one, kind in zip(value, data_type.children, strict=True)]
        return f"({', '.join(parts)})"
    return str(value)


def _temporal(value: Any, data_type: DataType, zone: str) -> str:
    if isinstance(data_type, YearMonthIntervalType):
        sign, months = "-" if value < 0 else "+", abs(value)
        return f"{sign}{months // 12}-{months % 12:02d}"
    if isinstance(data_type, DayTimeIntervalType):
        return _interval(value)
    if isinstance(value, datetime):
        assert isinstance(data_type, TimestampType | LocalZonedTimestampType)
        if isinstance(data_type, LocalZonedTimestampType):
            value = value.replace(tzinfo=value.tzinfo or UTC).astimezone(time_zone(zone))
        whole = f"{value:%Y-%m-%d %H:%M:%S}"
        return whole + _fraction(value.microsecond, data_type.precision)
    if isinstance(value, time):
        digits = data_type.precision if isinstance(data_type, TimeType) else 0
        return f"{value:%H:%M:%S}" + _fraction(value.microsecond, digits)
    return str(value.isoformat())


def _fraction(microseconds: int, digits: int) -> str:
    return "" if digits == 0 else "." + f"{microseconds:06d}".ljust(9, "0")[:digits]


def _interval(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else "+"
    value = abs(value)
    hours, rest = divmod(value.seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    millis = value.microseconds // 1000
    return f"{sign}{value.days} {hours:02d}:{minutes:02d}:{seconds:02d}.{millis:03d}"
