"""Sessions of event time with a fixed gap and built-in aggregates, on whole columns.

What a batch does to them is told in :mod:`~scurry.runtime.windowing.vectorised.session_steps`.
"""

from __future__ import annotations

import numpy as np

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.keyed_state import store_of
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.windowing.slices import SESSION_COLUMNS
from scurry.runtime.windowing.vectorised.aligned import VectorisedOperator
from scurry.runtime.windowing.vectorised.output import Results
from scurry.runtime.windowing.vectorised.session_columns import SessionColumns
from scurry.runtime.windowing.vectorised.session_steps import SessionSteps
from scurry.windowing.session_windows import EventTimeSessionWindows
from scurry.windowing.spec import WindowSpec


def fixed_sessions(windowing: WindowSpec) -> bool:
    """Whether a windowing is sessions of event time as the operator here runs them."""
    return type(windowing.assigner) is EventTimeSessionWindows and windowing.plain


class VectorisedSessionOperator(VectorisedOperator):
    """Runs sessions of event time."""

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec, windowing)
        assigner = windowing.assigner
        assert isinstance(assigner, EventTimeSessionWindows)
        self._gap, self._lateness = assigner.session_gap, windowing.allowed_lateness

    @classmethod
    def table_of(cls, windowing: WindowSpec) -> str:
        return SESSION_COLUMNS

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, name = store_of(context), f"{self.spec.uid}\x1f{self.content_table}"
        self._sessions = store.part(
            name, lambda: SessionColumns(name, store, self._gap, self._lateness)
        )
        self._steps = SessionSteps(self._sessions, self._gap, self._lateness)

    def begin(self, watermark: int) -> None:
        """Reads the open sessions, if memory does not have them."""
        self._clock.watermark = watermark
        self._sessions.load(watermark)

    def _new_results(self) -> Results:
        return Results(self._measures, self._sessions.keys, self._windowing.keyed)

    def _take(self, batch: Batch) -> Longs:
        stamps = self.stamps(batch, self._gap + self._lateness).astype(np.int64)
        watermarks = self.watermarks(batch)
        codes = self._sessions.codes_of(batch)
        self._results = self._new_results()
        if not batch.size:
            return np.zeros(0, dtype=np.int64)
        columns = self._measures.of(batch, np.arange(batch.size))
        late = self._steps.take(batch, codes, stamps, watermarks, columns, self._results)
        self._clock.watermark = int(watermarks[-1])
        return late

    def _pass(self, until: int) -> None:
        self._steps.fire(until, self._results)
