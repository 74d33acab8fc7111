"""Dates, times, points in time and intervals.

`TimestampType` is what a clock on the wall and a calendar show, with no zone: its column is an
Arrow timestamp without zone. `LocalZonedTimestampType` (TIMESTAMP_LTZ) is a point in time; only
where it becomes text or a wall-clock time does the zone of ``table.local-time-zone`` matter. The
unit of a column follows from the precision: milliseconds up to 3 digits, microseconds up to 6,
nanoseconds up to 9, which reach from 1677 to 2262 only. A TIME is kept in milliseconds whatever
its precision, as in Flink.

There are two kinds of interval, which do not mix: a number of months, and a number of milliseconds.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import pyarrow as pa

from scurry.common.data_types.data_type import AtomicType
from scurry.common.errors import TypeMismatchError

__all__ = [
    "DateType",
    "DayTimeIntervalType",
    "IntervalType",
    "LocalZonedTimestampType",
    "Resolution",
    "TimeType",
    "TimestampKind",
    "TimestampType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "interval",
]


def _checked(name: str, precision: int) -> int:
    if not 0 <= precision <= 9:
        raise TypeMismatchError(
            f"there is no type {name}({precision}): the precision is between 0 and 9"
        )
    return precision


def unit_of(precision: int) -> str:
    """The Arrow unit of timestamps with that many digits of a second."""
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


class DateType(AtomicType):
    """Days."""

    def arrow_type(self) -> pa.DataType:
        return pa.date32()

    def describe(self) -> str:
        return "DATE"


class TimeType(AtomicType):
    """Times of a day."""

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = _checked("TIME", precision)

    def arrow_type(self) -> pa.DataType:
        return pa.time32("ms")

    def describe(self) -> str:
        return f"TIME({self.precision})"

    def _args(self) -> tuple[Any, ...]:
        return (self.precision,)


class TimestampKind(Enum):
    """Whether a timestamp column is a time attribute, and which."""

    REGULAR = ""
    ROWTIME = "*ROWTIME*"
    PROCTIME = "*PROCTIME*"


class _Timestamp(AtomicType):
    label = ""

    def __init__(
        self,
        precision: int = 6,
        nullable: bool = True,
        kind: TimestampKind = TimestampKind.REGULAR,
    ) -> None:
        super().__init__(nullable)
        self.precision = _checked(self.label, precision)
        self.kind = kind

    @property
    def is_time_attribute(self) -> bool:
        """Whether windows and interval joins may be built on this column."""
        return self.kind is not TimestampKind.REGULAR

    def describe(self) -> str:
        suffix = f" {self.kind.value}" if self.kind.value else ""
        return f"{self.label}({self.precision}){suffix}"

    def _args(self) -> tuple[Any, ...]:
        return (self.precision, self.kind)


class TimestampType(_Timestamp):
    """Wall-clock times with a date; they have no zone."""

    label = "TIMESTAMP"

    def arrow_type(self) -> pa.DataType:
        return pa.timestamp(unit_of(self.precision))


class LocalZonedTimestampType(_Timestamp):
    """Points in time, shown in the zone of ``table.local-time-zone``."""

    label = "TIMESTAMP_LTZ"

    @classmethod
    def type_name(cls) -> str:
        return "TIMESTAMP_LTZ"

    def arrow_type(self) -> pa.DataType:
        return pa.timestamp(unit_of(self.precision), "UTC")


class ZonedTimestampType(_Timestamp):
    """Points in time, each with a zone of its own. Flink can declare it, and compute nothing."""

    label = "TIMESTAMP_TZ"

    def arrow_type(self) -> pa.DataType:
        return pa.timestamp(unit_of(self.precision), "UTC")

    def describe(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"


class Resolution:
    """One end of an interval's range, such as ``DAY(2)``; -1 is the default number of digits."""

    class IntervalUnit(Enum):
        """The units an interval can have."""

        SECOND = 5
        MINUTE = 4
        HOUR = 3
        DAY = 2
        MONTH = 1
        YEAR = 0

    def __init__(self, unit: Resolution.IntervalUnit, precision: int = -1) -> None:
        self.unit = unit
        self.precision = precision

    def __str__(self) -> str:
        return f"{self.unit.name}({self.precision})" if self.precision >= 0 else self.unit.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resolution) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class IntervalType(AtomicType):
    """What the two kinds of interval have in common."""


