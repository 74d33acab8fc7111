"""Formats of dates and times as Java's DateTimeFormatter writes them: ``yyyy-MM-dd HH:mm:ss``.

A format is compiled once, to a list of fields and literal texts; then it writes a time as text, or
reads one. What is supported: y u M L d D E e Q w H k h K m s S n a X Z z V and texts in quotes.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from scurry.runtime.expressions.errors import EvaluationError

__all__ = ["JavaFormat", "Moment", "java_format"]

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001
_PARTS = re.compile(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z']+)")


@dataclass(frozen=True)
class Moment:
    """A wall-clock time: a second of the calendar, nanoseconds, and an offset of the zone."""

    second: dt.datetime
    nanos: int = 0
    offset: int = 0
    zone: str = "UTC"

    @classmethod
    def of_nanos(cls, nanos: int, offset: int = 0, zone: str = "UTC") -> Moment:
        """The moment so many nanoseconds after the start of 1970 on the wall clock."""
        seconds, rest = divmod(nanos, 10**9)
        return cls(_EPOCH + dt.timedelta(seconds=seconds), rest, offset, zone)


def _offset(seconds: int, colon: bool, zulu: bool) -> str:
    if zulu and not seconds:
        return "Z"
    sign = "-" if seconds < 0 else "+"
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{sign}{hours:02d}{':' if colon else ''}{minutes:02d}"


def _x(m: Moment, width: int) -> str:
    text = _offset(m.offset, width == 3, True)
    return text[:3] if width == 1 and text.endswith("00") else text


def _year(m: Moment, width: int) -> str:
    return f"{m.second.year % 100:02d}" if width == 2 else str(m.second.year).zfill(width)


def _month(m: Moment, width: int) -> str:
    if width >= 3:
        name = calendar.month_name[m.second.month]
        return name[:3] if width == 3 else name
    return str(m.second.month).zfill(width)


def _weekday(m: Moment, width: int) -> str:
    name = calendar.day_name[m.second.weekday()]
    return name if width == 4 else name[:3]


def _week(m: Moment) -> int:
    """The week of the year where weeks start on Sunday and the first has January 1st."""
    first = m.second.replace(month=1, day=1)
    start = (first.weekday() + 1) % 7
    return (m.second.timetuple().tm_yday - 1 + start) // 7 + 1


def _padded(value: Callable[[Moment], int]) -> Callable[[Moment, int], str]:
    return lambda m, width: str(value(m)).zfill(width)


_WRITE: dict[str, Callable[[Moment, int], str]] = {
    "y": _year,
    "u": _year,
    "M": _month,
    "L": _month,
    "d": _padded(lambda m: m.second.day),
    "D": _padded(lambda m: m.second.timetuple().tm_yday),
    "E": _weekday,
    "e": _padded(lambda m: (m.second.weekday() + 1) % 7 + 1),
    "Q": _padded(lambda m: (m.second.month + 2) // 3),
    "w": _padded(_week),
    "H": _padded(lambda m: m.second.hour),
    "k": _padded(lambda m: m.second.hour or 24),
    "h": _padded(lambda m: m.second.hour % 12 or 12),
    "K": _padded(lambda m: m.second.hour % 12),
    "m": _padded(lambda m: m.second.minute),
    "s": _padded(lambda m: m.second.second),
    "S": lambda m, width: f"{m.nanos:09d}"[:width].ljust(width, "0"),
    "n": _padded(lambda m: m.nanos),
    "a": lambda m, width: "AM" if m.second.hour < 12 else "PM",
    "X": _x,
    "Z": lambda m, width: _offset(m.offset, False, False),
    "z": lambda m, width: m.zone,
    "V": lambda m, width: m.zone,
}

#: a time in its usual form, and where its fields stand
_STAMP = "yyyy-MM-dd HH:mm:ss"
_PLACES = {("y", 4): (0, 4), ("M", 2): (5, 7), ("d", 2): (8, 10), ("H", 2): (11, 13),
           ("m", 2): (14, 16), ("s", 2): (17, 19)}  # fmt: skip
_MONTHS = {name[:3].lower(): at for at, name in enumerate(calendar.month_name) if name}


def _pattern(letter: str, width: int) -> str:
    """The regular expression of what a field reads."""
    if letter in "yu":
        return r"\d{2}" if width == 2 else rf"\d{{{max(width, 1)},9}}" if width < 4 else r"\d{4,9}"
    if letter in "ML" and width >= 3:
        return r"[A-Za-z]+"
    if letter == "S":
        return rf"\d{{{width}}}"
    if letter in "MLdHhkKmsDe":
        return r"\d{1,3}" if width == 1 else rf"\d{{{width}}}"
    if letter in "Ea":
        return r"[A-Za-z]+"
    if letter in "XZ":
        return r"Z|[+-]\d{2}(?::?\d{2})?"
    return r"\S+"


#: a part of the usual form, from one place to another, or a text of its own
Slice = tuple[int, int] | str


def _joined(one: Slice, between: Slice, two: Slice) -> Slice | None:
    """One part for two that stand with the same text between them in the usual form."""
    if isinstance(one, str) or isinstance(two, str) or between != _STAMP[one[1] : two[0]]:
        return None
    return one[0], two[1]


class JavaFormat:
    """A compiled format."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.parts: list[tuple[str, int] | str] = []
        for found in _PARTS.finditer(pattern):
            quoted, run, letter, plain = found.groups()
            if run is not None:
                if letter not in _WRITE:
                    raise EvaluationError(f"the letter {letter!r} in {pattern!r} is no field")
                self.parts.append((letter, len(run)))
            elif plain is not None:
                self.parts.append(plain)
            else:
                self.parts.append(quoted.replace("''", "'") or "'")
        self._regex = re.compile(self._reading())

    def _reading(self) -> str:
        made = []
        for at, part in enumerate(self.parts):
            if isinstance(part, str):
                made.append(re.escape(part).replace(r"\[", "(?:").replace(r"\]", ")?"))
            else:
                made.append(f"(?P<g{at}>{_pattern(*part)})")
        return "".join(made)

    @property
    def seconds(self) -> int | None:
        """A number of seconds, a multiple of which is enough to know for this format; None if it
        writes fractions of a second."""
        letters = {part[0] for part in self.parts if not isinstance(part, str)}
        if letters & set("Sn"):
            return None
        if "s" in letters:
            return 1
        return 60 if "m" in letters else 3600 if letters & set("HkKha") else 86400

    @property
    def slices(self) -> list[Slice] | None:
        """Where the parts of this format are in ``2020-01-31 10:20:30``; None if it has others.
        Parts that follow each other there, too, are one."""
        if any(not isinstance(part, str) and part not in _PLACES for part in self.parts):
            return None
        made: list[Slice] = []
        for part in self.parts:
            made.append(part if isinstance(part, str) else _PLACES[part])
            joined = _joined(*made[-3:]) if len(made) > 2 else None
            if joined is not None:
                made[-3:] = [joined]
        return made or None

    def write(self, moment: Moment) -> str:
        """The time as text."""
        return "".join(p if isinstance(p, str) else _WRITE[p[0]](moment, p[1]) for p in self.parts)

    def read(self, text: str, whole: bool = True) -> Moment | None:
        """The time that the text says, None if it says none; with `whole` nothing may follow."""
        found = self._regex.fullmatch(text) if whole else self._regex.match(text)
        if found is None:
            return None
        fields = {
            p[0]: found[f"g{at}"] for at, p in enumerate(self.parts) if not isinstance(p, str)
        }
        try:
            return _moment({k: v for k, v in fields.items() if v is not None})
        except (ValueError, KeyError, OverflowError):
            return None


