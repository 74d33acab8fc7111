"""Aggregates of windows that are columns: a window fires when time reaches its end.

Rows are combined by window and key as they come (:mod:`scurry.runtime.relational.window_partials`);
what a micro-batch adds to a window is one record, whatever the number of keys. When time has passed
a window's last instant, its rows are sent, as insertions, and it is forgotten. A row that comes
later is dropped and counted. Where the input is ``retracting``, a row that is taken back counts in
the window that its time is in.
"""

from __future__ import annotations

from math import gcd
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall, AssignedWindows
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, TIMER_TICK, Batch, Longs
from scurry.runtime.columnar.partials import Columns, combine, concat, groups_of, take
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import milliseconds, timestamps
from scurry.runtime.relational.window_partials import WindowPartials, combinable
from scurry.runtime.relational.window_table import TUMBLE, windows_of
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.windowing.slices import SLICED_COLUMNS
from scurry.runtime.windowing.vectorised.column_slices import ColumnSlices, Part
from scurry.state.layout import StateLayout

START = "max:start"


def windows_at(stamps: Longs, windows: AssignedWindows) -> tuple[Longs, Longs, Longs]:
    """The windows of timestamps: for each of them which of the timestamps it is of, start, end."""
    return windows_of(stamps, windows.kind, windows.size, windows.step, windows.offset)


