"""Windows: finite pieces of a stream, as values.

A window is named by what it covers, so two windows over the same span are the same window. They are
tuples underneath: state is looked up by ``(key, window)`` for every element, and a tuple is hashed
and compared without running Python code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from io import BytesIO
from operator import itemgetter
from typing import Any, Protocol, TypeVar

from scurry.common.serializer import TypeSerializer

#: The last instant there is; a window that ends here is never cleaned up by time.
END_OF_TIME = (1 << 63) - 1


class Window(ABC):
    """A group of elements of one key. Subclasses need value-based ``__eq__`` and ``__hash__``."""

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last instant that belongs to the window, in milliseconds."""


W_contra = TypeVar("W_contra", contravariant=True)


class MergeCallback(Protocol[W_contra]):
    """Told which windows become one."""

    def merge(self, to_be_merged: Iterable[W_contra], merge_result: W_contra) -> None:
        """``to_be_merged`` are replaced by ``merge_result``."""


class TimeWindow(tuple, Window):  # type: ignore[type-arg]
    """The span from ``start`` (inclusive) to ``end`` (exclusive), in milliseconds."""

    __slots__ = ()

    start: int = property(itemgetter(0), doc="The first instant in the window.")  # type: ignore[assignment]
    end: int = property(itemgetter(1), doc="The first instant after it.")  # type: ignore[assignment]

    def __new__(cls, start: int, end: int) -> TimeWindow:
        return tuple.__new__(cls, (start, end))

    def __getnewargs__(self) -> tuple[int, int]:
        return self[0], self[1]

    def max_timestamp(self) -> int:
        return int(self[1]) - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap or touch."""
        return bool(self[0] <= other[1] and self[1] >= other[0])

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that contains both."""
        return TimeWindow(min(self[0], other[0]), max(self[1], other[1]))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window of that size, shifted by ``offset``, that ``timestamp`` is in."""
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        """Tell ``callback`` about each group of windows that overlap or touch."""
        group: list[TimeWindow] = []
        whole: TimeWindow | None = None
        for window in sorted(windows):
            if whole is not None and whole.intersects(window):
                whole = whole.cover(window)
                group.append(window)
                continue
            if whole is not None and len(group) > 1:
                callback.merge(group, whole)
            group, whole = [window], window
        if whole is not None and len(group) > 1:
            callback.merge(group, whole)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self[0]}, end={self[1]})"


class CountWindow(tuple, Window):  # type: ignore[type-arg]
    """The ``id``-th window of a count-based assigner; time does not bound it."""

    __slots__ = ()

    id: int = property(itemgetter(0), doc="The window's number, from 0.")  # type: ignore[assignment]

    def __new__(cls, id: int) -> CountWindow:
        return tuple.__new__(cls, (id,))

    def __getnewargs__(self) -> tuple[int]:
        return (self[0],)

    def max_timestamp(self) -> int:
        return END_OF_TIME

    def __repr__(self) -> str:
        return f"CountWindow(id={self[0]})"


class GlobalWindow(tuple, Window):  # type: ignore[type-arg]
    """The one window that all elements of a key belong to."""

    __slots__ = ()

    def __new__(cls) -> GlobalWindow:
        return tuple.__new__(cls, ())

    def __getnewargs__(self) -> tuple[()]:
        return ()

    @staticmethod
    def get() -> GlobalWindow:
        """The global window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        return END_OF_TIME

    def __repr__(self) -> str:
        return "GlobalWindow"


class WindowKey(tuple):  # type: ignore[type-arg]
    """A user's key and one of its windows: what window state is stored under.

    Equal to the plain tuple ``(key, window)``, so a look-up needs no object of this class. State
    and timers under it live in the key group of the user's key.
    """

    __slots__ = ()

    def __new__(cls, key: Any, window: Any) -> WindowKey:
        return tuple.__new__(cls, (key, window))

    def __getnewargs__(self) -> tuple[Any, Any]:
        return self[0], self[1]


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """Writes a :class:`TimeWindow`. The engine has its own form; this is for programs that ask."""

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        for instant in element:
            stream.write(instant.to_bytes(8, "big", signed=True))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        start, end = (int.from_bytes(stream.read(8), "big", signed=True) for _ in range(2))
        return TimeWindow(start, end)


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """Writes a :class:`CountWindow`."""

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        stream.write(element.id.to_bytes(8, "big", signed=True))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        return CountWindow(int.from_bytes(stream.read(8), "big", signed=True))


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """Writes the :class:`GlobalWindow`: one byte, as there is nothing to tell."""

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        stream.write(b"\x00")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        stream.read(1)
        return GlobalWindow()
