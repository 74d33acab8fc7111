"""Maps: every entry is a record of its own, below its key.

Reading or writing one entry of a large map therefore costs one entry. Listing a map reads it whole,
once per micro-batch, in the order of the entries' canonical forms: an order that does not depend on
when entries were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scurry.common.keys import form_of, freeze, thaw
from scurry.common.type_information import TypeInformation
from scurry.state.codecs.records import RecordCodec, head_of
from scurry.state.journal import Group, grouped
from scurry.state.runs.key_rows import Order
from scurry.state.slot_records import SlotRecords
from scurry.state.states import MapState
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.read_ahead import ReadAhead
from scurry.state.tables.table import (
    CACHE_ENTRIES,
    MISSING,
    prefix_of,
    prefixes_of,
    with_expired,
)
from scurry.state.tables.ttl import Sweeper

#: Stands for an entry that is known not to exist; None is a value like any other.
ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT"})()


class MapOfKey:
    """What is held in memory of one key's map."""

    __slots__ = ("before", "complete", "dirty", "entries", "wiped")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        #: whether every stored entry is among ``entries``
        self.complete = False
        #: whether all stored entries are to be deleted
        self.wiped = False
        self.dirty: dict[Any, None] = {}
        #: records of entries whose values could be changed in place
        self.before: dict[Any, bytes] = {}


