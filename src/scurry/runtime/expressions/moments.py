"""Units of times: EXTRACT, FLOOR and CEIL to a unit, TIMESTAMPADD, TIMESTAMPDIFF, OVERLAPS.

Points in time (TIMESTAMP_LTZ) are looked at as the wall clocks of the local zone show them. Times
before 1970 have the units that a calendar gives them; Flink's EXTRACT and its casts are a day or an
hour off there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from scurry.common.data_types import (
    DayTimeIntervalType,
    IntervalType,
    LocalZonedTimestampType,
    YearMonthIntervalType,
)
from scurry.functions.expressions import Call
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import Evaluate, constant, kernel
from scurry.runtime.expressions.times import (
    add_interval,
    add_months,
    either,
    masked,
    per_second,
    split_days,
    unmasked,
)
from scurry.runtime.expressions.zones import to_local, to_utc

MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
MILLIS = {
    "WEEK": 604_800_000,
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1000,
    "MILLISECOND": 1,
}
_YEARS = {"YEAR": 1, "DECADE": 10, "CENTURY": 100, "MILLENNIUM": 1000}


def local_column(datum: Datum, rows: Frame) -> pa.Array:
    """A time column as wall clocks show it."""
    column = as_array(datum, rows.count)
    if kinds.is_timestamp(column.type) and column.type.tz is not None:
        return to_local(column, rows.context.zone)
    return column


_CALENDAR: dict[str, Callable[[pa.Array], Any]] = {
    "YEAR": pc.year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DOY": pc.day_of_year,
    "DAY": pc.day,
    "DOW": lambda c: pc.add(pc.day_of_week(c, count_from_zero=True, week_start=7), 1),
    "ISODOW": lambda c: pc.day_of_week(c, count_from_zero=False, week_start=1),
    "ISOYEAR": pc.iso_year,
    "DECADE": lambda c: pc.divide(pc.year(c), 10),
    "CENTURY": lambda c: pc.divide(pc.add(pc.year(c), 99), 100),
    "MILLENNIUM": lambda c: pc.divide(pc.add(pc.year(c), 999), 1000),
}


def extract(unit: str, column: pa.Array) -> pa.Array:
    """A unit of each time of a column that is a date, a time or a wall-clock time."""
    if unit in _CALENDAR:
        return _CALENDAR[unit](column).cast(pa.int64())
    if kinds.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    values, nulls = unmasked(column)
    scale = 1000 if kinds.is_time32(column.type) else per_second(column.type)
    if unit == "EPOCH":
        return pa.array(np.floor_divide(values, scale), mask=nulls)
    _, rest = split_days(values, 86400 * scale)
    seconds, fraction = np.divmod(rest, scale)
    made = {
        "HOUR": seconds // 3600,
        "MINUTE": seconds // 60 % 60,
        "SECOND": seconds % 60,
        "MILLISECOND": fraction * 1000 // scale,
        "MICROSECOND": fraction * 10**6 // scale,
        "NANOSECOND": fraction * 10**9 // scale,
    }[unit]
    return pa.array(made, mask=nulls)


def _extract_interval(unit: str, months: bool) -> Evaluate:
    def evaluate(rows: Frame, *values: Datum) -> pa.Array:
        column = as_array(values[-1], rows.count).cast(pa.int64())
        numbers, nulls = unmasked(column)
        if months:
            made = np.fix(numbers / 12) if unit == "YEAR" else np.fmod(numbers, 12)
        else:
            whole = np.fix(numbers / MILLIS[unit]).astype(np.int64)
            within = {"HOUR": 24, "MINUTE": 60, "SECOND": 60, "MILLISECOND": 1000}
            made = np.fmod(whole, within[unit]) if unit in within else whole
        return pa.array(made.astype(np.int64), mask=nulls)

    return evaluate


@kernel("EXTRACT")
def _extract(call: Call) -> Evaluate:
    unit, given = constant(call.operands[0]), call.operands[1].type
    if isinstance(given, IntervalType):
        return _extract_interval(unit, isinstance(given, YearMonthIntervalType))
    return lambda rows, name, value: extract(unit, local_column(value, rows))


def _field(name: str, unit: str) -> None:
    kernel(name)(lambda call: lambda rows, value: extract(unit, local_column(value, rows)))


for _name, _unit in {
    "YEAR": "YEAR",
    "QUARTER": "QUARTER",
    "MONTH": "MONTH",
    "WEEK": "WEEK",
    "DAYOFYEAR": "DOY",
    "DAYOFMONTH": "DAY",
    "DAYOFWEEK": "DOW",
    "HOUR": "HOUR",
    "MINUTE": "MINUTE",
    "SECOND": "SECOND",
}.items():
    _field(_name, _unit)


def _floor_days(days: Any, unit: str) -> Any:
    """The first day of the month, quarter, year, ... or week (from Sunday) of each day."""
    if unit == "DAY":
        return days
    if unit == "WEEK":
        return days - (days + 4) % 7
    dates = days.astype("datetime64[D]")
    if unit in ("MONTH", "QUARTER"):
        months = dates.astype("datetime64[M]").astype(np.int64)
        step = MONTHS[unit]
        first = (months // step * step).astype("datetime64[M]")
    else:
        years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
        step = _YEARS[unit]
        start = years if unit == "YEAR" else (years // step) * step
        if unit in ("CENTURY", "MILLENNIUM"):
            start = (years - 1) // step * step + 1
        first = (start - 1970).astype("datetime64[Y]")
    return first.astype("datetime64[D]").astype(np.int64)


def _next_day(days: Any, unit: str) -> Any:
    """The start of the next unit after one that starts at these days."""
    if unit in ("DAY", "WEEK"):
        return days + MILLIS[unit] // MILLIS["DAY"]
    months = MONTHS.get(unit) or 12 * _YEARS[unit]
    return add_months(days, np.full(len(days), months))


def round_to(column: pa.Array, unit: str, up: bool) -> pa.Array:
    """Dates, times or wall-clock times rounded down or up to a unit; for units of more than a day
    only the date matters, as in Flink."""
    values, nulls = unmasked(column)
    kind = column.type
    if kinds.is_date(kind):
        scale, small = 1, False
    else:
        scale = 1000 if kinds.is_time32(kind) else per_second(kind)
        small = unit in ("HOUR", "MINUTE", "SECOND", "MILLISECOND")
    if small:
        step = max(MILLIS[unit] * scale // 1000, 1)
        down = np.floor_divide(values, step) * step
        after = down + step
    elif unit in MILLIS and kinds.is_date(kind) and MILLIS[unit] < MILLIS["DAY"]:
        return column
    else:
        per_day = scale if kinds.is_date(kind) else 86400 * scale
        days = np.floor_divide(values, per_day)
        first = _floor_days(days, unit)
        down, after = first * per_day, _next_day(first, unit) * per_day
        values = values if unit == "DAY" else days * per_day
    made = np.where(down == values, down, after) if up else down
    return masked(made, nulls, kind)


def _rounding(up: bool) -> Callable[[Call], Evaluate]:
    def build(call: Call) -> Evaluate:
        unit = constant(call.operands[1])
        zoned = isinstance(call.type, LocalZonedTimestampType)

        def evaluate(rows: Frame, value: Datum, name: Datum) -> pa.Array:
            made = round_to(local_column(value, rows), unit, up)
            return to_utc(made, rows.context.zone) if zoned else made

        return evaluate

    return build


kernel("FLOOR TO")(_rounding(False))
kernel("CEIL TO")(_rounding(True))


@kernel("TIMESTAMPADD")
def _add(call: Call) -> Evaluate:
    unit = constant(call.operands[0])
    months = unit in MONTHS
    factor = MONTHS[unit] if months else MILLIS[unit]
    return lambda rows, name, count, point: add_interval(
        rows, point, pc.multiply(as_array(count, rows.count), factor), months, 1
    )


def _millis(column: pa.Array) -> tuple[Any, Any]:
    if kinds.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    values, nulls = unmasked(column)
    scale = 1000 if kinds.is_time32(column.type) else per_second(column.type)
    return np.floor_divide(values, max(scale // 1000, 1)), nulls


def months_between(start: Any, end: Any) -> Any:
    """How many whole months there are from one moment to another, in milliseconds; as many, with
    the other sign, as there are in the other direction."""
    first, last = np.minimum(start, end), np.maximum(start, end)
    one, two = np.floor_divide(first, MILLIS["DAY"]), np.floor_divide(last, MILLIS["DAY"])
    months = (
        two.astype("datetime64[D]").astype("datetime64[M]")
        - one.astype("datetime64[D]").astype("datetime64[M]")
    ).astype(np.int64)
    rest = first - one * MILLIS["DAY"]
    reached = add_months(one, months) * MILLIS["DAY"] + rest
    return np.where(end >= start, 1, -1) * (months - (reached > last))


@kernel("TIMESTAMPDIFF")
def _difference(call: Call) -> Evaluate:
    unit = constant(call.operands[0])

    def evaluate(rows: Frame, name: Datum, start: Datum, end: Datum) -> pa.Array:
        one, null_one = _millis(local_column(start, rows))
        two, null_two = _millis(local_column(end, rows))
        if unit in MONTHS:
            made = np.fix(months_between(one, two) / MONTHS[unit])
        else:
            made = np.sign(two - one) * (np.abs(two - one) // MILLIS[unit])
        column = pa.array(made.astype(np.int64), mask=either(null_one, null_two))
        return column.cast(pa.int32(), safe=False)

    return evaluate


@kernel("OVERLAPS")
def _overlaps(call: Call) -> Evaluate:
    types = [operand.type for operand in call.operands]

    def ends(rows: Frame, start: Datum, end: Datum, at: int) -> tuple[Any, Any, Any]:
        first = local_column(start, rows)
        last = local_column(end, rows)
        if isinstance(types[at], IntervalType):
            months = not isinstance(types[at], DayTimeIntervalType)
            last = add_interval(rows, first, end, months, 1)
        one, null_one = _millis(first)
        two, null_two = _millis(last)
        return np.minimum(one, two), np.maximum(one, two), either(null_one, null_two)

    def evaluate(rows: Frame, a: Datum, b: Datum, c: Datum, d: Datum) -> pa.Array:
        low, high, null_left = ends(rows, a, b, 1)
        other_low, other_high, null_right = ends(rows, c, d, 3)
        found = (high >= other_low) & (other_high >= low)
        return pa.array(found, mask=either(null_left, null_right))

    return evaluate
