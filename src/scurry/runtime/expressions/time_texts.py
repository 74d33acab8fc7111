"""Times as texts and texts as times: the forms that CAST reads and writes.

CAST reads a date as ``2020-1-31``, ``2020-1`` or ``2020``, with whatever stands after a space; a
time as ``10:20:30.5``, ``10:20`` or ``10``; a timestamp as a date with a time behind a space, both
with all their parts. All values here are integers: days, milliseconds of a day, nanoseconds.
"""

from __future__ import annotations

import datetime as dt
import re

from scurry.runtime.expressions.errors import EvaluationError

__all__ = [
    "date_text",
    "day_interval_text",
    "month_interval_text",
    "read_date",
    "read_time",
    "read_timestamp",
    "time_text",
    "timestamp_text",
]

_EPOCH = dt.date(1970, 1, 1).toordinal()
_DATE = re.compile(r"(\d{1,5})(?:-(\d{1,2})(?:-(\d{1,2})(?: .*)?)?)?")
_TIME = re.compile(r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?)?)?")
_STAMP = re.compile(r"(\d{4,5}-\d{1,2}-\d{1,2})(?: (\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d{0,9})?))?")


def read_date(text: str) -> int:
    """Days since 1970."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise EvaluationError(f"{text!r} is no date")
    year, month, day = (int(part) if part else 1 for part in found.groups())
    try:
        return dt.date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        raise EvaluationError(f"{text!r} is no date") from None


def _time_nanos(text: str) -> int:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise EvaluationError(f"{text!r} is no time")
    hour, minute, second = (int(part or 0) for part in found.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise EvaluationError(f"{text!r} is no time")
    fraction = int((found[4] or "").ljust(9, "0") or 0)
    return ((hour * 60 + minute) * 60 + second) * 10**9 + fraction


def read_time(text: str, precision: int = 3) -> int:
    """Milliseconds of the day, cut to the digits of a precision."""
    millis = _time_nanos(text) // 10**6
    step = int(10 ** max(3 - precision, 0))
    return millis // step * step


def read_timestamp(text: str) -> int:
    """Nanoseconds since 1970 on the wall clock."""
    found = _STAMP.fullmatch(text.strip())
    if found is None:
        raise EvaluationError(f"{text!r} is no timestamp")
    return read_date(found[1]) * 86400 * 10**9 + (_time_nanos(found[2]) if found[2] else 0)


def date_text(days: int) -> str:
    return dt.date.fromordinal(days + _EPOCH).isoformat()


def time_text(millis: int, precision: int) -> str:
    """A time with as many digits of a second as it needs, at most `precision`."""
    seconds, fraction = divmod(millis, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = f"{fraction:03d}"[:precision].rstrip("0")
    return f"{text}.{digits}" if digits else text


def timestamp_text(nanos: int, precision: int) -> str:
    """A timestamp with exactly `precision` digits of a second."""
    days, rest = divmod(nanos, 86400 * 10**9)
    seconds, fraction = divmod(rest, 10**9)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = f".{fraction:09d}"[: precision + 1] if precision else ""
    return f"{date_text(days)} {clock}{digits}"


def month_interval_text(months: int) -> str:
    sign = "-" if months < 0 else "+"
    return f"{sign}{abs(months) // 12}-{abs(months) % 12:02d}"


def day_interval_text(millis: int) -> str:
    sign = "-" if millis < 0 else "+"
    days, rest = divmod(abs(millis), 86_400_000)
    seconds, fraction = divmod(rest, 1000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{sign}{days} {clock}.{fraction:03d}"
