"""Functions of two inputs: a method for each, and fields and state that both methods share.

Elements of the two streams may be of different types. The methods are called for the elements in
the order in which the engine merged the streams, never at the same time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, TypeAlias

from scurry.common.values import Element
from scurry.functions.contexts import RuntimeContext
from scurry.functions.process import ElementContext, KeyedElementContext, TimerContext
from scurry.functions.transforms import Function


class CoMapFunction(Function, ABC):
    """One element out for each element in, of whichever stream; None for no element."""

    @abstractmethod
    def map1(self, value: Element) -> object:
        """What takes the place of an element of the first stream."""

    @abstractmethod
    def map2(self, value: Element) -> object:
        """What takes the place of an element of the second stream."""


class CoFlatMapFunction(Function, ABC):
    """Any number of elements out for each element in, of whichever stream."""

    @abstractmethod
    def flat_map1(self, value: Element) -> Iterable[object] | None:
        """Yield what takes the place of an element of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Element) -> Iterable[object] | None:
        """Yield what takes the place of an element of the second stream."""


class CoProcessFunction(Function, ABC):
    """Processes two streams with access to time and side outputs.

    On connected streams that have keys it may use keyed state, and timers if it has ``on_timer``.
    """

    Context: TypeAlias = ElementContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def process_element1(self, value: Element, ctx: ElementContext) -> Iterable[object] | None:
        """Called for each element of the first stream; yields what goes downstream."""

    @abstractmethod
    def process_element2(self, value: Element, ctx: ElementContext) -> Iterable[object] | None:
        """Called for each element of the second stream; yields what goes downstream."""

    def on_timer(self, timestamp: int, ctx: TimerContext) -> Iterable[object] | None:
        """Called for each due timer, with state scoped to the timer's key."""
        return None


class KeyedCoProcessFunction(Function, ABC):
    """Processes two keyed streams with state and timers of the key, which both methods share."""

    Context: TypeAlias = KeyedElementContext
    OnTimerContext: TypeAlias = TimerContext

    @abstractmethod
    def process_element1(self, value: Element, ctx: KeyedElementContext) -> Iterable[object] | None:
        """Called for each element of the first stream, with state scoped to its key."""

    @abstractmethod
    def process_element2(self, value: Element, ctx: KeyedElementContext) -> Iterable[object] | None:
        """Called for each element of the second stream, with state scoped to its key."""

    def on_timer(self, timestamp: int, ctx: TimerContext) -> Iterable[object] | None:
        """Called for each due timer, with state scoped to the timer's key."""
        return None


class CoMap(CoProcessFunction):
    """A co-map as a co-process function."""

    def __init__(self, function: Any) -> None:
        self.function: Any = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    def process_element1(self, value: Element, ctx: ElementContext) -> Iterable[object] | None:
        result = self.function.map1(value)
        return None if result is None else (result,)

    def process_element2(self, value: Element, ctx: ElementContext) -> Iterable[object] | None:
        result = self.function.map2(value)
        return None if result is None else (result,)


class CoFlatMap(CoMap):
    """A co-flat-map as a co-process function."""

    def process_element1(self, value: Element, ctx: ElementContext) -> Iterable[object] | None:
        found: Iterable[object] | None = self.function.flat_map1(value)
        return found

    def process_element2(self, value: Element, ctx: ElementContext) -> Iterable[object] | None:
        found: Iterable[object] | None = self.function.flat_map2(value)
        return found
