"""Runs: large tables as sorted, immutable files, read and written a micro-batch at a time.

A tree such as LMDB's rewrites a page of 4 KB for every record that changes. When a micro-batch
changes records all over millions of others, that is most of the tree, each time. Here a micro-batch
becomes one new file, a *run* (:mod:`scurry.state.runs.files`). What is read is read for all keys of
a micro-batch at once, by binary search over whole columns; indexes (:mod:`scurry.state.runs.index`)
see to it that there are few columns to search. When there are many runs of about one size, or most
of what they hold has been superseded, they are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.state.runs.below import Below, keys_below, records_below
from scurry.state.runs.files import Columns, Run, RunDirectory, RunInfo, alike, stretches, write_run
from scurry.state.runs.index import IndexInfo, RunIndex, grouped, index_over
from scurry.state.runs.key_rows import (
    KeyRows,
    LongKeyError,
    Marks,
    Order,
    Positions,
    hash_of,
    joined,
    prefix_length,
    rank,
    row_of,
    row_width,
)
from scurry.state.runs.seen import Seen, existing, recalled

#: Runs of about one size that are merged into one.
_ALIKE = 64
#: The most runs of a table, whatever their sizes.
_MOST = 256
#: Rows for each record that is alive, above which all runs are merged, unless they are few.
_MOST_DEAD = 3
_FEW = 1000
#: Commits after which all runs are merged if records can be condemned: old runs have them, too.
_FULL_EVERY = 64


class TableInfo(msgspec.Struct, array_like=True):
    """What has to be known of a table to open it: its runs, the oldest first."""

    runs: list[RunInfo]
    #: records that are there, removed and superseded ones not counted
    live: int
    #: indexes over runs, those over older ones first
    indexes: list[IndexInfo] = []
    by: Order = Order.KEY

    @property
    def names(self) -> list[str]:
        """The names of all runs and indexes."""
        return [*(run.name for run in self.runs), *(index.name for index in self.indexes)]


class RunTable:
    """A table that consists of runs, ordered ``by`` the keys or their prefixes."""

    def __init__(
        self,
        place: RunDirectory,
        runs: list[Run] | None = None,
        live: int = 0,
        indexes: list[RunIndex] | None = None,
        by: Order = Order.KEY,
    ) -> None:
        self._place = place
        self._by = by
        self._runs = runs or []
        self._indexes = indexes or []
        self.live = live
        #: condemned records that were left out of it when it was made
        self.taken_out = 0
        #: keys that were looked for, as rows too, and for how many of them there was a record
        self._asked: list[tuple[list[bytes], KeyRows, int]] = []
        #: what is known from having read all that lies below prefixes
        self._seen: list[Seen] = []

    @classmethod
    def open(cls, place: RunDirectory, info: TableInfo, known: Self | None = None) -> Self:
        """The table that ``info`` describes; what ``known`` has open need not be opened."""
        open_runs = {} if known is None else {run.info: run for run in known._runs}
        runs = [open_runs.get(one) or Run(place, one, info.by) for one in info.runs]
        open_indexes = {} if known is None else {index.info: index for index in known._indexes}
        indexes = [
            open_indexes.get(one) or RunIndex(place, one, runs[one.first : one.first + one.runs])
            for one in info.indexes
        ]
        return cls(place, runs, info.live, indexes, info.by)

    @property
    def info(self) -> TableInfo:
        """How to open it again."""
        indexes = [index.info for index in self._indexes]
        return TableInfo([run.info for run in self._runs], self.live, indexes, self._by)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        indexes = sum(index.rows * 16 for index in self._indexes)
        return sum(run.size for run in self._runs) + indexes

    @property
    def _width(self) -> int:
        return max((run.info.width for run in self._runs), default=0)

    def get(self, key: bytes) -> bytes | None:
        """The record of one key."""
        if not self._runs or len(key) > self._width:
            return None
        wanted, row = np.uint64(hash_of(key, self._by)), row_of(key, self._width)
        for group in reversed(self._groups):
            found = group.find_one(wanted, row)
            if found is not None:
                run, at = found
                return run.record(at)
        return None

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """The records of ``keys``."""
        found = np.full(len(keys), None, dtype=object)
        if self._runs and keys:
            width, fitting = self._width, np.arange(len(keys))
            try:
                rows = KeyRows.of(keys, width, self._by)
            except LongKeyError:
                fitting = np.array([at for at in fitting if len(keys[at]) <= width], np.intp)
                rows = KeyRows.of([keys[at] for at in fitting], width, self._by)
            order, existing = rows.order(), 0
            fitting, wanted = fitting[order], rows.take(order)
            for run, places, at in self._look_up(wanted):
                content = run.records.take(pa.array(at)).to_numpy(zero_copy_only=False)
                removed = run.removed(at)
                if removed.any():
                    content[removed] = None
                found[fitting[places]] = content
                existing += len(at) - int(removed.sum())
            if 1 < len(rows) == len(keys):
                self._asked.append((keys, rows, existing))
        return found.tolist()

    def _recalled(self, keys: list[bytes]) -> tuple[KeyRows, Positions, int] | None:
        """``keys`` as rows, how to sort them, and of how many there is a record, if just these have
        been looked for, which are different then."""
        if self._seen:
            rows, found = recalled(self._seen, keys), len(keys)
        elif self._asked and keys == list(chain.from_iterable(part[0] for part in self._asked)):
            rows = joined([part[1] for part in self._asked])
            found = sum(part[2] for part in self._asked)
        else:
            return None
        if rows is None:
            return None
        order = rows.order()
        if len(rows.first_of_equals(order)) < len(rows):
            return None
        return rows, order, found

    def _look_up(self, wanted: KeyRows) -> Iterator[tuple[Run, Positions, Positions]]:
        """By run: for which of the keys ``wanted`` it has the latest record, and where."""
        pending = np.arange(len(wanted))
        for group in reversed(self._groups):
            if not len(pending):
                return
            left = np.ones(len(pending), dtype=np.bool_)
            for run, which, at in group.find(wanted.take(pending)):
                left[which] = False
                yield run, pending[which], at
            pending = pending[left]

    def below(
        self, prefixes: list[bytes], most: int | None = None, at_once: int | None = None
    ) -> Below:
        """What lies below ``prefixes``, see :func:`scurry.state.runs.below.records_below`."""
        found = records_below(self._groups, prefixes, most, at_once)
        if most is not None and len(found.seen.keys):
            self._seen.append(found.seen)
        return found

    @property
    def _groups(self) -> list[Run | RunIndex]:
        """What to search, the oldest first."""
        return grouped(self._runs, self._indexes)

    def _existing(self, wanted: KeyRows) -> int:
        """Of how many of the sorted keys ``wanted`` there is a record."""
        known = 0
        if self._seen:
            known, wanted = existing(self._seen, wanted)
        found = self._look_up(wanted)
        return known + sum(len(at) - int(run.removed(at).sum()) for run, _, at in found)

    def scan(self, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records in the order of :func:`scurry.state.runs.key_rows.rank`, from the key
        ``start`` on."""
        for keys, records in self.blocks(start):
            yield from zip(keys, records, strict=True)

    def blocks(self, start: bytes = b"") -> Iterator[tuple[list[bytes], list[bytes]]]:
        """What :meth:`scan` finds, many at a time."""
        if not self._runs:
            return
        least = rank(start, self._by) if start else (0, b"")
        for found, content in _merged(self._runs, least[0]):
            keys, records, skip = found.keys(), content.to_pylist(), 0
            while skip < len(keys) and found.hashes[skip] == least[0] and keys[skip] < start:
                skip += 1
            if skip < len(keys):
                yield keys[skip:], records[skip:]

    def with_changes(
        self,
        keys: list[bytes],
        records: Sequence[bytes | None],
        condemned: Callable[[bytes], bool] | None = None,
    ) -> RunTable:
        """The table after ``records`` were written under ``keys``; None removes. This one stays as
        it is, with its files. Records that are ``condemned`` are left out where runs are merged.
        In a table ordered by prefixes, to remove a key that is a prefix and nothing else is to
        remove all that lies below it, before anything else is written."""
        older, width = self, max(self._width, row_width(max(map(len, keys))))
        if self._runs and width > self._width:
            wider = ((rows.widened(width), content) for rows, content in _merged(self._runs))
            runs = write_run(self._place, width, wider, self._by)
            older = RunTable(self._place, runs, self.live, by=self._by)
        emptying = self._by is Order.PREFIX and None in records
        known = None if emptying else self._recalled(keys)
        if known is None:
            # of two records under one key the later counts
            rows, records = KeyRows.of(keys[::-1], width, self._by), records[::-1]
            emptied = older._emptied(keys[::-1], records)
            if len(emptied):
                rows, records = joined([rows, emptied]), [*records, *([None] * len(emptied))]
            order = rows.first_of_equals(rows.order())
            present = older._existing(rows.take(order))
        else:
            rows, order, present = known
        content = pa.array([record or b"" for record in records], pa.large_binary())
        rows, content = rows.take(order), content.take(pa.array(order))
        live = self.live - present + int(_not_empty(content).sum())
        added = RunTable(self._place, write_run(self._place, width, [(rows, content)], self._by))
        merge = _Merge(self._place, condemned, self._by)
        kept = merge.compacted([*older._runs, *added._runs], live)
        indexes = index_over(self._place, kept, self._indexes)
        changed = RunTable(self._place, kept, live - merge.taken_out, indexes, self._by)
        changed.taken_out = merge.taken_out
        for made in {older, added} - {self}:
            _discard(self._place, made._runs, kept)
        return changed

    def in_one_run(self) -> RunTable:
        """The table with all of its runs merged into one. This one stays as it is."""
        if len(self._runs) < 2:
            return self
        runs = write_run(self._place, self._width, _merged(self._runs), self._by)
        return RunTable(self._place, runs, self.live, by=self._by)

    def _emptied(self, keys: list[bytes], records: Sequence[bytes | None]) -> KeyRows:
        """The keys that exist below the prefixes that are to be removed among ``keys``."""
        prefixes = []
        if self._by is Order.PREFIX and self._runs and None in records:
            changes = zip(keys, records, strict=True)
            prefixes = [k for k, r in changes if r is None and prefix_length(k) == len(k)]
        return keys_below(self._groups, prefixes) if prefixes else KeyRows.of([], 8)


