"""Rows by key, as columns: what a join keeps of one side.

A table is a line of shards (:mod:`scurry.runtime.columnar.row_shards`), each of which holds the
rows of a stretch of hashes. An operator looks the keys of a batch up (:meth:`RowTable.find`), adds
rows and says what became of those it found. A key is known by its hash here: who asks has to
compare the keys of what is found.

In memory are the shards that were used last, up to a number of rows that follows from the size of
the state's cache; all others lie in the local store, as records, and are read when they are asked
for. Where the shards of a batch are more than there is room for, the batch is to be handled in
several passes (:func:`passes`). A commit merges runs as far as its budget goes.

With a time to live a row that was written too long ago is not found any more. It is left out when
its shard is merged; each commit looks through one shard more, so that all are looked through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Longs
from scurry.runtime.columnar.row_runs import (
    WRITTEN,
    Hashes,
    Mask,
    Notes,
    Run,
    packed,
    sorted_run,
    unpacked,
)
from scurry.runtime.columnar.row_shards import Shard, Stored
from scurry.state.journal import Change, in_groups
from scurry.state.rescaling import Piece, Shares
from scurry.state.slot_store import SlotStore

#: How the names of such tables begin, behind the operator's uid.
TABLES_OF_ROWS = "#runs"
#: Rows in columns that take about as much memory as a decoded entry.
_ROWS_OF_ENTRY = 16
#: A commit merges at least so many rows, if so many are to be merged, and at most so many times as
#: many as it writes.
_LEAST_MERGED, _MERGED_RATIO = 1 << 19, 8
#: Bits of a serial number that count within an epoch.
_EPOCH_SHIFT = 32


class FoundRows(NamedTuple):
    """Living rows; those of one key are in the order in which they came."""

    columns: list[pa.Array]
    hashes: Hashes
    numbers: Longs
    #: where they are: shard, run and places there
    pieces: list[tuple[Shard, Run, Longs]]


class RowTable:
    """One table of one operator and slot. ``keys`` are the columns of keys, none if keys are equal
    where their hashes are. With ``numbered`` every row has two numbers."""

    def __init__(
        self,
        name: str,
        store: SlotStore,
        schema: pa.Schema,
        keys: Sequence[int] = (),
        numbered: bool = False,
        retention_ms: int = 0,
        now: Callable[[], int] = lambda: 0,
    ) -> None:
        self.name = name
        self.room = store.cache * _ROWS_OF_ENTRY
        self._store = store
        self._schema = schema
        self._keys = keys
        self._numbers = 2 if numbered else 0
        self._retention = retention_ms
        self._now = now
        self._turn = 0
        self.forget()

    @property
    def numbered(self) -> bool:
        """Whether rows have numbers."""
        return self._numbers > 0

    def forget(self) -> None:
        """What is in memory is no longer what is stored."""
        self._shards: list[Shard] = []
        self._lows: Hashes = np.zeros(0, dtype=np.uint64)
        self._serial = 0

    def begin(self) -> None:
        """Find out what is stored, if that is not known. Called at the start of a micro-batch."""
        if self._shards:
            return
        stored = [(key, len(record)) for key, record in self._store.reader.scan(self.name)]
        shards = [Shard()]
        for address, size in stored:
            low, high = (int.from_bytes(address[at : at + 8], "big") for at in (0, 8))
            last = shards[-1]
            if not last.stored:
                last.high = high
            elif low > last.high:
                shards.append(Shard(low, high))
                last.high, last = low - 1, shards[-1]
            last.high = max(last.high, high)
            # nobody has counted the rows; a guess will do for deciding what to merge
            last.stored.append(Stored(address, 1 + size // 64, 0))
            last.runs = None
        for shard in shards:
            shard.stored.sort(key=lambda one: one.address[16:])
        shards[-1].high = (1 << 64) - 1
        self._place(shards)

    def _place(self, shards: list[Shard]) -> None:
        self._shards = shards
        self._lows = np.array([shard.low for shard in shards], dtype=np.uint64)

    def _read(self, address: bytes) -> bytes:
        record = self._store.reader.get(self.name, address)
        assert record is not None
        return record

    def _load(self, shard: Shard) -> list[Run]:
        self._turn += 1
        shard.used = self._turn
        # rows that nobody wrote a time for count as written now
        return shard.load(self._read, self._schema, (0, self._now())[: self._numbers])

    def _split(self, asked: Hashes) -> Iterator[tuple[Shard, slice]]:
        """The shards of sorted hashes, and which of them are of each."""
        bounds = [*asked.searchsorted(self._lows).tolist(), len(asked)]
        for shard, begin, end in zip(self._shards, bounds[:-1], bounds[1:], strict=True):
            if begin < end:
                yield shard, slice(begin, end)

    # --- what operators do

    def weight(self, asked: Hashes) -> int:
        """About how many rows have to be in memory for finding the sorted hashes ``asked``."""
        return sum(shard.rows for shard, _ in self._split(asked))

    def find(self, asked: Hashes, once: Hashes | None = None) -> FoundRows:
        """The rows with one of the hashes ``asked``, and one row of each key with a hash of
        ``once``; both are sorted, and no hash occurs twice."""
        pieces: list[tuple[Shard, Run, Longs]] = []
        for shard, mine in self._split(asked):
            for run in self._load(shard):
                places = run.find(asked[mine])
                if self._retention:
                    places = places[~self._expired(run)[places]]
                if len(places):
                    pieces.append((shard, run, places))
        once = asked[:0] if once is None else once
        for shard, mine in self._split(once):
            for run in self._load(shard):
                places = run.first(once[mine], self._keys)
                if len(places):
                    pieces.append((shard, run, places))
        return self._gathered(pieces)

    def every(self) -> FoundRows:
        """All rows that there are."""
        pieces: list[tuple[Shard, Run, Longs]] = []
        for shard in self._shards:
            for run in self._load(shard):
                places = np.flatnonzero(run.alive)
                if self._retention:
                    places = places[~self._expired(run)[places]]
                if len(places):
                    pieces.append((shard, run, places))
        return self._gathered(pieces)

    def _gathered(self, pieces: list[tuple[Shard, Run, Longs]]) -> FoundRows:
        if not pieces:
            none = np.zeros(0, dtype=np.uint64), np.zeros((self._numbers, 0), dtype=np.int64)
            return FoundRows([pa.array([], kind) for kind in self._schema.types], *none, [])
        taken = [run.columns.take(pa.array(places)) for _, run, places in pieces]
        columns = [
            pa.concat_arrays(parts) for parts in zip(*(t.columns for t in taken), strict=True)
        ]
        hashes = np.concatenate([run.hashes[places] for _, run, places in pieces])
        numbers = np.concatenate([run.numbers[:, places] for _, run, places in pieces], axis=1)
        return FoundRows(columns, hashes, numbers, pieces)

    def add(self, hashes: Hashes, columns: pa.RecordBatch, numbers: Longs) -> None:
        """Rows come, in this order."""
        serials = (self._store.epoch << _EPOCH_SHIFT) + self._serial + np.arange(len(hashes))
        self._serial += len(hashes)
        run = sorted_run(hashes, serials, columns, numbers)
        for shard, mine in self._split(run.hashes):
            whole = mine.stop - mine.start == len(run)
            shard.fresh.append(run if whole else run.take(np.arange(mine.start, mine.stop)))

    def change(self, found: FoundRows, changed: Mask, alive: Mask, numbers: Longs) -> None:
        """Some of the rows that were ``found`` just before have gone or have other numbers."""
        begin = 0
        for shard, run, places in found.pieces:
            mine = begin + np.flatnonzero(changed[begin : begin + len(places)])
            at = places[mine - begin]
            begin += len(places)
            if not len(mine):
                continue
            run.alive[at], run.numbers[:, at] = alive[mine], numbers[:, mine]
            if not any(run is one for one in shard.fresh):
                said = run.hashes[at], run.serials[at], alive[mine], numbers[:, mine]
                shard.pending.append(Notes(*said))

    def relax(self) -> None:
        """Let go of shards for which there is no room. Nothing that was found may be changed
        afterwards."""
        loaded = sorted((s for s in self._shards if s.runs), key=lambda shard: shard.used)
        over = sum(shard.rows for shard in loaded) - self.room
        for shard in loaded:
            if over <= 0:
                return
            over -= shard.rows
            shard.unload()

    def _expired(self, run: Run) -> Mask:
        found: Mask = run.numbers[WRITTEN] + self._retention <= self._now()
        return found

    # --- commits

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit: a record for each shard, and records that it
        replaces."""
        touched = [shard for shard in self._shards if shard.fresh or shard.pending]
        written = sum(len(run) for shard in touched for run in shard.fresh)
        # something is merged in any case, so that a shard that cannot be cut is, too
        self._budget, self._merged = max(_LEAST_MERGED, _MERGED_RATIO * written), False
        shards: list[Shard] = []
        swept = self._swept()
        for shard in self._shards:
            if shard.fresh or shard.pending or shard is swept:
                yield from self._commit(shard, shards, shard is swept)
            else:
                shards.append(shard)
        self._place(shards)

    def _swept(self) -> Shard | None:
        """The shard that is to be looked through for expired rows."""
        if not self._retention or not self._shards:
            return None
        shard = self._shards[self._store.epoch % len(self._shards)]
        runs = self._load(shard)
        gone = sum(int(self._expired(run).sum()) for run in runs)
        return shard if 4 * gone > sum(map(len, runs)) else None

    def _commit(self, shard: Shard, shards: list[Shard], wholly: bool) -> Iterator[Change]:
        """Write what changed in ``shard``; it, or what it becomes, is added to ``shards``."""
        run, notes = shard.take_changes(self._schema, self._numbers)
        count = len(shard.stored) if wholly else shard.due(len(run), len(notes.hashes))
        cost = len(run) + sum(
            one.rows + one.notes for one in shard.stored[len(shard.stored) - count :]
        )
        if count and (cost <= self._budget or not self._merged):
            self._budget, self._merged = self._budget - cost, True
            self._load(shard)
            shard.apply(notes)
            for one in shard.stored[len(shard.stored) - count :]:
                yield self.name, one.address, None
            run, notes = shard.take_last(count, run, notes)
        parts = [(shard, run)]
        if not shard.stored:
            parts = shard.split(self._unexpired(run))
        for part, mine in parts:
            shards.append(part)
            if len(mine) or len(notes.hashes):
                ends = (end.to_bytes(8, "big") for end in (part.low, part.high, self._store.epoch))
                address = b"".join(ends)
                yield self.name, address, part.append(address, mine, notes)

    def _unexpired(self, run: Run) -> Run:
        if not self._retention or not (gone := self._expired(run)).any():
            return run
        return run.take(np.flatnonzero(~gone))

    def settle(self) -> None:
        """The changes are written."""
        self._serial = 0
        self.relax()

    @staticmethod
    def redistribute(
        keys: list[bytes], records: Sequence[bytes | None], shares: Shares
    ) -> Iterator[Piece]:
        """A record is cut; what it becomes is told apart by the slot that it comes from."""
        origin = shares.origin.to_bytes(2, "big")
        owners = np.array(shares.owners)

        def owned(hashes: Hashes) -> Longs:
            mine: Longs = owners[(hashes % np.uint64(len(owners))).astype(np.int64)]
            return mine

        for address, record in zip(keys, records, strict=True):
            if record is None:
                yield from ((slot, address + origin, None) for slot in range(shares.slots))
                continue
            run, notes = unpacked(record)
            of_rows, of_notes = owned(run.hashes), owned(notes.hashes)
            for slot in np.unique(np.concatenate([of_rows, of_notes])).tolist():
                part = run.take(np.flatnonzero(of_rows == slot))
                yield slot, address + origin, packed(part, notes.take(of_notes == slot))


def passes(tables: Sequence[RowTable], asked: Hashes) -> list[Hashes]:
    """The sorted hashes ``asked`` in as many parts as there have to be so that the tables have room
    for what is found of each."""
    weight = sum(table.weight(asked) for table in tables)
    count = -(-weight // max(1, sum(table.room for table in tables)))
    count = min(count, len(asked))
    return list(np.array_split(asked, count)) if count > 1 else [asked]
