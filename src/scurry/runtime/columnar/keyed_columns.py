"""Typed values for each key, held as columns: a row for each key that is in memory.

An operator asks for the rows of the keys of a batch (:meth:`KeyedColumns.positions`), which reads
those from the store that are not in memory, all at once; works on the columns at these positions;
and says which rows it has changed (:meth:`KeyedColumns.touch`). At the end of the micro-batch each
changed key is written once, as one record: its columns of fixed width as they lie in memory, then
what its columns of Python objects hold. A row that is not *alive* has no record.

Records lie under the key's address, so that they go to the key's slot when the job is rescaled, and
in runs when there are very many. With a time to live a record carries the time of its last write,
in processing time; a row that has expired counts as not alive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from scurry.common.time import Time
from scurry.runtime.batch import Longs
from scurry.state.codecs.encoding import decode, encode, unknown_format
from scurry.state.codecs.records import STAMPED, stamp_bytes
from scurry.state.freezing import Leftovers
from scurry.state.journal import Group, grouped
from scurry.state.runs.key_rows import Order
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import addresses, with_expired
from scurry.state.tables.ttl import Expiry, StateClock, Sweeper
from scurry.state.ttl_config import StateTtlConfig

Array = np.ndarray[Any, Any]
#: The first byte of a record without a time; a record with one begins as all stamped records do.
_PLAIN = 0x61
_STAMP = 9
_LEAST = 1024


class KeyedColumns:
    """One table of one operator and slot."""

    def __init__(
        self,
        name: str,
        store: SlotStore,
        fields: Mapping[str, Any],
        retention_ms: int = 0,
        now: Callable[[], int] = lambda: 0,
    ) -> None:
        """``fields`` are numpy types by name; ``object`` for columns of Python objects."""
        self.name = name
        self._records = store.records
        self._records.bulky[name] = Order.KEY
        self._groups = store.max_parallelism
        self._cache = store.cache
        self._fixed = np.dtype([(n, t) for n, t in fields.items() if t is not object])
        self._objects = [n for n, t in fields.items() if t is object]
        self._retention = retention_ms
        self._now = now
        self.sweeper = make_sweeper(name, store, retention_ms, now) if retention_ms else None
        self._room(_LEAST)

    def _room(self, size: int) -> None:
        self._at: dict[Any, int] = {}
        self._keys: list[Any] = []
        self._addresses: list[bytes] = []
        self.alive = np.zeros(size, dtype=bool)
        self._dirty = np.zeros(size, dtype=bool)
        self._written = np.zeros(size, dtype=np.int64)
        self._rows = np.zeros(size, dtype=self._fixed)
        self._held = {name: np.full(size, None, dtype=object) for name in self._objects}

    def column(self, name: str) -> Array:
        """A column, to be read and written at positions. It may move when positions are asked
        for."""
        held = self._held.get(name)
        return self._rows[name] if held is None else held

    def positions(self, keys: list[Any]) -> Longs:
        """Where the rows of ``keys`` are; :attr:`alive` says which of them have values. Other rows
        are zero, and None in columns of objects."""
        found = list(map(self._at.get, keys))
        if None in found:
            missing = [key for key, at in zip(keys, found, strict=True) if at is None]
            self._load(missing)
            found = list(map(self._at.get, keys))
        places = np.array(found, dtype=np.int64)
        if self._retention:
            self._expire(places)
        return places

    def _load(self, keys: list[Any]) -> None:
        first, end = len(self._keys), len(self._keys) + len(keys)
        if end > len(self.alive):
            self._grow(end)
        self._at.update(zip(keys, range(first, end), strict=True))
        self._keys.extend(keys)
        where = addresses(keys, self._groups)
        self._addresses.extend(where)
        records = self._records.get_many(self.name, where)
        there = [number for number, record in enumerate(records) if record is not None]
        if there:
            self._read(np.array(there) + first, [record for record in records if record])

    def _grow(self, needed: int) -> None:
        size = max(needed, 2 * len(self.alive)) - len(self.alive)
        for name in ("alive", "_dirty", "_written", "_rows"):
            held = getattr(self, name)
            setattr(self, name, np.concatenate([held, np.zeros(size, dtype=held.dtype)]))
        for name, held in self._held.items():
            self._held[name] = np.concatenate([held, np.full(size, None, dtype=object)])

    def _read(self, places: Longs, records: list[bytes]) -> None:
        width = self._fixed.itemsize
        heads = [_STAMP if record[0] == STAMPED else 1 for record in records]
        for record in records:
            if record[0] not in (_PLAIN, STAMPED):
                raise unknown_format(record[:1])
        if width:
            raw = b"".join(
                record[at : at + width] for at, record in zip(heads, records, strict=True)
            )
            self._rows[places] = np.frombuffer(raw, dtype=self._fixed)
        if self._objects:
            rest = [decode(r[at + width :]) for at, r in zip(heads, records, strict=True)]
            for column, values in zip(self._objects, zip(*rest, strict=True), strict=True):
                held = self._held[column]
                for at, value in zip(places.tolist(), values, strict=True):
                    held[at] = value
        self.alive[places] = True
        if self._retention:
            stamps = [
                _time_of(record) if at == _STAMP else self._now()
                for at, record in zip(heads, records, strict=True)
            ]
            self._written[places] = stamps

    def _expire(self, places: Longs) -> None:
        gone = places[self.alive[places] & (self._written[places] + self._retention <= self._now())]
        if len(gone):
            self.clear(gone)

    def touch(self, places: Longs) -> None:
        """The rows at ``places`` have values, which may have changed."""
        self.alive[places] = True
        self._dirty[places] = True
        if self._retention:
            self._written[places] = self._now()

    def clear(self, places: Longs) -> None:
        """The rows at ``places`` have no values any more."""
        self.alive[places] = False
        self._dirty[places] = True
        self._rows[places] = np.zeros(1, dtype=self._fixed)
        for held in self._held.values():
            held[places] = None

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit."""
        changed = np.flatnonzero(self._dirty[: len(self._keys)])
        if not len(changed) and self.sweeper is None:
            return
        where = list(map(self._addresses.__getitem__, changed.tolist()))
        records = self._packed(changed)
        if self.sweeper is None:
            yield self.name, where, records
            return
        single = ((self.name, *change) for change in zip(where, records, strict=True))
        yield from grouped(with_expired(single, self.sweeper))

    def _packed(self, places: Longs) -> list[bytes | None]:
        width, raw = self._fixed.itemsize, self._rows[places].tobytes()
        fixed = [raw[at * width : (at + 1) * width] for at in range(len(places))]
        heads = [bytes([_PLAIN])] * len(places)
        if self._retention:
            heads = [
                bytes([STAMPED]) + stamp_bytes(time) for time in self._written[places].tolist()
            ]
        if self._objects:
            held = [self._held[name][places].tolist() for name in self._objects]
            fixed = [
                row + encode(list(values))
                for row, values in zip(fixed, zip(*held, strict=True), strict=True)
            ]
        return [
            head + row if alive else None
            for head, row, alive in zip(heads, fixed, self.alive[places].tolist(), strict=True)
        ]

    def settle(self) -> None:
        """The changes are written."""
        found = 0 if self.sweeper is None else self.sweeper.take_found()
        if found or len(self._keys) > self._cache:
            self.forget()
        else:
            self._dirty[:] = False

    # --- being frozen: all stays in memory, so nothing is read that is not stored yet

    @property
    def freezes(self) -> bool:
        """Whether there is room for all that is in memory."""
        return self.sweeper is None and len(self._keys) <= self._cache

    @property
    def changed(self) -> int:
        """How many rows have changed."""
        return int(self._dirty[: len(self._keys)].sum())

    def freeze(self) -> None:
        """See :mod:`scurry.state.freezing`."""
        self._dirty[:] = False

    def thaw(self) -> Leftovers:
        """The commit is written."""
        return Leftovers()

    def forget(self) -> None:
        """What is in memory is no longer what is stored."""
        self._room(_LEAST)


def _time_of(record: bytes) -> int:
    return int.from_bytes(record[1:_STAMP], "big") - (1 << 63)


def make_sweeper(name: str, store: SlotStore, retention_ms: int, now: Callable[[], int]) -> Sweeper:
    """What finds the records of a table that have expired, in processing time."""
    config = (
        StateTtlConfig.new_builder(Time.milliseconds(retention_ms))
        .cleanup_incrementally(10, False)
        .build()
    )
    clock = StateClock(now, lambda: None, lambda: None)
    expiry = Expiry(config, clock, since=lambda: None, begin=lambda since: None)
    made = store.sweepers[name] = Sweeper(name, store.records, expiry)
    return made