class YearMonthIntervalType(IntervalType):
    """Numbers of months."""

    DEFAULT_PRECISION = 2

    class YearMonthResolution(Enum):
        """Which units the interval is written in."""

        YEAR = "YEAR"
        MONTH = "MONTH"
        YEAR_TO_MONTH = "YEAR TO MONTH"

    def __init__(
        self,
        resolution: YearMonthResolution = YearMonthResolution.YEAR_TO_MONTH,
        precision: int = DEFAULT_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self.resolution = resolution
        self.precision = precision

    def arrow_type(self) -> pa.DataType:
        return pa.int32()

    def describe(self) -> str:
        first, *rest = self.resolution.value.split(" TO ")
        head = f"{first}({self.precision})" if first == "YEAR" else first
        return "INTERVAL " + " TO ".join([head, *rest])

    def _args(self) -> tuple[Any, ...]:
        return (self.resolution, self.precision)


class DayTimeIntervalType(IntervalType):
    """Numbers of milliseconds."""

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    class DayTimeResolution(Enum):
        """Which units the interval is written in."""

        DAY = "DAY"
        DAY_TO_HOUR = "DAY TO HOUR"
        DAY_TO_MINUTE = "DAY TO MINUTE"
        DAY_TO_SECOND = "DAY TO SECOND"
        HOUR = "HOUR"
        HOUR_TO_MINUTE = "HOUR TO MINUTE"
        HOUR_TO_SECOND = "HOUR TO SECOND"
        MINUTE = "MINUTE"
        MINUTE_TO_SECOND = "MINUTE TO SECOND"
        SECOND = "SECOND"

    def __init__(
        self,
        resolution: DayTimeResolution = DayTimeResolution.DAY_TO_SECOND,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self.resolution = resolution
        self.day_precision = day_precision
        self.fractional_precision = fractional_precision

    def arrow_type(self) -> pa.DataType:
        return pa.int64()

    def describe(self) -> str:
        digits = {"DAY": self.day_precision, "SECOND": self.fractional_precision}
        units = self.resolution.value.split(" TO ")
        return "INTERVAL " + " TO ".join(f"{u}({digits[u]})" if u in digits else u for u in units)

    def _args(self) -> tuple[Any, ...]:
        return (self.resolution, self.day_precision, self.fractional_precision)


def interval(upper: Resolution, lower: Resolution | None = None) -> IntervalType:
    """The interval type from one resolution to another, as `DataTypes.INTERVAL` takes them."""
    units = [r.unit.name for r in (upper, lower) if r is not None]
    name = " TO ".join(units)
    if name in {r.value for r in YearMonthIntervalType.YearMonthResolution}:
        years = upper.precision if upper.precision >= 0 else YearMonthIntervalType.DEFAULT_PRECISION
        return YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution(name), years)
    if name not in {r.value for r in DayTimeIntervalType.DayTimeResolution}:
        raise TypeMismatchError(
            f"there is no type INTERVAL {name}: an interval goes from YEAR to MONTH, or from DAY "
            "over HOUR and MINUTE to SECOND"
        )
    days = DayTimeIntervalType.DEFAULT_DAY_PRECISION
    fraction = DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION
    for end in (upper, lower):
        if end is not None and end.precision >= 0:
            days = end.precision if end.unit.name == "DAY" else days
            fraction = end.precision if end.unit.name == "SECOND" else fraction
    return DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution(name), days, fraction)
