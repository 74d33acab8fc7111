"""Dates and times as the numbers that PyFlink hands on, which programs see in ``to_sql_type``.

All of them count from the beginning of 1970. Times without a zone are taken for those of this
machine's zone; a time of day for one of the first day of 1970 there.
"""

from __future__ import annotations

import datetime as dt

_BEGINNING = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_NONE = dt.timedelta(0)
#: The number of 1970-01-01 among all days.
EPOCH_ORDINAL = _BEGINNING.toordinal()
#: By how many microseconds the clocks here were ahead of UTC when 1970 began.
ZONE_OFFSET = (_BEGINNING.astimezone().utcoffset() or _NONE) // _MICROSECOND


def from_time(value: dt.time) -> int:
    """Microseconds since midnight in UTC."""
    on_the_clock = _BEGINNING.combine(_BEGINNING, value, dt.UTC) - _BEGINNING
    if value.tzinfo is None:
        return on_the_clock // _MICROSECOND - ZONE_OFFSET
    return (on_the_clock - (value.utcoffset() or _NONE)) // _MICROSECOND


def to_time(value: int) -> dt.time:
    """The time of day here."""
    return (_BEGINNING + (value + ZONE_OFFSET) * _MICROSECOND).time()


def from_datetime(value: dt.datetime) -> int:
    """Microseconds since 1970."""
    return (_zoned(value) - _BEGINNING) // _MICROSECOND


def to_datetime(value: int) -> dt.datetime:
    """The wall-clock time here."""
    return (_BEGINNING + value * _MICROSECOND).astimezone().replace(tzinfo=None)


def from_zoned(value: dt.datetime) -> tuple[int, int]:
    """Microseconds on the clock of the value's zone, and the offset of that zone in seconds."""
    offset = _zoned(value).utcoffset() or _NONE
    seconds = int(offset.total_seconds())
    return from_datetime(value) + seconds * 10**6, seconds


def to_zoned(microseconds: int, offset: int) -> dt.datetime:
    """The point in time that a clock with that offset shows so."""
    ahead = dt.timedelta(seconds=offset)
    return (_BEGINNING + microseconds * _MICROSECOND - ahead).astimezone(dt.timezone(ahead))


def _zoned(value: dt.datetime) -> dt.datetime:
    return value if value.tzinfo is not None else value.astimezone()
