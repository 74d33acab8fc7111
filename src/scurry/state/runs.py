"""Runs: large tables as a few sorted, immutable files, read and written a micro-batch at a time.

A tree such as LMDB's rewrites a page of 4 KB for every record that changes. When a micro-batch
changes records all over millions of others, that is most of the tree, each time. Here a micro-batch
becomes one new file, a *run*, and when there are several of about one size they are merged, so that
a record is written again only a few times. What is read is read for all keys of a micro-batch at
once, by binary search over whole columns.

A run is three files: keys of one width, sorted; where each record ends; the records. A key is
padded with zeros and followed by its length, so that the order of rows is that of the keys. A
record without bytes says that the key was removed. Files are mapped into memory, never changed, and
may be deleted while another process still reads them.
"""

from __future__ import annotations

import mmap
import os
import sys
import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

#: A table with longer keys than this is left to LMDB.
WIDEST = 96
_SUFFIXES = (".keys", ".ends", ".data")
#: Rows of each run that are merged at a time.
_CHUNK = 65_536
#: Runs of about one size that are merged into one.
_ALIKE = 4
#: Rows for each record that is alive, above which all runs are merged, unless they are few.
_MOST_DEAD = 3
_FEW = 1000
#: Commits after which all runs are merged if records can be condemned: old runs have them, too.
_FULL_EVERY = 64

Rows = npt.NDArray[np.bytes_]
Positions = npt.NDArray[np.intp]
Columns = tuple[Rows, pa.LargeBinaryArray]


class RunDirectory:
    """Where the runs of a slot lie. The name of a run begins with the number of the commit that it
    is written for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: the number in the names of runs that are written from now on
        self.commit = 0
        #: bytes written so far
        self.written = 0

    def new_name(self) -> str:
        """The name of a new run."""
        self.path.mkdir(parents=True, exist_ok=True)
        return f"{self.commit:012d}-{uuid.uuid4().hex[:12]}"

    def files(self, name: str) -> list[Path]:
        """The files of a run."""
        return [self.path / f"{name}{suffix}" for suffix in _SUFFIXES]

    def listed(self) -> set[tuple[int, str]]:
        """The numbers and names of all runs, whole or not."""
        if not self.path.exists():
            return set()
        return {(self.number_of(name), name.partition(".")[0]) for name in os.listdir(self.path)}

    @staticmethod
    def number_of(name: str) -> int:
        """The number that a run's name begins with."""
        return int(name.partition("-")[0])

    def delete(self, name: str) -> None:
        """Remove a run; who has it open keeps it."""
        for file in self.files(name):
            file.unlink(missing_ok=True)


class RunInfo(NamedTuple):
    """What has to be known of a run to open it."""

    name: str
    width: int
    rows: int


class TableInfo(msgspec.Struct, array_like=True):
    """What has to be known of a table to open it: its runs, the oldest first."""

    runs: list[RunInfo]
    #: records that are there, removed and superseded ones not counted
    live: int


class Run:
    """One run, open for reading."""

    def __init__(self, place: RunDirectory, info: RunInfo) -> None:
        self.info = info
        keys, ends, data = map(_mapped, place.files(info.name))
        width = info.width + 2
        whole = len(keys) == info.rows * width and len(ends) == (info.rows + 1) * 8
        if not whole or len(data) != int.from_bytes(ends[-8:], sys.byteorder):
            raise OSError(f"{info.name} is not as long as it should be")
        self.keys: Rows = np.frombuffer(keys, dtype=f"S{width}")
        self.ends: npt.NDArray[np.int64] = np.frombuffer(ends, dtype=np.int64)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        self.records = pa.LargeBinaryArray.from_buffers(pa.large_binary(), info.rows, buffers)

    def find(self, wanted: Rows) -> tuple[Positions, npt.NDArray[np.bool_]]:
        """Where the sorted keys ``wanted`` are, and which of them are there at all."""
        found = self.keys.searchsorted(wanted)
        found[found == len(self.keys)] = 0
        return found, self.keys[found] == wanted


