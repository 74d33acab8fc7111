"""Operators that keep the rows of windows until these end: top-N of windows.

The windows are columns of the input. A row waits under its key until its window ends; a row whose
window has ended before it comes is dropped and counted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSets
from scurry.runtime.relational.relation import milliseconds
from scurry.runtime.relational.sort_keys import sort_keys
from scurry.runtime.relational.waiting import DueRow, WaitingOperator, due_rows, keep_row
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class WindowRowsOperator(WaitingOperator):
    """One in which rows wait for the ends of their windows."""

    def take_windows(
        self, batch: Batch, passed: Longs, port: int, sets: RowSets, codec: RowCodec, end: int
    ) -> None:
        """Have the rows of ``batch`` wait until the windows end whose ends are column ``end``."""
        columns = self.columns_of(batch, port)
        lasts = milliseconds(columns.column(end)).to_numpy(zero_copy_only=False) - 1
        kept = np.flatnonzero(lasts > passed)
        if len(kept) < batch.size:
            self.context.report.count(f"late:{self.spec.uid}", batch.size - len(kept))
            columns, batch = columns.take(pa.array(kept)), batch.take(kept)
        if not len(kept):
            return
        keys = batch_keys(batch, self.picked[port])
        held = sets.of(keys.keys)
        due: dict[tuple[int, int], None] = {}
        for row, code, last in zip(
            codec.encode(columns.columns), keys.codes.tolist(), lasts[kept].tolist(), strict=True
        ):
            keep_row(held[code], row, last)
            due[code, last] = None
        for code, last in due:
            self.timers.register(last, keys.keys[code])


class WindowRankOperator(WindowRowsOperator):
    """Top-N of each window and key; with one row, the deduplication of windows."""

    state_kind: ClassVar[str] = "rows of windows"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        order: tuple[SortKey, ...],
        first: int,
        last: int,
        window_end: int,
        number: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._order = order
        self._first, self._last = first, last
        self._end = window_end
        self._number = number
        self._rows = RowCodec(inputs[0])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._waiting = self.rows_of_keys("waiting", self.inputs[0], 8, "time", "number")

    def process(self, batch: Batch, port: int = 0) -> None:
        passed = self.passed(batch)
        self.take_windows(batch, passed, 0, self._waiting, self._rows, self._end)
        if batch.size:
            self.reach(int(passed[-1]))

    def on_due(self, keys: list[Any], until: int) -> None:
        found: list[tuple[int, int, DueRow, int]] = []
        for at, held in enumerate(self._waiting.of(keys)):
            rows = due_rows(held, until)
            places = sort_keys(self._rows.decode([row.row for row in rows]), self._order)
            by_window: dict[int, list[tuple[bytes, int, DueRow]]] = defaultdict(list)
            for row, place in zip(rows, places, strict=True):
                by_window[row.time].append((place, row.number, row))
                held.remove(row.stored)
            for time, mine in by_window.items():
                ranked = sorted(mine)[self._first - 1 : self._last]
                found += [
                    (time, at, row, number)
                    for number, (_, _, row) in enumerate(ranked, start=self._first)
                ]
        found.sort(key=lambda one: (one[0], one[1], one[3]))
        columns = self._rows.decode([row.row for _, _, row, _ in found])
        if self._number:
            columns.append(pa.array([number for *_, number in found], pa.int64()))
        self.send_timed(columns, np.array([one[0] for one in found], dtype=np.int64))
