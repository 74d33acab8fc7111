"""What functions on keyed streams are handed: the timers of the current key, and the context.

Operators make one context for all their calls and change what it says between them, because a new
object per record would cost more than most functions do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.copies import FIXED, own
from scurry.common.errors import ProgramError
from scurry.common.keys import thaw
from scurry.functions.contexts import TimeDomain, TimerService
from scurry.functions.output_tag import OutputTag
from scurry.functions.process import TimerContext
from scurry.runtime.batch import MIN_WATERMARK
from scurry.runtime.emissions import Emissions
from scurry.runtime.keyed_state import store_of
from scurry.runtime.operator import Clock
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.timers import EVENT, PROCESSING, timer_queue, timer_time
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.ttl import StateClock


class KeyedTimerService(TimerService):
    """Timers of the current key, and the clocks of the task."""

    def __init__(
        self, spec: OperatorSpec, task: TaskContext, scope: KeyScope, clock: Clock
    ) -> None:
        self._clock = clock
        self._scope = scope
        store = store_of(task)
        self.event = timer_queue(store, spec.uid, EVENT)
        self.processing = timer_queue(store, spec.uid, PROCESSING)

    def current_processing_time(self) -> int:
        return self._clock.now

    def current_watermark(self) -> int:
        return self._clock.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        self.event.register(timer_time(timestamp), self._scope.key)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self.processing.register(timer_time(timestamp), self._scope.key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self.event.delete(timer_time(timestamp), self._scope.key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self.processing.delete(timer_time(timestamp), self._scope.key)


class KeyedContext(TimerContext):
    """Context of both ``process_element`` and ``on_timer``; one object for all calls."""

    __slots__ = ("_domain", "_own", "_scope", "_tagged", "_timers", "_timestamp", "_values")

    def __init__(self, scope: KeyScope, timers: KeyedTimerService) -> None:
        self._scope = scope
        self._timers = timers
        self._timestamp: int | None = None
        self._domain = TimeDomain.EVENT_TIME
        self._values: list[Any] = []
        #: whether anything was sent to a side output since the operator looked
        self._tagged = False
        self._own: Callable[[Any], Any] = own

    def collect(self, output: Emissions) -> Emissions:
        """Collect in ``output`` what functions send to side outputs from now on."""
        self._values = output.values
        return output

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int | None:
        return self._timestamp

    def get_current_key(self) -> Any:
        key = self._scope.key
        return key if type(key) in FIXED else self._own(thaw(key))

    def time_domain(self) -> TimeDomain:
        return self._domain

    def output(self, tag: OutputTag, value: Any) -> None:
        if not isinstance(tag, OutputTag):
            raise ProgramError(f"ctx.output needs an OutputTag as its first argument, got {tag!r}.")
        self._values.append((tag, self._own(value)))
        self._tagged = True


def state_clock(clock: Clock, timestamp: Callable[[], int | None]) -> StateClock:
    """What tells state how much time has passed; ``timestamp`` is that of the current element."""
    return StateClock(
        now=lambda: clock.now,
        watermark=lambda: None if clock.watermark == MIN_WATERMARK else clock.watermark,
        timestamp=timestamp,
    )
