"""What the window operators have in common: contexts, late elements, the life cycle."""

from __future__ import annotations

import numpy as np

from scurry.runtime.batch import Batch
from scurry.runtime.emissions import Emissions
from scurry.runtime.keyed_state import KeyedRuntimeContext, store_of
from scurry.runtime.operator import Clock, Operator, TaskContext
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.windowing.calls import call_for
from scurry.runtime.windowing.contexts import FiringContext
from scurry.runtime.windowing.panes import Panes
from scurry.state.table import KeyScope
from scurry.windowing.spec import WindowSpec


class WindowingOperator(Operator):
    """An operator that runs a windowing."""

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec)
        self._windowing = windowing

    def open(self, context: TaskContext) -> None:
        super().open(context)
        spec, windowing = self.spec, self._windowing
        self._scope, self._window_scope, self._clock = KeyScope(), KeyScope(), Clock()
        states = KeyedRuntimeContext(spec, context, self._scope)
        of_windows: KeyedRuntimeContext | None = None
        if not windowing.merging:
            of_windows = KeyedRuntimeContext(spec, context, self._window_scope, "#window:")
        self._firing = FiringContext(self._clock, states, of_windows)
        self._call = call_for(windowing, self._firing)
        self._panes = Panes(windowing, spec.uid, store_of(context))
        self._tracks_panes = not windowing.fires_once and (
            windowing.has_context or self._panes.retracting
        )
        try:
            for function in windowing.functions:
                function.open(states)
        except Exception as failure:
            raise self.failed(failure) from failure

    def _emissions(self) -> Emissions:
        self._output = Emissions()
        self._firing._values = self._output.values
        return self._output

    def _emit_late(self, batch: Batch, late: list[int]) -> None:
        """Elements that came too late for all their windows."""
        self.context.count(f"late:{self.spec.uid}", len(late))
        tag = self._windowing.late_tag
        if tag is not None:
            rows = [batch.rows[at] for at in late]
            self.emit_side(tag.tag_id, batch.spread(rows, np.array(late, dtype=np.int64)))

    def close(self) -> None:
        for function in self._windowing.functions:
            function.close()
