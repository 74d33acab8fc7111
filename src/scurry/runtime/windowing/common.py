"""What the window operators have in common: contexts, late elements, the life cycle."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from scurry.common.errors import ProgramError, StateError
from scurry.common.pickling import dumps_whole
from scurry.common.values import Contents
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch, Longs
from scurry.runtime.columnar.exact import Array
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import explained
from scurry.runtime.keyed_context import state_clock
from scurry.runtime.keyed_state import KeyedRuntimeContext, store_of
from scurry.runtime.operator import Clock, Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.windowing.calls import call_for
from scurry.runtime.windowing.contexts import OF_WINDOW, FiringContext
from scurry.runtime.windowing.guard import WindowGuard
from scurry.runtime.windowing.layouts import BESIDE, KINDS, window_layout
from scurry.runtime.windowing.panes import Panes
from scurry.state.feeds import WINDOWS, QueryableState
from scurry.state.layout import StateLayout
from scurry.state.slot_store import SlotStore
from scurry.state.tables.key_scope import NO_KEY, KeyScope
from scurry.windowing.spec import WindowSpec
from scurry.windowing.time_windows import event_timestamp


class WindowingOperator(Operator, ABC):
    """An operator that runs a windowing."""

    #: where this operator keeps what windows hold
    content_table: str

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec)
        self._windowing = windowing
        self.content_table = self.table_of(windowing)
        self._scope, self._window_scope = KeyScope(), KeyScope()

    @classmethod
    @abstractmethod
    def table_of(cls, windowing: WindowSpec) -> str:
        """The table in which an operator of this class keeps what windows hold."""

    @classmethod
    def state_layout(cls, *arguments: object) -> StateLayout:
        (windowing,) = arguments
        assert isinstance(windowing, WindowSpec)
        return window_layout(cls.table_of(windowing), cls.state_version, windowing)

    def open(self, context: TaskContext) -> None:
        super().open(context)
        spec, windowing = self.spec, self._windowing
        self._refuse_other_state(store_of(context))
        self._declare(store_of(context))
        #: what to name if something fails: an element, or a window
        self._working: object = None
        self._clock = Clock()
        clock = state_clock(self._clock, _no_timestamp)
        states = KeyedRuntimeContext(spec, context, self._scope, clock, announced=False)
        of_windows: KeyedRuntimeContext | None = None
        if not windowing.merging:
            of_windows = KeyedRuntimeContext(
                spec, context, self._window_scope, clock, OF_WINDOW, announced=False
            )
        handover = context.handover
        self._own, self._take_results = handover.own, handover.take
        self._firing = FiringContext(self._clock, states, of_windows)
        self._firing._own = handover.own
        self._call = call_for(windowing, self._firing, handover.own)
        self._guard: WindowGuard | None = None
        if spec.dead_letters:
            self._guard = WindowGuard(self)
            self._call = self._guard.around_firing(self._call)
        self._panes = Panes(windowing, spec.uid, store_of(context))
        self._tracks_panes = not windowing.fires_once and (
            windowing.has_context or self._panes.retracting
        )
        try:
            for function in windowing.functions:
                function.open(states)
        except Exception as failure:
            raise self.failed(failure) from failure

    def _declare(self, store: SlotStore) -> None:
        """Let what windows hold be queried, if the program says so."""
        spec, windowing = self.spec, self._windowing
        if windowing.queryable_name is None or store.feed is None:
            return
        function = windowing.incremental
        beside = BESIDE.get(self.content_table, ())
        state = QueryableState(
            *(windowing.queryable_name, spec.uid, spec.name),
            tuple(f"{spec.uid}\x1f{table}" for table in (self.content_table, *beside)),
            kind=WINDOWS,
            program=b"" if function is None else dumps_whole(function),
            layout=self.state_layout(windowing),
            parallelism=spec.parallelism,
        )
        store.feed.declare(state)

    def _refuse_other_state(self, store: SlotStore) -> None:
        """Raise :class:`StateError` if another kind of window operator has stored windows under
        this uid, because this one could not read them."""
        for table in KINDS.keys() - {self.content_table}:
            if next(store.reader.scan(f"{self.spec.uid}\x1f{table}"), None) is not None:
                raise StateError(
                    f"The windows of {self.spec.name!r} (uid {self.spec.uid!r}) were stored with "
                    "another function, trigger, evictor or accumulation mode, and cannot be read "
                    "with this one. Give the changed windows a uid of their own, or change them "
                    "back until the open windows have ended."
                )

    def stamps(self, batch: Batch, reach: int) -> Array:
        """The timestamps, as an array to which ``reach`` can be added, or taken from it, without
        overflow."""
        stamps = batch.ts
        if stamps is None:
            stamps = np.full(batch.size, NO_TIMESTAMP, dtype=np.int64)
        if batch.size and int(stamps.min()) < MIN_WATERMARK + reach:
            at = int(stamps.argmin())
            self._working = batch.rows[at]
            event_timestamp(int(stamps[at]), self._windowing.assigner)
            raise ProgramError(
                f"the timestamp {int(stamps[at])} is so far in the past that 64 bits cannot hold "
                "the start of its window; return milliseconds since 1970 from the timestamp "
                "assigner"
            )
        if batch.size and int(stamps.max()) > MAX_WATERMARK - reach:
            return stamps.astype(object)
        return stamps

    def watermarks(self, batch: Batch) -> Longs:
        """The watermark before each element."""
        watermark = self._clock.watermark
        if batch.wm is None:
            return np.full(batch.size, watermark, dtype=np.int64)
        return np.maximum(batch.wm, watermark)

    def _emissions(self) -> Emissions:
        self._output = Emissions()
        self._firing._values = self._output.values
        return self._output

    def _shown(self, contents: Contents) -> Contents:
        """What the user's function is given of ``contents`` that are needed again, by another
        window, by a later firing, or for a dead letter if the function fails: a copy, unless what
        the function makes of them is copied anyway."""
        kind = self._windowing.contents
        if kind == "list":
            return self.context.handover.own_all(contents)
        # what get_result returns, or is emitted at once, is copied then
        emitted = kind == "aggregate" or self._windowing.function is None
        return contents if emitted else self._own(contents)

    def _refuse(self, at: int, value: object, stamp: int, failure: Exception) -> None:
        """An element failed: a letter is made of it, or the job fails."""
        if self._guard is None:
            raise failure
        self._guard.refuse(at, value, stamp, explained(failure, self._windowing.function))

    def _without_unstamped(self, batch: Batch, reach: int) -> Batch:
        """``batch`` without elements that no window can be found for, if letters are made of
        them."""
        if self._guard is None or not batch.size:
            return batch
        stamps = batch.ts
        if stamps is None:
            stamps = np.full(batch.size, NO_TIMESTAMP, dtype=np.int64)
        bad = stamps < MIN_WATERMARK + reach
        if not bad.any():
            return batch
        for at in np.flatnonzero(bad).tolist():
            try:
                self.stamps(batch.take(np.array([at])), reach)
            except ProgramError as failure:
                self._guard.refuse(at, batch.rows[at], int(stamps[at]), failure)
        self._guard.emit(batch)
        return batch.take(np.flatnonzero(~bad))

    def _emit_late(self, batch: Batch, late: list[int]) -> None:
        """Elements that came too late for all their windows."""
        self.context.report.count(f"late:{self.spec.uid}", len(late))
        tag = self._windowing.late_tag
        if tag is None:
            self.context.report.count(f"late_dropped:{self.spec.uid}", len(late))
        else:
            self.emit_side(tag.tag_id, batch.take(np.array(late, dtype=np.int64)))

    def close(self) -> None:
        self._scope.key = self._window_scope.key = NO_KEY
        for function in self._windowing.functions:
            function.close()


def _no_timestamp() -> None:
    """The timestamp of the current element, for the state of a window: there is none, because a
    window is of no single element."""
