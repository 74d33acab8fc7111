"""Process functions: f(event, state, time), the lowest level of the API and the most capable.

``process_element`` is called for each element in order; it yields (or returns as an iterable)
what goes downstream, ``(tag, value)`` pairs going to side outputs. ``on_timer`` is called when a
timer that the function registered is due.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

from scurry.common.values import Element, Key
from scurry.functions.contexts import TimeDomain, TimerService
from scurry.functions.output_tag import OutputTag
from scurry.functions.transforms import Function


class ElementContext(ABC):
    """What is known about the element being processed."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Clocks, and on keyed streams timers."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The element's event timestamp in milliseconds, None if it has none."""

    @abstractmethod
    def output(self, tag: OutputTag, value: object) -> None:
        """Send ``value`` to the side output ``tag``."""


class KeyedElementContext(ElementContext):
    """The same on a keyed stream, where there is a current key."""

    @abstractmethod
    def get_current_key(self) -> Key:
        """The key of the element (or timer) being processed."""


class TimerContext(KeyedElementContext):
    """What is known about the timer being fired."""

    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Whether event time or processing time reached the timer."""


class ProcessFunction(Function, ABC):
    """Processes elements one by one on a stream without keys: clocks and side outputs."""

    Context: TypeAlias = ElementContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def process_element(self, value: Element, ctx: ElementContext) -> Iterable[object] | None:
        """Called for each element; yields what goes downstream."""


class KeyedProcessFunction(Function, ABC):
    """Processes elements of a keyed stream with the key's state and timers."""

    Context: TypeAlias = KeyedElementContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def process_element(self, value: Element, ctx: KeyedElementContext) -> Iterable[object] | None:
        """Called for each element, with state scoped to its key; yields what goes downstream."""

    def on_timer(self, timestamp: int, ctx: TimerContext) -> Iterable[object] | None:
        """Called for each due timer, with state scoped to the timer's key."""
        return None
