"""Runs: large tables as a few sorted, immutable files, read and written a micro-batch at a time.

A tree such as LMDB's rewrites a page of 4 KB for every record that changes. When a micro-batch
changes records all over millions of others, that is most of the tree, each time. Here a micro-batch
becomes one new file, a *run*, and when there are several of about one size they are merged, so that
a record is written again only a few times. What is read is read for all keys of a micro-batch at
once, by binary search over whole columns.

A run is four files: the sorted hashes of its keys; the keys, see :mod:`scurry.state.key_rows`;
where each record ends; the records. A record without bytes says that the key was removed. Files are
mapped into memory, never changed, and may be deleted while another process still reads them.
"""

from __future__ import annotations

import mmap
import os
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from scurry.state.key_rows import (
    TAIL,
    KeyRows,
    LongKeyError,
    Marks,
    Positions,
    joined,
    rank,
    row_width,
)

_SUFFIXES = (".hashes", ".keys", ".ends", ".data")
#: Rows of each run that are merged at a time.
_CHUNK = 65_536
#: Runs of about one size that are merged into one.
_ALIKE = 4
#: Rows for each record that is alive, above which all runs are merged, unless they are few.
_MOST_DEAD = 3
_FEW = 1000
#: Commits after which all runs are merged if records can be condemned: old runs have them, too.
_FULL_EVERY = 64

Columns = tuple[KeyRows, pa.LargeBinaryArray]


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
        # a file system may have names of its own there
        names = [name for name in os.listdir(self.path) if name[0].isdigit()]
        return {(self.number_of(name), name.partition(".")[0]) for name in names}

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
        hashes, keys, ends, data = map(_mapped, place.files(info.name))
        width, rows = info.width + TAIL, info.rows
        expected = rows * 8, rows * width, (rows + 1) * 8
        whole = (len(hashes), len(keys), len(ends)) == expected
        if not whole or len(data) != int.from_bytes(ends[-8:], sys.byteorder):
            raise OSError(f"{info.name} is not as long as it should be")
        self.keys = KeyRows(
            np.frombuffer(keys, dtype=f"S{width}"), np.frombuffer(hashes, np.uint64)
        )
        self.ends: npt.NDArray[np.int64] = np.frombuffer(ends, dtype=np.int64)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
        self.records = pa.LargeBinaryArray.from_buffers(pa.large_binary(), rows, buffers)

    def removed(self, at: Positions) -> Marks:
        """Which of the records at these places say that their keys were removed."""
        return np.equal(self.ends[at + 1], self.ends[at])

    @property
    def size(self) -> int:
        """Bytes of the files."""
        columns = self.keys.rows, self.keys.hashes, self.ends
        return sum(column.nbytes for column in columns) + int(self.ends[-1])


