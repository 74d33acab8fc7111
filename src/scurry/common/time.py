"""Spans and points of time.

`Duration` and `Time` are lengths of time (the first to the nanosecond, the second in milliseconds,
as window sizes are written); `Instant` is a point on the UTC time line. The engine counts in
milliseconds, so wherever the API takes a length of time, a `datetime.timedelta` or a text such as
``"10 s"`` does as well: `milliseconds_of` reads them all.

Sizes of memory in a configuration are read by `parse_memory`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from scurry.common.errors import ConfigurationError

__all__ = [
    "Duration",
    "Instant",
    "Time",
    "TimeSpan",
    "milliseconds_of",
    "parse_duration",
    "parse_memory",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: more digits than any length of time or size has
_MOST_DIGITS = 19
_QUANTITY = re.compile(r"\s*(\d+)\s*([^\W\d]*)\s*")


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Duration:
    """A length of time, exact to the nanosecond."""

    nanos: int

    @staticmethod
    def of_days(days: int) -> Duration:
        """That many days of 24 hours."""
        return Duration.of_hours(24 * days)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """That many hours."""
        return Duration.of_minutes(60 * hours)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """That many minutes."""
        return Duration.of_seconds(60 * minutes)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """That many seconds."""
        return Duration.of_millis(1000 * seconds)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """That many milliseconds."""
        return Duration.of_nanos(1_000_000 * millis)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """That many nanoseconds."""
        return Duration(nanos)

    @staticmethod
    def of(span: TimeSpan) -> Duration:
        """Read any way of writing a length of time, such as a `timedelta` or ``"10 s"``."""
        if isinstance(span, timedelta):
            return Duration(1000 * (span // timedelta(microseconds=1)))
        return span if isinstance(span, Duration) else Duration.of_millis(milliseconds_of(span))

    def to_milliseconds(self) -> int:
        """Whole milliseconds; what is below one is cut off."""
        return self.nanos // 1_000_000

    def to_timedelta(self) -> timedelta:
        """The same length as Python's own type, to the microsecond."""
        return timedelta(microseconds=self.nanos // 1000)

    def __repr__(self) -> str:
        if self.nanos % 1_000_000:
            return f"Duration.of_nanos({self.nanos})"
        return f"Duration.of_millis({self.to_milliseconds()})"


class Time:
    """A length of time in milliseconds, as windows are measured: ``Time.seconds(5)``."""

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """That many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """That many seconds."""
        return Time(1000 * seconds)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """That many minutes."""
        return Time.seconds(60 * minutes)

    @staticmethod
    def hours(hours: int) -> Time:
        """That many hours."""
        return Time.minutes(60 * hours)

    @staticmethod
    def days(days: int) -> Time:
        """That many days of 24 hours."""
        return Time.hours(24 * days)

    @staticmethod
    def of(span: TimeSpan) -> Time:
        """Read any way of writing a length of time, such as a `timedelta` or ``"10 s"``."""
        return Time(milliseconds_of(span))

    def to_milliseconds(self) -> int:
        """The length in milliseconds."""
        return self._milliseconds

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Time):
            return NotImplemented
        return self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash((Time, self._milliseconds))

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time.milliseconds({self._milliseconds})"


@dataclass(frozen=True, slots=True, order=True, repr=False)
class Instant:
    """A point in time: seconds since 1970-01-01 UTC and nanoseconds after that second."""

    seconds: int
    nanos: int

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The point that many milliseconds after (negative: before) 1970-01-01 UTC."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * 1_000_000)

    @staticmethod
    def of_datetime(moment: datetime) -> Instant:
        """The point a time-zone aware datetime names."""
        if moment.tzinfo is None:
            raise ValueError(
                f"{moment!r} has no time zone, so it names no instant: give it one, "
                "for example moment.replace(tzinfo=UTC)"
            )
        seconds, rest = divmod(moment - _EPOCH, timedelta(seconds=1))
        return Instant(seconds, rest.microseconds * 1000)

    def to_epoch_milli(self) -> int:
        """Milliseconds since 1970-01-01 UTC."""
        return self.seconds * 1000 + self.nanos // 1_000_000

    def to_milliseconds(self) -> int:
        """The same as `to_epoch_milli`."""
        return self.to_epoch_milli()

    def to_datetime(self) -> datetime:
        """The same point as an aware datetime in UTC, to the microsecond."""
        return _EPOCH + timedelta(seconds=self.seconds, microseconds=self.nanos // 1000)

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


TimeSpan: TypeAlias = Duration | Time | timedelta | str
"""Every way in which a length of time may be given to the API."""


def milliseconds_of(span: TimeSpan) -> int:
    """Whole milliseconds of a length of time, however it is written."""
    if isinstance(span, Duration | Time):
        return span.to_milliseconds()
    if isinstance(span, timedelta):
        return span // timedelta(milliseconds=1)
    if isinstance(span, str):
        return parse_duration(span)
    raise ConfigurationError(
        f"expected a length of time, got {span!r} ({type(span).__name__}): "
        "write for example Duration.of_seconds(10), timedelta(seconds=10) or '10 s'"
    )


def _units(*spellings: tuple[str, int]) -> dict[str, int]:
    return {name: factor for names, factor in spellings for name in names.split()}


_DURATION_UNITS = _units(
    ("ns nano nanos nanosecond nanoseconds", 1),
    ("us µs micro micros microsecond microseconds", 1000),
    ("ms milli millis millisecond milliseconds", 1_000_000),
    ("s sec secs second seconds", 1_000_000_000),
    ("m min mins minute minutes", 60_000_000_000),
    ("h hour hours", 3_600_000_000_000),
    ("d day days", 86_400_000_000_000),
)
_MEMORY_UNITS = _units(
    ("b bytes", 1),
    ("k kb kibibytes", 1 << 10),
    ("m mb mebibytes", 1 << 20),
    ("g gb gibibytes", 1 << 30),
    ("t tb tebibytes", 1 << 40),
)


def _quantity(text: str, units: dict[str, int], default_unit: str) -> int | None:
    match = _QUANTITY.fullmatch(text)
    factor = units.get(match[2].lower() or default_unit) if match else None
    if match is None or factor is None or len(match[1]) > _MOST_DIGITS:
        return None
    return int(match[1]) * factor


def parse_duration(text: str) -> int:
    """Milliseconds of a text such as ``"500 ms"`` or ``"1 min"``; a bare number is milliseconds."""
    nanos = _quantity(text, _DURATION_UNITS, "ms")
    if nanos is None:
        raise ConfigurationError(
            f"cannot read {text!r} as a length of time: write a whole number and a unit of "
            "ns, us, ms, s, min, h or d, for example '10 s'"
        )
    return nanos // 1_000_000


def parse_memory(text: str) -> int:
    """Bytes of a text such as ``"64 mb"``; units are powers of 1024, bare numbers are bytes."""
    size = _quantity(text, _MEMORY_UNITS, "b")
    if size is None:
        raise ConfigurationError(
            f"cannot read {text!r} as a size of memory: write a whole number and a unit of "
            "b, kb, mb, gb or tb, for example '64 mb'"
        )
    return size