class RunTable:
    """A table that consists of runs."""

    def __init__(self, place: RunDirectory, runs: list[Run] | None = None, live: int = 0) -> None:
        self._place = place
        self._runs = runs or []
        self.live = live
        #: condemned records that were left out of it when it was made
        self.taken_out = 0

    @classmethod
    def open(cls, place: RunDirectory, info: TableInfo, known: Self | None = None) -> Self:
        """The table that ``info`` describes; runs that ``known`` has open need not be opened."""
        open_runs = {} if known is None else {run.info: run for run in known._runs}
        return cls(place, [open_runs.get(i) or Run(place, i) for i in info.runs], info.live)

    @property
    def info(self) -> TableInfo:
        """How to open it again."""
        return TableInfo([run.info for run in self._runs], self.live)

    @property
    def size(self) -> int:
        """Bytes of keys and records."""
        return sum(
            run.keys.nbytes + sum(b.size for b in run.records.buffers() if b) for run in self._runs
        )

    @property
    def _width(self) -> int:
        return max((run.info.width for run in self._runs), default=0)

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """The records of ``keys``."""
        found = np.full(len(keys), None, dtype=object)
        if self._runs and keys:
            width, fitting = self._width, np.arange(len(keys))
            if max(map(len, keys)) > width:
                fitting = np.array([at for at in fitting if len(keys[at]) <= width], np.intp)
                keys = [keys[at] for at in fitting]
            wanted = rows_of(keys, width)
            order = wanted.argsort()
            for places, records in self._look_up(wanted[order]):
                found[fitting[order[places]]] = records
        return found.tolist()

    def _look_up(self, wanted: Rows) -> Iterator[tuple[Positions, npt.NDArray[np.object_]]]:
        """Which of the sorted keys ``wanted`` there is a record of, and the records."""
        pending = np.arange(len(wanted))
        for run in reversed(self._runs):
            if not len(pending):
                return
            at, hit = run.find(wanted[pending])
            records = run.records.take(pa.array(at[hit]))
            there = _not_empty(records)
            content = np.empty(int(there.sum()), dtype=object)
            content[:] = records.filter(pa.array(there)).to_pylist()
            yield pending[hit][there], content
            pending = pending[~hit]

    def _existing(self, wanted: Rows) -> int:
        """Of how many of the sorted keys ``wanted`` there is a record."""
        count, pending = 0, wanted
        for run in reversed(self._runs):
            at, hit = run.find(pending)
            count += int((run.ends[at[hit] + 1] > run.ends[at[hit]]).sum())
            pending = pending[~hit]
        return count

    def scan(self, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records in the order of keys, from ``start`` on."""
        for keys, records in self.blocks(start):
            yield from zip(keys, records, strict=True)

    def blocks(self, start: bytes = b"") -> Iterator[tuple[list[bytes], list[bytes]]]:
        """What :meth:`scan` finds, many at a time."""
        if not self._runs:
            return
        first = rows_of([start[: self._width]], self._width)
        for rows, found in _merged(self._runs, first):
            keys, records = keys_of(rows), found.to_pylist()
            # a start that was cut short is before the keys that begin like it
            skip = bisect_left(keys, start) if keys[0] < start else 0
            if skip < len(keys):
                yield keys[skip:], records[skip:]

    def with_changes(
        self,
        keys: list[bytes],
        records: Sequence[bytes | None],
        condemned: Callable[[bytes], bool] | None = None,
    ) -> RunTable:
        """The table after ``records`` were written under ``keys``; None removes. This one stays as
        it is, with its files. Records that are ``condemned`` are left out where runs are merged."""
        longest = max(map(len, keys))
        older, width = self, max(self._width, _rounded(longest))
        if self._runs and width > self._width:
            wider = (_widened(columns, width) for columns in _merged(self._runs))
            older = RunTable(self._place, _opened(self._place, width, wider), self.live)
        # of two records under one key the later counts
        rows = rows_of(keys[::-1], width)
        order = rows.argsort(kind="stable")
        order = order[_firsts(rows[order])]
        content = pa.array([record or b"" for record in reversed(records)], pa.large_binary())
        rows, content = rows[order], content.take(pa.array(order))
        live = self.live - older._existing(rows) + int(_not_empty(content).sum())
        added = RunTable(self._place, _opened(self._place, width, [(rows, content)]))
        merge = _Merge(self._place, condemned)
        kept = merge.compacted([*older._runs, *added._runs], live)
        changed = RunTable(self._place, kept, live - merge.taken_out)
        changed.taken_out = merge.taken_out
        for made in {older, added} - {self}:
            _discard(self._place, made._runs, kept)
        return changed


def rows_of(keys: list[bytes], width: int) -> Rows:
    """Keys as rows of one width, which sort as the keys do."""
    rows = np.zeros((len(keys), width + 2), dtype=np.uint8)
    rows[:, :width] = np.array(keys, dtype=f"S{width}").view(np.uint8).reshape(-1, width)
    lengths = np.fromiter(map(len, keys), dtype=">u2", count=len(keys))
    rows[:, width:] = lengths.view(np.uint8).reshape(-1, 2)
    return rows.reshape(-1).view(f"S{width + 2}")


def keys_of(rows: Rows) -> list[bytes]:
    """The keys of rows."""
    plain = rows.view(np.uint8).reshape(len(rows), -1)
    lengths = np.ascontiguousarray(plain[:, -2:]).view(">u2").reshape(-1).tolist()
    width = plain.shape[1] - 2
    cut = np.ascontiguousarray(plain[:, :-2]).view(f"S{width}").reshape(-1).tolist()
    return [key.ljust(length, b"\0") for key, length in zip(cut, lengths, strict=True)]


def _widened(columns: Columns, width: int) -> Columns:
    return rows_of(keys_of(columns[0]), width), columns[1]


def _rounded(length: int) -> int:
    """A width for keys of that length: not each longer key needs another."""
    return max(8, -(-length // 8) * 8)


def _firsts(ordered: Rows) -> npt.NDArray[np.bool_]:
    """Marks the first of equal rows."""
    marks = np.ones(len(ordered), dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=marks[1:])
    return marks


def _not_empty(records: pa.LargeBinaryArray) -> npt.NDArray[np.bool_]:
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

    def __init__(self, place: RunDirectory, condemned: Callable[[bytes], bool] | None) -> None:
        self.taken_out = 0
        self._place = place
        self._condemned = condemned

    def compacted(self, runs: list[Run], live: int) -> list[Run]:
        """``runs`` with the last ones merged, if there are several of about one size, or all of
        them, if little of what they hold is alive, or to find the condemned."""
        due = self._condemned is not None and self._place.commit % _FULL_EVERY == 0
        if due or sum(run.info.rows for run in runs) > _MOST_DEAD * live + _FEW:
            first = 0
        else:
            alike = takewhile(lambda run: run.info.rows <= 2 * runs[-1].info.rows, reversed(runs))
            first = len(runs) - len(list(alike))
            if len(runs) - first < _ALIKE:
                return runs
        merged = _merged(runs[first:], keep_removed=True)
        if self._condemned is not None:
            merged = map(self._spared, merged)
        if not first:
            merged = map(_without_removed, merged)
        made = _opened(self._place, runs[first].info.width, merged)
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
    return columns if there.all() else (rows[there], records.filter(pa.array(there)))


def _merged(
    runs: list[Run], start: Rows | None = None, keep_removed: bool = False
) -> Iterator[Columns]:
    """The rows of ``runs`` in order, of equal ones the latest; without those that were removed,
    unless told otherwise."""
    places = [0 if start is None else int(run.keys.searchsorted(start)[0]) for run in runs]
    while any(at < run.info.rows for at, run in zip(places, runs, strict=True)):
        ends = [min(at + _CHUNK, run.info.rows) for at, run in zip(places, runs, strict=True)]
        open_ends = [
            run.keys[end - 1]
            for run, at, end in zip(runs, places, ends, strict=True)
            if at < end < run.info.rows
        ]
        if open_ends:
            bound = min(open_ends)
            ends = [
                at + int(run.keys[at:end].searchsorted(bound, "right"))
                for run, at, end in zip(runs, places, ends, strict=True)
            ]
        # the latest first, so that of equal rows it comes first
        spans = [s for s in zip(runs, places, ends, strict=True) if s[1] < s[2]][::-1]
        rows = np.concatenate([run.keys[at:end] for run, at, end in spans])
        records = pa.concat_arrays([run.records.slice(at, end - at) for run, at, end in spans])
        if len(spans) > 1:
            order = rows.argsort(kind="stable")
            order = order[_firsts(rows[order])]
            rows, records = rows[order], records.take(pa.array(order))
        if not keep_removed:
            rows, records = _without_removed((rows, records))
        if len(rows):
            yield rows, records
        places = ends


def _opened(place: RunDirectory, width: int, content: Iterable[Columns]) -> list[Run]:
    """A run of ``content``, written and opened; none if there is nothing in it."""
    name, count, size = place.new_name(), 0, 0
    paths = place.files(name)
    with paths[0].open("wb") as keys, paths[1].open("wb") as ends, paths[2].open("wb") as data:
        ends.write(bytes(8))
        for rows, records in content:
            if not len(rows):
                continue
            offsets = np.frombuffer(records.buffers()[1], dtype=np.int64)
            offsets = offsets[records.offset : records.offset + len(records) + 1]
            first, last = int(offsets[0]), int(offsets[-1])
            keys.write(rows.data)
            ends.write((offsets[1:] - first + size).data)
            if last > first:
                data.write(records.buffers()[2][first:last])
            count += len(rows)
            size += last - first
    if not count:
        place.delete(name)
        return []
    place.written += size + count * (width + 10)
    return [Run(place, RunInfo(name, width, count))]


def _mapped(path: Path) -> Any:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