class MapTable:
    """One named map state of one operator in one slot."""

    def __init__(
        self,
        name: str,
        store: SlotRecords,
        max_parallelism: int,
        codec: RecordCodec | None = None,
        sweeper: Sweeper | None = None,
        cache: int = CACHE_ENTRIES,
        entries: TypeInformation | None = None,
        bulk: bool = False,
    ) -> None:
        """``entries`` is the declared type of the entries' keys; ``bulk`` says that
        :meth:`prefetch` is told the keys before they are read."""
        self.name = name
        if bulk:
            store.bulky[name] = Order.PREFIX
        self.codec = RecordCodec(name) if codec is None else codec
        self.entry_codec = RecordCodec(name, entries)
        self.sweeper = sweeper
        self._cache = cache
        self._store = store
        self._max_parallelism = max_parallelism
        self._maps: dict[Any, MapOfKey] = {}
        self._prefixes: dict[Any, bytes] = {}
        self._ahead = ReadAhead(name, store, self._prefix_all)

    def prefetch(self, keys: list[Any]) -> None:
        """``keys`` are about to be handled."""
        if self._store.in_runs(self.name):
            self._ahead.announce(keys)

    def of(self, key: Any) -> MapOfKey:
        """The map of a key."""
        held = self._maps.get(key)
        if held is None:
            held = self._maps[key] = MapOfKey()
        return held

    def load(self, key: Any, held: MapOfKey, entry: Any) -> Any:
        """The value of an entry that is not in memory, or ``ABSENT``."""
        value = ABSENT
        if not (held.complete or held.wiped):
            where = self._prefix(key) + form_of(entry)
            if self._store.in_runs(self.name):
                record = self._ahead.record(key, where)
            else:
                record = self._store.get(self.name, where)
            if record is not None:
                value = self._remember(held, entry, record)
        held.entries[entry] = value
        return value

    def _remember(self, held: MapOfKey, entry: Any, record: bytes) -> Any:
        value = self.codec.unpack(record)
        if not self.codec.fixed(value):
            held.before[entry] = record
        return value

    def load_all(self, key: Any, held: MapOfKey) -> None:
        """Bring all stored entries of a key into memory."""
        if not (held.complete or held.wiped):
            for record in self._stored(key):
                entry = freeze(head_of(record)[1])
                if entry not in held.entries:
                    held.entries[entry] = self._remember(held, entry, record)
        held.complete = True

    def _prefix(self, key: Any) -> bytes:
        found = self._prefixes.get(key)
        if found is None:
            found = self._prefixes[key] = prefix_of(key, self._max_parallelism)
        return found

    def _prefix_all(self, keys: list[Any]) -> list[bytes]:
        known = self._prefixes
        unknown = [key for key in keys if key not in known]
        known.update(zip(unknown, prefixes_of(unknown, self._max_parallelism), strict=True))
        return list(map(known.__getitem__, keys))

    def _stored(self, key: Any) -> Iterable[bytes]:
        """All stored records of a key."""
        if self._store.in_runs(self.name):
            return self._ahead.all_of(key).values()
        return (record for _, record in self._store.below(self.name, self._prefix(key)))

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit, as bytes."""
        if self.sweeper is not None:
            changes = ((self.name, *change) for change in zip(*self._changes(), strict=True))
            yield from grouped(with_expired(changes, self.sweeper))
            return
        where, records = self._changes()
        if where:
            yield self.name, where, records

    def _changes(self) -> tuple[list[bytes], list[bytes | None]]:
        """The addresses of records that changed, and the records."""
        removed: list[bytes] = []
        where: list[bytes] = []
        heads: list[tuple[Any, Any]] = []
        values: list[Any] = []
        prefixes = self._prefix_all(list(self._maps))
        for (key, held), prefix in zip(self._maps.items(), prefixes, strict=True):
            if held.wiped:
                removed.extend(self._all_below(prefix))
            entries = held.entries
            for entry in held.dirty:
                where.append(prefix + form_of(entry))
                heads.append((key, thaw(entry)))
                values.append(entries[entry])
            if held.before:
                for entry in self._changed_in_place(key, held):
                    where.append(prefix + form_of(entry))
                    heads.append((key, thaw(entry)))
                    values.append(entries[entry])
        records = self.codec.pack_entries(heads, values, ABSENT)
        return removed + where, [None] * len(removed) + records

    def _all_below(self, prefix: bytes) -> Iterable[bytes]:
        """What to remove if all entries of a key are to be: in runs the prefix stands for them."""
        if self._store.in_runs(self.name):
            return [prefix]
        return (address for address, _ in self._store.below(self.name, prefix))

    def _changed_in_place(self, key: Any, held: MapOfKey) -> Iterator[Any]:
        for entry, before in held.before.items():
            if entry in held.dirty or held.wiped:
                continue
            if self.codec.pack((key, thaw(entry)), held.entries[entry]) != before:
                yield entry

    def settle(self) -> None:
        """After a commit: keep entries that nobody can change in place."""
        self._ahead.forget()
        found = 0 if self.sweeper is None else self.sweeper.take_found()
        if found or sum(len(held.entries) for held in self._maps.values()) > self._cache:
            self.forget()
            return
        for held in self._maps.values():
            held.wiped = False
            held.dirty.clear()
            held.before.clear()
            mutable = [
                entry
                for entry, value in held.entries.items()
                if value is not ABSENT and not self.codec.fixed(value)
            ]
            for entry in mutable:
                del held.entries[entry]
                held.complete = False

    def forget(self) -> None:
        """Drop everything held in memory."""
        self._maps.clear()
        self._prefixes.clear()
        self._ahead.forget()

    def items(self) -> Iterator[tuple[Any, dict[Any, Any]]]:
        """All keys and maps, uncommitted changes included."""
        records = (record for _, record in self._store.scan(self.name))
        keys = list(dict.fromkeys(head_of(record)[0] for record in records))
        self.prefetch(keys)
        plain = self.codec.plain
        for key in dict.fromkeys([*keys, *self._maps]):
            # of keys that are not in memory nothing stays there
            held = self._maps.get(key, MapOfKey())
            self.load_all(key, held)
            found = {thaw(e): plain(v) for e, v in held.entries.items() if v is not ABSENT}
            if found:
                yield key, found


class TableMapState(MapState[Any, Any]):
    """The handle users hold."""

    def __init__(self, table: MapTable, scope: KeyScope) -> None:
        self._table = table
        self._scope = scope

    def _find(self, key: Any) -> Any:
        held = self._table.of(self._scope.key)
        key = freeze(key)
        value = held.entries.get(key, MISSING)
        return self._table.load(self._scope.key, held, key) if value is MISSING else value

    def get(self, key: Any) -> Any:
        value = self._find(key)
        return None if value is ABSENT else value

    def contains(self, key: Any) -> bool:
        return self._find(key) is not ABSENT

    def put(self, key: Any, value: Any) -> None:
        held = self._table.of(self._scope.key)
        key = freeze(key)
        held.entries[key] = value
        held.dirty[key] = None

    def put_all(self, dict_value: dict[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        TableMapState.put(self, key, ABSENT)

    def clear(self) -> None:
        held = self._table.of(self._scope.key)
        held.entries.clear()
        held.dirty.clear()
        held.before.clear()
        held.wiped = held.complete = True

    def _entries(self) -> list[tuple[Any, Any]]:
        held = self._table.of(self._scope.key)
        self._table.load_all(self._scope.key, held)
        present = [entry for entry, value in held.entries.items() if value is not ABSENT]
        return [(entry, held.entries[entry]) for entry in sorted(present, key=form_of)]

    def between(self, first: Any, last: Any) -> list[tuple[Any, Any]]:
        """The entries whose keys lie from ``first`` to ``last``, in the order of the keys."""
        key = self._scope.key
        held = self._table.of(key)
        if not held.complete:
            self._table.load_all(key, held)
        entries = held.entries
        found = [e for e, v in entries.items() if first <= e <= last and v is not ABSENT]
        found.sort()
        return [(entry, entries[entry]) for entry in found]

    def items(self) -> list[tuple[Any, Any]]:
        return [(thaw(entry), value) for entry, value in self._entries()]

    def keys(self) -> list[Any]:
        return [thaw(entry) for entry, _ in self._entries()]

    def values(self) -> list[Any]:
        return [value for _, value in self._entries()]

    def is_empty(self) -> bool:
        return not self._entries()
