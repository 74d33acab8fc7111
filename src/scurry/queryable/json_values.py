"""Keys and values as JSON, with the types that JSON does not have.

What JSON has stands for itself. An object with one field whose name begins with ``$`` is a value of
another type::

    {"$bytes": "AAEC"}                      bytes, in base64
    {"$float": "NaN"}                       NaN, Infinity, -Infinity
    {"$decimal": "1.50"}                    an exact decimal
    {"$datetime": "2026-01-01T00:00:00"}    a datetime, in ISO 8601; also $date, $time
    {"$timedelta": 1500000}                 a duration, in microseconds
    {"$uuid": "..."}                        a UUID
    {"$text": "..."}                        a text that is not valid Unicode: its UTF-8 in base64
    {"$map": [[key, value], ...]}           a dict whose keys are not all plain texts
    {"$row": [...]}                         a Row without names, or as a key
    {"$object": {"class": "Card", "values": [...]}}   a dataclass, as a key
    {"$set": [...]}                         a frozenset, as a key
    {"$repr": "..."}                        anything else: what Python writes of it; of values only

An array is a list or a tuple; of a key it is always a tuple. A dataclass, a named tuple or a row
with names becomes an object of its fields where it is a value. Nothing is ever unpickled that came
from outside.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import enum
import math
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np

from scurry.common.types import Row
from scurry.state.codecs.encoding import Null
from scurry.state.codecs.plain import Fields

_PLAIN = frozenset({int, bool, type(None)})
_MARK = "$"


class NotTyped(ValueError):
    """JSON that is not a key; the message says why."""


def to_json(value: Any) -> Any:
    """``value`` as what JSON can hold."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is str:
        return _text(value)
    if kind is float:
        return value if math.isfinite(value) else {"$float": _not_finite(value)}
    found = _WRITERS.get(kind)
    return _other(value) if found is None else found(value)


def key_to_json(key: Any) -> Any:
    """A key as JSON of which :func:`key_from_json` makes a key that is equal to it."""
    if isinstance(key, Row):
        return {"$row": [key_to_json(part) for part in key._values]}
    if isinstance(key, tuple):
        return [key_to_json(part) for part in key]
    if isinstance(key, frozenset):
        return {"$set": [key_to_json(part) for part in key]}
    if dataclasses.is_dataclass(key) and not isinstance(key, type):
        names = [f.name for f in dataclasses.fields(key) if f.compare]
        return _object(key, names)
    if isinstance(key, msgspec.Struct):
        return _object(key, key.__struct_fields__)
    return to_json(key)


def _object(key: Any, names: Any) -> Any:
    values = [key_to_json(getattr(key, name)) for name in names]
    return {"$object": {"class": type(key).__qualname__, "values": values}}


def key_from_json(told: Any) -> Any:
    """The key that JSON stands for; raises :class:`NotTyped`."""
    if isinstance(told, list):
        return tuple(key_from_json(part) for part in told)
    if not isinstance(told, dict):
        return told
    name, content = next(iter(told.items()), ("", None))
    reader = _READERS.get(name)
    if reader is None or len(told) != 1:
        raise NotTyped(
            "an object is a key only if its one field is the name of a type, such as "
            f"{', '.join(sorted(_READERS))}"
        )
    try:
        return reader(content)
    except NotTyped:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, InvalidOperation) as failure:
        raise NotTyped(f"{name} cannot be read: {failure}") from failure


def _text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"$text": _base64(value.encode("utf-8", "surrogatepass"))}
    return value


def _not_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _each(value: Any) -> list[Any]:
    return [to_json(part) for part in value]


def _fields(value: Mapping[str, Any]) -> Any:
    return {name: to_json(part) for name, part in value.items()}


def _mapping(value: Mapping[Any, Any]) -> Any:
    if all(type(name) is str and not name.startswith(_MARK) for name in value):
        return _fields(value)
    return {"$map": [[key_to_json(name), to_json(part)] for name, part in value.items()]}


def _row(value: Row) -> Any:
    names = value._names
    return {"$row": _each(value)} if not names else _fields(dict(zip(names, value, strict=False)))


_WRITERS: dict[type, Callable[[Any], Any]] = {
    list: _each,
    tuple: _each,
    dict: _mapping,
    Fields: _fields,
    Null: lambda value: None,
    Row: _row,
    bytes: lambda value: {"$bytes": _base64(value)},
    Decimal: lambda value: {"$decimal": str(value)},
    dt.datetime: lambda value: {"$datetime": value.isoformat()},
    dt.date: lambda value: {"$date": value.isoformat()},
    dt.time: lambda value: {"$time": value.isoformat()},
    dt.timedelta: lambda value: {"$timedelta": value // dt.timedelta(microseconds=1)},
    uuid.UUID: lambda value: {"$uuid": str(value)},
    Fraction: lambda value: {"$repr": repr(value)},
}


def _other(value: Any) -> Any:
    """A value of a class derived from others, or of one that nobody here knows."""
    if isinstance(value, enum.Enum):
        return to_json(value.value) if isinstance(value, (int, str, float)) else _shown(value)
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, np.ndarray):
        return to_json(value.tolist())
    names = getattr(value, "_fields", None)
    if names is not None and isinstance(value, tuple):
        return _fields(dict(zip(names, value, strict=True)))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    if isinstance(value, msgspec.Struct):
        return _fields({name: getattr(value, name) for name in value.__struct_fields__})
    if isinstance(value, (set, frozenset, list, tuple)):
        return _each(value)
    if isinstance(value, Mapping):
        return _mapping(value)
    bases: tuple[Any, ...] = (int, str, float, bytes)
    for base in bases:
        if isinstance(value, base):
            return to_json(base(value))
    return _shown(value)


def _shown(value: Any) -> Any:
    return {"$repr": repr(value)}


@lru_cache(maxsize=256)
def _class(qualname: str, fields: int) -> Any:
    made = dataclasses.make_dataclass("Key", [f"f{at}" for at in range(fields)], frozen=True)
    made.__qualname__ = qualname
    return made


def _object_key(content: Any) -> Any:
    values = [key_from_json(part) for part in content["values"]]
    return _class(str(content["class"]), len(values))(*values)


_READERS: dict[str, Callable[[Any], Any]] = {
    "$bytes": lambda told: base64.b64decode(told, validate=True),
    "$float": lambda told: float(told),
    "$decimal": lambda told: Decimal(told),
    "$datetime": lambda told: dt.datetime.fromisoformat(told),
    "$date": lambda told: dt.date.fromisoformat(told),
    "$time": lambda told: dt.time.fromisoformat(told),
    "$timedelta": lambda told: dt.timedelta(microseconds=told),
    "$uuid": lambda told: uuid.UUID(told),
    "$text": lambda told: base64.b64decode(told, validate=True).decode("utf-8", "surrogatepass"),
    "$row": lambda told: Row(*map(key_from_json, told)),
    "$object": _object_key,
    "$set": lambda told: frozenset(map(key_from_json, told)),
}


def from_text(text: str) -> Any:
    """The JSON in a path, a parameter or a command; a text that is not JSON is that text."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeEncodeError):
        return text


def value_from_json(told: Any) -> Any:
    """What a client makes of a value: types that JSON does not have come back, objects are
    dicts."""
    if isinstance(told, list):
        return [value_from_json(part) for part in told]
    if not isinstance(told, dict):
        return told
    if len(told) == 1:
        ((name, content),) = told.items()
        if name == "$map":
            return {key_from_json(key): value_from_json(part) for key, part in content}
        if name in _READERS:
            return key_from_json(told)
    return {name: value_from_json(part) for name, part in told.items()}
