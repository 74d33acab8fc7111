"""Keys: how any Python value becomes a stable hash, a key group and a slot.

A key must land in the same key group in every process, on every machine and after every restart,
so Python's salted ``hash`` cannot be used. Instead each key has a *canonical form*, a byte string
(:mod:`scurry.common.key_forms`), which also names the key in durable state. Two keys are one if
their forms are equal, and in no other case. The hash is fixed for ever, as ``docs/design/hash.md``
specifies it: state lies where its key's hash says.

In memory keys are the keys of dicts, where Python's equality decides. For most classes both are
the same: numbers, texts, dates, tuples of such. For all others the engine uses a
:class:`FrozenKey`, which has the user's key in it and is equal to whatever has the same form. That
is what :func:`freeze` is for, and whatever holds keys in memory goes through it. If it did not,
whether two keys are one would depend on whether they met in memory or in the store, and so on how
the input is cut into micro-batches.

Key groups and slots follow Flink: a key belongs to one of ``max_parallelism`` key groups for the
life of its state, and slot ``group * parallelism // max_parallelism`` owns the group, so each slot
owns a contiguous range and another parallelism only moves ranges.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
import uuid
import zlib
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import chain, repeat
from math import isnan
from typing import Any

import numpy as np

from scurry.common.copiers import hand_on
from scurry.common.copies import own
from scurry.common.errors import KeyTypeError
from scurry.common.key_forms import SIMPLE, canonical, identity
from scurry.common.types import Row

_MASK = (1 << 64) - 1
_INT64 = range(-(1 << 63), 1 << 63)
_CACHE_LIMIT = 1 << 20
#: Further classes for whose values equality in Python and of forms is the same, if a value is equal
#: to itself. Not numpy's: to compare one of its numbers with a Decimal, or a tuple, is an error.
_PLAIN = SIMPLE | {float, Decimal, Fraction, uuid.UUID, dt.timedelta}
_BASES: tuple[type, ...] = (int, str, float, bytes, tuple)


class FrozenKey:
    """A key whose identity is its canonical form, where Python's equality does not do.

    It is equal to a value of a built-in class that has the same form, which stands for itself."""

    __slots__ = ("_form", "_identity", "key")

    def __init__(self, key: Any) -> None:
        # its own: the user's may change, or be part of a record that does
        self.key = own(key)
        self._form: bytes | None = None
        self._identity = identity(self.key)

    @property
    def form(self) -> bytes:
        """The canonical form, put together when it is first asked for."""
        if self._form is None:
            self._form = canonical(self.key)
        return self._form

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return bool(self._identity == (other._identity if type(other) is FrozenKey else other))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenKey, (self.key,)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        """For keys that were stored together with their forms."""
        self.__init__(state[1]["key"])  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"FrozenKey({self.key!r})"


hand_on(FrozenKey)


def thaw(key: Any) -> Any:
    """The user's key behind ``key``."""
    return key.key if type(key) is FrozenKey else key


def thaw_all(keys: list[Any]) -> list[Any]:
    """:func:`thaw` of many keys: nothing per key where none is frozen."""
    return list(map(thaw, keys)) if FrozenKey in set(map(type, keys)) else keys


def form_of(key: Any) -> bytes:
    """The canonical form of an engine key (a user's key, or a :class:`FrozenKey`)."""
    return key.form if type(key) is FrozenKey else canonical(key)


def forms_of(keys: list[Any]) -> list[bytes]:
    """:func:`form_of` of many engine keys."""
    if set(map(type, keys)) == {int}:
        return [b"i%d" % key for key in keys]
    return tuple_forms(keys) or list(map(form_of, keys))


def tuple_forms(keys: list[Any]) -> list[bytes] | None:
    """The canonical forms of tuples of plain values, a field at a time; None for other keys."""
    if set(map(type, keys)) != {tuple} or len(set(map(len, keys))) != 1 or not keys[0]:
        return None
    pieces: list[Iterable[bytes]] = []
    for field in zip(*keys, strict=True):
        kinds = set(map(type, field))
        if kinds == {int}:
            made = list(map(b"i%d".__mod__, field))
        elif kinds == {str}:
            made = [b"s" + value.encode("utf-8", "surrogatepass") for value in field]
        elif kinds == {dt.datetime} and not any(value.tzinfo for value in field):
            made = [b"d%b0" % value.isoformat().encode() for value in field]
        else:
            made = [canonical(value) for value in field]
        pieces += [map(_SIZES.__getitem__, map(len, made)), made]
    return list(map(b"".join, zip(repeat(b"t"), *pieces, strict=False)))


class _Sizes(dict[int, bytes]):
    """What stands before a part of that many bytes."""

    def __missing__(self, size: int) -> bytes:
        self[size] = found = b"%d:" % size
        return found


_SIZES = _Sizes()


def hash_forms(forms: list[bytes]) -> np.ndarray[Any, Any]:
    """:func:`stable_hash` of the keys that have these forms, none of them a whole number."""
    low = np.fromiter(map(zlib.crc32, forms), dtype=np.uint64, count=len(forms))
    high = np.fromiter(map(zlib.adler32, forms), dtype=np.uint64, count=len(forms))
    return mix_all(low | (high << np.uint64(32)))


def _mix(value: int) -> int:
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & _MASK
    return value ^ (value >> 31)


