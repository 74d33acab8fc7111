"""OVER: to each row the aggregates of the rows before it, by number or by time.

Without a bound on what is looked at, a key keeps accumulators. With one, it keeps the rows that
later rows will look at. In event time rows are handled in the order of time; a frame by time
(RANGE) includes all rows of the same time, one by number (ROWS) those that came before. A row that
is late, because the watermark had reached its time when it came, is dropped and counted; Flink
takes it into a bounded frame if its key has had no later row. In processing time rows are handled
as they come.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall, Frame
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.aggregates.choose import accumulator_of
from scurry.runtime.relational.aggregates.scratch import aggregate_rows
from scurry.runtime.relational.aggregates.segments import Segments, stable_order
from scurry.runtime.relational.keyed import titles_of
from scurry.runtime.relational.waiting import (
    NUMBER,
    TIME,
    DueRow,
    WaitingOperator,
    due_rows,
    keep_row,
)
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Functions for which rows of the same time are not alike.
_BY_ROW = ("ROW_NUMBER", "LAG")


class OverAggregateOperator(WaitingOperator):
    """Aggregates of the rows up to each row."""

    state_kind: ClassVar[str] = "rows before a row"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        calls: tuple[AggregateCall, ...],
        frame: Frame,
        time: int | None,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._calls = calls
        self._frame = frame
        self._time = time
        self._rows = RowCodec(inputs[0])

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        calls, frame, time = arguments
        said = ", ".join(call.title for call in calls)
        bound = "all" if frame.preceding is None else str(frame.preceding)
        clock = "processing time" if time is None else f"${time}"
        unit = "rows" if frame.rows else "ms"
        return {"aggregates": said, "frame": f"{bound} {unit}", "time": clock}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        numbers = "time", "number"
        self._waiting = self.rows_of_keys("waiting", self.inputs[0], 8, *numbers)
        self._history = self.rows_of_keys("history", self.inputs[0], 8, *numbers)
        self._accumulators = [
            accumulator_of(call, self.inputs[0], False, number, self.counted_values)
            for number, call in enumerate(self._calls)
        ]
        fields = {
            f"{number}.{name}": kind
            for number, one in enumerate(self._accumulators)
            for name, kind in one.fields.items()
        }
        titles = titles_of(self._calls, fields, self.inputs[0])
        self._state = self.values_of_keys(fields, titles=titles)

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        if self._time is not None:
            self.take_in(batch, columns, self._waiting, self._rows, self._time)
            if batch.size:
                self.advance(int(self.passed(batch)[-1]))
            return
        keys = batch_keys(batch, self.picked[0])
        order = stable_order(keys.codes, len(keys.keys))
        codes = keys.codes[order]
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
        table = columns.take(pa.array(order))
        names = [keys.keys[code] for code in codes[starts].tolist()]
        if self._frame.preceding is None:
            results = self._scanned(table, starts, names)
        else:
            results = self._of_arrived(table, starts, names)
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        self.send(batch, [*columns.columns, *(one.take(pa.array(back)) for one in results)])

    # --- event time

    def on_due(self, keys: list[Any], until: int) -> None:
        held = self._waiting.of(keys)
        due = [due_rows(one, until) for one in held]
        rows = [row for one in due for row in one]
        if not rows:
            return
        table = self._table([row.row for row in rows])
        lengths = np.array([len(one) for one in due], dtype=np.int64)
        there = np.flatnonzero(lengths)
        starts = (np.cumsum(lengths) - lengths)[there]
        names = [keys[at] for at in there.tolist()]
        times = np.array([row.time for row in rows], dtype=np.int64)
        if self._frame.preceding is None:
            results = self._scanned(table, starts, names)
            if not self._frame.rows:
                last = _last_peers(times, starts)
                results = [
                    one if call.function in _BY_ROW else one.take(pa.array(last))
                    for call, one in zip(self._calls, results, strict=True)
                ]
        else:
            results = self._framed([due[at] for at in there.tolist()], names, until)
        for one, found in zip(held, due, strict=True):
            for row in found:
                one.remove(row.stored)
        order = np.argsort(times, kind="stable")
        made = [column.take(pa.array(order)) for column in (*table.columns, *results)]
        self.send_timed(made, times[order])

    def _table(self, rows: list[bytes]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(self._rows.decode(rows), schema=self.inputs[0])

    # --- all rows before

    def _scanned(self, table: pa.RecordBatch, starts: Longs, keys: list[Any]) -> list[pa.Array]:
        """The results after each row; rows are in order of their keys."""
        places = self._state.positions(keys)
        fresh = ~self._state.alive[places]
        groups = np.arange(len(starts))
        rows = Segments(table, np.arange(table.num_rows), starts, groups, None, keys)
        made = []
        for number, one in enumerate(self._accumulators):
            held = {}
            for name in one.fields:
                column = self._state.column(f"{number}.{name}")[places]
                column[fresh] = None if column.dtype == object else 0
                held[name] = column
            scanned = one.scan(rows, rows.counted(one.call, one.takes_nulls), held)
            for name, values in scanned.final.items():
                self._state.column(f"{number}.{name}")[places] = values
            made.append(scanned.after)
        self._state.touch(places)
        return made

    # --- some rows before

    def _of_arrived(self, table: pa.RecordBatch, starts: Longs, keys: list[Any]) -> list[pa.Array]:
        """The results of rows that came just now; rows are in order of their keys."""
        encoded = self._rows.encode(table.columns)
        ends = np.append(starts[1:], len(encoded)).tolist()
        now = self.context.now
        due = [
            [DueRow(now, at, bytes(8) + encoded[at]) for at in range(start, end)]
            for start, end in zip(starts.tolist(), ends, strict=True)
        ]
        return self._framed(due, keys, now)

    def _framed(self, due: list[list[DueRow]], keys: list[Any], until: int) -> list[pa.Array]:
        """The results of rows over those before them; remembers what later rows look at."""
        frames: list[bytes] = []
        starts: list[int] = []
        for mine, held in zip(due, self._history.of(keys), strict=True):
            before = sorted(
                (entry[TIME], entry[NUMBER], row[8:]) for row, entry in held.rows.items()
            )
            rows = [row for _, _, row in before] + [one.row for one in mine]
            times = [time for time, _, _ in before] + [one.time for one in mine]
            for at in range(len(before), len(rows)):
                first, end = self._bounds(at, times)
                starts.append(len(frames))
                frames += rows[first:end]
            self._remember(held, mine, until)
        table = self._table(frames)
        try:
            return aggregate_rows(self._calls, table, np.array(starts, dtype=np.int64))
        except Exception as failure:
            raise self.failed(failure) from failure

    def _bounds(self, at: int, times: list[int]) -> tuple[int, int]:
        """Which rows the row ``at`` looks at."""
        assert self._frame.preceding is not None
        if self._frame.rows:
            return max(0, at - self._frame.preceding), at + 1
        return bisect_left(times, times[at] - self._frame.preceding), bisect_right(times, times[at])

    def _remember(self, held: RowSet, mine: list[DueRow], until: int) -> None:
        assert self._frame.preceding is not None
        for one in mine:
            keep_row(held, one.row, one.time)
        in_order = sorted((e[TIME], e[NUMBER], row) for row, e in held.rows.items())
        if self._frame.rows:
            gone = in_order[: max(0, len(in_order) - self._frame.preceding)]
        else:
            gone = [one for one in in_order if one[0] < until - self._frame.preceding]
        for _, _, row in gone:
            held.remove(row)


def _last_peers(times: Longs, starts: Longs) -> Longs:
    """For each row the last row of its key that has the same time."""
    begins = np.append(True, times[1:] != times[:-1])
    begins[starts] = True
    first = np.flatnonzero(begins)
    lengths = np.diff(np.append(first, len(times)))
    peers: Longs = np.repeat(first + lengths - 1, lengths)
    return peers
