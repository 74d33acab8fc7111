"""The files of runs: how they are named, written and opened.

A run is four files: the sorted hashes of its keys; the keys, see :mod:`scurry.state.runs.key_rows`;
where each record ends; the records. A record without bytes says that the key was removed. Files are
mapped into memory, never changed, and may be deleted while another process still reads them. The
file of hashes has another name in each order of keys, so that a version of Scurry that does not
know an order does not find the file, instead of looking for keys in the wrong places.
"""

from __future__ import annotations

import mmap
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from scurry.common.any_paths import AnyPath, ObjectPath, here, names_in
from scurry.state.runs.key_rows import TAIL, Hashes, KeyRows, Marks, Order, Positions
from scurry.state.runs.run_cache import RunCache

_HASHES = {Order.KEY: ".hashes", Order.PREFIX: ".prefixes"}
_RUN = (".keys", ".ends", ".data")
_INDEX = (".hashes", ".places")
#: Rows that are merged at a time.
_CHUNK = 262_144

Columns = tuple[KeyRows, pa.LargeBinaryArray]


class RunDirectory:
    """Where the runs of a slot, and the indexes over them, lie. The name of either begins with the
    number of the commit that it is written for."""

    def __init__(self, place: AnyPath) -> None:
        #: where they are, and the files of this machine if that is in an object store
        self.place = place
        self._cache = RunCache(place) if isinstance(place, ObjectPath) else None
        self.path = place if isinstance(place, Path) else here(place)
        if self._cache is not None:
            self.path = self._cache.path
        #: the number in the names of what is written from now on
        self.commit = 0
        #: bytes written so far
        self.written = 0

    def new_name(self) -> str:
        """The name of a new run or index."""
        self.path.mkdir(parents=True, exist_ok=True)
        return f"{self.commit:012d}-{uuid.uuid4().hex[:12]}"

    def files(self, name: str, by: Order) -> list[Path]:
        """The files of a run that is ordered ``by`` that."""
        return [self.path / f"{name}{suffix}" for suffix in (_HASHES[by], *_RUN)]

    def index_files(self, name: str) -> list[Path]:
        """The files of an index."""
        return [self.path / f"{name}{suffix}" for suffix in _INDEX]

    def listed(self) -> set[tuple[int, str]]:
        """The numbers and names of all runs and indexes, whole or not."""
        # a file system may have names of its own there
        names = [name for name in names_in(self.place) if name[0].isdigit()]
        return {(self.number_of(name), name.partition(".")[0]) for name in names}

    @staticmethod
    def number_of(name: str) -> int:
        """The number that a name begins with."""
        return int(name.partition("-")[0])

    def delete(self, name: str) -> None:
        """Remove a run or index; who has it open keeps it."""
        names = [f"{name}{suffix}" for suffix in {*_HASHES.values(), *_RUN, *_INDEX}]
        if self._cache is not None:
            self._cache.delete(name, names)
            return
        for each in names:
            (self.path / each).unlink(missing_ok=True)

    def opened(self, paths: Iterable[Path]) -> list[Any]:
        """The content of files, mapped into memory."""
        found = []
        for path in paths:
            if self._cache is not None:
                self._cache.fetch(path)
            found.append(mapped(path))
        return found

    def add(self, paths: Iterable[Path]) -> None:
        """Files were written."""
        if self._cache is not None:
            self._cache.add(paths)

    def store(self, names: Iterable[str]) -> None:
        """Have these runs and indexes where other machines find them. Called before a head names
        them."""
        if self._cache is not None:
            self._cache.store(names)


class RunInfo(NamedTuple):
    """What has to be known of a run to open it."""

    name: str
    width: int
    rows: int


class Run:
    """One run, open for reading."""

    def __init__(self, place: RunDirectory, info: RunInfo, by: Order) -> None:
        self.info = info
        hashes, keys, ends, data = place.opened(place.files(info.name, by))
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

    @property
    def rows(self) -> int:
        """How many keys it has."""
        return self.info.rows

    @property
    def hashes(self) -> Hashes:
        """The hashes of its keys."""
        return self.keys.hashes

    def find(self, wanted: KeyRows) -> Iterator[tuple[Run, Positions, Positions]]:
        """Which of the keys ``wanted`` it has, and where; itself as well."""
        at, there = self.keys.find(wanted)
        yield self, np.flatnonzero(there), at[there]

    def find_one(self, wanted: np.uint64, row: bytes) -> tuple[Run, int] | None:
        """Where the key with this hash and row is, and itself; None if it is not there."""
        hashes, at = self.keys.hashes, int(self.keys.hashes.searchsorted(wanted))
        while at < len(hashes) and hashes[at] == wanted:
            if self.keys.rows[at] == row:
                return self, at
            at += 1
        return None

    def record(self, at: int) -> bytes | None:
        """The record at one place, None if it says that its key was removed."""
        record: bytes = self.records[at].as_py()
        return record or None

    def removed(self, at: Positions) -> Marks:
        """Which of the records at these places say that their keys were removed."""
        return np.equal(self.ends[at + 1], self.ends[at])

    @property
    def size(self) -> int:
        """Bytes of the files."""
        columns = self.keys.rows, self.keys.hashes, self.ends
        return sum(column.nbytes for column in columns) + int(self.ends[-1])


def write_run(
    place: RunDirectory, width: int, content: Iterable[Columns], by: Order = Order.KEY
) -> list[Run]:
    """A run of ``content``, which is ordered ``by`` that, written and opened; none if there is
    nothing in it."""
    name, count, size = place.new_name(), 0, 0
    paths = place.files(name, by)
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
    place.add(paths)
    if not count:
        place.delete(name)
        return []
    place.written += size + count * (width + TAIL + 16)
    return [Run(place, RunInfo(name, width, count), by)]


def alike(sizes: Sequence[int]) -> int:
    """How many of the last are of about one size: none much larger than the very last."""
    return len(list(takewhile(lambda size: size <= 2 * sizes[-1], reversed(sizes))))


def stretches(columns: Sequence[Hashes], start: int = 0) -> Iterator[list[tuple[int, int]]]:
    """Sorted columns cut into pieces that can be merged by themselves, from the hash ``start`` on:
    where the piece of each column begins and ends."""
    places = [int(hashes.searchsorted(np.uint64(start))) for hashes in columns]
    most = max(1, _CHUNK // len(columns))
    while any(at < len(hashes) for at, hashes in zip(places, columns, strict=True)):
        ends = [min(at + most, len(h)) for at, h in zip(places, columns, strict=True)]
        open_ends = [
            hashes[end - 1]
            for hashes, at, end in zip(columns, places, ends, strict=True)
            if at < end < len(hashes)
        ]
        if open_ends:
            # no key with the last hash must be left for later, from any of the columns
            bound = min(open_ends)
            ends = [
                at + int(hashes[at:].searchsorted(bound, "right"))
                for hashes, at in zip(columns, places, strict=True)
            ]
        yield list(zip(places, ends, strict=True))
        places = ends


def mapped(path: Path) -> Any:
    with path.open("rb") as file:
        if not path.stat().st_size:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