def stable_hash(key: Any) -> int:
    """A 64-bit hash of ``key``, equal for equal keys, the same in every process for ever."""
    kind = type(key)
    if kind is int and key in _INT64:
        return _mix(key & _MASK)
    return hash_form(form_of(key))


def hash_form(form: bytes) -> int:
    """:func:`stable_hash` of the key that has this canonical form."""
    if form[:1] == b"i":
        number = int(form[1:])
        if number in _INT64:
            return _mix(number & _MASK)
    return _mix(zlib.crc32(form) | (zlib.adler32(form) << 32))


def stable_hash_int64(keys: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, Any]:
    """:func:`stable_hash` of a whole column of integers at once."""
    return mix_all(keys.astype(np.int64).view(np.uint64))


def mix_all(value: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, Any]:
    """The last step of :func:`stable_hash` for many numbers at once."""
    with np.errstate(over="ignore"):
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))


def key_group(key: Any, max_parallelism: int) -> int:
    """The key group of ``key``; fixed for the life of the state."""
    return stable_hash(key) % max_parallelism


def slot_of_group(group: int, parallelism: int, max_parallelism: int) -> int:
    """The slot that owns key group ``group`` (Flink's contiguous ranges)."""
    return group * parallelism // max_parallelism


def check_texts(key: Any) -> None:
    """Raise :class:`KeyTypeError` if a text in an engine key has half of a surrogate pair, which is
    no character: hardly anything outside Python can store or show such a text."""
    kind = type(key)
    if kind is int or (kind is str and key.isascii()):
        return
    # only such halves have these bytes in UTF-8; keys that are bytes may have them, too
    if _HALF.search(form_of(key)) and (text := _broken_text(thaw(key))) is not None:
        raise KeyTypeError(
            f"{text!a} cannot be a key, or part of one: it has half of a surrogate pair, "
            "which is no character, so it cannot be written as UTF-8. Decode the text properly "
            "where it is read, or replace what is broken with "
            "text.encode('utf-8', 'replace').decode()."
        )


_HALF = re.compile(rb"\xed[\xa0-\xbf]")


def _broken_text(key: Any) -> str | None:
    """The first text in ``key`` that cannot be written as UTF-8."""
    if isinstance(key, str):
        return key if _HALF.search(key.encode("utf-8", "surrogatepass")) else None
    parts: Iterable[Any] = ()
    if dataclasses.is_dataclass(key):
        parts = [getattr(key, field.name) for field in dataclasses.fields(key)]
    elif isinstance(key, (tuple, list, frozenset, Row)):
        parts = key
    found = (text for part in parts if (text := _broken_text(part)) is not None)
    return next(found, None)


class KeySlots(dict[Any, int]):
    """Engine key to slot, computed once per distinct key: ``slots[key]`` runs at the speed of a
    dict."""

    def __init__(self, parallelism: int, max_parallelism: int) -> None:
        super().__init__()
        self.parallelism = parallelism
        self.max_parallelism = max_parallelism

    def __missing__(self, key: Any) -> int:
        check_texts(key)
        group = key_group(key, self.max_parallelism)
        slot = slot_of_group(group, self.parallelism, self.max_parallelism)
        if len(self) >= _CACHE_LIMIT:
            self.clear()
        self[key] = slot
        return slot

    def of_ints(self, keys: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, Any]:
        """The slots of a column of integer keys."""
        return self.of_hashes(stable_hash_int64(keys))

    def of_hashes(self, hashes: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, Any]:
        """The slots of keys with those hashes."""
        groups = hashes % np.uint64(self.max_parallelism)
        scaled = groups * np.uint64(self.parallelism)
        return (scaled // np.uint64(self.max_parallelism)).astype(np.int64)


def freeze(key: Any) -> Any:
    """The engine's key for a user's key: the key itself where Python's equality will do, otherwise
    a :class:`FrozenKey`."""
    kind = type(key)
    return key if kind in SIMPLE or _TESTS[kind](key) else FrozenKey(key)


class _Tests(dict[type, Callable[[Any], bool]]):
    """By class, what tells of its values whether Python's equality will do."""

    def __missing__(self, kind: type) -> Callable[[Any], bool]:
        self[kind] = found = _plainness(kind)
        return found


_TESTS = _Tests()


def _plainness(kind: type) -> Callable[[Any], bool]:
    if kind is FrozenKey or kind in SIMPLE:
        return lambda key: True
    if kind in _PLAIN:
        return lambda key: bool(key == key)
    if kind is dt.datetime or kind is dt.time:
        return lambda key: key.tzinfo is None
    base = next((base for base in _BASES if issubclass(kind, base)), None)
    if base is None or kind.__eq__ is not base.__eq__ or kind.__hash__ is not base.__hash__:
        return lambda key: False
    return _are_plain if base is tuple else lambda key: bool(key == key)


def _are_plain(parts: tuple[Any, ...]) -> bool:
    return SIMPLE.issuperset(map(type, parts)) or all(_TESTS[type(p)](p) for p in parts)


def freeze_all(keys: list[Any]) -> list[Any]:
    """:func:`freeze` of many keys: nothing per key where they are what most keys are."""
    kinds = set(map(type, keys))
    if kinds <= SIMPLE:
        return keys
    if all(_TESTS[kind] is _are_plain for kind in kinds) and SIMPLE.issuperset(
        map(type, chain.from_iterable(keys))
    ):
        return keys
    if kinds == {float} and not any(map(isnan, keys)):
        return keys
    return list(map(freeze, keys))
