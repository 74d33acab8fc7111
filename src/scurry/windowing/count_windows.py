"""Windows that time does not bound: by count, and the global window.

The elements of a key are numbered as they arrive, which is state of the key; a window is a range of
numbers. A count window is complete once it has all its elements: it fires then, and only then.
"""

from __future__ import annotations

from scurry.common.serializer import TypeSerializer
from scurry.common.windows import (
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
)
from scurry.state.states import ValueStateDescriptor
from scurry.windowing.assigners import WindowAssigner, WindowAssignerContext
from scurry.windowing.basic_triggers import (
    CountTrigger,
    NeverTrigger,
    PurgingTrigger,
    whole_number,
)
from scurry.windowing.triggers import Trigger


class CountingAssigner(WindowAssigner[object, CountWindow]):
    """What tumbling and sliding count windows have in common."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        self.window_size = whole_number("The size of a count window", window_size)
        self.window_slide = whole_number("The slide of a count window", window_slide)
        self._seen = ValueStateDescriptor("count-window-elements")

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> list[CountWindow]:
        seen = context.get_runtime_context().get_state(self._seen)
        number = seen.value() or 0
        seen.update(number + 1)
        size, slide = self.window_size, self.window_slide
        # window i holds the elements from i * slide on
        first = max(0, (number - size) // slide + 1)
        return [CountWindow(at) for at in range(number // slide, first - 1, -1)]

    def get_default_trigger(self, env: object) -> Trigger[object, CountWindow]:
        return PurgingTrigger(CountTrigger(self.window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False


class CountTumblingWindowAssigner(CountingAssigner):
    """Windows of ``window_size`` elements, one after the other."""

    def __init__(self, window_size: int) -> None:
        super().__init__(window_size, window_size)

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of that many elements."""
        return CountTumblingWindowAssigner(window_size)

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self.window_size})"


class CountSlidingWindowAssigner(CountingAssigner):
    """Windows of ``window_size`` elements, a new one every ``window_slide`` elements."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        super().__init__(window_size, window_slide)

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of that many elements."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self.window_size}, {self.window_slide})"


class GlobalWindows(WindowAssigner[object, GlobalWindow]):
    """One window for all elements of a key; it fires only by a trigger you choose."""

    def __init__(self) -> None:
        self._window = [GlobalWindow()]

    @staticmethod
    def create() -> GlobalWindows:
        """The assigner."""
        return GlobalWindows()

    def assign_windows(
        self, element: object, timestamp: int, context: WindowAssignerContext
    ) -> list[GlobalWindow]:
        return self._window

    def get_default_trigger(self, env: object) -> Trigger[object, GlobalWindow]:
        return NeverTrigger()

    def get_window_serializer(self) -> TypeSerializer[GlobalWindow]:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"
