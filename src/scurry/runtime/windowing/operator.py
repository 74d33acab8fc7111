"""The window operator: any assigner, any trigger, any function.

For each element: the windows it belongs to, those of them that have ended left out; the element is
added to their contents; the trigger is asked. Timers of windows are set under the window, so the
trigger is asked again when one is due. When the clock reaches a window's clean-up time, all that is
known of it is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable

from scurry.common.errors import ProgramError
from scurry.common.keys import thaw
from scurry.common.values import Contents
from scurry.common.windows import END_OF_TIME, Window, WindowKey
from scurry.functions.panes import AccumulationMode, PaneTiming
from scurry.functions.windows import ProcessAllWindowFunction, ProcessWindowFunction
from scurry.runtime.batch import MAX_WATERMARK, NO_TIMESTAMP, Batch
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import explained
from scurry.runtime.keyed_state import KeyedRuntimeContext, store_of
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.timers import EVENT, PROCESSING, TimerQueue, timer_queue
from scurry.runtime.windowing.common import WindowingOperator
from scurry.runtime.windowing.contents import ELEMENTS, NOTHING, VALUES, ListContents, contents_for
from scurry.runtime.windowing.contexts import (
    OF_ASSIGNER,
    OF_TRIGGER,
    AssignerContext,
    ClockContext,
    WindowTriggerContext,
)
from scurry.runtime.windowing.merging import Merge, MergingWindows
from scurry.windowing.assigners import MergingWindowAssigner
from scurry.windowing.basic_triggers import EventTimeTrigger
from scurry.windowing.conditions import Condition
from scurry.windowing.evictors import TimestampedValue
from scurry.windowing.spec import WindowSpec
from scurry.windowing.triggers import TriggerResult

_CONTINUE = TriggerResult.CONTINUE


class WindowOperator(WindowingOperator):
    """Runs a windowing."""

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec, windowing)
        self._event_time = windowing.assigner.is_event_time()
        #: whether the trigger's only timer is that of the clean-up, which is then not set twice
        self._one_timer = (
            windowing.fires_once
            and type(windowing.trigger) is EventTimeTrigger
            # a trigger that fails sets no timer
            and not spec.dead_letters
        )
        self._discarding = windowing.accumulation is AccumulationMode.DISCARDING
        trigger = windowing.trigger
        self._closed = trigger.is_closed if isinstance(trigger, Condition) else None

    @classmethod
    def table_of(cls, windowing: WindowSpec) -> str:
        return ELEMENTS if windowing.contents == "list" else VALUES

    def open(self, context: TaskContext) -> None:
        super().open(context)
        spec, windowing, store = self.spec, self._windowing, store_of(context)
        self._event = timer_queue(store, spec.uid, EVENT)
        self._processing = timer_queue(store, spec.uid, PROCESSING)
        self._contents = contents_for(windowing, spec.uid, store)
        self._merging: MergingWindows | None = None
        if windowing.merging:
            assigner = windowing.assigner
            assert isinstance(assigner, MergingWindowAssigner)
            self._merging = MergingWindows.of(spec.uid, store, assigner)
        self._assigning = AssignerContext(
            self._clock,
            KeyedRuntimeContext(spec, context, self._scope, space=OF_ASSIGNER, announced=False),
        )
        self._triggering = WindowTriggerContext(
            self._clock,
            self._window_scope,
            self._event,
            self._processing,
            KeyedRuntimeContext(
                spec, context, self._window_scope, space=OF_TRIGGER, announced=False
            ),
        )
        self._evicting = ClockContext(self._clock)

    def begin(self, watermark: int) -> None:
        """Fires the processing-time timers that became due before this micro-batch."""
        self._clock.now = self.context.now
        self._clock.watermark = watermark
        self._event.begin()
        self._processing.begin()
        if self._processing.next_due <= self._clock.now:
            output = self._emissions()
            self._fire(self._processing, self._clock.now, output)
            self.emit_tagged(output.batch(None))

    def process(self, batch: Batch, port: int = 0) -> None:
        assert batch.keys is not None
        clock, scope, timers = self._clock, self._scope, self._event
        output = self._emissions()
        accept = self._add if self._merging is None else self._add_merging
        stamps = [NO_TIMESTAMP] * batch.size if batch.ts is None else batch.ts.tolist()
        watermarks = [clock.watermark] * batch.size if batch.wm is None else batch.wm.tolist()
        late: list[int] = []
        guard, value = self._guard, None
        try:
            for at, (key, value, stamp, watermark) in enumerate(
                zip(batch.keys, batch.rows, stamps, watermarks, strict=True)
            ):
                if watermark > clock.watermark:
                    if timers.next_due <= watermark:
                        self._fire(timers, watermark, output)
                    clock.watermark = watermark
                scope.key = key
                self._cause = at
                came = value if guard is None else guard.as_it_came(value)
                try:
                    if not accept(key, value, stamp):
                        late.append(at)
                except Exception as failure:
                    self._refuse(at, came, stamp, failure)
        except Exception as failure:
            raise self.failed(explained(failure, self._windowing.function), value) from failure
        self.emit_tagged(output.batch(batch))
        if late:
            self._emit_late(batch, late)
        if self._guard is not None:
            self._guard.emit(batch)

    def advance(self, watermark: int) -> None:
        if watermark <= self._clock.watermark:
            return
        output = self._emissions()
        self._triggering.end_of_input = watermark == MAX_WATERMARK
        if self._event.next_due <= watermark:
            self._fire(self._event, watermark, output)
        self._clock.watermark = watermark
        if self.spec.batch and watermark == MAX_WATERMARK:
            self._clock.now = MAX_WATERMARK
            self._fire(self._processing, MAX_WATERMARK - 1, output)
        self.emit_tagged(output.batch(None))

    def _add(self, key: object, value: object, stamp: int) -> bool:
        """Put an element into its windows; False if it came too late for all of them."""
        windows = list(self._windowing.assigner.assign_windows(value, stamp, self._assigning))
        taken = closed = False
        many = len(windows) > 1
        for window in windows:
            cleanup = self._windowing.cleanup_time(window)
            place = WindowKey(key, window)
            if self._has_ended(cleanup):
                continue
            if self._closed is not None and self._is_closed(place):
                closed = True
                continue
            taken = True
            mine = self._own(value) if many else value
            self._take(place, place, mine, stamp, cleanup)
        return taken or not (closed or self._is_late(stamp))

    def _add_merging(self, key: object, value: object, stamp: int) -> bool:
        assert self._merging is not None
        windows = list(self._windowing.assigner.assign_windows(value, stamp, self._assigning))
        taken = closed = False
        many = len(windows) > 1
        for window in windows:
            actual, merges = self._merging.add(key, window)
            for merge in merges:
                self._merge(key, merge)
            cleanup = self._windowing.cleanup_time(actual)
            if self._has_ended(cleanup):
                self._merging.retire(key, actual)
                continue
            place = WindowKey(key, actual)
            if self._closed is not None and self._is_closed(place):
                closed = True
                self._register_cleanup(place, cleanup)
                continue
            taken = True
            under = self._merging.of_key(key).stored_under[actual]
            mine = self._own(value) if many else value
            self._take(place, WindowKey(key, under), mine, stamp, cleanup)
        return taken or not (closed or self._is_late(stamp))

    def _is_closed(self, place: WindowKey) -> bool:
        """Whether the trigger has finished with a window."""
        assert self._closed is not None
        self._window_scope.key = place
        return self._closed(self._triggering)

    def _take(
        self, place: WindowKey, where: WindowKey, value: object, stamp: int, cleanup: int
    ) -> None:
        """Put an element into a window whose contents are stored at ``where``."""
        self._window_scope.key = place
        self._register_cleanup(place, cleanup)
        self._contents.add(where, value, stamp)
        result = self._windowing.trigger.on_element(value, stamp, place[1], self._triggering)
        if result is not _CONTINUE:
            self._act(result, place, where, "on_element", PaneTiming.LATE)

    def _register_cleanup(self, place: WindowKey, cleanup: int) -> None:
        if cleanup < END_OF_TIME and not self._one_timer:
            (self._event if self._event_time else self._processing).register(cleanup, place)

    def _has_ended(self, cleanup: int) -> bool:
        return self._event_time and cleanup <= self._clock.watermark

    def _is_late(self, stamp: int) -> bool:
        late_at = stamp + self._windowing.allowed_lateness
        return self._event_time and late_at <= self._clock.watermark

    def _merge(self, key: object, merge: Merge) -> None:
        windowing, trigger = self._windowing, self._triggering
        cleanup = windowing.cleanup_time(merge.result)
        if self._has_ended(cleanup) or (not self._event_time and cleanup <= self._clock.now):
            raise ProgramError(
                f"merging {merge.merged!r} gave {merge.result!r}, which has already ended. "
                f"{windowing.assigner!r} may only make windows longer"
            )
        place = self._window_scope.key = WindowKey(key, merge.result)
        merged = [WindowKey(key, window) for window in merge.merged]
        trigger.merged = merged
        windowing.trigger.on_merge(merge.result, trigger)
        for old in merged:
            self._window_scope.key = old
            windowing.trigger.clear(old[1], trigger)
            if not self._one_timer:
                self._delete_cleanup(old)
        if self._tracks_panes:
            self._panes.merge(place, merged)
        if merge.sources:
            sources = [WindowKey(key, window) for window in merge.sources]
            self._contents.merge(WindowKey(key, merge.into), sources)

    def _delete_cleanup(self, place: WindowKey) -> None:
        cleanup = self._windowing.cleanup_time(place[1])
        (self._event if self._event_time else self._processing).delete(cleanup, place)

    def _fire(self, timers: TimerQueue, until: int, output: Emissions) -> None:
        """Ask triggers at all timers that are due, also at those set meanwhile."""
        clock, before = self._clock, self._clock.watermark
        event_time = timers is self._event
        while timers.next_due <= until and (due := timers.pop_due(until)) is not None:
            time, place = due
            if event_time:
                clock.watermark = max(clock.watermark, time)
                output.fired_at(time, before)
            else:
                output.fired.append((time, before, before))
            self._cause = -len(output.fired)
            try:
                self._on_timer(time, place, event_time)
            except Exception as failure:
                if self._guard is not None:
                    self._give_up(time, place, event_time, failure)
                    continue
                what = f"{place[1]!r} of key {thaw(place[0])!r}"
                failure = explained(failure, self._windowing.function)
                raise self.failed(failure, what) from failure

    def _give_up(self, time: int, place: WindowKey, event_time: bool, failure: Exception) -> None:
        """User code other than the window function failed at a timer of a window: make a letter of
        what the window holds, and go on without it."""
        assert self._guard is not None
        key, window = place
        under = window if self._merging is None else self._merging.of_key(key).stored_under[window]
        where = WindowKey(key, under)
        held = self._contents.get(where)
        contents = None if held is NOTHING else held
        output = self._output
        output.values.append(self._guard.of_window(key, window, contents, failure))
        output.source.append(self._cause)
        output.ends.append(len(output.values))
        output.stamps.append(min(window.max_timestamp(), MAX_WATERMARK))
        self._contents.clear(where)
        if event_time == self._event_time and time == self._windowing.cleanup_time(window):
            if self._tracks_panes:
                self._panes.clear(place)
            if self._merging is not None:
                self._merging.retire(*place)

    def _on_timer(self, time: int, place: WindowKey, event_time: bool) -> None:
        key, window = place
        where = place
        if self._merging is not None:
            under = self._merging.of_key(key).stored_under.get(window)
            if under is None:
                return
            where = WindowKey(key, under)
        self._scope.key, self._window_scope.key = key, place
        trigger = self._windowing.trigger
        if event_time:
            result = trigger.on_event_time(time, window, self._triggering)
        else:
            result = trigger.on_processing_time(time, window, self._triggering)
        of_clock = event_time == self._event_time
        ends = of_clock and self._ends_at(time, window, where)
        if result is not _CONTINUE:
            name = "on_event_time" if event_time else "on_processing_time"
            at_end = time == window.max_timestamp() and of_clock
            timing = PaneTiming.ON_TIME if at_end else PaneTiming.LATE
            self._act(result, place, where, name, timing, ends)
        if ends:
            self._end(place, where)
        elif of_clock and time >= window.max_timestamp():
            # the window may be from before the allowed lateness was raised
            self._register_cleanup(place, self._windowing.cleanup_time(window))

    def _ends_at(self, time: int, window: Window, where: WindowKey) -> bool:
        """Whether a window ends at a timer of its own clock. A timer that is later than its end is
        from before the allowed lateness was lowered, if the window still holds something."""
        cleanup = self._windowing.cleanup_time(window)
        return time == cleanup or (time > cleanup and self._contents.get(where) is not NOTHING)

    def _act(
        self,
        result: object,
        place: WindowKey,
        where: WindowKey,
        method: str,
        timing: PaneTiming,
        last: bool = False,
    ) -> None:
        if not isinstance(result, TriggerResult):
            raise ProgramError(
                f"{type(self._windowing.trigger).__name__}.{method} returned {result!r}; a trigger "
                "returns a TriggerResult: CONTINUE, FIRE, PURGE or FIRE_AND_PURGE"
            )
        fire, purge = result.value
        if fire:
            contents = self._contents.get(where)
            if contents is not NOTHING:
                over = purge or self._discarding or last or self._windowing.evictor is not None
                if not over:
                    contents = self._shown(contents)
                self._emit(place, where, contents, timing, last)
                spoiled = self._guard is not None and self._guard.spoiled
                purge = purge or self._discarding or spoiled
        if purge:
            self._contents.clear(where)

    def _emit(
        self, place: WindowKey, where: WindowKey, contents: Contents, timing: PaneTiming, last: bool
    ) -> None:
        key, window = place
        end = window.max_timestamp()
        context, output = self._firing, self._output
        context._window = window
        if self._tracks_panes:
            clock = self._clock.watermark if self._event_time else self._clock.now
            timing = PaneTiming.EARLY if clock < end else timing
            context._pane = self._panes.next(place, timing, last)
        before = len(output.values)
        if self._windowing.evictor is None:
            results = self._call(key, window, contents)
            if results is not None:
                self._take_results(output.values, results)
        else:
            try:
                self._emit_evicted(place, where, contents)
            except Exception as failure:
                if self._guard is None:
                    raise
                shown = [element.value for element in contents]
                output.values[before:] = [self._guard.of_window(key, window, shown, failure)]
        if self._panes.retracting:
            output.values[before:] = self._panes.retract(place, output.values[before:])
        output.source.append(self._cause)
        output.ends.append(len(output.values))
        output.stamps.append(min(end, MAX_WATERMARK))

    def _emit_evicted(
        self, place: WindowKey, where: WindowKey, contents: Iterable[TimestampedValue]
    ) -> None:
        evictor, (key, window) = self._windowing.evictor, place
        assert evictor is not None
        assert isinstance(self._contents, ListContents)
        held = list(contents)
        kept = evictor.evict_before(held, len(held), window, self._evicting)
        held = held if kept is None else list(kept)
        results = self._call(key, window, self._shown([element.value for element in held]))
        if results is not None:
            self._take_results(self._output.values, results)
        kept = evictor.evict_after(held, len(held), window, self._evicting)
        held = held if kept is None else list(kept)
        self._contents.replace(where, held)

    def _end(self, place: WindowKey, where: WindowKey) -> None:
        """Forget all about a window."""
        windowing = self._windowing
        self._contents.clear(where)
        if not self._one_timer:
            windowing.trigger.clear(place[1], self._triggering)
        if self._tracks_panes:
            self._panes.clear(place)
        if windowing.has_context:
            function = windowing.function
            assert isinstance(function, (ProcessWindowFunction, ProcessAllWindowFunction))
            self._firing._window = place[1]
            function.clear(self._firing)
        if self._merging is not None:
            self._merging.retire(*place)
