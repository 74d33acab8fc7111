"""What assigners, triggers, evictors and window functions see while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.copies import own
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.values import Own, StateValue
from scurry.common.windows import GlobalWindow, Window, WindowKey
from scurry.functions.contexts import KeyedStateStore, RuntimeContext
from scurry.functions.output_tag import OutputTag
from scurry.functions.panes import PaneInfo, PaneTiming
from scurry.functions.windows import WindowContext
from scurry.metrics.metricbase import MetricGroup
from scurry.runtime.keyed_state import KeyedRuntimeContext
from scurry.runtime.operator import Clock
from scurry.runtime.timers import TimerQueue, timer_time
from scurry.state.states import (
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueStateDescriptor,
)
from scurry.state.tables.key_scope import KeyScope
from scurry.windowing.assigners import WindowAssignerContext
from scurry.windowing.evictors import EvictorContext
from scurry.windowing.triggers import OnMergeContext

#: How the names of states begin that belong to an assigner, a trigger, or a single window.
OF_ASSIGNER, OF_TRIGGER, OF_WINDOW = "#assigner:", "#trigger:", "#window:"


class AssignerContext(WindowAssignerContext):
    """For assigners."""

    def __init__(self, clock: Clock, runtime: RuntimeContext) -> None:
        self._clock = clock
        self._runtime = runtime

    def get_current_processing_time(self) -> int:
        return self._clock.now

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime


class ClockContext(EvictorContext):
    """For evictors."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def get_current_processing_time(self) -> int:
        return self._clock.now

    def get_current_watermark(self) -> int:
        return self._clock.watermark


class WindowTriggerContext(OnMergeContext):
    """For triggers: timers and state of the window in ``scope``."""

    def __init__(
        self,
        clock: Clock,
        scope: KeyScope,
        event: TimerQueue,
        processing: TimerQueue,
        states: KeyedRuntimeContext,
    ) -> None:
        self._clock = clock
        self._scope = scope
        self._event = event
        self._processing = processing
        self._states = states
        self._handles: dict[str, State] = {}
        #: the windows that are being merged into the one in ``scope``
        self.merged: list[WindowKey] = []

    def get_current_processing_time(self) -> int:
        return self._clock.now

    def get_metric_group(self) -> MetricGroup:
        raise NotSupportedError(
            "Triggers have no metric group yet; count in a process function behind the window."
        )

    def get_current_watermark(self) -> int:
        return self._clock.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self._processing.register(timer_time(time), self._scope.key)

    def register_event_time_timer(self, time: int) -> None:
        self._event.register(timer_time(time), self._scope.key)

    def delete_processing_time_timer(self, time: int) -> None:
        self._processing.delete(timer_time(time), self._scope.key)

    def delete_event_time_timer(self, time: int) -> None:
        self._event.delete(timer_time(time), self._scope.key)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        found = self._handles.get(state_descriptor.name)
        if found is None:
            found = self._handles[state_descriptor.name] = state_of(self._states, state_descriptor)
        return found

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        if not isinstance(state_descriptor, (ReducingStateDescriptor, ListStateDescriptor)):
            raise ProgramError(
                f"The trigger state {state_descriptor!r} cannot be merged: only reducing and list "
                "state know how. Use a ReducingStateDescriptor, or merge in on_merge by hand."
            )
        handle: ListState[StateValue] | ReducingState[StateValue]
        handle = self.get_partitioned_state(state_descriptor)
        target = self._scope.key
        for place in self.merged:
            self._scope.key = place
            found = handle.get()
            handle.clear()
            self._scope.key = target
            if isinstance(handle, ListState):
                handle.add_all(list(found or ()))
            elif found is not None:
                handle.add(found)


def state_of(states: KeyedStateStore, descriptor: StateDescriptor) -> State:
    """The state that ``descriptor`` describes, of whichever kind."""
    kinds: list[tuple[type, Callable[[Any], State]]] = [
        (ValueStateDescriptor, states.get_state),
        (ReducingStateDescriptor, states.get_reducing_state),
        (ListStateDescriptor, states.get_list_state),
        (MapStateDescriptor, states.get_map_state),
        (AggregatingStateDescriptor, states.get_aggregating_state),
    ]
    for kind, get in kinds:
        if isinstance(descriptor, kind):
            return get(descriptor)
    raise ProgramError(f"get_partitioned_state needs a state descriptor, got {descriptor!r}.")


class FiringContext(WindowContext[Window]):
    """For process window functions; one object for all calls."""

    def __init__(
        self, clock: Clock, key_states: KeyedStateStore, window_states: KeyedStateStore | None
    ) -> None:
        self._clock = clock
        self._key_states = key_states
        self._window_states = window_states
        self._window: Window = GlobalWindow.get()
        #: right for windows that fire once
        self._pane = PaneInfo(PaneTiming.ON_TIME, 0, True, True)
        self._values: list[object] = []
        self._own: Own = own

    def window(self) -> Window:
        return self._window

    def current_processing_time(self) -> int:
        return self._clock.now

    def current_watermark(self) -> int:
        return self._clock.watermark

    def global_state(self) -> KeyedStateStore:
        return self._key_states

    def window_state(self) -> KeyedStateStore:
        if self._window_states is None:
            raise ProgramError(
                "Windows that merge have no state of their own, because which window it would "
                "belong to changes. Use context.global_state(), with the window as a map key."
            )
        return self._window_states

    def output(self, tag: OutputTag, value: object) -> None:
        if not isinstance(tag, OutputTag):
            raise ProgramError(
                f"context.output needs an OutputTag as its first argument, got {tag!r}."
            )
        self._values.append((tag, self._own(value)))

    def pane(self) -> PaneInfo:
        return self._pane