def _not_empty(records: pa.LargeBinaryArray) -> Marks:
    lengths = pc.binary_length(records).to_numpy(zero_copy_only=False)
    return np.asarray(lengths > 0)


def _discard(place: RunDirectory, made: list[Run], kept: list[Run]) -> None:
    """Delete runs that were made on the way and are not ``kept``."""
    names = {run.info.name for run in kept}
    for run in made:
        if run.info.name not in names:
            place.delete(run.info.name)


class _Merge:
    """Merges runs where that is due, and counts the records that it leaves out as condemned."""

    def __init__(
        self, place: RunDirectory, condemned: Callable[[bytes], bool] | None, by: Order
    ) -> None:
        self.taken_out = 0
        self._place = place
        self._by = by
        self._condemned = condemned

    def compacted(self, runs: list[Run], live: int) -> list[Run]:
        """``runs`` with the last ones merged, if there are many of about one size, or all of them,
        if little of what they hold is alive, or to find the condemned."""
        due = self._condemned is not None and self._place.commit % _FULL_EVERY == 0
        if due or sum(run.rows for run in runs) > _MOST_DEAD * live + _FEW:
            first = 0
        else:
            last = alike([run.rows for run in runs])
            if last < _ALIKE and len(runs) <= _MOST:
                return runs
            first = len(runs) - max(last, _ALIKE)
        merged = _merged(runs[first:], keep_removed=True)
        if self._condemned is not None:
            merged = map(self._spared, merged)
        if not first:
            merged = map(_without_removed, merged)
        made = write_run(self._place, runs[first].info.width, merged, self._by)
        if not first:
            return made
        compacted = self.compacted([*runs[:first], *made], live)
        _discard(self._place, made, compacted)
        return compacted

    def _spared(self, columns: Columns) -> Columns:
        """Condemned records become removals: older runs may have others under their keys."""
        assert self._condemned is not None
        rows, records = columns
        content = records.to_pylist()
        gone = [bool(record) and self._condemned(record) for record in content]
        if not any(gone):
            return columns
        self.taken_out += sum(gone)
        left = [b"" if dead else record for dead, record in zip(gone, content, strict=True)]
        return rows, pa.array(left, pa.large_binary())


def _without_removed(columns: Columns) -> Columns:
    rows, records = columns
    there = _not_empty(records)
    return columns if there.all() else (rows.take(there), records.filter(pa.array(there)))


def _merged(runs: list[Run], start: int = 0, keep_removed: bool = False) -> Iterator[Columns]:
    """The rows of ``runs`` in order, from the hash ``start`` on, of equal keys the latest; without
    those that were removed, unless told otherwise."""
    for pieces in stretches([run.hashes for run in runs], start):
        # the latest first, so that of equal keys it comes first
        spans = [(run, *s) for run, s in zip(runs, pieces, strict=True) if s[0] < s[1]][::-1]
        rows = joined([run.keys.take(slice(at, end)) for run, at, end in spans])
        records = pa.concat_arrays([run.records.slice(at, end - at) for run, at, end in spans])
        if len(spans) > 1:
            order = rows.first_of_equals(rows.order())
            rows, records = rows.take(order), records.take(pa.array(order))
        if not keep_removed:
            rows, records = _without_removed((rows, records))
        if len(rows):
            yield rows, records