def _moment(fields: dict[str, str]) -> Moment:
    year = fields.get("y") or fields.get("u") or "1970"
    month = fields.get("M") or fields.get("L") or "1"
    second = dt.datetime(  # noqa: DTZ001
        int(year) + (2000 if len(year) == 2 else 0),
        int(month) if month.isdigit() else _MONTHS[month[:3].lower()],
        int(fields.get("d", "1")),
        _hour(fields),
        int(fields.get("m", "0")),
        int(fields.get("s", "0")),
    )
    if "D" in fields:
        second += dt.timedelta(days=int(fields["D"]) - 1)
    nanos = int(fields.get("S", "0").ljust(9, "0")[:9])
    zone = fields.get("X") or fields.get("Z")
    return Moment(second, nanos, _seconds(zone) if zone else 0, zone or "")


def _hour(fields: dict[str, str]) -> int:
    if "H" in fields or "k" in fields:
        return int(fields.get("H") or fields["k"]) % (24 if "k" in fields else 100)
    hour = int(fields.get("h") or fields.get("K") or "0")
    return hour % 12 + 12 if fields.get("a", "").upper() == "PM" else hour % 12 if hour else 0


def _seconds(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1 if zone[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)


@lru_cache(maxsize=500)
def java_format(pattern: str) -> JavaFormat:
    """The compiled format of a pattern."""
    return JavaFormat(pattern)


def nanos_of(moment: Moment) -> int:
    """Nanoseconds on the wall clock since the start of 1970."""
    since = moment.second - _EPOCH
    return (since.days * 86400 + since.seconds) * 10**9 + moment.nanos
