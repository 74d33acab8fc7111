"""Rows that only come, by key, as columns: what joins of two streams keep of each side.

Rows are held in *runs*: Arrow columns in the order of their keys' hashes, rows of one hash in the
order in which they came. A batch is looked up in a run by binary search, all its rows at once. What
a micro-batch adds is one run more. Runs of like size that follow each other are merged, so that
there are few, and a row is copied only a few times while millions come.

In the store a run is one record, with the hashes beside the columns; records are merged in the same
way, so that their number stays small. A record has rows of many keys: when the job is rescaled it
is cut, each row going to the slot that owns its hash. All rows of a slot are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Longs
from scurry.state.codecs.encoding import unknown_format
from scurry.state.journal import Change, in_groups
from scurry.state.rescaling import Piece, Shares
from scurry.state.slot_store import SlotStore

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
_VERSION = 1
#: How many runs of like size, following each other, become one.
_LIKE = 4


class Run(NamedTuple):
    """Rows in the order of their hashes."""

    hashes: Hashes
    columns: pa.RecordBatch


class RowRuns:
    """One table of one operator and slot."""

    def __init__(self, name: str, store: SlotStore, schema: pa.Schema) -> None:
        self.name = name
        self._slot = store
        self._local = store.local
        self._schema = schema
        self._begun = False
        self.runs: list[Run] = []
        self._fresh: list[Run] = []
        #: stored records in the order in which they were written: address and number of rows
        self._stored: list[tuple[bytes, int]] = []

    def begin(self) -> None:
        """Bring what is stored into memory, if it is not. Called at the start of a micro-batch."""
        if self._begun:
            return
        self._begun = True
        for address, record in self._local.scan(self.name):
            run = _unpacked(record, self._schema)
            self._stored.append((address, len(run.hashes)))
            self._hold(run)

    def add(self, hashes: Hashes, columns: pa.RecordBatch) -> None:
        """Rows come."""
        order = np.argsort(hashes, kind="stable")
        run = Run(hashes[order], columns.take(pa.array(order)))
        self._fresh.append(run)
        self._hold(run)

    def _hold(self, run: Run) -> None:
        self.runs.append(run)
        while (count := _alike([len(one.hashes) for one in self.runs])) > 1:
            self.runs[-count:] = [_merged(self.runs[-count:])]

    def find(self, hashes: Hashes) -> Iterator[tuple[Run, Longs, Longs]]:
        """For each run that has some of ``hashes``: the run, which of ``hashes`` are there, and
        where; older runs first."""
        order = np.argsort(hashes)
        asked = hashes[order]
        for run in self.runs:
            low = np.searchsorted(run.hashes, asked, "left")
            counts = np.searchsorted(run.hashes, asked, "right") - low
            total = int(counts.sum())
            if total:
                before = np.cumsum(counts) - counts
                places = np.repeat(low - before, counts) + np.arange(total)
                yield run, np.repeat(order, counts), places

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit: one record more, and records that it replaces."""
        if not self._fresh:
            return
        whole = _merged(self._fresh)
        sizes = [*(size for _, size in self._stored), len(whole.hashes)]
        count = _alike(sizes)
        if count > 1:
            olds = self._stored[1 - count :]
            records = [self._record(address) for address, _ in olds]
            for address, _ in olds:
                yield self.name, address, None
            whole = _merged([*(_unpacked(record, self._schema) for record in records), whole])
            del self._stored[1 - count :]
        address = self._slot.epoch.to_bytes(8, "big")
        self._stored.append((address, len(whole.hashes)))
        yield self.name, address, _packed(whole)

    def _record(self, address: bytes) -> bytes:
        record = self._local.get(self.name, address)
        assert record is not None
        return record

    def settle(self) -> None:
        """The changes are written."""
        self._fresh.clear()

    def forget(self) -> None:
        """What is in memory is no longer what is stored."""
        self._begun = False
        for held in (self.runs, self._fresh, self._stored):
            held.clear()

    @staticmethod
    def redistribute(
        keys: list[bytes], records: Sequence[bytes | None], shares: Shares
    ) -> Iterator[Piece]:
        """A record is cut; what it becomes is told apart by the slot that it comes from."""
        origin = shares.origin.to_bytes(2, "big")
        owners = np.array(shares.owners)
        for address, record in zip(keys, records, strict=True):
            if record is None:
                yield from ((slot, address + origin, None) for slot in range(shares.slots))
                continue
            run = _unpacked(record)
            chosen = owners[(run.hashes % np.uint64(len(owners))).astype(np.int64)]
            for slot in np.unique(chosen).tolist():
                rows = np.flatnonzero(chosen == slot)
                part = Run(run.hashes[rows], run.columns.take(pa.array(rows)))
                yield slot, address + origin, _packed(part)


def _alike(sizes: list[int]) -> int:
    """How many of the last runs are to become one: as many as are not much larger than those that
    follow them, if there are enough of these; else 1."""
    count, total = 1, sizes[-1]
    while count < len(sizes) and sizes[-count - 1] <= _LIKE * total:
        total += sizes[-count - 1]
        count += 1
    return count if count >= _LIKE else 1


def _merged(runs: list[Run]) -> Run:
    if len(runs) == 1:
        return runs[0]
    hashes = np.concatenate([run.hashes for run in runs])
    order = np.argsort(hashes, kind="stable")
    table = pa.Table.from_batches([run.columns for run in runs]).combine_chunks()
    (columns,) = table.take(pa.array(order)).combine_chunks().to_batches() or [runs[0].columns]
    return Run(hashes[order], columns)


def _packed(run: Run) -> bytes:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, run.columns.schema) as writer:
        writer.write_batch(run.columns)
    size = len(run.hashes).to_bytes(8, "big")
    body: bytes = stream.getvalue().to_pybytes()
    return bytes([_VERSION]) + size + run.hashes.astype("<u8").tobytes() + body


def _unpacked(record: bytes, schema: pa.Schema | None = None) -> Run:
    if record[0] != _VERSION:
        raise unknown_format(record[:1])
    count = int.from_bytes(record[1:9], "big")
    hashes = np.frombuffer(record, dtype="<u8", count=count, offset=9).astype(np.uint64)
    columns = pa.ipc.open_stream(memoryview(record)[9 + 8 * count :]).read_next_batch()
    if schema is not None:
        columns = pa.RecordBatch.from_arrays(columns.columns, schema=schema)
    return Run(hashes, columns)
