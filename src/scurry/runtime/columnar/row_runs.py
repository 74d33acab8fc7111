"""Runs: rows of a relation as columns, sorted by the hashes of their keys.

A row in a run has the hash of its key, a *serial number* that grows with each row that comes, and,
if the operator counts something for each row, two numbers: how many partners it has, and when it
was last written. Rows of one hash are in the order in which they came. A batch is looked up in a
run by binary search, all its keys at once.

A run that is stored is one record. Rows do not change in it: that a row has gone, or has other
numbers, is a *note* in a later record, which names the row by its hash and serial number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Longs
from scurry.runtime.columnar.equal_rows import Hashes as Hashes
from scurry.runtime.columnar.equal_rows import hash_order, numbers_of
from scurry.state.codecs.encoding import unknown_format

Mask = np.ndarray[Any, np.dtype[np.bool_]]
_VERSION = 2
_HASH, _SERIAL, _ALIVE = "#hash", "#serial", "#alive"
#: The numbers of rows, where they have any.
PARTNERS, WRITTEN = 0, 1
_NUMBERS = ("#partners", "#written")


class Run:
    """Rows in the order of their hashes and serial numbers. Which of them are alive, and their
    numbers, are those of now, whatever the record says."""

    __slots__ = ("_starts", "alive", "columns", "hashes", "numbers", "serials")

    def __init__(
        self, hashes: Hashes, serials: Longs, columns: pa.RecordBatch, numbers: Longs
    ) -> None:
        self.hashes = hashes
        self.serials = serials
        self.columns = columns
        #: a row of this array for each number
        self.numbers = numbers
        self.alive: Mask = np.ones(len(hashes), dtype=bool)
        self._starts: Longs | None = None

    def __len__(self) -> int:
        return len(self.hashes)

    def find(self, asked: Hashes) -> Longs:
        """Where the living rows with one of the hashes ``asked`` are, which are sorted and all
        different."""
        low = self.hashes.searchsorted(asked, "left")
        counts = self.hashes.searchsorted(asked, "right") - low
        places = spread(low, counts)
        return places[self.alive[places]]

    def first(self, asked: Hashes, keys: Sequence[int]) -> Longs:
        """The same for one row of each key with such a hash; ``keys`` are the columns of keys, none
        if keys are equal where their hashes are."""
        low = self.hashes.searchsorted(asked, "left")
        high = self.hashes.searchsorted(asked, "right")
        there = high > low
        starts = self._starts_of(keys)
        if self.alive.all():
            begin = starts.searchsorted(low[there])
            return starts[spread(begin, starts.searchsorted(high[there]) - begin)]
        places = spread(low, high - low)
        places = places[self.alive[places]]
        group = starts.searchsorted(places, "right")
        return places[np.append(True, group[1:] != group[:-1])] if len(places) else places

    def _starts_of(self, keys: Sequence[int]) -> Longs:
        """Where rows of another key begin."""
        if self._starts is None:
            differ = self.hashes[1:] != self.hashes[:-1]
            for number in (n for key in keys for n in numbers_of(self.columns.column(key))):
                differ |= number[1:] != number[:-1]
            self._starts = np.flatnonzero(np.append(True, differ)) if len(self) else self.serials
        return self._starts

    def take(self, places: Longs) -> Run:
        """Some of the rows."""
        return Run(
            self.hashes[places],
            self.serials[places],
            self.columns.take(pa.array(places)),
            self.numbers[:, places],
        )


class Notes(NamedTuple):
    """What has become of rows of older runs."""

    hashes: Hashes
    serials: Longs
    alive: Mask
    numbers: Longs

    def take(self, places: Any) -> Notes:
        """Some of them."""
        return Notes(
            self.hashes[places], self.serials[places], self.alive[places], self.numbers[:, places]
        )

    def apply(self, run: Run) -> Mask:
        """Have ``run`` say what these notes say of its rows; returns which notes were of them."""
        which, at = _same_rows(self, run)
        run.alive[at] = self.alive[which]
        run.numbers[:, at] = self.numbers[:, which]
        found = np.zeros(len(self.hashes), dtype=bool)
        found[which] = True
        return found


def spread(begins: Longs, counts: Longs) -> Longs:
    """The numbers of all ranges, one range after the other, given where each begins and how long
    it is."""
    before = np.cumsum(counts) - counts
    return np.repeat(begins - before, counts) + np.arange(int(counts.sum()))


def sorted_run(hashes: Hashes, serials: Longs, columns: pa.RecordBatch, numbers: Longs) -> Run:
    """The run of rows that are given in the order of their serial numbers."""
    order = hash_order(hashes)
    return Run(hashes[order], serials[order], columns.take(pa.array(order)), numbers[:, order])


def merged(runs: Sequence[Run]) -> Run:
    """One run of all living rows of ``runs``, the oldest of which comes first."""
    if len(runs) == 1 and runs[0].alive.all():
        return runs[0]
    hashes = np.concatenate([run.hashes for run in runs])
    alive = np.flatnonzero(np.concatenate([run.alive for run in runs]))
    order = alive[hash_order(hashes[alive])]
    batches = [run.columns for run in runs if len(run)] or [runs[0].columns]
    columns = pa.Table.from_batches(batches).combine_chunks().take(pa.array(order))
    (whole,) = columns.combine_chunks().to_batches() or [runs[0].columns.slice(0, 0)]
    serials = np.concatenate([run.serials for run in runs])[order]
    numbers = np.concatenate([run.numbers for run in runs], axis=1)[:, order]
    return Run(hashes[order], serials, whole, numbers)


def latest(notes: Sequence[Notes]) -> Notes:
    """The last note of each row, of all ``notes``, the oldest of which comes first."""
    whole = Notes(
        np.concatenate([one.hashes for one in notes]),
        np.concatenate([one.serials for one in notes]),
        np.concatenate([one.alive for one in notes]),
        np.concatenate([one.numbers for one in notes], axis=1),
    )
    order = np.lexsort((whole.serials, whole.hashes))
    hashes, serials = whole.hashes[order], whole.serials[order]
    last = np.ones(len(order), dtype=bool)
    last[:-1] = (hashes[1:] != hashes[:-1]) | (serials[1:] != serials[:-1])
    return whole.take(order[last])


def _same_rows(notes: Notes, run: Run) -> tuple[Longs, Longs]:
    """Which of ``notes`` are of rows of ``run``, and which rows these are."""
    near = np.flatnonzero(np.isin(run.hashes, notes.hashes))
    hashes = np.concatenate([run.hashes[near], notes.hashes])
    serials = np.concatenate([run.serials[near], notes.serials])
    order = np.lexsort((serials, hashes))
    first, second = order[:-1], order[1:]
    same = (hashes[first] == hashes[second]) & (serials[first] == serials[second])
    return second[same] - len(near), near[first[same]]


def packed(run: Run, notes: Notes) -> bytes:
    """A run and notes as a record."""
    fields = [*run.columns.schema, (_HASH, pa.uint64()), (_SERIAL, pa.int64())]
    fields += [(name, pa.int64()) for name in _NUMBERS[: len(run.numbers)]]
    arrays = [*run.columns.columns, pa.array(run.hashes), pa.array(run.serials)]
    rows = _stream(fields, [*arrays, *map(pa.array, run.numbers)])
    said = []
    if len(notes.hashes):
        fields = [(_HASH, pa.uint64()), (_SERIAL, pa.int64()), (_ALIVE, pa.bool_())]
        fields += [(name, pa.int64()) for name in _NUMBERS[: len(notes.numbers)]]
        arrays = [pa.array(column) for column in (*notes[:3], *notes.numbers)]
        said = [_stream(fields, arrays)]
    return b"".join([bytes([_VERSION]), rows.size.to_bytes(8, "big"), rows, *said])


def unpacked(
    record: bytes, schema: pa.Schema | None = None, missing: Sequence[int] | None = None
) -> tuple[Run, Notes]:
    """The run and the notes of a record. The columns are those of ``schema``, if it is given; the
    rows have as many numbers as ``missing``, which is what the numbers are where the record has
    none: it may have been written when nobody needed them, or when somebody did."""
    if record[0] != _VERSION:
        raise unknown_format(record[:1])
    size = int.from_bytes(record[1:9], "big")
    view = memoryview(record)
    rows = pa.ipc.open_stream(view[9 : 9 + size]).read_next_batch()
    # the last of that name: a column of the user's may be called so, too
    width = len(rows.schema) - 1 - rows.schema.names[::-1].index(_HASH)
    fields = list(rows.schema)[:width] if schema is None else schema
    columns = pa.RecordBatch.from_arrays(rows.columns[:width], schema=pa.schema(fields))
    hashes, serials, *numbers = (column.to_numpy() for column in rows.columns[width:])
    run = Run(hashes, serials, columns, _stacked(numbers, len(hashes), missing))
    if len(view) == 9 + size:
        return run, no_notes(len(run.numbers))
    said = pa.ipc.open_stream(view[9 + size :]).read_next_batch()
    hashes, serials, alive, *numbers = (c.to_numpy(zero_copy_only=False) for c in said.columns)
    return run, Notes(hashes, serials, alive, _stacked(numbers, len(hashes), missing))


def no_notes(numbers: int) -> Notes:
    """Nothing has become of any row."""
    serials = np.zeros(0, dtype=np.int64)
    hashes, alive = serials.astype(np.uint64), serials.astype(bool)
    return Notes(hashes, serials, alive, np.zeros((numbers, 0), dtype=np.int64))


def empty_run(schema: pa.Schema, numbers: int) -> Run:
    """A run without rows."""
    columns = pa.RecordBatch.from_arrays([pa.array([], k) for k in schema.types], schema=schema)
    nothing = no_notes(numbers)
    return Run(nothing.hashes, nothing.serials, columns, nothing.numbers)


def _stacked(numbers: list[Longs], size: int, missing: Sequence[int] | None) -> Longs:
    if missing is not None and len(numbers) != len(missing):
        return np.repeat(np.array(missing, dtype=np.int64)[:, None], size, axis=1)
    return np.array(numbers, dtype=np.int64).reshape(len(numbers), size)


def _stream(fields: list[Any], arrays: list[pa.Array]) -> pa.Buffer:
    # by position: names of the user's columns may be equal to each other
    schema = pa.schema(fields)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return stream.getvalue()
