"""Sessions: periods of activity that end when nothing has come for a while.

Each element opens a window from its time to its time plus the gap; windows that overlap or touch
become one. The gap is fixed, or taken from each element.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

from scurry.common.errors import ProgramError, shorten
from scurry.common.serializer import TypeSerializer
from scurry.common.time import TimeSpan, milliseconds_of
from scurry.common.windows import MergeCallback, TimeWindow, TimeWindowSerializer
from scurry.windowing.assigners import MergingWindowAssigner, WindowAssignerContext
from scurry.windowing.basic_triggers import EventTimeTrigger, ProcessingTimeTrigger
from scurry.windowing.time_windows import bounded, event_timestamp
from scurry.windowing.triggers import Trigger

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class SessionWindowTimeGapExtractor(ABC, Generic[T_contra]):
    """Takes a session's gap from an element."""

    @abstractmethod
    def extract(self, element: T_contra) -> int:
        """The time after ``element``, in milliseconds, for which its session stays open."""


#: What decides about the gap after an element.
Extractor: TypeAlias = SessionWindowTimeGapExtractor[T] | Callable[[T], int]


class SessionWindows(MergingWindowAssigner[T_contra, TimeWindow]):
    """Sessions on either clock. They merge whenever they overlap or touch."""

    @abstractmethod
    def gap_of(self, element: T_contra) -> int:
        """The gap after an element, in milliseconds."""

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.merge_windows(windows, callback)

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()


class _FixedGap(SessionWindows[object]):
    def __init__(self, session_gap: int) -> None:
        if session_gap < 1:
            raise ProgramError(
                f"The gap of {type(self).__name__} must be at least 1 ms, got {session_gap} ms."
            )
        self.session_gap = session_gap

    def gap_of(self, element: object) -> int:
        return self.session_gap

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.session_gap})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.session_gap} ms)"


class _DynamicGap(SessionWindows[T_contra]):
    def __init__(
        self,
        session_window_time_gap_extractor: Extractor[T_contra],
    ) -> None:
        given = session_window_time_gap_extractor
        if isinstance(given, SessionWindowTimeGapExtractor):
            self._extract: Callable[[T_contra], int] = given.extract
        elif callable(given):
            self._extract = given
        else:
            raise ProgramError(
                f"{type(self).__name__} needs a SessionWindowTimeGapExtractor or a function of the "
                f"element, got {given!r}."
            )

    def gap_of(self, element: T_contra) -> int:
        gap = self._extract(element)
        if not isinstance(gap, int) or isinstance(gap, bool) or gap < 1:
            raise ProgramError(
                f"the session gap of {shorten(element)} is {gap!r}; it must be a whole number of "
                "milliseconds from 1 on"
            )
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _EventTime(SessionWindows[T_contra]):
    def assign_windows(
        self, element: T_contra, timestamp: int, context: WindowAssignerContext
    ) -> list[TimeWindow]:
        start = event_timestamp(timestamp, self)
        return [bounded(start, self.gap_of(element))]

    def get_default_trigger(self, env: object) -> Trigger[T_contra, TimeWindow]:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class _ProcessingTime(SessionWindows[T_contra]):
    def assign_windows(
        self, element: T_contra, timestamp: int, context: WindowAssignerContext
    ) -> list[TimeWindow]:
        start = context.get_current_processing_time()
        return [bounded(start, self.gap_of(element))]

    def get_default_trigger(self, env: object) -> Trigger[T_contra, TimeWindow]:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


class EventTimeSessionWindows(_FixedGap, _EventTime[object]):
    """Sessions of event time with a fixed gap."""

    @staticmethod
    def with_gap(size: TimeSpan) -> EventTimeSessionWindows:
        """Sessions that end after that long without elements."""
        return EventTimeSessionWindows(milliseconds_of(size))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[T]) -> DynamicEventTimeSessionWindows[T]:
        """Sessions whose gap each element decides."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_FixedGap, _ProcessingTime[object]):
    """Sessions of processing time with a fixed gap."""

    @staticmethod
    def with_gap(size: TimeSpan) -> ProcessingTimeSessionWindows:
        """Sessions that end after that long without elements."""
        return ProcessingTimeSessionWindows(milliseconds_of(size))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[T]) -> DynamicProcessingTimeSessionWindows[T]:
        """Sessions whose gap each element decides."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_DynamicGap[T_contra], _EventTime[T_contra]):
    """Sessions of event time whose gap each element decides."""

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[T]) -> DynamicEventTimeSessionWindows[T]:
        """Sessions with the gap that ``extractor`` returns."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGap[T_contra], _ProcessingTime[T_contra]):
    """Sessions of processing time whose gap each element decides."""

    @staticmethod
    def with_dynamic_gap(extractor: Extractor[T]) -> DynamicProcessingTimeSessionWindows[T]:
        """Sessions with the gap that ``extractor`` returns."""
        return DynamicProcessingTimeSessionWindows(extractor)
