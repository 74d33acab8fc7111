"""Times and lengths of time on columns, as integers of their unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from scurry.runtime.expressions.frames import Datum, Frame, as_array

__all__ = ["DAY", "add_interval", "add_months", "per_second", "split_days", "unmasked"]

DAY = 86_400_000
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def per_second(kind: pa.DataType) -> int:
    """How many units of a time column make a second."""
    return _PER_SECOND[kind.unit]


def unmasked(column: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
    """The integers of a time column, NULLs as 0, and where the NULLs are."""
    plain = pa.int64() if column.type.bit_width == 64 else pa.int32()
    values = column.cast(plain) if column.type != plain else column
    if not column.null_count:
        return values.to_numpy().astype(np.int64), None
    nulls = column.is_null().to_numpy(zero_copy_only=False)
    return values.fill_null(0).to_numpy().astype(np.int64), nulls


def masked(values: Any, nulls: Any, kind: pa.DataType) -> pa.Array:
    """A time column from integers."""
    plain = pa.int64() if kind.bit_width == 64 else pa.int32()
    made = pa.array(values, pa.int64(), mask=nulls)
    return made.cast(plain, safe=False).cast(kind) if kind != pa.int64() else made


def either(*nulls: Any) -> Any:
    """Where one of several columns is NULL."""
    known = [one for one in nulls if one is not None]
    return np.logical_or.reduce(known) if known else None


def split_days(values: Any, per_day: int) -> tuple[Any, Any]:
    """Days, and what is left of the last one."""
    days = np.floor_divide(values, per_day)
    return days, values - days * per_day


def floored(column: pa.Array, seconds: int) -> pa.Array:
    """Timestamps rounded down to a number of seconds, so that more of them are equal."""
    values, nulls = unmasked(column)
    step = seconds * per_second(column.type)
    return masked(np.floor_divide(values, step) * step, nulls, column.type)


def add_months(days: Any, months: Any) -> Any:
    """The same day of another month, or the last one if that month is shorter."""
    dates = days.astype("datetime64[D]")
    first = dates.astype("datetime64[M]")
    in_month = (dates - first.astype("datetime64[D]")).astype(np.int64)
    target = first + months
    length = ((target + 1).astype("datetime64[D]") - target.astype("datetime64[D]")).astype(
        np.int64
    )
    start = target.astype("datetime64[D]").astype(np.int64)
    return start + np.minimum(in_month, length - 1)


def add_interval(rows: Frame, point: Datum, length: Datum, months: bool, sign: int) -> pa.Array:
    """A time a number of months, or of milliseconds, later or earlier."""
    column, lengths = as_array(point, rows.count), as_array(length, rows.count)
    kind = column.type
    values, nulls = unmasked(column)
    amounts, other = unmasked(lengths)
    nulls = either(nulls, other)
    if kinds.is_date(kind):
        made = add_months(values, sign * amounts) if months else values + _days(sign * amounts)
    elif kinds.is_time(kind):
        made = values if months else (values + sign * amounts) % DAY
    elif months:
        days, rest = split_days(values, 86400 * per_second(kind))
        made = add_months(days, sign * amounts) * 86400 * per_second(kind) + rest
    else:
        made = values + sign * amounts * (per_second(kind) // 1000)
    return masked(made, nulls, kind)


def _days(milliseconds: Any) -> Any:
    return (milliseconds / DAY).astype(np.int64)
