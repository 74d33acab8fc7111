"""Dates and times as the numbers that PyFlink hands on, which programs see in ``to_sql_type``.

Times without a zone are taken for those of this machine's zone.
"""

from __future__ import annotations

import calendar
import datetime as dt
import time

#: The number of 1970-01-01 among all days.
EPOCH_ORDINAL = dt.date(1970, 1, 1).toordinal()
#: By how many microseconds the clocks here were ahead of UTC when 1970 began.
ZONE_OFFSET = calendar.timegm(time.localtime(0)) * 10**6
_MICROSECOND = dt.timedelta(microseconds=1)


def from_time(value: dt.time) -> int:
    """Microseconds since midnight in UTC."""
    offset = value.utcoffset() if value.tzinfo is not None else None
    ahead = ZONE_OFFSET if value.tzinfo is None else (offset or dt.timedelta()) // _MICROSECOND
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * 10**6 + value.microsecond - ahead


def to_time(value: int) -> dt.time:
    """The time of day here."""
    seconds, microseconds = divmod(value + ZONE_OFFSET, 10**6)
    minutes, second = divmod(seconds, 60)
    return dt.time(*divmod(minutes, 60), second, microseconds)


def from_datetime(value: dt.datetime) -> int:
    """Microseconds since 1970."""
    seconds = (
        calendar.timegm(value.utctimetuple()) if value.tzinfo else time.mktime(value.timetuple())
    )
    return int(seconds) * 10**6 + value.microsecond


def to_datetime(value: int) -> dt.datetime:
    """The wall-clock time here."""
    seconds, microseconds = divmod(value, 10**6)
    whole = dt.datetime.fromtimestamp(seconds)  # noqa: DTZ006
    return whole.replace(microsecond=microseconds)


def from_zoned(value: dt.datetime) -> tuple[int, int]:
    """Microseconds on the clock of the value's zone, and the offset of that zone in seconds."""
    zoned = value if value.tzinfo else value.astimezone()
    offset = int((zoned.utcoffset() or dt.timedelta()).total_seconds())
    return from_datetime(value) + offset * 10**6, offset


def to_zoned(microseconds: int, offset: int) -> dt.datetime:
    """The point in time that a clock with that offset shows so."""
    zone = dt.timezone(dt.timedelta(seconds=offset))
    seconds, rest = divmod(microseconds - offset * 10**6, 10**6)
    return dt.datetime.fromtimestamp(seconds, tz=zone).replace(microsecond=rest)
