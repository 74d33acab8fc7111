"""Keys: how any Python value becomes a stable hash, a key group and a slot.

A key must land in the same key group in every process, on every machine and after every restart,
so Python's salted ``hash`` cannot be used. Instead each key has a *canonical form*, a byte string
with one property: **keys that compare equal in Python have equal canonical forms**. ``1``,
``True``, ``1.0`` and ``numpy.int64(1)`` are one key, as they are in a dict. The canonical form
names the key in durable state as well.

Key groups and slots follow Flink: a key belongs to one of ``max_parallelism`` key groups for the
life of its state, and slot ``group * parallelism // max_parallelism`` owns the group, so each slot
owns a contiguous range and another parallelism only moves ranges.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import struct
import uuid
import zlib
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from scurry.common.copiers import hand_on
from scurry.common.copies import own
from scurry.common.errors import KeyTypeError, shorten

_MASK = (1 << 64) - 1
_INT64 = range(-(1 << 63), 1 << 63)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_CACHE_LIMIT = 1 << 20
#: types of which a copy of a value is always equal to the value
_EXACT = frozenset({int, bool, str, bytes, type(None), dt.date})


def canonical(key: Any) -> bytes:
    """The canonical form of ``key``; raises :class:`KeyTypeError` for what cannot be a key."""
    encoder = _ENCODERS.get(type(key))
    if encoder is not None:
        return encoder(key)
    return _canonical_other(key)


def _int(key: int) -> bytes:
    return b"i%d" % key


def _float(key: float) -> bytes:
    if key != key:
        return b"nan"
    if key.is_integer():
        return b"i%d" % int(key)
    return b"f" + struct.pack(">d", key)


def _ratio(key: Decimal | Fraction) -> bytes:
    """Exact decimals and fractions meet floats and ints where Python says they are equal."""
    if isinstance(key, Decimal) and not key.is_finite():
        return _float(float(key))
    if key == int(key):
        return b"i%d" % int(key)
    nearest = float(key)
    if Fraction(nearest) == Fraction(key):
        return _float(nearest)
    numerator, denominator = key.as_integer_ratio()
    return b"q%d/%d" % (numerator, denominator)


def _sequence(tag: bytes, parts: Sequence[Any]) -> bytes:
    encoded = [canonical(part) for part in parts]
    return tag + b"".join(b"%d:%b" % (len(piece), piece) for piece in encoded)


def _datetime(key: dt.datetime) -> bytes:
    nanos = getattr(key, "nanosecond", 0)
    if key.tzinfo is None or key.utcoffset() is None:
        return b"d" + key.replace(tzinfo=None, fold=0).isoformat().encode() + b"%d" % nanos
    micros = (key - _EPOCH) // dt.timedelta(microseconds=1)
    return b"D%d.%d" % (micros, nanos)


def _enum(key: enum.Enum) -> bytes:
    if isinstance(key, (int, str, float)):
        return canonical(key.value)
    kind = type(key)
    return b"e" + f"{kind.__module__}.{kind.__qualname__}.{key.name}".encode()


def _composed(key: Any) -> tuple[bytes, list[Any]] | None:
    """How the form of a key begins that consists of others, and these; None for any other."""
    kind = type(key)
    if dataclasses.is_dataclass(key):
        names = [field.name for field in dataclasses.fields(key) if field.compare]
    elif hasattr(kind, "__struct_fields__"):
        names = kind.__struct_fields__
    elif hasattr(key, "get_row_kind"):
        # Rows are recognised by shape: this module lies below the one that defines them.
        return b"r", list(key)
    else:
        return None
    return b"c" + kind.__qualname__.encode() + b"|", [getattr(key, name) for name in names]


def _canonical_other(key: Any) -> bytes:
    if isinstance(key, (np.datetime64, np.timedelta64)) and np.isnat(key):
        return b"nat"
    if isinstance(key, np.datetime64):
        return _numpy_datetime(key)
    if isinstance(key, np.generic):
        return canonical(key.item())
    for kind, encoder in _BY_BASE:
        if isinstance(key, kind):
            return encoder(key)
    if isinstance(key, (Decimal, Fraction)):
        return _ratio(key)
    composed = None if isinstance(key, type) else _composed(key)
    if composed is not None:
        return _sequence(*composed)
    raise KeyTypeError(
        f"{shorten(key)} of type {type(key).__name__} cannot be a key: keys need a value-based, "
        "stable identity. Return a number, string, bytes, date, datetime, enum, dataclass, "
        "or a tuple of these from the key selector (for a list, use tuple(...))."
    )


def _numpy_datetime(key: np.datetime64) -> bytes:
    plain = key.item()
    if isinstance(plain, int):
        micros, rest = divmod(int(key.astype("datetime64[ns]").astype(np.int64)), 1000)
        if rest:
            return b"N%d.%d" % (micros, rest)
        plain = key.astype("datetime64[us]").item()
    return canonical(plain)


def _frozenset(key: frozenset[Any]) -> bytes:
    return _sequence(b"z", sorted(canonical(part) for part in key))


_ENCODERS: dict[type, Callable[[Any], bytes]] = {
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
_BY_BASE: tuple[tuple[type, Callable[[Any], bytes]], ...] = (
    (enum.Enum, _enum),
    (bool, _ENCODERS[bool]),
    (int, lambda key: b"i%d" % key),
    (str, _ENCODERS[str]),
    (float, _float),
    (bytes, lambda key: b"b" + bytes(key)),
    (tuple, _ENCODERS[tuple]),
    (dt.datetime, _datetime),
    (dt.date, _ENCODERS[dt.date]),
    (dt.time, lambda key: b"h" + key.isoformat().encode()),
    (dt.timedelta, lambda key: b"y%d" % (key // dt.timedelta(microseconds=1))),
    (uuid.UUID, lambda key: b"u" + key.bytes),
    (frozenset, _frozenset),
)


class FrozenKey:
    """A key given identity by value: one that is not hashable (a plain dataclass), or that has a
    NaN in it, which Python takes to be equal to nothing, not even to its own copy."""

    __slots__ = ("form", "key")

    def __init__(self, key: Any) -> None:
        # its own: the user's may change, or be part of a record that does
        self.key = own(key)
        self.form = canonical(key)

    def __hash__(self) -> int:
        return hash(self.form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenKey) and self.form == other.form

    def __repr__(self) -> str:
        return f"FrozenKey({self.key!r})"


hand_on(FrozenKey)


def thaw(key: Any) -> Any:
    """The user's key behind ``key``."""
    return key.key if type(key) is FrozenKey else key


