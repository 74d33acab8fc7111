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

import datetime as dt
from enum import Enum
from typing import Any

import pyarrow as pa

from scurry.common.data_types import internal_times
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

    EPOCH_ORDINAL = internal_times.EPOCH_ORDINAL

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, d: dt.date | None) -> int | None:
        """Days since 1970."""
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_sql_type(self, v: int | None) -> dt.date | None:
        """The day so many days after 1970-01-01."""
        return None if v is None else dt.date.fromordinal(v + self.EPOCH_ORDINAL)


class TimeType(AtomicType):
    """Times of a day."""

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.precision = _checked("TIME", precision)

    def arrow_type(self) -> pa.DataType:
        return pa.time32("ms")

    def describe(self) -> str:
        return f"TIME({self.precision})"

    EPOCH_ORDINAL = internal_times.ZONE_OFFSET

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, t: dt.time | None) -> int | None:
        """Microseconds since midnight in UTC."""
        return None if t is None else internal_times.from_time(t)

    def from_sql_type(self, t: int | None) -> dt.time | None:
        """The time of day in the zone of this machine."""
        return None if t is None else internal_times.to_time(t)

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

    def __str__(self) -> str:
        nulls = "" if self._nullable else " NOT NULL"
        suffix = f" {self.kind.value}" if self.kind.value else ""
        return f"{self.label}({self.precision}){nulls}{suffix}"

    def _args(self) -> tuple[Any, ...]:
        return (self.precision, self.kind)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.precision}, {str(self._nullable).lower()})"


class TimestampType(_Timestamp):
    """Wall-clock times with a date; they have no zone."""

    label = "TIMESTAMP"

    def arrow_type(self) -> pa.DataType:
        return pa.timestamp(unit_of(self.precision))

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, dt: dt.datetime | None) -> int | None:
        """Microseconds since 1970, taking the time for one of this machine's zone."""
        return None if dt is None else internal_times.from_datetime(dt)

    def from_sql_type(self, ts: int | None) -> dt.datetime | None:
        """The wall-clock time in the zone of this machine."""
        return None if ts is None else internal_times.to_datetime(ts)


class LocalZonedTimestampType(_Timestamp):
    """Points in time, shown in the zone of ``table.local-time-zone``."""

    label = "TIMESTAMP_LTZ"

    EPOCH_ORDINAL = internal_times.ZONE_OFFSET

    def arrow_type(self) -> pa.DataType:
        return pa.timestamp(unit_of(self.precision), "UTC")

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, dt: dt.datetime | None) -> int | None:
        """Microseconds since 1970 on the clock of this machine's zone."""
        return None if dt is None else internal_times.from_datetime(dt) + self.EPOCH_ORDINAL

    def from_sql_type(self, ts: int | None) -> dt.datetime | None:
        """The wall-clock time in the zone of this machine."""
        return None if ts is None else internal_times.to_datetime(ts - self.EPOCH_ORDINAL)


class ZonedTimestampType(_Timestamp):
    """Points in time, each with a zone of its own. Flink can declare it, and compute nothing."""

    label = "TIMESTAMP_TZ"

    def arrow_type(self) -> pa.DataType:
        return pa.timestamp(unit_of(self.precision), "UTC")

    def describe(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, dt: dt.datetime | None) -> tuple[int, int] | None:
        """Microseconds on the clock of the zone, and the zone's offset in seconds."""
        return None if dt is None else internal_times.from_zoned(dt)

    def from_sql_type(self, zoned_ts: tuple[int, int] | None) -> dt.datetime | None:
        """The point in time, in the zone of that offset."""
        return None if zoned_ts is None else internal_times.to_zoned(*zoned_ts)


class Resolution:
    """One end of an interval's range, such as ``DAY(2)``; -1 is the default number of digits."""

    class IntervalUnit(Enum):
        """The units an interval can have."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    unit: Resolution.IntervalUnit
    precision: int

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

    resolution: YearMonthIntervalType.YearMonthResolution
    precision: int

    class YearMonthResolution(Enum):
        """Which units the interval is written in."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

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
        first, *rest = self.resolution.name.split("_TO_")
        head = f"{first}({self.precision})" if first == "YEAR" else first
        return "INTERVAL " + " TO ".join([head, *rest])

    def _args(self) -> tuple[Any, ...]:
        return (self.resolution, self.precision)


class DayTimeIntervalType(IntervalType):
    """Numbers of milliseconds."""

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    resolution: DayTimeIntervalType.DayTimeResolution
    day_precision: int
    fractional_precision: int

    class DayTimeResolution(Enum):
        """Which units the interval is written in."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

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
        units = self.resolution.name.split("_TO_")
        return "INTERVAL " + " TO ".join(f"{u}({digits[u]})" if u in digits else u for u in units)

    def _args(self) -> tuple[Any, ...]:
        return (self.resolution, self.day_precision, self.fractional_precision)

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, timedelta: dt.timedelta | None) -> int | None:
        """Microseconds."""
        return None if timedelta is None else timedelta // dt.timedelta(microseconds=1)

    def from_sql_type(self, ts: int | None) -> dt.timedelta | None:
        """The interval of so many microseconds."""
        return None if ts is None else dt.timedelta(microseconds=ts)


def interval(upper: Resolution, lower: Resolution | None = None) -> IntervalType:
    """The interval type from one resolution to another, as `DataTypes.INTERVAL` takes them."""
    units = [r.unit.name for r in (upper, lower) if r is not None]
    name = "_TO_".join(units)
    if name in YearMonthIntervalType.YearMonthResolution.__members__:
        years = upper.precision if upper.precision >= 0 else YearMonthIntervalType.DEFAULT_PRECISION
        return YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution[name], years)
    if name not in DayTimeIntervalType.DayTimeResolution.__members__:
        raise TypeMismatchError(
            f"there is no type INTERVAL {' TO '.join(units)}: an interval goes from YEAR to MONTH, "
            "or from DAY over HOUR and MINUTE to SECOND"
        )
    days = DayTimeIntervalType.DEFAULT_DAY_PRECISION
    fraction = DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION
    for end in (upper, lower):
        if end is not None and end.precision >= 0:
            days = end.precision if end.unit.name == "DAY" else days
            fraction = end.precision if end.unit.name == "SECOND" else fraction
    return DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution[name], days, fraction)
