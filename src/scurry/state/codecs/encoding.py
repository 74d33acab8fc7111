"""How single keys and values become bytes, with a version in front.

Scalars are written as MessagePack by msgspec (a fifth of the time of pickle); everything else is
pickled, because MessagePack cannot tell a tuple from a list. The first byte says which, and leaves
room for formats to come.
"""

from __future__ import annotations

import pickle
from typing import Any

import msgspec

from scurry.common.errors import StateError, shorten
from scurry.common.keys import freeze
from scurry.common.pickling import dumps
from scurry.common.windows import TimeWindow, WindowKey

_MSGPACK = b"\x01"
_PICKLE = b"\x02"
#: a key and its window of time: (key, start, end) as MessagePack
_WINDOW_KEY = b"\x03"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
#: Types that MessagePack keeps as they are.
SCALARS = frozenset({int, float, str, bytes, bool, type(None)})
_SMALL = range(-(1 << 63), 1 << 64)


class Null:
    """Stands for a None that somebody put into a state, where None itself means "nothing"."""

    def __reduce__(self) -> str:
        return "NULL"

    def __repr__(self) -> str:
        return "NULL"


NULL = Null()
#: Types that users cannot change in place, so that a decoded value may be kept across batches.
IMMUTABLE = SCALARS | {Null}


def encode(value: Any) -> bytes:
    """``value`` as versioned bytes."""
    kind = type(value)
    try:
        if kind in SCALARS and (kind is not int or value in _SMALL):
            return _MSGPACK + _encode(value)
        if kind is WindowKey and _is_plain(value):
            return _WINDOW_KEY + _encode((value[0], *value[1]))
    except UnicodeEncodeError:
        # a text with half a character in it, which a pickle can hold
        pass
    try:
        return _PICKLE + dumps(value)
    except Exception as failure:
        raise unstorable(value, failure) from failure


def _is_plain(place: WindowKey) -> bool:
    key, window = place
    numbers = [*window, key] if type(key) is int else window
    return (
        type(window) is TimeWindow
        and type(key) in SCALARS
        and all(number in _SMALL for number in numbers)
    )


def unstorable(value: Any, failure: Exception) -> StateError:
    """The error for a value that has no bytes."""
    return StateError(
        f"{shorten(value)} cannot be stored in state: {failure}. State holds plain data: "
        "numbers, strings, collections, dataclasses; keep connections and locks outside it."
    )


def decode(data: bytes | memoryview) -> Any:
    """The value behind :func:`encode`'s bytes."""
    view = memoryview(data)
    version = bytes(view[:1])
    if version == _MSGPACK:
        return _decode(view[1:])
    if version == _PICKLE:
        return pickle.loads(view[1:])
    if version == _WINDOW_KEY:
        key, start, end = _decode(view[1:])
        return WindowKey(key, TimeWindow(start, end))
    raise unknown_format(version)


def decode_key(data: bytes | memoryview) -> Any:
    """The engine key behind :func:`encode`'s bytes, also if it was stored when keys of its class
    were not yet frozen."""
    found = decode(data)
    if type(found) is WindowKey:
        return WindowKey(freeze(found[0]), found[1])
    return freeze(found)


def unknown_format(version: bytes) -> StateError:
    """The error for bytes of a format that is not known (yet)."""
    return StateError(
        f"State was written in format {version!r}, which this version of Scurry does not know. "
        "Start the job with the version of Scurry that wrote the checkpoint, or a later one."
    )
