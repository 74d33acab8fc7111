"""Maps: every entry is a record of its own, below its key.

Reading or writing one entry of a large map therefore costs one entry. Listing a map reads it whole,
once per micro-batch, in the order of the entries' canonical forms: an order that does not depend on
when entries were written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, compress
from operator import add
from typing import Any
from weakref import WeakSet

from scurry.common.key_forms import SIMPLE
from scurry.common.keys import form_of, forms_of, freeze, thaw, thaw_all
from scurry.common.type_information import TypeInformation
from scurry.state.codecs.encoding import IMMUTABLE
from scurry.state.codecs.records import TOGETHER, RecordCodec, head_of
from scurry.state.freezing import Leftovers
from scurry.state.journal import Group, grouped
from scurry.state.runs.below import Below
from scurry.state.runs.key_rows import Marks, Order
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
#: Entries up to which a map that is fetched together with others is decoded whole.
_SMALL = 4
#: Types of what may stay in memory from one micro-batch to the next.
_LASTING = IMMUTABLE | {type(ABSENT)}


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
        #: what is in memory of each key's map; ``ABSENT`` for entries known not to exist
        self.maps: dict[Any, dict[Any, Any]] = {}
        #: by key, the entries that were written, and their values
        self.dirty: dict[Any, dict[Any, Any]] = {}
        #: keys of which every stored entry is in memory, or is to be deleted
        self._complete: set[Any] = set()
        #: keys whose stored entries are all to be deleted
        self._wiped: set[Any] = set()
        #: by key, the records of entries whose values could be changed in place
        self._before: dict[Any, dict[Any, bytes]] = {}
        self._prefixes: dict[Any, bytes] = {}
        #: what was in memory when the table was frozen, and the keys that were complete; None if
        #: it is not frozen. What is asked for moves to :attr:`maps`.
        self._frozen: tuple[dict[Any, dict[Any, Any]], set[Any]] | None = None
        self._shed = Leftovers()
        #: the handles of users, which know :attr:`maps` and :attr:`dirty` themselves
        self.handles: WeakSet[TableMapState] = WeakSet()
        #: keys that were read ahead, in the order in which they came, and their prefixes
        self._asked: tuple[list[Any], list[bytes]] = [], []
        self._ahead = ReadAhead(name, store, self._prefix_ahead, self._take_in)

    def prefetch(self, keys: list[Any]) -> None:
        """``keys`` are about to be handled."""
        if self._store.in_runs(self.name):
            if self._frozen is not None:
                for key in self._frozen[0].keys() & set(keys):
                    self._recall(key)
            self._ahead.announce(keys)

    def _take_in(self, keys: list[Any], below: Below) -> Marks:
        """Bring the small ones among maps that were found into memory, whole: to decode a few
        entries together costs less than to look for one. Says which those are."""
        maps = self.maps
        small: Marks = (below.counts() <= _SMALL) & ~below.large
        if not maps.keys().isdisjoint(keys):
            small &= [key not in maps for key in keys]
        self._complete.update(compress(keys, small.tolist()))
        owners, records = below.owners, below.records
        if not small.all():
            mine = small[owners]
            owners, records = owners[mine], list(compress(records, mine.tolist()))
        its_keys = list(map(keys.__getitem__, owners.tolist()))
        for first in range(0, len(records), TOGETHER):
            some = slice(first, first + TOGETHER)
            self._take_in_some(its_keys[some], records[some])
        return small

    def _take_in_some(self, keys: list[Any], records: list[bytes]) -> None:
        """Bring entries of maps that are not in memory, or not yet whole, into memory."""
        _, entries, values = zip(*self.codec.unpack_entries(records), strict=True)
        if not SIMPLE.issuperset(map(type, entries)):
            entries = tuple(map(freeze, entries))
        maps = self.maps
        for key, entry, value in zip(keys, entries, values, strict=True):
            held = maps.get(key)
            if held is None:
                maps[key] = {entry: value}
            else:
                held[entry] = value
        if not IMMUTABLE.issuperset(map(type, values)):
            for key, entry, value, record in zip(keys, entries, values, records, strict=True):
                if not self.codec.fixed(value):
                    self._before.setdefault(key, {})[entry] = record

    def of(self, key: Any) -> dict[Any, Any]:
        """What is in memory of the map of a key."""
        held = self.maps.get(key)
        if held is None:
            held = self.maps[key] = {}
        return held

    def load(self, key: Any, entry: Any) -> Any:
        """The value of an entry that is not in memory, or ``ABSENT``."""
        if self._frozen is not None and self._recall(key):
            recalled = self.maps[key].get(entry, MISSING)
            if recalled is not MISSING:
                return recalled
        value = ABSENT
        if key not in self._complete:
            form = b"i%d" % entry if type(entry) is int else form_of(entry)
            if self._store.in_runs(self.name):
                record = self._ahead.record(key, form)
            else:
                record = self._store.get(self.name, self._prefix(key) + form)
            if record is not None:
                value = self.codec.unpack(record)
                if type(value) not in IMMUTABLE and not self.codec.fixed(value):
                    self._before.setdefault(key, {})[entry] = record
        held = self.maps.get(key)
        if held is None:
            self.maps[key] = {entry: value}
        else:
            held[entry] = value
        return value

    def _load_all(self, key: Any, held: dict[Any, Any]) -> dict[Any, bytes]:
        """Bring all stored entries of a key into ``held``, its map. Returns the records of those
        whose values could be changed in place."""
        before = {}
        if key not in self._complete:
            for record in self._stored(key):
                entry = freeze(head_of(record)[1])
                if entry not in held:
                    held[entry] = value = self.codec.unpack(record)
                    if not self.codec.fixed(value):
                        before[entry] = record
        return before

    def complete(self, key: Any) -> dict[Any, Any]:
        """The whole map of a key, with ``ABSENT`` for some entries that do not exist."""
        self._recall(key)
        held = self.of(key)
        before = self._load_all(key, held)
        if before:
            self._before.setdefault(key, {}).update(before)
        self._complete.add(key)
        return held

    def clear(self, key: Any) -> None:
        """Delete all entries of a key."""
        self._recall(key)
        self.maps[key] = {}
        self.dirty.pop(key, None)
        self._before.pop(key, None)
        self._wiped.add(key)
        self._complete.add(key)

    def _prefix(self, key: Any) -> bytes:
        found = self._prefixes.get(key)
        if found is None:
            found = self._prefixes[key] = prefix_of(key, self._max_parallelism)
        return found

    def _prefix_ahead(self, keys: list[Any]) -> list[bytes]:
        """The prefixes of keys that are read ahead, or of a single one."""
        if len(keys) == 1:
            return [self._prefix(keys[0])]
        made = prefixes_of(keys, self._max_parallelism)
        self._asked[0].extend(keys)
        self._asked[1].extend(made)
        return made

    def _prefix_all(self, keys: list[Any]) -> list[bytes]:
        asked, made = self._asked
        if keys == asked:
            # as a rule one entry of each key is written, when the key is met
            return made
        self._remember_asked()
        known = self._prefixes
        unknown = [key for key in dict.fromkeys(keys) if key not in known]
        known.update(zip(unknown, prefixes_of(unknown, self._max_parallelism), strict=True))
        return list(map(known.__getitem__, keys))

    def _remember_asked(self) -> None:
        self._prefixes.update(zip(*self._asked, strict=True))
        self._asked = [], []

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
        self._notice_changes_in_place()
        removed = [a for p in map(self._prefix, self._wiped) for a in self._all_below(p)]
        keys = [key for key, written in self.dirty.items() for _ in written]
        entries = list(chain.from_iterable(self.dirty.values()))
        values = list(chain.from_iterable(map(dict.values, self.dirty.values())))
        where = list(map(add, self._prefix_all(keys), forms_of(entries)))
        records = self.codec.pack_entries(keys, thaw_all(entries), values, ABSENT)
        return removed + where, [None] * len(removed) + records

    def _all_below(self, prefix: bytes) -> Iterable[bytes]:
        """What to remove if all entries of a key are to be: in runs the prefix stands for them."""
        if self._store.in_runs(self.name):
            return [prefix]
        return (address for address, _ in self._store.below(self.name, prefix))

    def _notice_changes_in_place(self) -> None:
        """A value that was read and then changed is written, as it would be in memory."""
        for key, before in self._before.items():
            held, dirty = self.maps[key], self.dirty.get(key, {})
            for entry, record in before.items():
                if entry not in dirty and record != self.codec.pack(
                    (key, thaw(entry)), held[entry]
                ):
                    self.dirty.setdefault(key, {})[entry] = held[entry]

    def settle(self) -> None:
        """After a commit: keep entries that nobody can change in place."""
        self._ahead.forget()
        found = 0 if self.sweeper is None else self.sweeper.take_found()
        entries = sum(map(len, self.maps.values()))
        if found or max(entries, len(self._complete), len(self._prefixes)) > self._cache:
            self.forget()
            return
        self._remember_asked()
        self._wiped.clear()
        self.dirty.clear()
        self._before.clear()
        values = chain.from_iterable(map(dict.values, self.maps.values()))
        if not _LASTING.issuperset(map(type, values)):
            self._let_go()

    def _let_go(self) -> None:
        """Drop entries that somebody could change in place."""
        fixed = self.codec.fixed
        for key, held in list(self.maps.items()):
            loose = [e for e, v in held.items() if v is not ABSENT and not fixed(v)]
            if loose:
                self._complete.discard(key)
                for entry in loose:
                    del held[entry]
                if not held:
                    del self.maps[key]

    # --- being frozen

    freezes = True

    @property
    def changed(self) -> int:
        """How many keys were written to since the last commit, or may have been."""
        return len(self.dirty) + len(self._wiped) + len(self._before)

    def freeze(self) -> None:
        """What has changed is written by somebody else, and is not in the store for a while."""
        assert self._frozen is None
        self._frozen = self.maps, self._complete
        self._shed = Leftovers(self.dirty, self._before, self._prefixes, *self._asked)
        self._put({}, {})
        self._complete, self._wiped = set(), set()
        self._before, self._prefixes, self._asked = {}, {}, ([], [])
        self._ahead.forget()

    def _put(self, maps: dict[Any, dict[Any, Any]], dirty: dict[Any, dict[Any, Any]]) -> None:
        self.maps, self.dirty = maps, dirty
        for handle in self.handles:
            handle.attach()

    def _recall(self, key: Any) -> bool:
        """Bring what was in memory of a key when the table was frozen into :attr:`maps`; whether
        there was anything. What can be changed in place stays as it is for whoever writes it."""
        if self._frozen is None:
            return False
        frozen, complete = self._frozen
        held = frozen.pop(key, None)
        if held is None:
            return False
        since = self.maps.setdefault(key, {})
        for entry, value in held.items():
            if entry in since:
                continue
            if value is not ABSENT and type(value) not in IMMUTABLE and not self.codec.fixed(value):
                record = self.codec.pack((key, thaw(entry)), value)
                self._before.setdefault(key, {})[entry] = record
                value = self.codec.unpack(record)
            since[entry] = value
        if key in complete:
            self._complete.add(key)
        return True

    def thaw(self) -> Leftovers:
        """What was frozen is in the store now; what is of no more use."""
        assert self._frozen is not None
        (frozen, complete), left = self._frozen, self._shed
        self._frozen, self._shed = None, Leftovers()
        self._ahead.forget()
        found = 0 if self.sweeper is None else self.sweeper.take_found()
        if not found and self._can_stay(frozen):
            self._complete.update(complete & frozen.keys())
            for key, held in frozen.items():
                held.update(self.maps.get(key, ()))
            frozen.update((key, held) for key, held in self.maps.items() if key not in frozen)
            self._put(frozen, self.dirty)
        else:
            left.add(frozen)
        return left

    def _can_stay(self, frozen: dict[Any, dict[Any, Any]]) -> bool:
        """Whether what was frozen may stay in memory: there is room, and nobody can change it."""
        if len(frozen) + len(self.maps) > self._cache:
            return False
        values = list(chain.from_iterable(map(dict.values, frozen.values())))
        return len(values) <= self._cache and _LASTING.issuperset(map(type, values))

    def forget(self) -> None:
        """Drop everything held in memory."""
        self._frozen = None
        for held in (self.maps, self.dirty, self._complete, self._wiped):
            held.clear()
        self._before.clear()
        self._prefixes.clear()
        self._asked = [], []
        self._ahead.forget()

    def items(self) -> Iterator[tuple[Any, dict[Any, Any]]]:
        """All keys and maps, uncommitted changes included."""
        for key in [] if self._frozen is None else list(self._frozen[0]):
            self._recall(key)
        records = (record for _, record in self._store.scan(self.name))
        keys = list(dict.fromkeys(head_of(record)[0] for record in records))
        self.prefetch(keys)
        plain = self.codec.plain
        for key in dict.fromkeys([*keys, *self.maps]):
            # of keys that are not in memory nothing stays there
            held = dict(self.maps.get(key, ()))
            self._load_all(key, held)
            found = {thaw(e): plain(v) for e, v in held.items() if v is not ABSENT}
            if found:
                yield key, found


class TableMapState(MapState[Any, Any]):
    """The handle users hold."""

    def __init__(self, table: MapTable, scope: KeyScope) -> None:
        self._table = table
        self._scope = scope
        table.handles.add(self)
        self.attach()

    def attach(self) -> None:
        """Know what the table has in memory. Called when that is another dict than before."""
        self._maps = self._table.maps
        self._dirty = self._table.dirty

    def _find(self, key: Any) -> Any:
        scope = self._scope.key
        if type(key) not in SIMPLE:
            key = freeze(key)
        held = self._maps.get(scope)
        if held is not None:
            value = held.get(key, MISSING)
            if value is not MISSING:
                return value
        return self._table.load(scope, key)

    def get(self, key: Any) -> Any:
        if type(key) in SIMPLE:
            # what most calls find, without a further call
            held = self._maps.get(self._scope.key)
            if held is not None:
                value = held.get(key, ABSENT)
                if value is not ABSENT:
                    return value
        value = self._find(key)
        return None if value is ABSENT else value

    def contains(self, key: Any) -> bool:
        return self._find(key) is not ABSENT

    def put(self, key: Any, value: Any) -> None:
        scope = self._scope.key
        if type(key) not in SIMPLE:
            key = freeze(key)
        held = self._maps.get(scope)
        if held is None:
            self._maps[scope] = {key: value}
        else:
            held[key] = value
        dirty = self._dirty.get(scope)
        if dirty is None:
            self._dirty[scope] = {key: value}
        else:
            dirty[key] = value

    def put_all(self, dict_value: dict[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        for key, value in dict(dict_value).items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        TableMapState.put(self, key, ABSENT)

    def clear(self) -> None:
        self._table.clear(self._scope.key)

    def _entries(self) -> list[tuple[Any, Any]]:
        held = self._table.complete(self._scope.key)
        present = [entry for entry, value in held.items() if value is not ABSENT]
        return [(entry, held[entry]) for entry in sorted(present, key=form_of)]

    def between(self, first: Any, last: Any) -> list[tuple[Any, Any]]:
        """The entries whose keys lie from ``first`` to ``last``, in the order of the keys."""
        held = self._table.complete(self._scope.key)
        found = [e for e, v in held.items() if first <= e <= last and v is not ABSENT]
        found.sort()
        return [(entry, held[entry]) for entry in found]

    def items(self) -> list[tuple[Any, Any]]:
        return [(thaw(entry), value) for entry, value in self._entries()]

    def keys(self) -> list[Any]:
        return [thaw(entry) for entry, _ in self._entries()]

    def values(self) -> list[Any]:
        return [value for _, value in self._entries()]

    def is_empty(self) -> bool:
        return not self._entries()
