r"""Rows in the text form that Postgres's ``COPY`` reads.

Columns are separated by tabs, rows by line feeds, ``\N`` is null, and a backslash protects what
would be mistaken for one of those. The workers write it, so the driver only passes bytes on.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from scurry.common.errors import TypeMismatchError, shorten
from scurry.common.types import Row

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
NULL = "\\N"


def _escaped(text: str) -> str:
    if "\0" in text:
        raise TypeMismatchError(
            f"{shorten(text)} holds a zero byte, which Postgres cannot store in a text"
        )
    return text.translate(_ESCAPES)


def _array(values: Sequence[Any]) -> str:
    return _escaped("{" + ",".join(map(_element, values)) + "}")


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (list, tuple)):
        return "{" + ",".join(map(_element, value)) + "}"
    if isinstance(value, (bool, int, float, decimal.Decimal)):
        return plain(value)
    text = json.dumps(value) if isinstance(value, dict) else plain(value)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def plain(value: Any) -> str:
    """A single value as Postgres reads it, before any escaping."""
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    return str(value)


def _json(value: Any) -> str:
    return _escaped(json.dumps(value.as_dict(recursive=True) if isinstance(value, Row) else value))


def _interval(value: datetime.timedelta) -> str:
    return f"{value.days} days {value.seconds}.{value.microseconds:06d} seconds"


_FORMS: dict[type, Callable[[Any], str]] = {
    type(None): lambda value: NULL,
    str: _escaped,
    int: str,
    float: str,
    bool: plain,
    bytes: lambda value: _escaped(plain(value)),
    bytearray: lambda value: _escaped(plain(bytes(value))),
    decimal.Decimal: str,
    datetime.datetime: datetime.datetime.isoformat,
    datetime.date: datetime.date.isoformat,
    datetime.time: datetime.time.isoformat,
    datetime.timedelta: _interval,
    uuid.UUID: str,
    list: _array,
    tuple: _array,
    dict: _json,
    Row: _json,
}


def field(value: Any) -> str:
    """One value in the form of ``COPY``."""
    form = _FORMS.get(type(value))
    if form is None:
        if isinstance(value, np.generic):
            return field(value.item())
        if isinstance(value, enum.Enum):
            return field(value.value)
        for kind in type(value).__mro__[1:-1]:
            if kind in _FORMS:
                return _FORMS[kind](value)
        raise TypeMismatchError(
            f"{shorten(value)} ({type(value).__name__}) has no form in Postgres: make it a number, "
            "text, bytes, date, UUID, list or dict before the sink"
        )
    return form(value)


def encode(rows: Iterable[Iterable[Any]]) -> bytes:
    """Rows of values in the form of ``COPY``."""
    lines = ["\t".join(map(field, row)) for row in rows]
    return ("\n".join(lines) + "\n").encode() if lines else b""
