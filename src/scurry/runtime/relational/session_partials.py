"""Aggregates of sessions in event time, on columns.

What a session holds is combined from its rows as they come, as that of windows is
(:mod:`scurry.runtime.relational.window_partials`), so that no row is kept. Sessions grow, merge and
end as in :mod:`scurry.runtime.windowing.vectorised.session_steps`. A row whose session, with all
that it would join, is over before the row comes is dropped and counted. A row that is taken back
belongs to a session as one that comes does, and counts as one less.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import MIN_WATERMARK, TIMER_TICK, Batch, Longs
from scurry.runtime.columnar.partials import Columns, take
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import milliseconds, timestamps
from scurry.runtime.relational.window_aggregate import key_columns
from scurry.runtime.relational.window_partials import WindowPartials
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.windowing.slices import SESSION_COLUMNS
from scurry.runtime.windowing.vectorised.session_columns import SessionColumns
from scurry.runtime.windowing.vectorised.session_steps import SessionSteps

#: The partial that counts rows.
_ROWS = "n"


class SessionPartialsOperator(KeyedRelationalOperator):
    """Aggregates of each key and session, combined as rows come."""

    state_kind: ClassVar[str] = "aggregates by session"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        calls: tuple[AggregateCall, ...],
        time: int,
        gap: int,
        properties: tuple[str, ...],
        retracting: bool = False,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._time = time
        self._gap = gap
        self._properties = properties
        self._partials = WindowPartials(calls, inputs[0], retracting)
        self._reached = MIN_WATERMARK

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        taken_back = " that can be taken back" if arguments[4] else ""
        return {"aggregates": ", ".join(call.title for call in arguments[0]) + taken_back}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, name = store_of(context), f"{self.spec.uid}\x1f{SESSION_COLUMNS}"
        form = self._partials.form
        self.describe(name, self.inputs[0], windows=True, gap=self._gap, **form)
        self._sessions = store.part(name, lambda: SessionColumns(name, store, self._gap, 0))
        self._steps = SessionSteps(self._sessions, self._gap)

    def begin(self, watermark: int) -> None:
        self._reached = watermark
        self._sessions.load(watermark)

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        times = milliseconds(columns.column(self._time))
        if times.null_count:
            self._count_late(times.null_count)
            there = np.flatnonzero(times.is_valid().to_numpy(zero_copy_only=False))
            batch, columns = batch.take(there), columns.take(pa.array(there))
            times = times.drop_null()
        if not batch.size:
            return
        marks = batch.wm
        if marks is None:
            marks = np.full(batch.size, self._reached, dtype=np.int64)
        codes = self._sessions.codes_of(batch)
        stamps = self.local_times(times.to_numpy(zero_copy_only=False))
        # sessions without aggregates hold something, too
        made = self._partials.of(columns, batch.kinds)
        held = {_ROWS: np.ones(batch.size, dtype=np.int64), **made}
        late = self._steps.take(batch, codes, stamps, marks, held, self)
        if len(late):
            self._count_late(len(late))
        self._reached = int(marks[-1])

    def _count_late(self, count: int) -> None:
        self.context.report.count(f"late:{self.spec.uid}", count)

    def advance(self, watermark: int) -> None:
        if watermark > self._reached:
            self._steps.fire(watermark, self)
            self._reached = watermark

    def placed(
        self,
        codes: Longs,
        starts: Longs,
        lasts: Longs,
        columns: Columns,
        batch: Batch | None = None,
        at: Longs | None = None,
    ) -> None:
        """Send sessions that are over, each at its last instant."""
        there = self._partials.present(columns)
        if there is not None:
            codes, starts, lasts = codes[there], starts[there], lasts[there]
            columns = take(columns, there)
        if not len(codes):
            return
        try:
            results = self._partials.results(columns, len(codes))
        except Exception as failure:
            raise self.failed(failure) from failure
        found = self._sessions.keys.results(codes)
        made = [*key_columns(found, self.keys[0], self.inputs[0]), *results]
        values = self.shown_bounds(starts, lasts + 1)
        for name in self._properties:
            made.append(timestamps(values[name], self.columns.field(len(made)).type))
        self.emit(
            Batch(
                None,
                columns=pa.RecordBatch.from_arrays(made, schema=self.columns),
                codec=self.codec,
                ts=lasts,
                wm=lasts - 1,
                pos=lasts,
                tick=np.full(len(codes), TIMER_TICK, dtype=np.int64),
            )
        )
