"""How the commands write sizes, spans of time and texts that somebody else has chosen."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size_in_words(count: float) -> str:
    """A number of bytes, such as ``1.5 MB``."""
    for unit in _UNITS[:-1]:
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def span_in_words(seconds: float) -> str:
    """A length of time, such as ``3 min 20 s``."""
    whole = int(abs(seconds))
    sign = "-" if seconds < 0 and whole else ""
    parts = ((whole // 86400, "d"), (whole // 3600 % 24, "h"), (whole // 60 % 60, "min"))
    named = [f"{count} {unit}" for count, unit in (*parts, (whole % 60, "s")) if count]
    return sign + (" ".join(named[:2]) or "0 s")


def plain(text: str) -> str:
    """``text`` without characters that could make a terminal do something: names in a directory
    may have been chosen by anybody."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
