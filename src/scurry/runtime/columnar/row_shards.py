"""Shards: the runs of a stretch of hashes, of which as many are in memory as there is room for.

A shard holds the rows whose keys' hashes lie between two bounds. What a micro-batch adds to it is
one run more, with notes on rows that have gone; runs of like size that follow each other are
merged, so that there are few, and a row is copied only a few times while millions come. When most
rows of a shard have gone all its runs become one. A shard that has grown large is cut in two, so
that whatever has to be read, merged or written at a time stays small, however much there is in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.columnar.row_runs import (
    Notes,
    Run,
    empty_run,
    latest,
    merged,
    no_notes,
    packed,
    unpacked,
)

#: How many runs of like size, following each other, become one.
_LIKE = 8
#: Rows from which on a shard is cut in two.
LARGE = 1 << 17
_HIGHEST = (1 << 64) - 1
#: Reads a record, given its address.
Read = Callable[[bytes], bytes]


class Stored(NamedTuple):
    """A record of a shard."""

    address: bytes
    #: how much there was in it when it was written
    rows: int
    notes: int


class Shard:
    """The rows with hashes from ``low`` to ``high``, both included."""

    def __init__(self, low: int = 0, high: int = _HIGHEST) -> None:
        self.low = low
        self.high = high
        #: the oldest first
        self.stored: list[Stored] = []
        #: what is stored, None if it is not in memory
        self.runs: list[Run] | None = []
        #: notes that the records of these runs have
        self._notes: list[Notes] = []
        #: what came since the last commit, and what became of stored rows since
        self.fresh: list[Run] = []
        self.pending: list[Notes] = []
        #: when it was last used
        self.used = 0

    @property
    def rows(self) -> int:
        """About how many rows there are."""
        return sum(one.rows for one in self.stored) + sum(map(len, self.fresh))

    def load(self, read: Read, schema: pa.Schema, missing: Sequence[int]) -> list[Run]:
        """All runs, the oldest first, those that came since the last commit included; ``missing``
        are the numbers of rows that were stored without any."""
        if self.runs is None:
            self.runs, self._notes = [], []
            for number, one in enumerate(self.stored):
                run, notes = unpacked(read(one.address), schema, missing)
                self.stored[number] = Stored(one.address, len(run), len(notes.hashes))
                self.apply(notes)
                self.runs.append(run)
                self._notes.append(notes)
            for notes in self.pending:
                self.apply(notes)
        return [*self.runs, *self.fresh]

    def apply(self, notes: Notes) -> None:
        """Have all stored runs say what ``notes`` say of their rows."""
        if len(notes.hashes):
            for run in self.runs or ():
                notes.apply(run)

    def unload(self) -> None:
        """Keep in memory only what is not stored."""
        self.runs = None
        self._notes = []

    # --- writing

    def take_changes(self, schema: pa.Schema, numbers: int) -> tuple[Run, Notes]:
        """What came and what was noted since the last commit."""
        run = merged(self.fresh) if self.fresh else empty_run(schema, numbers)
        notes = latest(self.pending) if self.pending else no_notes(numbers)
        self.fresh, self.pending = [], []
        return run, notes

    def due(self, rows: int, notes: int) -> int:
        """How many of the last records should become one with ``rows`` and ``notes`` that are to be
        written: all of them if most rows have gone."""
        gone = sum(one.notes for one in self.stored) + notes
        if 2 * gone > sum(one.rows for one in self.stored) + rows:
            return len(self.stored)
        sizes = [*(one.rows + one.notes for one in self.stored), rows + notes]
        return _alike(sizes) - 1

    def append(self, address: bytes, run: Run, notes: Notes) -> bytes:
        """Add a record, which is returned."""
        self.stored.append(Stored(address, len(run), len(notes.hashes)))
        if self.runs is not None:
            self.runs.append(run)
            self._notes.append(notes)
        return packed(run, notes)

    def take_last(self, count: int, run: Run, notes: Notes) -> tuple[Run, Notes]:
        """Take the last ``count`` records out, which are in memory; returns what they and a ``run``
        with ``notes`` that follows them are together. There are no notes if nothing is left that
        they could be about."""
        assert self.runs is not None
        first = len(self.stored) - count
        runs, said = [*self.runs[first:], run], [*self._notes[first:], notes]
        del self.stored[first:], self.runs[first:], self._notes[first:]
        if not first:
            return merged(runs), no_notes(len(run.numbers))
        left = latest(said)
        for one in runs:
            left = left.take(~left.apply(one))
        return merged(runs), left

    def split(self, run: Run) -> list[tuple[Shard, Run]]:
        """The shards that all rows of this one, which are ``run``, should be in: it alone, or two
        if there are very many."""
        hashes = run.hashes
        above = hashes[hashes > hashes[0]] if len(run) >= LARGE else hashes[:0]
        if not len(above):
            return [(self, run)]
        cut = max(hashes[len(hashes) // 2], above[0])
        at = int(hashes.searchsorted(cut))
        parts = Shard(self.low, int(cut) - 1), Shard(int(cut), self.high)
        places = np.arange(at), np.arange(at, len(hashes))
        return [(part, run.take(mine)) for part, mine in zip(parts, places, strict=True)]


def _alike(sizes: list[int]) -> int:
    """How many of the last runs are to become one: as many as are not much larger than those that
    follow them, if there are enough of these; else 1."""
    count, total = 1, sizes[-1]
    while count < len(sizes) and sizes[-count - 1] <= _LIKE * total:
        total += sizes[-count - 1]
        count += 1
    return count if count >= _LIKE else 1
