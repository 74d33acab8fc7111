"""Window functions: what is computed when a window fires.

A window function is given the window's elements; after ``reduce`` and ``aggregate`` it is given an
iterable of one value, the result of these. It yields its results, or returns them as an iterable;
``(tag, value)`` pairs go to side outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeAlias, TypeVar

from scurry.functions.contexts import KeyedStateStore
from scurry.functions.output_tag import OutputTag
from scurry.functions.panes import PaneInfo
from scurry.functions.transforms import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")


class AllWindowContext(ABC, Generic[W]):
    """What is known about the window that fires, and its state."""

    @abstractmethod
    def window(self) -> W:
        """The window."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """State of this window of this key; delete it in ``clear``."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """State of the key, shared by all its windows."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """Processing time in milliseconds: the instant the micro-batch was planned."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The running watermark."""

    @abstractmethod
    def output(self, tag: OutputTag, value: object) -> None:
        """Send ``value`` to the side output ``tag``."""

    @abstractmethod
    def pane(self) -> PaneInfo:
        """Which of the window's firings this is: early, on time or late, its number, and whether
        it is the first and the last."""


class WindowContext(AllWindowContext[W]):
    """The same for windows of a keyed stream."""


class WindowFunction(Function, ABC, Generic[IN, OUT, KEY, W]):
    """Computes results from the elements of a window of one key."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Called when the window fires."""


class AllWindowFunction(Function, ABC, Generic[IN, OUT, W]):
    """Computes results from the elements of a window over the whole stream."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Called when the window fires."""


class ProcessWindowFunction(Function, ABC, Generic[IN, OUT, KEY, W]):
    """Computes results from the elements of a window, with clocks, state and side outputs."""

    Context: TypeAlias = WindowContext

    @abstractmethod
    def process(
        self, key: KEY, context: WindowContext[W], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Called when the window fires."""

    def clear(self, context: WindowContext[W]) -> None:
        """Called when the window ends for good: delete what ``context.window_state()`` holds."""


class ProcessAllWindowFunction(Function, ABC, Generic[IN, OUT, W]):
    """The same over the whole stream."""

    Context: TypeAlias = AllWindowContext

    @abstractmethod
    def process(self, context: AllWindowContext[W], elements: Iterable[IN]) -> Iterable[OUT] | None:
        """Called when the window fires."""

    def clear(self, context: AllWindowContext[W]) -> None:
        """Called when the window ends for good: delete what ``context.window_state()`` holds."""
