"""Tumbling and sliding windows: fixed spans of time, aligned to the epoch plus an offset.

A timestamp before 1970 is like any other: windows are aligned by floored division.
"""

from __future__ import annotations

from scurry.common.errors import ProgramError
from scurry.common.serializer import TypeSerializer
from scurry.common.time import TimeSpan, milliseconds_of
from scurry.common.windows import END_OF_TIME, TimeWindow, TimeWindowSerializer
from scurry.windowing.assigners import WindowAssigner, WindowAssignerContext
from scurry.windowing.basic_triggers import EventTimeTrigger, ProcessingTimeTrigger
from scurry.windowing.triggers import Trigger

#: The timestamp of an element that has none.
NO_TIMESTAMP = -(1 << 63)


class AlignedWindows(WindowAssigner[object, TimeWindow]):
    """Windows of ``size`` ms, one starting every ``slide`` ms, shifted by ``offset`` ms."""

    def __init__(self, size: int, slide: int, offset: int) -> None:
        name = type(self).__name__
        if size < 1 or slide < 1:
            raise ProgramError(
                f"{name} needs a size and a slide of at least 1 ms, got size {size} ms and slide "
                f"{slide} ms."
            )
        if abs(offset) >= slide:
            raise ProgramError(
                f"The offset of {name} must be smaller than its slide or size, {slide} ms; got "
                f"{offset} ms."
            )
        self.size = size
        self.slide = slide
        self.offset = offset

    def windows_at(self, time: int) -> list[TimeWindow]:
        """The windows that contain an instant, the latest first."""
        size, slide = self.size, self.slide
        last = time - (time - self.offset) % slide
        return [bounded(start, size) for start in range(last, time - size, -slide)]

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.slide}, {self.offset})"

    def __repr__(self) -> str:
        slide = "" if self.slide == self.size else f", slide {self.slide} ms"
        offset = f", offset {self.offset} ms" if self.offset else ""
        return f"{type(self).__name__}({self.size} ms{slide}{offset})"


def bounded(start: int, size: int) -> TimeWindow:
    """The window of that size; one that would reach past the last instant there is ends there."""
    return TimeWindow(start, min(start + size, END_OF_TIME + 1))


def event_timestamp(timestamp: int, assigner: object) -> int:
    """``timestamp``, refused where the element has none."""
    if timestamp == NO_TIMESTAMP:
        raise ProgramError(
            f"the element has no timestamp, which {assigner!r} needs. Give the stream a "
            "WatermarkStrategy with_timestamp_assigner(...) before key_by, or use windows of "
            "processing time"
        )
    return timestamp


class EventTimeAligned(AlignedWindows):
    """Aligned windows that follow the elements' timestamps."""

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> list[TimeWindow]:
        return self.windows_at(event_timestamp(timestamp, self))

    def get_default_trigger(self, env: object) -> Trigger[object, TimeWindow]:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


class ProcessingTimeAligned(AlignedWindows):
    """Aligned windows that follow the clock."""

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> list[TimeWindow]:
        return self.windows_at(context.get_current_processing_time())

    def get_default_trigger(self, env: object) -> Trigger[object, TimeWindow]:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


class TumblingEventTimeWindows(EventTimeAligned):
    """Windows of event time, one after the other: each element is in exactly one."""

    def __init__(self, size: int, offset: int) -> None:
        super().__init__(size, size, offset)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"

    @staticmethod
    def of(size: TimeSpan, offset: TimeSpan | None = None) -> TumblingEventTimeWindows:
        """Windows of that size."""
        return TumblingEventTimeWindows(milliseconds_of(size), _offset(offset))


class TumblingProcessingTimeWindows(ProcessingTimeAligned):
    """Windows of processing time, one after the other."""

    def __init__(self, size: int, offset: int) -> None:
        super().__init__(size, size, offset)

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.size}, {self.offset})"

    @staticmethod
    def of(size: TimeSpan, offset: TimeSpan | None = None) -> TumblingProcessingTimeWindows:
        """Windows of that size."""
        return TumblingProcessingTimeWindows(milliseconds_of(size), _offset(offset))


class SlidingEventTimeWindows(EventTimeAligned):
    """Windows of event time that overlap: each element is in ``size / slide`` of them."""

    @staticmethod
    def of(
        size: TimeSpan, slide: TimeSpan, offset: TimeSpan | None = None
    ) -> SlidingEventTimeWindows:
        """Windows of that size, one every ``slide``."""
        return SlidingEventTimeWindows(
            milliseconds_of(size), milliseconds_of(slide), _offset(offset)
        )


class SlidingProcessingTimeWindows(ProcessingTimeAligned):
    """Windows of processing time that overlap."""

    @staticmethod
    def of(
        size: TimeSpan, slide: TimeSpan, offset: TimeSpan | None = None
    ) -> SlidingProcessingTimeWindows:
        """Windows of that size, one every ``slide``."""
        return SlidingProcessingTimeWindows(
            milliseconds_of(size), milliseconds_of(slide), _offset(offset)
        )


def _offset(offset: TimeSpan | None) -> int:
    return 0 if offset is None else milliseconds_of(offset)
