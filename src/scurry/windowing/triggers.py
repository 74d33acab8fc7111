"""Triggers: when the result of a window is due.

A trigger is asked at each element of a window and at each timer it set for the window, and answers
with a :class:`TriggerResult`. It keeps what it must remember in state of the window, so the one
trigger object serves all windows of all keys.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeAlias, TypeVar, overload

from scurry.common.values import Element, StateValue
from scurry.metrics.metricbase import MetricGroup
from scurry.state.states import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)

T_contra = TypeVar("T_contra", contravariant=True)
W_contra = TypeVar("W_contra", contravariant=True)


class TriggerResult(enum.Enum):
    """What to do with a window: its first part says whether to fire, its second to purge."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window's function is to be called."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether the window's contents are to be dropped; its other state stays."""
        return self.value[1]


class TriggerContext(ABC):
    """Clocks, timers and state of the window in question."""

    #: whether the input has ended: the timers that fire now are the last, and one that is set
    #: for later fires as well, however far away
    end_of_input = False

    @abstractmethod
    def get_current_processing_time(self) -> int:
        """Processing time in milliseconds: the instant the micro-batch was planned."""

    @abstractmethod
    def get_metric_group(self) -> MetricGroup:
        """Where the trigger may register metrics."""

    @abstractmethod
    def get_current_watermark(self) -> int:
        """The running watermark."""

    @abstractmethod
    def register_processing_time_timer(self, time: int) -> None:
        """Have ``on_processing_time`` called for this window at ``time``."""

    @abstractmethod
    def register_event_time_timer(self, time: int) -> None:
        """Have ``on_event_time`` called for this window once the watermark reaches ``time``."""

    @abstractmethod
    def delete_processing_time_timer(self, time: int) -> None:
        """Forget that timer, if there is one."""

    @abstractmethod
    def delete_event_time_timer(self, time: int) -> None:
        """Forget that timer, if there is one."""

    @overload
    def get_partitioned_state(
        self, state_descriptor: ValueStateDescriptor
    ) -> ValueState[StateValue]: ...
    @overload
    def get_partitioned_state(
        self, state_descriptor: ListStateDescriptor
    ) -> ListState[StateValue]: ...
    @overload
    def get_partitioned_state(
        self, state_descriptor: MapStateDescriptor
    ) -> MapState[StateValue, StateValue]: ...
    @overload
    def get_partitioned_state(
        self, state_descriptor: ReducingStateDescriptor
    ) -> ReducingState[StateValue]: ...
    @overload
    def get_partitioned_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[StateValue, StateValue]: ...
    @overload
    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State: ...
    @abstractmethod
    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        """The state of that name, scoped to the key and the window."""


class OnMergeContext(TriggerContext):
    """The same while windows merge."""

    @abstractmethod
    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        """Bring that state of the merged windows into the resulting one."""


# Within a class its own names hide those of the module, so the class takes these.
_Context: TypeAlias = TriggerContext
_MergeContext: TypeAlias = OnMergeContext


class Trigger(ABC, Generic[T_contra, W_contra]):
    """Decides when a window fires."""

    TriggerContext: TypeAlias = _Context
    OnMergeContext: TypeAlias = _MergeContext

    @abstractmethod
    def on_element(
        self, element: T_contra, timestamp: int, window: W_contra, ctx: TriggerContext
    ) -> TriggerResult:
        """Called for each element, after it was added to ``window``."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        """Called when a processing-time timer of ``window`` is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W_contra, ctx: TriggerContext) -> TriggerResult:
        """Called when an event-time timer of ``window`` is due."""

    def can_merge(self) -> bool:
        """Whether the trigger can serve windows that merge; if so it has an ``on_merge``."""
        return False

    @abstractmethod
    def on_merge(self, window: W_contra, ctx: OnMergeContext) -> None:
        """Called when windows have become ``window``: bring state together, set timers."""

    @abstractmethod
    def clear(self, window: W_contra, ctx: TriggerContext) -> None:
        """Called when ``window`` ends: delete timers and state."""


#: A trigger for whatever elements, in whatever windows.
AnyTrigger: TypeAlias = Trigger[Element, Any]