class WindowAggregateOperator(KeyedRelationalOperator):
    """Aggregates of each key and window."""

    state_kind: ClassVar[str] = "aggregates by window"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        calls: tuple[AggregateCall, ...],
        window_start: int,
        window_end: int,
        properties: tuple[str, ...],
        event_time: bool,
        retracting: bool = False,
        windows: AssignedWindows | None = None,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._start, self._end = window_start, window_end
        self._windows = windows
        self._properties = properties
        self._event_time = event_time
        self._partials = WindowPartials(calls, inputs[0], retracting)
        self._reached = MIN_WATERMARK

    @classmethod
    def state_layout(cls, *arguments: Any) -> StateLayout:
        columns, inputs, keys, retention, calls, *rest = arguments
        windows = rest[-1]
        if isinstance(windows, AssignedWindows):
            inputs, keys, calls = (windows.columns,), (windows.keys,), windows.calls
        return super().state_layout(columns, inputs, keys, retention, calls, *rest)

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        calls, retracting = arguments[0], arguments[5]
        held = "partials" if combinable(calls, retracting) else "rows"
        held = f"{held} that can be taken back" if retracting else held
        return {"aggregates": ", ".join(call.title for call in calls), "holds": held}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, name = store_of(context), f"{self.spec.uid}\x1f{SLICED_COLUMNS}"
        self.describe(name, self.inputs[0], windows=True, **self._partials.form)
        self._slices = store.part(name, lambda: ColumnSlices(name, store))
        #: the ends of windows that hold something
        self._open: set[int] = set()

    def begin(self, watermark: int) -> None:
        stored = self._slices.begin()
        if stored is not None:
            self._open = set(stored)
        self._reached = watermark
        if not self._event_time:
            self._fire(self.local_now())

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        passed = self._passed(batch)
        if self._windows is None:
            starts, ends = (
                milliseconds(columns.column(index)).to_numpy(zero_copy_only=False)
                for index in (self._start, self._end)
            )
            self._take_rows(batch, columns, None, starts, ends, passed)
        else:
            self._assign(batch, columns, self._windows, passed)
        if self._event_time and batch.size:
            self._fire(int(passed[-1]))

    def _assign(
        self, batch: Batch, columns: pa.RecordBatch, windows: AssignedWindows, passed: Longs
    ) -> None:
        """Take rows into the windows that their times are in. Those of the same key and windows are
        combined before they get into each of them, as long as no window has passed."""
        column = milliseconds(columns.column(windows.time))
        stamps = column.fill_null(0).to_numpy(zero_copy_only=False)
        if windows.kind != TUMBLE and not column.null_count and bool((stamps > passed).all()):
            self._combine_slices(batch, columns, windows, stamps)
            return
        origin, starts, ends = windows_at(stamps, windows)
        if column.null_count:
            timed = column.is_valid().to_numpy(zero_copy_only=False)[origin]
            origin, starts, ends = origin[timed], starts[timed], ends[timed]
        each_once = windows.kind == TUMBLE and not column.null_count
        self._take_rows(batch, columns, None if each_once else origin, starts, ends, passed)

    def _combine_slices(
        self, batch: Batch, columns: pa.RecordBatch, windows: AssignedWindows, stamps: Longs
    ) -> None:
        """Take rows none of whose windows has passed: those of a slice of time are in the same
        windows."""
        if not batch.size:
            return
        unit = gcd(windows.size, windows.step)
        numbers, codes = (stamps - windows.offset) // unit, self._slices.codes_of(batch)
        (numbers, codes), inverse = groups_of(numbers, codes)
        held = combine(self._partials.of(columns, batch.kinds), inverse, len(codes))
        origin, starts, ends = windows_at(numbers * unit + windows.offset, windows)
        if len(origin):
            self._add(codes[origin], starts, ends, take(held, origin))

    def _take_rows(
        self,
        batch: Batch,
        columns: pa.RecordBatch,
        origin: Longs | None,
        starts: Longs,
        ends: Longs,
        passed: Longs,
    ) -> None:
        """Take rows into windows with these bounds, the i-th window that of the row ``origin[i]``,
        or of the i-th row."""
        codes, kinds = self._slices.codes_of(batch), batch.kinds
        kept = np.flatnonzero(ends - 1 > (passed if origin is None else passed[origin]))
        if len(kept) < len(ends):
            self.context.report.count(f"late:{self.spec.uid}", len(ends) - len(kept))
            starts, ends = starts[kept], ends[kept]
            origin = kept if origin is None else origin[kept]
        if origin is not None:
            columns, codes = columns.take(pa.array(origin)), codes[origin]
            kinds = None if kinds is None else kinds[origin]
        if len(kept):
            self._add(codes, starts, ends, self._partials.of(columns, kinds))

    def _passed(self, batch: Batch) -> Longs:
        """The time that had passed before each row came."""
        if not self._event_time:
            return np.full(batch.size, self.local_now() - 1, dtype=np.int64)
        return np.full(batch.size, self._reached, dtype=np.int64) if batch.wm is None else batch.wm

    def _add(self, codes: Longs, starts: Longs, ends: Longs, partials: Columns) -> None:
        (windows, keys), inverse = groups_of(ends, codes)
        length = int(ends[0] - starts[0])
        if bool((ends - starts == length).all()):
            combined = combine(partials, inverse, len(keys))
            combined[START] = windows - length
        else:
            combined = combine({**partials, START: starts}, inverse, len(keys))
        begins = np.flatnonzero(np.append(True, windows[1:] != windows[:-1]))
        stops = np.append(begins[1:], len(windows))
        for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True):
            end = int(windows[begin])
            self._open.add(end)
            rows = slice(begin, stop)
            self._slices.add(end, Part(keys[rows], take(combined, rows)))

    def advance(self, watermark: int) -> None:
        if self._event_time and watermark > self._reached:
            self._fire(watermark)

    def finish(self) -> None:
        if not self._event_time and self._open:
            self.context.report.wake_at(self.wake_for(min(self._open) - 1))

    def local_now(self) -> int:
        """The time by which windows of processing time end."""
        return self.context.now

    def wake_for(self, local: int) -> int:
        """When it will be that time."""
        return local

    def _fire(self, until: int) -> None:
        """Time has passed ``until``."""
        due = sorted(end for end in self._open if end - 1 <= until)
        if due:
            self._send(due)
        for end in due:
            self._slices.drop(end)
            self._open.discard(end)
        if self._event_time:
            self._reached = max(self._reached, until)

    def _send(self, due: list[int]) -> None:
        """Send the rows of the windows that end at ``due``, window by window, in one batch."""
        found = [(end, part) for end in due for part in self._slices.parts([end])]
        parts = [part for _, part in found]
        codes = np.concatenate([part.codes for part in parts])
        sizes = [len(part.codes) for part in parts]
        (ends, codes), inverse = groups_of(np.repeat([end for end, _ in found], sizes), codes)
        held = combine(concat([part.columns for part in parts], sizes), inverse, len(codes))
        there = self._partials.present(held)
        if there is not None:
            codes, ends, held = codes[there], ends[there], take(held, there)
        if not len(codes):
            return
        order = np.lexsort((*self._slices.keys.ranks(codes), ends))
        codes, ends, held = codes[order], ends[order], take(held, order)
        made = [*self._key_columns(codes), *self._results(held, len(codes))]
        made += self._window_columns(held[START], ends, len(made))
        columns = pa.RecordBatch.from_arrays(made, schema=self.columns)
        whole = np.minimum(ends - 1, MAX_WATERMARK)
        self.emit(
            Batch(
                None,
                columns=columns,
                codec=self.codec,
                ts=whole,
                wm=whole - 1 if self._event_time else np.full_like(whole, self._reached),
                pos=whole if self._event_time else np.full_like(whole, self._reached),
                tick=np.full(len(codes), TIMER_TICK, dtype=np.int64),
            )
        )

    def _results(self, held: Any, groups: int) -> list[pa.Array]:
        try:
            return self._partials.results(held, groups)
        except Exception as failure:
            raise self.failed(failure) from failure

    def _key_columns(self, codes: Longs) -> list[pa.Array]:
        return key_columns(self._slices.keys.results(codes), self.keys[0], self.inputs[0])

    def _window_columns(self, starts: Longs, ends: Longs, first: int) -> list[pa.Array]:
        values = self.shown_bounds(starts, ends)
        return [
            timestamps(values[name], self.columns.field(first + number).type)
            for number, name in enumerate(self._properties)
        ]


def key_columns(found: Any, indexes: tuple[int, ...], schema: pa.Schema) -> list[pa.Array]:
    """Keys as the columns they are made of."""
    if not indexes:
        return []
    types = [schema.field(index).type for index in indexes]
    if len(indexes) == 1:
        column = found if isinstance(found, pa.Array) else pa.array(found, types[0])
        return [column if column.type == types[0] else column.cast(types[0])]
    lists = list(zip(*found, strict=True))
    return [pa.array(one, kind) for one, kind in zip(lists, types, strict=True)]
