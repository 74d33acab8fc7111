"""Everything the program said about one windowing, in one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from scurry.common.windows import END_OF_TIME, Window
from scurry.functions.output_tag import OutputTag
from scurry.functions.panes import AccumulationMode
from scurry.functions.transforms import AggregateFunction, Function, ReduceFunction
from scurry.functions.window_aggregates import Aggregates, WithWindow, WithWindowOnly
from scurry.functions.windows import ProcessAllWindowFunction, ProcessWindowFunction
from scurry.windowing.assigners import AnyAssigner, MergingWindowAssigner
from scurry.windowing.basic_triggers import (
    CountTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from scurry.windowing.count_windows import CountingAssigner
from scurry.windowing.evictors import Evictor
from scurry.windowing.triggers import AnyTrigger


@dataclass(frozen=True)
class WindowSpec:
    """A windowing: assigner, trigger, what happens to late elements, and the functions."""

    assigner: AnyAssigner
    trigger: AnyTrigger
    keyed: bool
    evictor: Evictor[Any] | None = None
    #: how long after its end a window still takes elements, in milliseconds
    allowed_lateness: int = 0
    late_tag: OutputTag | None = None
    accumulation: AccumulationMode = AccumulationMode.ACCUMULATING
    #: combines elements as they come, or None if the window function wants them all
    incremental: ReduceFunction | AggregateFunction | None = None
    #: called at a firing, None if the incremental value is the result
    function: Function | None = None
    #: the name under which queries ask for what windows hold, None if they cannot
    queryable_name: str | None = None

    @property
    def merging(self) -> bool:
        """Whether windows may merge."""
        return isinstance(self.assigner, MergingWindowAssigner)

    @property
    def contents(self) -> Literal["list", "reduce", "aggregate"]:
        """What a window keeps of its elements."""
        if self.incremental is None or self.evictor is not None:
            return "list"
        return "aggregate" if isinstance(self.incremental, AggregateFunction) else "reduce"

    @property
    def functions(self) -> list[Function]:
        """The user's functions."""
        return [f for f in (self.incremental, self.function) if f is not None]

    @property
    def has_context(self) -> bool:
        """Whether the window function is given a context."""
        return isinstance(self.function, (ProcessWindowFunction, ProcessAllWindowFunction))

    @property
    def plain(self) -> bool:
        """Whether a window fires at its end and when something late comes, with all it holds:
        Flink's defaults for event time, which the faster operators are written for."""
        return (
            type(self.trigger) is EventTimeTrigger
            and self.evictor is None
            and self.accumulation is AccumulationMode.ACCUMULATING
        )

    @property
    def built_in(self) -> bool:
        """Whether what is computed is built-in aggregates and nothing else."""
        plain = type(self.function) in (WithWindow, WithWindowOnly)
        return plain and type(self.incremental) is Aggregates

    @property
    def asks_for_late_elements(self) -> bool:
        """Whether elements that come late are more than counted."""
        return self.allowed_lateness > 0 or self.late_tag is not None

    @property
    def fires_once(self) -> bool:
        """Whether each window is known to fire once at most, at its end."""
        kind, event_time = type(self.trigger), self.assigner.is_event_time()
        if isinstance(self.assigner, CountingAssigner):
            return _complete(self.trigger, self.assigner)
        if event_time:
            return kind is EventTimeTrigger and self.allowed_lateness == 0
        return kind is ProcessingTimeTrigger

    def cleanup_time(self, window: Window) -> int:
        """When a window ends for good: state is dropped, elements are late from then on."""
        end = window.max_timestamp()
        if self.assigner.is_event_time():
            end += self.allowed_lateness
        return min(end, END_OF_TIME)


def _complete(trigger: AnyTrigger, assigner: CountingAssigner) -> bool:
    """Whether a trigger fires when a window has all its elements, and only then."""
    nested = trigger.nested_trigger if type(trigger) is PurgingTrigger else None
    return type(nested) is CountTrigger and nested.window_size == assigner.window_size
