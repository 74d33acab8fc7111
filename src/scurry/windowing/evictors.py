"""Evictors: take elements out of a window before its function is called, or after.

A window with an evictor keeps all its elements, however incremental its function is, because which
of them go is known only when it fires.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from scurry.common.errors import ProgramError
from scurry.common.time import TimeSpan, milliseconds_of
from scurry.common.values import Element
from scurry.common.windows import Window
from scurry.windowing.basic_triggers import whole_number


class TimestampedValue(NamedTuple):
    """An element in a window, with its event timestamp (None if it has none)."""

    value: Element
    timestamp: int | None


class EvictorContext(ABC):
    """What an evictor can see."""

    @abstractmethod
    def get_current_processing_time(self) -> int:
        """Processing time in milliseconds."""

    @abstractmethod
    def get_current_watermark(self) -> int:
        """The running watermark."""


W_contra = TypeVar("W_contra", contravariant=True)


# Within the class its own name hides that of the module.
_Context: TypeAlias = EvictorContext


class Evictor(ABC, Generic[W_contra]):
    """Takes elements out of a window that fires.

    Both methods get the window's elements in the order they arrived and return those that stay.
    They may also change the list in place and return None.
    """

    EvictorContext: TypeAlias = _Context

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: W_contra, ctx: EvictorContext
    ) -> list[TimestampedValue] | None:
        """Called before the window function."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: W_contra, ctx: EvictorContext
    ) -> list[TimestampedValue] | None:
        """Called after the window function."""


class _OneSided(Evictor[Window]):
    """Evicts before the function, or with ``do_evict_after`` after it."""

    def __init__(self, do_evict_after: bool) -> None:
        self._after = do_evict_after

    @abstractmethod
    def _keep(self, elements: list[TimestampedValue]) -> list[TimestampedValue]: ...

    def evict_before(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext
    ) -> list[TimestampedValue]:
        return elements if self._after else self._keep(elements)

    def evict_after(
        self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext
    ) -> list[TimestampedValue]:
        return self._keep(elements) if self._after else elements


class CountEvictor(_OneSided):
    """Keeps the last ``max_count`` elements."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._max_count = whole_number("The count of a CountEvictor", max_count)

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """The evictor that keeps that many."""
        return CountEvictor(max_count, do_evict_after)

    def _keep(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        return elements[-self._max_count :]


class TimeEvictor(_OneSided):
    """Keeps the elements of the last ``window_size`` of event time, counted back from the greatest
    timestamp in the window; without timestamps it keeps all."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self._window_size = window_size

    @staticmethod
    def of(window_size: TimeSpan, do_evict_after: bool = False) -> TimeEvictor:
        """The evictor that keeps that much time."""
        return TimeEvictor(milliseconds_of(window_size), do_evict_after)

    def _keep(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        stamps = [element.timestamp for element in elements if element.timestamp is not None]
        if not stamps or elements[0].timestamp is None:
            return elements
        cutoff = max(stamps) - self._window_size
        return [e for e in elements if e.timestamp is None or e.timestamp > cutoff]


class DeltaEvictor(_OneSided):
    """Drops the elements that differ from the last one by ``threshold`` or more."""

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Element, Element], float],
        do_evict_after: bool = False,
    ) -> None:
        super().__init__(do_evict_after)
        if not callable(delta_function):
            raise ProgramError(
                "DeltaEvictor needs a function of (old, new) that returns a number, got "
                f"{delta_function!r}."
            )
        self._threshold = threshold
        self._delta = delta_function

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Element, Element], float],
        do_evict_after: bool = False,
    ) -> DeltaEvictor:
        """The evictor for that threshold."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _keep(self, elements: list[TimestampedValue]) -> list[TimestampedValue]:
        if not elements:
            return elements
        last = elements[-1].value
        return [e for e in elements if self._delta(e.value, last) < self._threshold]
