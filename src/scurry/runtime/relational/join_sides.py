"""The two sides of a join for one batch: what was there, what comes, what goes.

The rows of a side are those that are kept for the keys of the batch, in the order in which they
came, and after them the records of the batch. Each row has the number of its key, its *code*, which
both sides have in common, and a lifetime (:mod:`scurry.runtime.relational.lifetimes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Longs
from scurry.runtime.columnar.equal_rows import equal_ids, hash_order, numbers_of
from scurry.runtime.columnar.row_runs import PARTNERS, Hashes
from scurry.runtime.columnar.row_table import FoundRows
from scurry.runtime.kinds import Kinds
from scurry.runtime.relational.lifetimes import Lives, Mask, Presence, deaths_of
from scurry.runtime.relational.relation import DELETE, UPDATE_BEFORE, take_all


class Arrivals(NamedTuple):
    """Records of one input, in order."""

    columns: pa.RecordBatch
    hashes: Hashes
    #: their places in the batch, from 1 on
    ticks: Longs
    kinds: Kinds
    #: records whose key equals nothing
    alone: Mask

    @property
    def goes(self) -> Mask:
        """The records of rows that go."""
        found: Mask = (self.kinds == DELETE) | (self.kinds == UPDATE_BEFORE)
        return found

    def take(self, places: Longs) -> Arrivals:
        """Some of the records."""
        return Arrivals(
            self.columns.take(pa.array(places)),
            self.hashes[places],
            self.ticks[places],
            self.kinds[places],
            self.alone[places],
        )


class Side:
    """The rows of one side, and its records: both are numbers of rows."""

    def __init__(self, found: FoundRows, arrivals: Arrivals, last: int) -> None:
        old, new = len(found.hashes), len(arrivals.ticks)
        self.found = found
        self.arrivals = arrivals
        self.last = last
        #: how many rows were there before
        self.old = old
        pairs = zip(found.columns, arrivals.columns.columns, strict=True)
        self.columns = [pa.concat_arrays([held, came]) if old else came for held, came in pairs]
        self.hashes = np.concatenate([found.hashes, arrivals.hashes])
        self.ticks = np.concatenate([np.zeros(old, dtype=np.int64), arrivals.ticks])
        self.kinds = np.concatenate([np.zeros(old, dtype=np.int8), arrivals.kinds])
        self.comes = (self.kinds != DELETE) & (self.kinds != UPDATE_BEFORE)
        self.alone = np.concatenate([np.zeros(old, dtype=bool), arrivals.alone])
        self.size = old + new
        self.codes = np.zeros(self.size, dtype=np.int64)
        self.deaths = np.full(self.size, last, dtype=np.int64)
        #: records of rows that go and were not there
        self.missing = np.zeros(self.size, dtype=bool)
        #: rows of before with an equal row among the records, where that was asked for
        self.repeated = np.zeros(old, dtype=bool)
        self.lives = self.records = self.ticks[:0]

    def place(self, codes: Longs, order: Longs) -> None:
        """Take the codes of keys; ``order`` are the rows with a key, by code and tick."""
        self.codes = codes
        self._order = order

    def live(self, repeated: bool) -> None:
        """Find out when rows die, and if asked which of them came again."""
        self.records = self._order[self._order >= self.old]
        goes = self.records[~self.comes[self.records]]
        if len(goes) or (repeated and self.old):
            self._match(self.records if repeated else goes)
        rows = self._order[self.comes[self._order]]
        self.lives = rows

    def _match(self, records: Longs) -> None:
        concerned = np.zeros(int(self.codes.max()) + 1, dtype=bool)
        concerned[self.codes[records]] = True
        rows = np.flatnonzero(concerned[self.codes] & ~self.alone)
        numbers = [n for one in take_all(self.columns, rows) for n in numbers_of(one)]
        ids = equal_ids(numbers, len(rows))
        found = deaths_of(ids, self.ticks[rows], self.comes[rows], self.last)
        self.deaths[rows], self.missing[rows] = found
        old = rows < self.old
        self.repeated[rows[old]] = np.isin(ids[old], ids[~old])

    @property
    def as_lives(self) -> Lives:
        """The lifetimes of the rows ``lives``."""
        rows = self.lives
        return Lives(rows, self.codes[rows], self.ticks[rows], self.deaths[rows])

    def at_records_of(self, other: Side) -> Presence:
        """What is there of this side at the records of a side."""
        codes, ticks = other.codes[other.records], other.ticks[other.records]
        return Presence(self.as_lives, codes, ticks, self.last)

    @property
    def partners(self) -> Longs:
        """How many partners each row had before, as far as that is kept; else 0."""
        held = np.zeros(self.size, dtype=np.int64)
        if len(self.found.numbers):
            held[: self.old] = self.found.numbers[PARTNERS]
        return held


def give_codes(sides: Sequence[Side], keys: Sequence[Sequence[int]], sure: bool) -> None:
    """Number the keys of both sides, and place their rows; ``sure`` says that keys are equal where
    their hashes are."""
    left = sides[0].size
    hashes = np.concatenate([side.hashes for side in sides])
    order = hash_order(hashes)
    same = hashes[order[1:]] == hashes[order[:-1]]
    if not sure and len(order):
        numbers = _key_numbers(sides, keys)
        alike = np.logical_and.reduce([n[order[1:]] == n[order[:-1]] for n in numbers])
        if (same & ~alike).any():
            order = np.lexsort((*numbers, hashes))
            same = hashes[order[1:]] == hashes[order[:-1]]
            same &= np.logical_and.reduce([n[order[1:]] == n[order[:-1]] for n in numbers])
    codes = np.zeros(len(order), dtype=np.int64)
    codes[order[1:]] = np.cumsum(~same)
    alone = np.concatenate([side.alone for side in sides])
    order = order[~alone[order]]
    of_right = order >= left
    sides[0].place(codes[:left], order[~of_right])
    sides[1].place(codes[left:], order[of_right] - left)


def _key_numbers(sides: Sequence[Side], keys: Sequence[Sequence[int]]) -> list[Longs]:
    """The key columns of both sides as numbers that are equal where keys are."""
    found: list[Longs] = []
    for mine, other in zip(*keys, strict=True):
        left, right = sides[0].columns[mine], sides[1].columns[other]
        if left.type != right.type:
            right = right.cast(left.type, safe=False)
        found += numbers_of(pa.concat_arrays([left, right]))
    return found
