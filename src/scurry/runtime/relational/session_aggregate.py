"""Aggregates of sessions: rows of a key that follow each other with no more than a gap between.

The rows of sessions that are not over are kept by key, with their times and in their order. A timer
is set at the last instant at which each row could be joined by another; when it is due, those
sessions of the key that have ended are sent, and forgotten. A row whose session, with all that it
would join, is over before the row comes is dropped and counted. A row that is taken back belongs to
a session as one that comes does, and counts as one less.

While a micro-batch lasts, the times of each key that is met are at hand in order, so that a timer
whose session goes on costs a search in a list, and rows are looked at only when a session ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.common.keys import thaw
from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.aggregates.scratch import aggregate_rows
from scurry.runtime.relational.relation import INSERT, UPDATE_AFTER, milliseconds, timestamps
from scurry.runtime.relational.timed import TimedOperator
from scurry.runtime.relational.window_aggregate import key_columns
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Where an entry has the time of its rows and their number in the key's order.
TIME, NUMBER = 1, 2
#: The highest bit of a row's number, and the same bit in its first byte: the row is taken back.
_GOES, _MARK = 1 << 63, 0x80


class SessionAggregateOperator(TimedOperator):
    """Aggregates of each key and session."""

    state_kind: ClassVar[str] = "rows of sessions"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        calls: tuple[AggregateCall, ...],
        time: int | None,
        gap: int,
        properties: tuple[str, ...],
        retracting: bool = False,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self.event_time = time is not None
        self._calls = calls
        self._time = time
        self._gap = gap
        self._properties = properties
        self._retracting = retracting
        self._rows = RowCodec(inputs[0])
        self._made = RowCodec(columns)

    def part_codecs(self) -> list[RowCodec]:
        return [self._made]

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._sets = self.rows_of_keys("", self.inputs[0], 8, "time", "number")
        #: by key: the times of its rows in order, and the greatest number of a row so far
        self._times: dict[Any, list[int]] = {}
        self._numbers: dict[Any, int] = {}

    def begin(self, watermark: int) -> None:
        self._times.clear()
        self._numbers.clear()
        super().begin(watermark)

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        rows = self._rows.encode(columns.columns)
        if self._time is None:
            stamps: list[int | None] = [self.context.now] * batch.size
        else:
            stamps = self._stamps(milliseconds(columns.column(self._time)))
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        for row, code, stamp, watermark, kind in zip(
            rows, keys.codes.tolist(), stamps, self.watermarks(batch), listed, strict=True
        ):
            self.reach(watermark)
            (held,) = self._sets.of([keys.keys[code]])
            if stamp is None or self._late(held, stamp):
                self.context.report.count(f"late:{self.spec.uid}", 1)
            else:
                self._add(held, row, stamp, kind not in (INSERT, UPDATE_AFTER))
        self.flush_output(batch)

    def _stamps(self, times: pa.Array) -> list[int | None]:
        """The times of rows, None for those that have none."""
        there = times.is_valid().to_numpy(zero_copy_only=False)
        local = self.local_times(times.fill_null(0).to_numpy(zero_copy_only=False))
        return [at if known else None for at, known in zip(local.tolist(), there, strict=True)]

    def _times_of(self, held: RowSet) -> list[int]:
        times = self._times.get(held.key)
        if times is None:
            times = sorted(entry[TIME] for entry in held.rows.values())
            self._times[held.key] = times
        return times

    def _late(self, held: RowSet, stamp: int) -> bool:
        """Whether the session that a row would be in is over."""
        if not self.event_time or stamp + self._gap - 1 > self.clock:
            return False
        times, last = self._times_of(held), stamp
        for time in times[bisect_right(times, stamp) :]:
            if time - last > self._gap:
                break
            last = time
        return last + self._gap - 1 <= self.clock

    def _add(self, held: RowSet, row: bytes, stamp: int, goes: bool) -> None:
        insort(self._times_of(held), stamp)
        number = self._numbers.get(held.key)
        if number is None:
            number = max((entry[NUMBER] for entry in held.rows.values()), default=0)
        self._numbers[held.key] = number = number + 1
        # rows that are equal are told apart by their number
        mark = _GOES if goes else 0
        held.put((number | mark).to_bytes(8, "big") + row, stamp, number)
        self.timers.register(stamp + self._gap - 1, held.key)

    def _forget(self, held: RowSet, row: bytes) -> None:
        times = self._times_of(held)
        del times[bisect_left(times, held.rows[row][TIME])]
        held.remove(row)

    def on_timer(self, time: int, key: Any, cause: int) -> None:
        """A row could be joined by another up to ``time``: unless one has, its session is over."""
        (held,) = self._sets.of([key])
        times, last = self._times_of(held), time - self._gap + 1
        end = bisect_right(times, last)
        if (
            not end
            or times[end - 1] != last
            or (end < len(times) and times[end] - last <= self._gap)
        ):
            return
        begin = end - 1
        while begin and times[begin] - times[begin - 1] <= self._gap:
            begin -= 1
        first = times[begin]
        session = [item for item in held.rows.items() if first <= item[1][TIME] <= last]
        self._end(held, session, first, last + self._gap, cause)

    def _end(self, held: RowSet, session: list[Any], start: int, end: int, cause: int) -> None:
        """Send a session that is over, and forget its rows."""
        in_order = sorted(session, key=lambda item: item[1][NUMBER])
        table = pa.RecordBatch.from_arrays(
            self._rows.decode([row[8:] for row, _ in in_order]), schema=self.inputs[0]
        )
        signs = np.array([-1 if row[0] & _MARK else 1 for row, _ in in_order], dtype=np.int64)
        for row, _ in session:
            self._forget(held, row)
        if self._retracting and not signs.sum():
            return
        try:
            starts = np.zeros(1, dtype=np.int64)
            taken = signs if self._retracting else None
            results = aggregate_rows(self._calls, table, starts, taken)
        except Exception as failure:
            raise self.failed(failure) from failure
        made = [*key_columns([thaw(held.key)], self.keys[0], self.inputs[0]), *results]
        values = self.shown_bounds(np.array([start]), np.array([end]))
        for number, name in enumerate(self._properties, start=len(made)):
            kind = self.columns.field(number).type
            made.append(timestamps(values[name], kind))
        self.out.add(INSERT, cause, self._made.encode(made)[0])