class RunTable:
    """A table that consists of runs."""

    def __init__(self, place: RunDirectory, runs: list[Run] | None = None, live: int = 0) -> None:
        self._place = place
        self._runs = runs or []
        self.live = live
        #: condemned records that were left out of it when it was made
        self.taken_out = 0
        #: keys that were looked for, as rows too, and for how many of them there was a record
        self._asked: list[tuple[list[bytes], KeyRows, int]] = []

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
        """Bytes of all files."""
        return sum(run.size for run in self._runs)

    @property
    def _width(self) -> int:
        return max((run.info.width for run in self._runs), default=0)

    def get_many(self, keys: list[bytes]) -> list[bytes | None]:
        """The records of ``keys``."""
        found = np.full(len(keys), None, dtype=object)
        if self._runs and keys:
            width, fitting = self._width, np.arange(len(keys))
            try:
                rows = KeyRows.of(keys, width)
            except LongKeyError:
                fitting = np.array([at for at in fitting if len(keys[at]) <= width], np.intp)
                rows = KeyRows.of([keys[at] for at in fitting], width)
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
        if not self._asked or keys != list(chain.from_iterable(part[0] for part in self._asked)):
            return None
        rows = joined([part[1] for part in self._asked])
        order = rows.order()
        if len(rows.first_of_equals(order)) < len(rows):
            return None
        return rows, order, sum(part[2] for part in self._asked)

    def _look_up(self, wanted: KeyRows) -> Iterator[tuple[Run, Positions, Positions]]:
        """By run: for which of the keys ``wanted`` it has the latest record, and where."""
        pending = np.arange(len(wanted))
        for run in reversed(self._runs):
            if not len(pending):
                return
            at, there = run.keys.find(wanted.take(pending))
            yield run, pending[there], at[there]
            pending = pending[~there]

    def _existing(self, wanted: KeyRows) -> int:
        """Of how many of the sorted keys ``wanted`` there is a record."""
        return sum(len(at) - int(run.removed(at).sum()) for run, _, at in self._look_up(wanted))

    def scan(self, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records in the order of :func:`scurry.state.key_rows.rank`, from the key
        ``start`` on."""
        for keys, records in self.blocks(start):
            yield from zip(keys, records, strict=True)

    def blocks(self, start: bytes = b"") -> Iterator[tuple[list[bytes], list[bytes]]]:
        """What :meth:`scan` finds, many at a time."""
        if not self._runs:
            return
        least = rank(start) if start else (0, b"")
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
        it is, with its files. Records that are ``condemned`` are left out where runs are merged."""
        older, width = self, max(self._width, row_width(max(map(len, keys))))
        if self._runs and width > self._width:
            wider = ((rows.widened(width), content) for rows, content in _merged(self._runs))
            older = RunTable(self._place, _opened(self._place, width, wider), self.live)
        recalled = self._recalled(keys)
        if recalled is None:
            # of two records under one key the later counts
            rows, records = KeyRows.of(keys[::-1], width), records[::-1]
            order = rows.first_of_equals(rows.order())
            existing = older._existing(rows.take(order))
        else:
            rows, order, existing = recalled
        content = pa.array([record or b"" for record in records], pa.large_binary())
        rows, content = rows.take(order), content.take(pa.array(order))
        live = self.live - existing + int(_not_empty(content).sum())
        added = RunTable(self._place, _opened(self._place, width, [(rows, content)]))
        merge = _Merge(self._place, condemned)
        kept = merge.compacted([*older._runs, *added._runs], live)
        changed = RunTable(self._place, kept, live - merge.taken_out)
        changed.taken_out = merge.taken_out
        for made in {older, added} - {self}:
            _discard(self._place, made._runs, kept)
        return changed


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
    return columns if there.all() else (rows.take(there), records.filter(pa.array(there)))


def _merged(runs: list[Run], start: int = 0, keep_removed: bool = False) -> Iterator[Columns]:
    """The rows of ``runs`` in order, from the hash ``start`` on, of equal keys the latest; without
    those that were removed, unless told otherwise."""
    columns = [run.keys.hashes for run in runs]
    places = [int(hashes.searchsorted(np.uint64(start))) for hashes in columns]
    while any(at < len(hashes) for at, hashes in zip(places, columns, strict=True)):
        ends = [min(at + _CHUNK, len(h)) for at, h in zip(places, columns, strict=True)]
        open_ends = [
            hashes[end - 1]
            for hashes, at, end in zip(columns, places, ends, strict=True)
            if at < end < len(hashes)
        ]
        if open_ends:
            # no key with the last hash must be left for later, from any of the runs
            bound = min(open_ends)
            ends = [
                at + int(hashes[at:].searchsorted(bound, "right"))
                for hashes, at in zip(columns, places, strict=True)
            ]
        # the latest first, so that of equal keys it comes first
        spans = [s for s in zip(runs, places, ends, strict=True) if s[1] < s[2]][::-1]
        rows = joined([run.keys.take(slice(at, end)) for run, at, end in spans])
        records = pa.concat_arrays([run.records.slice(at, end - at) for run, at, end in spans])
        if len(spans) > 1:
            order = rows.first_of_equals(rows.order())
            rows, records = rows.take(order), records.take(pa.array(order))
        if not keep_removed:
            rows, records = _without_removed((rows, records))
        if len(rows):
            yield rows, records
        places = ends


def _opened(place: RunDirectory, width: int, content: Iterable[Columns]) -> list[Run]:
    """A run of ``content``, written and opened; none if there is nothing in it."""
    name, count, size = place.new_name(), 0, 0
    paths = place.files(name)
    with ExitStack() as files:
        hashes, keys, ends, data = (files.enter_context(path.open("wb")) for path in paths)
        ends.write(bytes(8))
        for rows, records in content:
            if not len(rows):
                continue
            offsets = np.frombuffer(records.buffers()[1], dtype=np.int64)
            offsets = offsets[records.offset : records.offset + len(records) + 1]
            first, last = int(offsets[0]), int(offsets[-1])
            hashes.write(np.ascontiguousarray(rows.hashes).data)
            keys.write(np.ascontiguousarray(rows.rows).view(np.uint8).data)
            ends.write((offsets[1:] - first + size).data)
            if last > first:
                data.write(records.buffers()[2][first:last])
            count += len(rows)
            size += last - first
    if not count:
        place.delete(name)
        return []
    place.written += size + count * (width + TAIL + 16)
    return [Run(place, RunInfo(name, width, count))]


def _mapped(path: Path) -> Any:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
