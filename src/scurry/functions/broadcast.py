"""Broadcast process functions: a stream of rules, known to every instance, applied to another one.

Every instance of the function is given every element of the broadcast stream, in the same order,
and keeps what it needs of them in broadcast state. The elements of the other stream only read that
state: if they could write it, the instances would drift apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from scurry.common.values import Key, StateValue
from scurry.functions.contexts import TimeDomain, TimerService
from scurry.functions.output_tag import OutputTag
from scurry.functions.transforms import Function
from scurry.state.states import (
    BroadcastState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    StateDescriptor,
)

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class SideContext(ABC):
    """What both sides of a broadcast process function can see and do."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The event timestamp of the element (or timer) in milliseconds, None if it has none."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Processing time in milliseconds, as of the planning of the micro-batch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The running watermark, in milliseconds."""

    @abstractmethod
    def output(self, tag: OutputTag, value: object) -> None:
        """Send ``value`` to the side output ``tag``."""


class BroadcastContext(SideContext):
    """Context of ``process_broadcast_element``: broadcast state may be written."""

    @abstractmethod
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> BroadcastState[StateValue, StateValue]:
        """The broadcast state that ``broadcast(...)`` was given this descriptor for."""


class ReadOnlyBroadcastContext(SideContext):
    """Context of ``process_element``: broadcast state may be read."""

    @abstractmethod
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> ReadOnlyBroadcastState[StateValue, StateValue]:
        """The broadcast state that ``broadcast(...)`` was given this descriptor for."""


class KeyedBroadcastContext(BroadcastContext):
    """The broadcast side of a function on a keyed stream."""

    @abstractmethod
    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
    ) -> None:
        """Call ``function(key, state)`` for every key of this instance that has that state."""


class KeyedReadOnlyBroadcastContext(ReadOnlyBroadcastContext):
    """The keyed side: there is a current key, with timers."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Clocks, and timers of the current key."""

    @abstractmethod
    def get_current_key(self) -> Key:
        """The key of the element (or timer) being processed."""


class BroadcastTimerContext(KeyedReadOnlyBroadcastContext):
    """What is known about the timer being fired."""

    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Whether event time or processing time reached the timer."""


class BaseBroadcastProcessFunction(Function):
    """What the two kinds of broadcast process functions have in common."""

    BaseContext: TypeAlias = SideContext
    Context: TypeAlias = BroadcastContext
    ReadOnlyContext: TypeAlias = ReadOnlyBroadcastContext


class BroadcastProcessFunction(BaseBroadcastProcessFunction, ABC, Generic[IN1, IN2, OUT]):
    """Processes a stream without keys in the light of a broadcast stream."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyBroadcastContext) -> Iterable[OUT] | None:
        """Called for each element of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastContext) -> Iterable[OUT] | None:
        """Called in every instance for each element of the broadcast stream. What it does to the
        broadcast state must depend on nothing but the element and that state."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, ABC, Generic[KEY, IN1, IN2, OUT]):
    """Processes a keyed stream, with state and timers, in the light of a broadcast stream."""

    Context: TypeAlias = KeyedBroadcastContext
    ReadOnlyContext: TypeAlias = KeyedReadOnlyBroadcastContext
    OnTimerContext: TypeAlias = BroadcastTimerContext

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedReadOnlyBroadcastContext
    ) -> Iterable[OUT] | None:
        """Called for each element of the keyed stream, with state scoped to its key."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastContext
    ) -> Iterable[OUT] | None:
        """Called in every instance for each element of the broadcast stream. There is no current
        key; ``ctx.apply_to_keyed_state`` reaches the state of all keys."""

    def on_timer(self, timestamp: int, ctx: BroadcastTimerContext) -> Iterable[OUT] | None:
        """Called for each due timer, with state scoped to the timer's key."""
        return None
