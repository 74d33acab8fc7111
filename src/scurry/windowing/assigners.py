"""Assigners: which windows an element belongs to. This is the contract; the kinds are elsewhere."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeAlias, TypeVar

from scurry.common.serializer import TypeSerializer
from scurry.common.values import Element
from scurry.common.windows import MergeCallback
from scurry.functions.contexts import RuntimeContext
from scurry.windowing.triggers import Trigger

T_contra = TypeVar("T_contra", contravariant=True)
W = TypeVar("W")


class WindowAssignerContext(ABC):
    """What an assigner can see."""

    @abstractmethod
    def get_current_processing_time(self) -> int:
        """Processing time in milliseconds: the instant the micro-batch was planned."""

    @abstractmethod
    def get_runtime_context(self) -> RuntimeContext:
        """The operator's context: state asked for here is state of the current key."""


# Within a class its own names hide those of the module, so the class takes these.
_Context: TypeAlias = WindowAssignerContext
_Callback: TypeAlias = MergeCallback


class WindowAssigner(ABC, Generic[T_contra, W]):
    """Assigns elements to windows."""

    WindowAssignerContext: TypeAlias = _Context

    @abstractmethod
    def assign_windows(
        self, element: T_contra, timestamp: int, context: WindowAssignerContext
    ) -> Collection[W]:
        """Called for each element: the windows it belongs to."""

    @abstractmethod
    def get_default_trigger(self, env: object) -> Trigger[T_contra, W]:
        """The trigger of windows for which the program names none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """How windows are written. The engine stores windows in a form of its own, so any
        serializer will do here; windows must be picklable."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows end by the watermark, else by processing time."""


class MergingWindowAssigner(WindowAssigner[T_contra, W]):
    """An assigner whose windows may merge, such as sessions."""

    MergeCallback: TypeAlias = _Callback

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergeCallback[W]) -> None:
        """Called with all windows of a key when one is added: call ``callback.merge`` for each
        group that becomes one window."""


#: An assigner of whatever elements, to whatever windows.
AnyAssigner: TypeAlias = WindowAssigner[Element, Any]
