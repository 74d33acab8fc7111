"""Tables: the decoded values of one named state, above the local store.

Within a micro-batch a table answers reads from a dict and remembers what changed; at the commit it
hands over the changes as bytes. A value that users could change in place (a list, a dataclass) is
compared by its bytes at the commit, so that ``state.value().append(x)`` without ``update`` has the
same effect however the input is cut into batches.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from scurry.common.keys import form_of, stable_hash
from scurry.state.journal import Change, RecordReader, stored_key
from scurry.state.records import RecordCodec, head_of
from scurry.state.states import ValueState
from scurry.state.ttl import Sweeper

#: Stands for "not looked up yet"; None is a user's value meaning "nothing there".
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
#: Decoded entries that a table keeps from one micro-batch to the next, unless told otherwise.
CACHE_ENTRIES = 100_000
_LONG_FORM = 300


class KeyScope:
    """Holds the key being processed; every state handle of an operator looks here."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: Any = None


def address(key: Any, max_parallelism: int) -> bytes:
    """Where the records of ``key`` live in a table: its key group, then its canonical form."""
    return (stable_hash(key) % max_parallelism).to_bytes(2, "big") + form_of(key)


def prefix_of(key: Any, max_parallelism: int) -> bytes:
    """The beginning of the addresses of a key that has many records: no other key's begin so."""
    form = form_of(key)
    if len(form) > _LONG_FORM:
        form = b"#" + hashlib.blake2b(form, digest_size=32).digest()
    group = stable_hash(key) % max_parallelism
    return group.to_bytes(2, "big") + len(form).to_bytes(2, "big") + form


class StateTable:
    """One named state of one operator in one slot.

    In memory are the entries used in the current micro-batch, and between micro-batches at most
    ``cache`` of them.
    """

    def __init__(
        self,
        name: str,
        store: RecordReader,
        max_parallelism: int,
        codec: RecordCodec | None = None,
        sweeper: Sweeper | None = None,
        cache: int = CACHE_ENTRIES,
    ) -> None:
        self.name = name
        self.live: dict[Any, Any] = {}
        self.dirty: dict[Any, None] = {}
        self.codec = RecordCodec(name) if codec is None else codec
        self.sweeper = sweeper
        self._cache = cache
        self._store = store
        self._max_parallelism = max_parallelism
        self._addresses: dict[Any, bytes] = {}
        self._mutable: dict[Any, bytes] = {}

    def load(self, key: Any) -> Any:
        """The stored value of ``key`` (None if there is none), now in :attr:`live`."""
        record = self._store.get(self.name, self._address(key))
        value = None
        if record is not None:
            value = self.codec.unpack(record)
            if not self.codec.fixed(value):
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
        return with_expired(self._changes(), self.sweeper)

    def _changes(self) -> Iterator[Change]:
        name, pack, live, where = self.name, self.codec.pack, self.live, self._address
        for key in self.dirty:
            value = live[key]
            yield name, where(key), None if value is None else pack((key,), value)
        for key, before in self._mutable.items():
            if key not in self.dirty:
                record = pack((key,), live[key])
                if record != before:
                    yield name, where(key), record

    def settle(self) -> None:
        """After a commit: keep what may be kept for the next batch."""
        if self.sweeper is not None and self.sweeper.take_found():
            self.forget()
        if len(self.live) > self._cache:
            self._keep_recent()
        self.dirty.clear()
        self._mutable.clear()
        fixed = self.codec.fixed
        for key in [k for k, v in self.live.items() if v is not None and not fixed(v)]:
            del self.live[key]

    def _keep_recent(self) -> None:
        recent = self.dirty if len(self.dirty) <= self._cache else ()
        kept = [(key, self.live[key], self._addresses.get(key)) for key in recent]
        self.live.clear()
        self._addresses.clear()
        for key, value, where in kept:
            self.live[key] = value
            if where is not None:
                self._addresses[key] = where

    def forget(self) -> None:
        """Drop everything decoded; the store below is asked again."""
        self.live.clear()
        self.dirty.clear()
        self._addresses.clear()
        self._mutable.clear()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """All keys and values, uncommitted changes included."""
        plain = self.codec.plain
        for _, record in self._store.scan(self.name):
            key = head_of(record)[0]
            if key not in self.live:
                yield key, plain(self.codec.unpack(record))
        for key, value in self.live.items():
            if value is not None:
                yield key, plain(value)


def with_expired(changes: Iterator[Change], sweeper: Sweeper | None) -> Iterator[Change]:
    """``changes``, and the removal of some records that have expired."""
    if sweeper is None:
        yield from changes
        return
    written = set()
    for change in changes:
        written.add(stored_key(change[1]))
        yield change
    for where in sweeper.expired(len(written)):
        if where not in written:
            yield sweeper.table, where, None


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
