"""Assigners, triggers and evictors of random programs, written as a user writes them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tests.fuzz.records import fields

from scurry.common import Time
from scurry.datastream import window as windows
from scurry.datastream.state import ReducingStateDescriptor
from scurry.datastream.window import TimeWindow, TriggerResult

#: The sizes of the windows of records with even and with odd values.
OWN_SIZES = (5, 10)


class OwnAssigner(windows.WindowAssigner[Any, TimeWindow]):
    """Windows whose size depends on the record."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[TimeWindow]:
        size = OWN_SIZES[fields(element)[2] % 2]
        start = timestamp - timestamp % size
        return [TimeWindow(start, start + size)]

    def get_default_trigger(self, env: Any) -> Any:
        return windows.EventTimeTrigger.create()

    def get_window_serializer(self) -> Any:
        return windows.TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class OwnTrigger(windows.Trigger[Any, TimeWindow]):
    """Fires and purges whenever the sum of a window's values can be divided by three, and fires at
    its end."""

    def __init__(self) -> None:
        self._sum = ReducingStateDescriptor("sum", lambda a, b: a + b)

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Any
    ) -> TriggerResult:
        total = ctx.get_partitioned_state(self._sum)
        total.add(fields(element)[2])
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE_AND_PURGE
        ctx.register_event_time_timer(window.max_timestamp())
        if total.get() % 3 == 0:
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        ctx.merge_partitioned_state(self._sum)
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self._sum).clear()


def evictor_of(kind: str, amount: int, after: bool) -> Any:
    """An evictor; ``after`` says whether it evicts when the function has been called."""
    if kind == "count":
        return windows.CountEvictor.of(amount, after)
    if kind == "time":
        return windows.TimeEvictor.of(Time.milliseconds(amount), after)
    return windows.DeltaEvictor.of(
        amount, lambda old, last: abs(fields(old)[2] - fields(last)[2]), after
    )