def form_of(key: Any) -> bytes:
    """The canonical form of an engine key (a user's key, or a :class:`FrozenKey`)."""
    return key.form if type(key) is FrozenKey else canonical(key)


def _mix(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def stable_hash(key: Any) -> int:
    """A 64-bit hash of ``key``, equal for equal keys, the same in every process for ever."""
    kind = type(key)
    if kind is int and key in _INT64:
        return _mix(key & _MASK)
    return _hash_form(form_of(key))


def _hash_form(form: bytes) -> int:
    if form[:1] == b"i":
        number = int(form[1:])
        if number in _INT64:
            return _mix(number & _MASK)
    return _mix(zlib.crc32(form) | (zlib.adler32(form) << 32))


def stable_hash_int64(keys: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, Any]:
    """:func:`stable_hash` of a whole column of integers at once."""
    with np.errstate(over="ignore"):
        value = keys.astype(np.int64).view(np.uint64)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))


def key_group(key: Any, max_parallelism: int) -> int:
    """The key group of ``key``; fixed for the life of the state."""
    return stable_hash(key) % max_parallelism


def slot_of_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """The slot that owns key group ``group`` (Flink's contiguous ranges)."""
    return group * parallelism // max_parallelism


class KeySlots(dict[Any, int]):
    """Key to slot, computed once per distinct key: ``slots[key]`` runs at the speed of a dict.

    The slot of a key that :func:`freeze` replaces is given as its complement, a negative number.
    """

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self.parallelism = parallelism
        self.max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        group = key_group(key, self.max_parallelism)
        slot = slot_of_group(group, self.parallelism, self.max_parallelism)
        if freeze(key) is not key:
            return ~slot
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        self[key] = slot
        return slot

    def of_ints(self, keys: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, Any]:
        """The slots of a column of integer keys."""
        groups = stable_hash_int64(keys) % np.uint64(self.max_parallelism)
        scaled = groups * np.uint64(self.parallelism)
        return (scaled // np.uint64(self.max_parallelism)).astype(np.int64)


def freeze(key: Any) -> Any:
    """The engine's key for a user's key: where Python's equality does not do, identity by value; a
    copy of a key that can change."""
    if type(key) in _EXACT:
        return key
    try:
        hash(key)
    except TypeError:
        return FrozenKey(key)
    return FrozenKey(key) if _holds_nan(key) else own(key)


def _holds_nan(key: Any) -> bool:
    if type(key) in _EXACT:
        return False
    if isinstance(key, (tuple, frozenset)):
        return any(map(_holds_nan, key))
    composed = _composed(key)
    return any(map(_holds_nan, composed[1])) if composed else bool(key != key)
