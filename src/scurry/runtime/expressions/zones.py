"""Time zones: from wall-clock times to points in time and back, whole columns at a time.

Where a clock is set back, a wall-clock time that occurs twice is the earlier one; where it is set
forward, one that does not occur is as much later as the clock jumped. Both as in Java. Names of
zones are those of the tz database, and Java's ``GMT+08:00``, ``UTC+8``, ``PST``.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

from scurry.runtime.expressions.errors import EvaluationError

__all__ = ["to_local", "to_utc", "zone_info", "zone_name"]

_OFFSET = re.compile(r"(?:GMT|UTC|UT)?([+-])(\d{1,2})(?::?(\d{2}))?")
_SHORT = {
    "PST": "America/Los_Angeles",
    "MST": "America/Denver",
    "CST": "America/Chicago",
    "EST": "America/New_York",
    "JST": "Asia/Tokyo",
    "IST": "Asia/Kolkata",
    "Z": "UTC",
}


@lru_cache(maxsize=1000)
def zone_name(name: str) -> str:
    """The name of a zone as Arrow knows it."""
    found = _OFFSET.fullmatch(name)
    if found:
        sign, hours, minutes = found.groups()
        return f"{sign}{int(hours):02d}:{minutes or '00'}"
    return _SHORT.get(name, name)


@lru_cache(maxsize=1000)
def zone_info(name: str) -> dt.tzinfo:
    """The zone of that name as Python knows it."""
    known = zone_name(name)
    if known[0] in "+-":
        sign = -1 if known[0] == "-" else 1
        return dt.timezone(sign * dt.timedelta(hours=int(known[1:3]), minutes=int(known[4:6])))
    try:
        return ZoneInfo(known)
    except (ZoneInfoNotFoundError, ValueError):
        raise EvaluationError(f"there is no time zone {name!r}") from None


def to_local(column: pa.Array, zone: str) -> pa.Array:
    """What clocks in the zone show at points in time."""
    unit = column.type.unit
    if zone == "UTC":
        return column.cast(pa.timestamp(unit))
    return pc.local_timestamp(column.cast(pa.timestamp(unit, zone_name(zone))))


def to_utc(column: pa.Array, zone: str) -> pa.Array:
    """The points in time at which clocks in the zone show wall-clock times."""
    utc = pa.timestamp(column.type.unit, "UTC")
    if zone == "UTC":
        return column.cast(utc)
    made = pc.assume_timezone(
        column, zone_name(zone), ambiguous="earliest", nonexistent="latest"
    ).cast(utc)
    skipped = pc.not_equal(to_local(made, zone), column)
    if not pc.any(skipped).as_py():
        return made
    return pc.if_else(skipped, _after_gap(column, zone).cast(utc), made)


def _after_gap(column: pa.Array, zone: str) -> pa.Array:
    """Points in time by the offset that held before the clock was set forward."""
    day = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit] * 86400
    values = column.cast(pa.int64())
    earlier = pc.subtract(values, day).cast(column.type)
    found = pc.assume_timezone(
        earlier, zone_name(zone), ambiguous="earliest", nonexistent="earliest"
    )
    return pc.add(found.cast(pa.int64()), day).cast(column.type)
