"""Continuous triggers: results of a window at regular intervals while it fills.

The intervals are aligned to the epoch. The time of the next firing is state of the window, the
least one when windows merge.
"""

from __future__ import annotations

from abc import abstractmethod

from scurry.common.errors import ProgramError
from scurry.common.time import TimeSpan, milliseconds_of
from scurry.common.windows import END_OF_TIME, Window
from scurry.state.states import ReducingState, ReducingStateDescriptor
from scurry.windowing.basic_triggers import CONTINUE, FIRE, whole_number
from scurry.windowing.triggers import OnMergeContext, Trigger, TriggerContext, TriggerResult


class ContinuousTrigger(Trigger[object, Window]):
    """What the two clocks have in common."""

    def __init__(self, interval: int) -> None:
        self.interval = whole_number("The interval of a continuous trigger, in ms,", interval)
        self._next = ReducingStateDescriptor("trigger-next-firing", min)

    def _ensure(self, time: int, window: Window, ctx: TriggerContext) -> None:
        """Set the first firing of a window that has none."""
        held = ctx.get_partitioned_state(self._next)
        if held.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, held)

    def _fired(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        held = ctx.get_partitioned_state(self._next)
        if held.get() != time:
            return CONTINUE
        held.clear()
        # at the end of the input a window without an end would fire until the end of time
        forever = ctx.end_of_input and window.max_timestamp() == END_OF_TIME
        if time < window.max_timestamp() and not forever:
            self.register_next_fire_timestamp(time, window, ctx, held)
        return FIRE

    def register_next_fire_timestamp(
        self,
        time: int,
        window: Window,
        ctx: TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Set a timer one interval after ``time``, at the end of the window at the latest."""
        upcoming = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(upcoming)
        self._set(upcoming, ctx)

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._next)
        upcoming = ctx.get_partitioned_state(self._next).get()
        if upcoming is not None:
            self._set(upcoming, ctx)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        held = ctx.get_partitioned_state(self._next)
        upcoming = held.get()
        if upcoming is not None:
            self._delete(upcoming, ctx)
            held.clear()

    @abstractmethod
    def _set(self, time: int, ctx: TriggerContext) -> None:
        """Set a timer on this trigger's clock."""

    @abstractmethod
    def _delete(self, time: int, ctx: TriggerContext) -> None:
        """Delete a timer from this trigger's clock."""


class ContinuousEventTimeTrigger(ContinuousTrigger):
    """Fires at every interval of event time, and at the end of the window."""

    @staticmethod
    def of(interval: TimeSpan) -> ContinuousEventTimeTrigger:
        """The trigger for that interval."""
        return ContinuousEventTimeTrigger(_interval(interval))

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._ensure(timestamp, window, ctx)
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return FIRE
        return self._fired(time, window, ctx)

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def _set(self, time: int, ctx: TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(ContinuousTrigger):
    """Fires at every interval of processing time."""

    @staticmethod
    def of(interval: TimeSpan) -> ContinuousProcessingTimeTrigger:
        """The trigger for that interval."""
        return ContinuousProcessingTimeTrigger(_interval(interval))

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        now = ctx.get_current_processing_time()
        upcoming = ctx.get_partitioned_state(self._next).get()
        if upcoming is not None and upcoming > now + self.interval:
            # the clock was ahead when this was set, and would not be there again for long
            self.clear(window, ctx)
        self._ensure(now, window, ctx)
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._fired(time, window, ctx)

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def _set(self, time: int, ctx: TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


def _interval(span: TimeSpan) -> int:
    milliseconds = milliseconds_of(span)
    if milliseconds < 1:
        raise ProgramError(f"The interval of a continuous trigger must be at least 1 ms: {span!r}.")
    return milliseconds
