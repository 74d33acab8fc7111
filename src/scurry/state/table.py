"""Tables: the decoded values of one named state, above the local store.

Within a micro-batch a table answers reads from a dict and remembers what changed; at the commit it
hands over the changes as bytes. A value that users could change in place (a list, a dataclass) is
compared by its bytes at the commit, so that ``state.value().append(x)`` without ``update`` has the
same effect however the input is cut into batches.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from scurry.common.errors import KeyTypeError, StateError
from scurry.common.keys import canonical, form_of, stable_hash
from scurry.state.encoding import IMMUTABLE, decode, encode
from scurry.state.journal import Change
from scurry.state.local import LocalStore
from scurry.state.states import ValueState
from scurry.windowing.windows import TimeWindow, WindowKey

#: Stands for "not looked up yet"; None is a user's value meaning "nothing there".
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
_KEEP = 200_000
_LONG_FORM = 300
_SPAN = struct.Struct(">QQ")
_BIAS = 1 << 63


class KeyScope:
    """Holds the key being processed; every state handle of an operator looks here."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: Any = None


# typed, because a window key equals the plain tuple of its parts
@lru_cache(maxsize=1 << 16, typed=True)
def address(key: Any, max_parallelism: int) -> bytes:
    """Where the records of ``key`` live in a table: its key group, then its canonical form."""
    if type(key) is WindowKey:
        return prefix_of(key, max_parallelism)
    return (stable_hash(key) % max_parallelism).to_bytes(2, "big") + form_of(key)


@lru_cache(maxsize=1 << 16, typed=True)
def prefix_of(key: Any, max_parallelism: int) -> bytes:
    """The beginning of the addresses of a key that has many records: no other key's begin so.

    The addresses of a key's windows begin with that of the key, and lie in its key group."""
    if type(key) is WindowKey:
        form = window_form(key[1])
        return prefix_of(key[0], max_parallelism) + len(form).to_bytes(2, "big") + form
    form = form_of(key)
    if len(form) > _LONG_FORM:
        form = b"#" + hashlib.blake2b(form, digest_size=32).digest()
    group = stable_hash(key) % max_parallelism
    return group.to_bytes(2, "big") + len(form).to_bytes(2, "big") + form


def window_form(window: Any) -> bytes:
    """The canonical form of a window, in the order of windows where they are spans of time."""
    if type(window) is TimeWindow:
        try:
            return _SPAN.pack(window[0] + _BIAS, window[1] + _BIAS)
        except struct.error:
            pass
    try:
        form = canonical(window)
    except KeyTypeError:
        form = b"p" + encode(window)
    if len(form) <= _LONG_FORM // 2:
        return form
    return b"#" + hashlib.blake2b(form, digest_size=32).digest()


def pack_record(key: Any, value: Any) -> bytes:
    """A record holds its key too, so that tables can be listed and redistributed."""
    encoded = encode(key)
    return len(encoded).to_bytes(4, "big") + encoded + encode(value)


def unpack_record(record: bytes) -> tuple[Any, Any]:
    """Key and value of a record."""
    end = 4 + int.from_bytes(record[:4], "big")
    return decode(record[4:end]), decode(record[end:])


class StateTable:
    """One named state of one operator in one slot."""

    def __init__(self, name: str, store: LocalStore, max_parallelism: int) -> None:
        self.name = name
        self.live: dict[Any, Any] = {}
        self.dirty: dict[Any, None] = {}
        self._store = store
        self._max_parallelism = max_parallelism
        self._addresses: dict[Any, bytes] = {}
        self._mutable: dict[Any, bytes] = {}

    def load(self, key: Any) -> Any:
        """The stored value of ``key`` (None if there is none), now in :attr:`live`."""
        record = self._store.get(self.name, self._address(key))
        value = None
        if record is not None:
            value = unpack_record(record)[1]
            if type(value) not in IMMUTABLE:
                self._mutable[key] = record
        self.live[key] = value
        return value

    def _address(self, key: Any) -> bytes:
        found = self._addresses.get(key)
        if found is None:
            found = self._addresses[key] = address(key, self._max_parallelism)
        return found

    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        for key in self.dirty:
            value = self.live[key]
            record = None if value is None else self._record(key, value)
            yield self.name, self._address(key), record
        for key, before in self._mutable.items():
            if key not in self.dirty:
                record = self._record(key, self.live[key])
                if record != before:
                    yield self.name, self._address(key), record

    def _record(self, key: Any, value: Any) -> bytes:
        try:
            return pack_record(key, value)
        except StateError as failure:
            state = self.name.replace("\x1f", "', state '")
            raise StateError(f"In operator '{state}': {failure}") from failure

    def settle(self) -> None:
        """After a commit: keep what may be kept for the next batch."""
        self.dirty.clear()
        self._mutable.clear()
        if len(self.live) > _KEEP:
            self.forget()
            return
        for key in [k for k, v in self.live.items() if type(v) not in IMMUTABLE]:
            del self.live[key]

    def forget(self) -> None:
        """Drop everything decoded; the store below is asked again."""
        self.live.clear()
        self.dirty.clear()
        self._addresses.clear()
        self._mutable.clear()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All keys and values, uncommitted changes included."""
        for _, record in self._store.scan(self.name):
            key, value = unpack_record(record)
            if key not in self.live:
                yield key, value
        for key, value in self.live.items():
            if value is not None:
                yield key, value


class TableValueState(ValueState[Any]):
    """The handle users hold: reads and writes the table at the current key."""

    __slots__ = ("_dirty", "_live", "_scope", "_table")

    def __init__(self, table: StateTable, scope: KeyScope) -> None:
        self._table = table
        self._scope = scope
        self._live = table.live
        self._dirty = table.dirty

    def value(self) -> Any:
        key = self._scope.key
        value = self._live.get(key, MISSING)
        return self._table.load(key) if value is MISSING else value

    def update(self, value: Any) -> None:
        key = self._scope.key
        self._live[key] = value
        self._dirty[key] = None

    def clear(self) -> None:
        self.update(None)
