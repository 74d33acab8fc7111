"""Rows that wait until event time has passed them: what OVER, sorting and versions by time need.

A row waits under its key until the watermark has reached its time; then it is *due*. All rows of a
batch are taken in before any is due: a row that is not late when it comes is due after it has come,
whatever the cut. What is sent for a row stands at the row's time. Rows that are late, because the
watermark had reached their time before they came, are dropped and counted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import MIN_WATERMARK, TIMER_TICK, Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet, RowSets
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import RelationalOperator, milliseconds
from scurry.runtime.task_context import TaskContext
from scurry.runtime.timers import EVENT, timer_queue

#: Where an entry has a row's time, and its number among the rows of its key.
TIME, NUMBER = 1, 2


class DueRow(NamedTuple):
    """A row that has waited."""

    time: int
    number: int
    #: the row as it is kept
    stored: bytes

    @property
    def row(self) -> bytes:
        """The row itself."""
        return self.stored[8:]


def next_number(held: RowSet) -> int:
    """A number above those of all rows of a key."""
    found: int | None = held.note
    if found is None:
        found = 1 + max((entry[NUMBER] for entry in held.rows.values()), default=0)
    held.note = found + 1
    return found


def keep_row(held: RowSet, row: bytes, time: int, *more: int) -> None:
    """Add a row to those of its key; equal rows are told apart by their number."""
    number = next_number(held)
    held.put(number.to_bytes(8, "big") + row, time, number, *more)


class WaitingOperator(KeyedRelationalOperator):
    """One in which rows wait for event time."""

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self.timers = timer_queue(store_of(context), self.spec.uid, EVENT)
        self.reached = MIN_WATERMARK

    def begin(self, watermark: int) -> None:
        self.timers.begin()
        self.reached = watermark

    def advance(self, watermark: int) -> None:
        self.reach(watermark)

    def reach(self, watermark: int) -> None:
        """Event time passes up to ``watermark``."""
        if watermark > self.reached:
            self.reached = watermark
            self.fire(watermark)

    def passed(self, batch: Batch) -> Longs:
        """The watermark before each row."""
        return np.full(batch.size, self.reached, dtype=np.int64) if batch.wm is None else batch.wm

    def take_in(
        self, batch: Batch, columns: pa.RecordBatch, sets: RowSets, codec: RowCodec, time: int
    ) -> None:
        """Have the rows of ``batch`` wait among ``sets``, until the time in column ``time``."""
        stamps = milliseconds(columns.column(time)).fill_null(MIN_WATERMARK)
        times = stamps.to_numpy(zero_copy_only=False)
        kept = np.flatnonzero(times > self.passed(batch))
        if len(kept) < batch.size:
            self.context.report.count(f"late:{self.spec.uid}", batch.size - len(kept))
            columns, batch = columns.take(pa.array(kept)), batch.take(kept)
        if not len(kept):
            return
        keys = batch_keys(batch, self.picked[0])
        held = sets.of(keys.keys)
        due: dict[tuple[int, int], None] = {}
        for row, code, at in zip(
            codec.encode(columns.columns), keys.codes.tolist(), times[kept].tolist(), strict=True
        ):
            keep_row(held[code], row, at)
            due[code, at] = None
        for code, at in due:
            self.timers.register(at, keys.keys[code])

    def fire(self, until: int) -> None:
        """Event time has passed ``until``: handle the keys that have rows which are due."""
        timers = self.timers
        keys: dict[Any, None] = {}
        while timers.next_due <= until and (due := timers.pop_due(until)) is not None:
            keys[due[1]] = None
        if keys:
            self.on_due(list(keys), until)

    @abstractmethod
    def on_due(self, keys: list[Any], until: int) -> None:
        """Rows of ``keys`` are due."""

    def send_timed(self, columns: list[pa.Array], times: Longs) -> None:
        """Send rows, each at its time; they are in the order of their times."""
        self.emit(rows_at_times(self, columns, times))


def rows_at_times(operator: RelationalOperator, columns: Sequence[pa.Array], times: Longs) -> Batch:
    """Rows of what an operator sends, each at its time; they are in the order of their times."""
    made = pa.RecordBatch.from_arrays(list(columns), schema=operator.columns)
    ticks = np.full(len(times), TIMER_TICK, dtype=np.int64)
    return Batch(
        None,
        columns=made,
        codec=operator.codec,
        ts=times,
        wm=times - 1,
        pos=times,
        tick=ticks,
    )


def due_rows(held: RowSet, until: int) -> list[DueRow]:
    """The rows of a key up to a time, in order of time, then of arrival."""
    return sorted(
        DueRow(entry[TIME], entry[NUMBER], row)
        for row, entry in held.rows.items()
        if entry[TIME] <= until
    )
