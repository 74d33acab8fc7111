"""Lists: what is appended to a key in one micro-batch is one record.

So appending never reads, and costs what was appended, however long the list is. Reading puts the
records of a key together; a list found in many pieces is written back as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scurry.state.codecs.records import RecordCodec, head_of
from scurry.state.freezing import Leftovers
from scurry.state.journal import Change, in_groups
from scurry.state.runs.key_rows import Order
from scurry.state.slot_records import SlotRecords
from scurry.state.states import ListState
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.read_ahead import ReadAhead
from scurry.state.tables.table import CACHE_ENTRIES, prefix_of, prefixes_of, with_expired
from scurry.state.tables.ttl import Sweeper

_MANY_PIECES = 16


class ListTable:
    """One named list state of one operator in one slot."""

    def __init__(
        self,
        name: str,
        store: SlotRecords,
        max_parallelism: int,
        epoch: Callable[[], int],
        codec: RecordCodec | None = None,
        sweeper: Sweeper | None = None,
        cache: int = CACHE_ENTRIES,
        bulk: bool = False,
    ) -> None:
        """``bulk`` says that :meth:`prefetch` is told the keys before they are read."""
        self.name = name
        if bulk:
            store.bulky[name] = Order.PREFIX
        self.codec = RecordCodec(name) if codec is None else codec
        self.sweeper = sweeper
        self._cache = cache
        self._store = store
        self._max_parallelism = max_parallelism
        self._epoch = epoch
        self._whole: dict[Any, list[Any]] = {}
        self._added: dict[Any, list[Any]] = {}
        self._replaced: dict[Any, None] = {}
        self._before: dict[Any, list[Any]] = {}
        #: lists, and what others had appended, when the table was frozen; None if it is not
        self._frozen: tuple[dict[Any, list[Any]], dict[Any, list[Any]]] | None = None
        self._shed = Leftovers()
        self._ahead = ReadAhead(name, store, lambda keys: prefixes_of(keys, max_parallelism))

    def prefetch(self, keys: list[Any]) -> None:
        """``keys`` are about to be handled."""
        if self._store.in_runs(self.name):
            self._ahead.announce(keys)

    def add(self, key: Any, value: Any) -> None:
        """Append to a key's list."""
        self._added.setdefault(key, []).append(value)
        whole = self._whole.get(key)
        if whole is not None:
            whole.append(value)

    def replace(self, key: Any, values: list[Any]) -> None:
        """Make ``values`` a key's list."""
        self._replaced[key] = None
        self._added[key] = list(values)
        self._whole[key] = list(values)

    def get(self, key: Any) -> list[Any]:
        """A key's list."""
        whole = self._whole.get(key)
        if whole is None:
            pieces = list(map(self.codec.unpack_many, self._pieces(key)))
            whole = [value for piece in pieces for value in piece]
            if not all(map(self.codec.fixed, whole)):
                self._before[key] = [self.codec.pack_many((key,), piece) for piece in pieces]
            whole.extend(self._added.get(key, ()))
            self._whole[key] = whole
            if len(pieces) > _MANY_PIECES:
                self.replace(key, whole)
        return self._whole[key]

    def _pieces(self, key: Any) -> list[bytes]:
        """The records of a key, the oldest first, also those that somebody else is writing."""
        if self._frozen is None:
            return self._stored(key)
        whole, added = self._frozen
        if key in whole:
            values = whole[key]
            return [self.codec.pack_many((key,), values)] if values else []
        found = self._stored(key)
        if key in added:
            found.append(self.codec.pack_many((key,), added[key]))
        return found

    def _stored(self, key: Any) -> list[bytes]:
        if self._store.in_runs(self.name):
            found = self._ahead.all_of(key)
            return [found[address] for address in sorted(found)]
        prefix = prefix_of(key, self._max_parallelism)
        return [record for _, record in self._store.below(self.name, prefix)]

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        return with_expired(self._changes(), self.sweeper)

    def _changes(self) -> Iterator[Change]:
        self._notice_changes_in_place()
        in_runs = self._store.in_runs(self.name)
        keys = list(dict.fromkeys([*self._replaced, *self._added]))
        prefixes = dict(zip(keys, prefixes_of(keys, self._max_parallelism), strict=True))
        for prefix in map(prefixes.__getitem__, self._replaced):
            if in_runs:
                # it stands for all that lies below
                yield self.name, prefix, None
            else:
                for address, _ in self._store.below(self.name, prefix):
                    yield self.name, address, None
        epoch = self._epoch().to_bytes(8, "big")
        for key, values in self._added.items():
            if values:
                yield self.name, prefixes[key] + epoch, self.codec.pack_many((key,), values)

    def _notice_changes_in_place(self) -> None:
        """An element that was read and then changed is written, as it would be in memory."""
        for key, before in self._before.items():
            if key not in self._replaced:
                added = len(self._added.get(key, ()))
                stored = self._whole[key][: len(self._whole[key]) - added]
                old = [value for piece in before for value in self.codec.unpack_many(piece)]
                pack = self.codec.pack_many
                if pack((key,), stored) != pack((key,), old):
                    self.replace(key, self._whole[key])

    def settle(self) -> None:
        """After a commit: keep lists that nobody can change in place."""
        self._ahead.forget()
        if self.sweeper is not None and self.sweeper.take_found():
            self.forget()
        mutable = set(self._before)
        for key, values in self._added.items():
            if not all(map(self.codec.fixed, values)):
                mutable.add(key)
        self._added.clear()
        self._replaced.clear()
        self._before.clear()
        if sum(map(len, self._whole.values())) > self._cache:
            self._whole.clear()
        for key in mutable:
            self._whole.pop(key, None)

    # --- being frozen

    freezes = True

    @property
    def changed(self) -> int:
        """How many keys were written to since the last commit, or may have been."""
        return len(self._added) + len(self._before)

    def freeze(self) -> None:
        """What has changed is written by somebody else, and is not in the store for a while."""
        assert self._frozen is None
        self._frozen = self._whole, self._added
        self._shed = Leftovers(self._whole, self._added, self._replaced, self._before)
        self._whole, self._added, self._replaced, self._before = {}, {}, {}, {}
        self._ahead.forget()

    def thaw(self) -> Leftovers:
        """What was frozen is in the store now; what is of no more use."""
        left = self._shed
        self._frozen, self._shed = None, Leftovers()
        self._ahead.forget()
        return left

    def forget(self) -> None:
        """Drop everything held in memory."""
        self._frozen = None
        for held in (self._whole, self._added, self._replaced, self._before):
            held.clear()
        self._ahead.forget()

    def items(self) -> Iterator[tuple[Any, list[Any]]]:
        """All keys and lists, uncommitted changes included."""
        records = (record for _, record in self._store.scan(self.name))
        keys = list(dict.fromkeys(head_of(record)[0] for record in records))
        self.prefetch(keys)
        frozen = () if self._frozen is None else self._frozen[1]
        for key in dict.fromkeys([*keys, *frozen, *self._added]):
            values = self.get(key)
            if values:
                yield key, list(map(self.codec.plain, values))


class TableListState(ListState[Any]):
    """The handle users hold."""

    def __init__(self, table: ListTable, scope: KeyScope) -> None:
        self._table = table
        self._scope = scope

    def get(self) -> list[Any]:
        return list(self._table.get(self._scope.key))

    def add(self, value: Any) -> None:
        self._table.add(self._scope.key, value)

    def add_all(self, values: list[Any]) -> None:
        for value in values:
            self._table.add(self._scope.key, value)

    def update(self, values: list[Any]) -> None:
        self._table.replace(self._scope.key, values)

    def clear(self) -> None:
        self._table.replace(self._scope.key, [])
