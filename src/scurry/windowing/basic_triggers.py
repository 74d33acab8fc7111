"""Flink's own triggers, except the continuous ones: time, count, delta, purging and never."""

from __future__ import annotations

from collections.abc import Callable

from scurry.common.errors import ProgramError
from scurry.common.values import Element
from scurry.common.windows import Window
from scurry.state.states import ReducingStateDescriptor, ValueStateDescriptor
from scurry.windowing.triggers import (
    AnyTrigger,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
FIRE_AND_PURGE, PURGE = TriggerResult.FIRE_AND_PURGE, TriggerResult.PURGE


def whole_number(what: str, value: object) -> int:
    """``value``, if it is a whole number from 1 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ProgramError(f"{what} must be a whole number from 1 on, got {value!r}.")
    return value


class EventTimeTrigger(Trigger[object, Window]):
    """Fires once the watermark passes the end of the window, and at each late element after it."""

    @staticmethod
    def create() -> EventTimeTrigger:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        # a window that is already past is fired by the element that caused the merge
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(Trigger[object, Window]):
    """Fires once processing time passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return FIRE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class ElementTrigger(Trigger[object, Window]):
    """A trigger that only elements can fire: it has no timers."""

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE


def _add(a: int, b: int) -> int:
    return a + b


class CountTrigger(ElementTrigger):
    """Fires at every ``window_size``-th element of a window."""

    def __init__(self, window_size: int) -> None:
        self.window_size = whole_number("The count of a CountTrigger", window_size)
        self._count = ReducingStateDescriptor("trigger-count", _add)

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        """The trigger for that many elements."""
        return CountTrigger(window_size)

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        count = ctx.get_partitioned_state(self._count)
        count.add(1)
        if (count.get() or 0) < self.window_size:
            return CONTINUE
        count.clear()
        return FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.get_partitioned_state(self._count).clear()


class DeltaTrigger(ElementTrigger):
    """Fires when an element differs by more than ``threshold`` from the one that fired last.

    ``delta_function(old, new)`` measures the difference. The first element of a window is what the
    next ones are compared with.
    """

    def __init__(
        self, threshold: float, delta_function: Callable[[Element, Element], float]
    ) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self._last = ValueStateDescriptor("trigger-last-element")

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Element, Element], float]) -> DeltaTrigger:
        """The trigger for that threshold."""
        if not callable(delta_function):
            raise ProgramError(
                f"DeltaTrigger.of needs a function of (old, new) that returns a number, got "
                f"{delta_function!r}."
            )
        return DeltaTrigger(threshold, delta_function)

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        last = ctx.get_partitioned_state(self._last)
        held = last.value()
        if held is None:
            last.update((element,))
            return CONTINUE
        if self.delta_function(held[0], element) <= self.threshold:
            return CONTINUE
        last.update((element,))
        return FIRE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        """Never called: which of the merged windows' elements counts would be a guess."""

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()


class NeverTrigger(ElementTrigger):
    """Never fires: the default of global windows."""

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        return CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        """Nothing to bring together."""

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        """Nothing to clear."""


class PurgingTrigger(Trigger[object, Window]):
    """Fires when another trigger does, and drops the window's contents each time."""

    def __init__(self, nested_trigger: AnyTrigger) -> None:
        if not isinstance(nested_trigger, Trigger):
            raise ProgramError(f"PurgingTrigger.of needs a Trigger, got {nested_trigger!r}.")
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: AnyTrigger) -> PurgingTrigger:
        """``nested_trigger``, purging."""
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: object, timestamp: int, window: Window, ctx: TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)


def _purging(result: TriggerResult) -> TriggerResult:
    return FIRE_AND_PURGE if result.is_fire() else result
