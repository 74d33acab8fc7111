"""Events of a key that wait for their time.

In event time an event waits until the watermark has passed its timestamp, so that events are looked
at in the order of their timestamps; who arrives behind the watermark is late. In processing time
events wait for the next millisecond where a comparator puts those of one millisecond in order.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from scurry.common.errors import ProgramError
from scurry.datastream.functions import RuntimeContext
from scurry.datastream.output_tag import OutputTag
from scurry.datastream.state import MapStateDescriptor


class WaitingEvents:
    """The events that wait, by the time that they wait for."""

    def __init__(
        self, runtime_context: RuntimeContext, event_time: bool, late: OutputTag | None
    ) -> None:
        self._event_time = event_time
        self._late = late
        self._held = runtime_context.get_map_state(MapStateDescriptor("waiting"))
        self._dropped = runtime_context.get_metrics_group().counter("numLateRecordsDropped")

    def refused(self, value: Any) -> list[Any]:
        """What goes out of an event that is late: it itself if there is a side output for it."""
        if self._late is not None:
            return [(self._late, value)]
        self._dropped.inc()
        return []

    def add(self, time: int, waiting: Any, timers: Any) -> None:
        """Have an event wait for a time, and a timer fire then."""
        self._held.put(time, [*(self._held.get(time) or ()), waiting])
        self._set_timer(time if self._event_time else time + 1, timers)

    def take(self, fired: int) -> list[Any]:
        """The events whose timer has fired, in the order in which they arrived; they wait no
        more."""
        at = self._waited_for(fired)
        events: list[Any] = self._held.get(at) or []
        if events:
            self._held.remove(at)
        return events

    def _waited_for(self, fired: int) -> int:
        return fired if self._event_time else fired - 1

    def _set_timer(self, time: int, timers: Any) -> None:
        if self._event_time:
            timers.register_event_time_timer(time)
        else:
            timers.register_processing_time_timer(time)


def needs_timestamps() -> ProgramError:
    """The error for events without timestamps."""
    return ProgramError(
        "The events of a pattern in event time need timestamps: call "
        "assign_timestamps_and_watermarks on the stream, or in_processing_time() on the "
        "pattern stream."
    )


def sort_key(comparator: Callable[..., Any]) -> Callable[[Any], Any]:
    """What sorts events by a function of one event, or of two."""
    two = len(inspect.signature(comparator).parameters) > 1
    return functools.cmp_to_key(comparator) if two else comparator
