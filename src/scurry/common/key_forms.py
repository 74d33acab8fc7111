"""Canonical forms: how any key becomes a byte string that says which key it is.

Two keys are one if, and only if, their forms are equal. The form decides about the key group, names
the key in durable state, and, by way of :func:`scurry.common.keys.freeze`, tells keys apart in
memory. As a rule keys that compare equal in Python have equal forms: ``1``, ``True``, ``1.0``,
``Decimal("1.00")`` and ``numpy.int64(1)`` are one key, as they are in a dict, and so are a named
tuple and the tuple of its values, or one moment in two time zones. Where Python's equality does not
do for keys, the form decides otherwise:

- a NaN is equal to a NaN, and a NaT to a NaT;
- a ``Row`` is its values: neither the names of its fields nor its kind are part of the key, so a
  deletion belongs to the key that was inserted;
- a ``numpy.datetime64`` is a moment, whatever its unit: one of unit day equals midnight, as numpy
  has it, and so not the date;
- an aware ``datetime`` is its moment, also in the hour that comes twice;
- a dataclass, or a class derived from a built-in one, is its values, whatever its ``__eq__`` says.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import struct
import uuid
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from scurry.common.errors import KeyTypeError, shorten

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_NAIVE_EPOCH = _EPOCH.replace(tzinfo=None)
_MICROSECOND = dt.timedelta(microseconds=1)
#: Microseconds since 1970 that a `datetime` can express.
_MOMENTS = range(
    (dt.datetime.min.replace(tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND,
    (dt.datetime.max.replace(tzinfo=dt.UTC) - _EPOCH) // _MICROSECOND + 1,
)
_DELTAS = range(
    dt.timedelta.min // _MICROSECOND,
    dt.timedelta.max // _MICROSECOND + 1,
)
_ATTOS = 10**12
#: numpy's units of time in attoseconds.
_UNITS = {
    "W": 7 * 86400 * 10**18,
    "D": 86400 * 10**18,
    "h": 3600 * 10**18,
    "m": 60 * 10**18,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
#: Classes for whose values equality in Python and of forms is the same.
SIMPLE = frozenset({int, bool, str, bytes, type(None), dt.date})
#: Stand first in identities, so that these are equal to no user's tuple.
_COMPOSED, _OTHER = object(), object()


def canonical(key: Any) -> bytes:
    """The canonical form of ``key``; raises :class:`KeyTypeError` for what cannot be a key."""
    return _ENCODERS[type(key)](key)


def _int(key: int) -> bytes:
    return b"i%d" % key


def _float(key: float) -> bytes:
    if key != key:
        return b"nan"
    if key.is_integer():
        return b"i%d" % int(key)
    return b"f" + struct.pack(">d", key)


def _ratio(key: Any) -> bytes:
    """Exact decimals and fractions meet floats and ints where Python says they are equal."""
    if isinstance(key, Decimal) and not key.is_finite():
        return b"nan" if key.is_nan() else _float(float(key))
    numerator, denominator = key.as_integer_ratio()
    if denominator == 1:
        return b"i%d" % numerator
    try:
        nearest = numerator / denominator
    except OverflowError:
        nearest = 0.0
    if nearest and Fraction(nearest) == Fraction(numerator, denominator):
        return _float(nearest)
    return b"q%d/%d" % (numerator, denominator)


def _sequence(tag: bytes, parts: Sequence[Any]) -> bytes:
    encoded = [canonical(part) for part in parts]
    return tag + b"".join(b"%d:%b" % (len(piece), piece) for piece in encoded)


def _datetime(key: dt.datetime) -> bytes:
    if key != key:
        return b"nat"
    nanos = getattr(key, "nanosecond", 0)
    if key.tzinfo is None or key.utcoffset() is None:
        return b"d" + _naive(key).isoformat().encode() + b"%d" % nanos
    micros = (key - _EPOCH) // _MICROSECOND
    return b"D%d.%d" % (micros, nanos)


def _naive(key: dt.datetime) -> dt.datetime:
    if type(key) is dt.datetime:
        # isoformat tells nothing of the fold
        return key if key.tzinfo is None else key.replace(tzinfo=None)
    date = dt.date(key.year, key.month, key.day)
    return dt.datetime.combine(date, dt.time(key.hour, key.minute, key.second, key.microsecond))


def _time(key: dt.time) -> bytes:
    offset = key.utcoffset()
    if offset is None:
        return b"h" + key.replace(tzinfo=None).isoformat().encode()
    seconds = (key.hour * 60 + key.minute) * 60 + key.second
    return b"H%d" % (seconds * 1_000_000 + key.microsecond - offset // _MICROSECOND)


def _timedelta(key: dt.timedelta) -> bytes:
    micros = (key.days * 86400 + key.seconds) * 1_000_000 + key.microseconds
    return _duration(micros, getattr(key, "nanoseconds", 0) * 10**9)


def _duration(micros: int, attos: int) -> bytes:
    return b"Y%d.%d" % (micros, attos) if attos or micros not in _DELTAS else b"y%d" % micros


def _enum(key: enum.Enum) -> bytes:
    if isinstance(key, (int, str, float)):
        return _as_base(key)
    return _member(type(key), key.name)


@lru_cache(maxsize=1 << 12)
def _member(kind: type, name: str) -> bytes:
    return b"e" + f"{kind.__module__}.{kind.__qualname__}.{name}".encode()


def _as_base(key: Any) -> bytes:
    """The form of the built-in value that an object of a derived class is."""
    if isinstance(key, int):
        return b"i%d" % int.__index__(key)
    if isinstance(key, str):
        return _ENCODERS[str](str.__str__(key))
    return _float(float.__float__(key))


class _Composition(NamedTuple):
    """How values of a class consist of others."""

    tag: bytes
    parts: Callable[[Any], tuple[Any, ...]]

    def form(self, key: Any) -> bytes:
        """The canonical form of such a value."""
        return _sequence(self.tag, self.parts(key))


def _composition(kind: type) -> _Composition | None:
    if dataclasses.is_dataclass(kind):
        names: Sequence[str] = [f.name for f in dataclasses.fields(kind) if f.compare]
    elif hasattr(kind, "__struct_fields__"):
        names = kind.__struct_fields__
    elif hasattr(kind, "get_row_kind"):
        # Rows are recognised by shape: this module lies below the one that defines them.
        return _Composition(b"r", attrgetter("_values"))
    else:
        return None
    tag = b"c" + kind.__qualname__.encode() + b"|"
    if len(names) < 2:
        return _Composition(tag, lambda key: tuple(getattr(key, name) for name in names))
    return _Composition(tag, attrgetter(*names))


class _Encoders(dict[type, Callable[[Any], bytes]]):
    """By class, what makes forms of its values; found out once for each class."""

    def __missing__(self, kind: type) -> Callable[[Any], bytes]:
        self[kind] = found = self._find(kind)
        return found

    @staticmethod
    def _find(kind: type) -> Callable[[Any], bytes]:
        for base, encoder in _BY_BASE:
            if issubclass(kind, base):
                return encoder
        composition = _COMPOSITIONS[kind]
        return _refuse if composition is None else composition.form


class _Compositions(dict[type, _Composition | None]):
    """By class, how its values consist of others."""

    def __missing__(self, kind: type) -> _Composition | None:
        self[kind] = found = _composition(kind)
        return found


_COMPOSITIONS = _Compositions()


def _refuse(key: Any) -> bytes:
    raise KeyTypeError(
        f"{shorten(key)} of type {type(key).__name__} cannot be a key: keys need a value-based, "
        "stable identity. Return a number, string, bytes, date, datetime, enum, dataclass, "
        "or a tuple of these from the key selector (for a list, use tuple(...))."
    )


def _numpy(key: np.generic) -> bytes:
    if isinstance(key, (np.datetime64, np.timedelta64)):
        return b"nat" if np.isnat(key) else _numpy_time(key)
    if isinstance(key, np.longdouble):
        return _ratio(key) if np.isfinite(key) else _float(float(key))
    return canonical(key.item())


def _numpy_time(key: np.datetime64 | np.timedelta64) -> bytes:
    moment = isinstance(key, np.datetime64)
    unit, step = np.datetime_data(key)
    if unit in ("Y", "M") and moment:
        key, unit, step = key.astype("datetime64[D]"), "D", 1
    count = int(key.astype(np.int64)) * step
    if unit not in _UNITS:
        # months and years have no length, and what has no unit neither
        return (b"g" if unit == "generic" else b"M") + b"%d" % (count * (12 if unit == "Y" else 1))
    micros, attos = divmod(count * _UNITS[unit], _ATTOS)
    if not moment:
        return _duration(micros, attos)
    nanos, rest = divmod(attos, 10**9)
    if rest or micros not in _MOMENTS:
        return b"N%d.%d" % (micros, attos)
    return b"d" + (_NAIVE_EPOCH + micros * _MICROSECOND).isoformat().encode() + b"%d" % nanos


def _frozenset(key: frozenset[Any]) -> bytes:
    return _sequence(b"z", sorted(canonical(part) for part in key))


_ENCODERS = _Encoders(
    {
        int: _int,
        bool: lambda key: b"i1" if key else b"i0",
        str: lambda key: b"s" + key.encode("utf-8", "surrogatepass"),
        bytes: lambda key: b"b" + key,
        type(None): lambda key: b"n",
        float: _float,
        tuple: lambda key: _sequence(b"t", key),
        dt.datetime: _datetime,
        dt.date: lambda key: b"a%d" % key.toordinal(),
    }
)
_BY_BASE: tuple[tuple[type, Callable[[Any], bytes]], ...] = (
    (np.generic, _numpy),
    (enum.Enum, _enum),
    (int, _as_base),
    (str, _as_base),
    (float, _as_base),
    (bytes, lambda key: b"b" + bytes.__getitem__(key, slice(None))),
    (tuple, lambda key: _sequence(b"t", tuple.__getitem__(key, slice(None)))),
    (dt.datetime, _datetime),
    (dt.date, _ENCODERS[dt.date]),
    (dt.time, _time),
    (dt.timedelta, _timedelta),
    (uuid.UUID, lambda key: b"u" + key.bytes),
    (frozenset, _frozenset),
    (Decimal, _ratio),
    (Fraction, _ratio),
)

# --- in memory

_NOT_PLAIN: Any = object()
#: numpy's numbers, whose counterparts in Python are quickly found
_NUMBERS = frozenset(
    {
        *(
            np.bool_,
            np.int8,
            np.int16,
            np.int32,
            np.int64,
            np.uint8,
            np.uint16,
            np.uint32,
            np.uint64,
        ),
        *(np.float16, np.float32, np.float64),
    }
)


def identity(key: Any) -> Any:
    """What ``key`` is in a dict: equal to the identity of another key if, and only if, their forms
    are; for values of built-in classes such a value itself."""
    if type(key) in _NUMBERS:
        return key.item() if key == key else (_OTHER, b"nan")
    composition = _COMPOSITIONS[type(key)]
    if composition is not None:
        tag, find = composition
        parts = find(key)
        if SIMPLE.issuperset(map(type, parts)):
            return _COMPOSED, tag, parts
    form = canonical(key)
    found = _read(form)
    return (_OTHER, form) if found is _NOT_PLAIN else found


def key_of_form(form: bytes) -> Any:
    """A key with that form, for people who look at keys: of those that are equal, the simplest one;
    None if the form does not tell."""
    if form[:1] == b"D":
        micros = int(form[1:].partition(b".")[0])
        return _EPOCH + micros * _MICROSECOND if micros in _MOMENTS else None
    if form == b"nan":
        return float("nan")
    if form[:1] == b"t":
        return tuple(map(key_of_form, _parts_of(form[1:])))
    found = _read(form)
    return None if found is _NOT_PLAIN else found


def _read(form: bytes) -> Any:
    """The identity of the keys with that form, if all that is in it is of built-in classes."""
    reader = _READERS.get(form[:1])
    return _NOT_PLAIN if reader is None or form in (b"nan", b"nat") else reader(form[1:])


def _read_moment(form: bytes) -> Any:
    text = form.decode()
    end = 26 if text[19:20] == "." else 19
    return dt.datetime.fromisoformat(text[:end]) if text[end:] == "0" else _NOT_PLAIN


def _parts_of(form: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(form):
        colon = form.index(b":", at)
        at = colon + 1 + int(form[at:colon])
        yield form[colon + 1 : at]


def _read_parts(form: bytes) -> Any:
    parts = []
    for piece in _parts_of(form):
        part = _read(piece)
        if part is _NOT_PLAIN:
            return _NOT_PLAIN
        parts.append(part)
    return tuple(parts)


def _read_composed(tag: bytes, form: bytes) -> Any:
    parts = _read_parts(form)
    return parts if parts is _NOT_PLAIN else (_COMPOSED, tag, parts)


def _read_class(form: bytes) -> Any:
    name, _, parts = form.partition(b"|")
    return _read_composed(b"c" + name + b"|", parts)


_READERS: dict[bytes, Callable[[bytes], Any]] = {
    b"i": int,
    b"f": lambda form: struct.unpack(">d", form)[0],
    b"q": lambda form: Fraction(form.decode()),
    b"s": lambda form: form.decode("utf-8", "surrogatepass"),
    b"b": bytes,
    b"n": lambda form: None,
    b"a": lambda form: dt.date.fromordinal(int(form)),
    b"d": _read_moment,
    b"h": lambda form: dt.time.fromisoformat(form.decode()),
    b"y": lambda form: dt.timedelta(microseconds=int(form)),
    b"u": lambda form: uuid.UUID(bytes=form),
    b"t": _read_parts,
    b"r": partial(_read_composed, b"r"),
    b"c": _read_class,
}
