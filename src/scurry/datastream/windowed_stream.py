"""Windowed streams: what ``window`` returns, waiting to be told what to compute.

``trigger``, ``evictor``, ``allowed_lateness``, ``side_output_late_data`` and ``accumulation_mode``
settle when and how windows fire; ``reduce``, ``aggregate``, ``apply`` and ``process`` say what they
compute, and give a stream again. Results carry the last timestamp of their window.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from scurry.common.errors import ProgramError
from scurry.common.time import milliseconds_of
from scurry.common.type_inference import return_type_of, yield_type_of
from scurry.common.type_information import TypeInformation
from scurry.datastream.plain_stream import DataStream
from scurry.functions import (
    AggregateFunction,
    AllWindowFunction,
    Function,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
    adapters,
)
from scurry.functions.aggregations import FieldAggregation
from scurry.functions.panes import AccumulationMode
from scurry.functions.window_aggregates import (
    Aggregate,
    Aggregates,
    WithWindow,
    WithWindowOnly,
    several,
)
from scurry.plan import nodes
from scurry.runtime.selectors import no_key
from scurry.state.states import checked_queryable_name
from scurry.windowing.assigners import WindowAssigner
from scurry.windowing.basic_triggers import NeverTrigger
from scurry.windowing.count_windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from scurry.windowing.evictors import Evictor
from scurry.windowing.spec import WindowSpec
from scurry.windowing.triggers import Trigger

if TYPE_CHECKING:
    from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment

S = TypeVar("S", bound="Windowing")
_COUNTING = (CountTumblingWindowAssigner, CountSlidingWindowAssigner)


class Windowing:
    """What keyed and non-keyed windowed streams have in common."""

    _keyed = True
    #: the classes that ``apply`` and ``process`` take
    _apply_kind: type[Function] = WindowFunction
    _process_kind: type[Function] = ProcessWindowFunction

    def __init__(self, stream: DataStream, window_assigner: WindowAssigner[Any, Any]) -> None:
        if not isinstance(window_assigner, WindowAssigner):
            raise ProgramError(
                f"window needs a WindowAssigner such as TumblingEventTimeWindows.of(...), got "
                f"{window_assigner!r}."
            )
        self._stream = stream
        self._assigner = window_assigner
        self._trigger: Trigger[Any, Any] | None = None
        self._evictor: Evictor[Any] | None = None
        self._lateness = 0
        self._late_tag: OutputTag | None = None
        self._accumulation = AccumulationMode.ACCUMULATING
        self._queryable_name: str | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment the stream belongs to."""
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation:
        """The type of the elements that go into windows."""
        return self._stream.get_type()

    def trigger(self: S, trigger: Trigger[Any, Any]) -> S:
        """Say when windows fire, in place of the assigner's default."""
        if not isinstance(trigger, Trigger):
            raise ProgramError(f"trigger needs a Trigger, got {trigger!r}.")
        self._trigger = trigger
        return self

    def evictor(self: S, evictor: Evictor[Any]) -> S:
        """Take elements out of windows around a firing. Windows then keep all their elements."""
        if not isinstance(evictor, Evictor):
            raise ProgramError(f"evictor needs an Evictor, got {evictor!r}.")
        self._evictor = evictor
        return self

    def allowed_lateness(self: S, time_ms: Any) -> S:
        """How long after its end a window of event time is kept for late elements, each of which
        makes it fire again: milliseconds, or any length of time."""
        late = time_ms
        if not isinstance(late, int) or isinstance(late, bool):
            late = milliseconds_of(time_ms)
        if late < 0:
            raise ProgramError(f"The allowed lateness cannot be negative, got {time_ms!r}.")
        self._lateness = late
        return self

    def side_output_late_data(self: S, output_tag: OutputTag) -> S:
        """Send elements that come too late for all their windows to a side output; without this
        they are only counted."""
        if not isinstance(output_tag, OutputTag):
            raise ProgramError(f"side_output_late_data needs an OutputTag, got {output_tag!r}.")
        self._late_tag = output_tag
        return self

    def accumulation_mode(self: S, mode: AccumulationMode) -> S:
        """What the second and later firings of a window hold."""
        if not isinstance(mode, AccumulationMode):
            raise ProgramError(f"accumulation_mode needs an AccumulationMode, got {mode!r}.")
        self._accumulation = mode
        return self

    def reduce(
        self,
        reduce_function: Callable[[Any, Any], Any] | ReduceFunction,
        window_function: Any = None,
        output_type: Any = None,
    ) -> DataStream:
        """Combine elements two at a time, as they come; with ``window_function`` the combined value
        goes through it when the window fires."""
        incremental = adapters.reduce_function(reduce_function)
        return self._windowed("reduce", incremental, window_function, output_type, reduce_function)

    def aggregate(
        self,
        aggregate_function: AggregateFunction | Aggregate | Sequence[Aggregate],
        window_function: Any = None,
        accumulator_type: Any = None,
        output_type: Any = None,
        *more: Aggregate,
    ) -> DataStream:
        """Aggregate elements as they come; with ``window_function`` the result goes through it when
        the window fires. ``accumulator_type`` is accepted and not needed.

        Built-in aggregates (:mod:`scurry.datastream.aggregates`) may be given instead, one or more:
        ``aggregate(agg.count(), agg.sum(1))``. Results are then tuples: the key (not for
        ``window_all``), start and end of the window, the aggregates. Given as a list they may be
        followed by a ``window_function``, which gets a tuple of the aggregates alone."""
        if isinstance(aggregate_function, Aggregate):
            given = [aggregate_function, window_function, accumulator_type, output_type, *more]
            return self._built_in(several(given), None, None)
        if isinstance(aggregate_function, (list, tuple)):
            return self._built_in(several(aggregate_function), window_function, output_type)
        kinds = (AggregateFunction,)
        incremental = adapters.window_function(aggregate_function, kinds, "aggregate")
        return self._windowed("aggregate", incremental, window_function, output_type)

    def _built_in(self, chosen: Aggregates, function: Any, output_type: Any) -> DataStream:
        if function is None:
            function = WithWindow() if self._keyed else WithWindowOnly()
        return self._windowed(f"aggregate {chosen!r}", chosen, function, output_type)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The sum of a field, in the first element of the window."""
        return self._field("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The least value of a field, in the first element of the window."""
        return self._field("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The greatest value of a field, in the first element of the window."""
        return self._field("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The element with the least value of a field; the first of several."""
        return self._field("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The element with the greatest value of a field; the first of several."""
        return self._field("max_by", position_to_max_by)

    def _field(self, how: str, position: int | str) -> DataStream:
        return self._windowed(how, FieldAggregation(how, position), None, None)

    def apply(self, window_function: Any, output_type: Any = None) -> DataStream:
        """Compute results from all elements of a window when it fires."""
        function = adapters.window_function(window_function, (self._apply_kind,), "apply")
        return self._windowed("apply", None, function, output_type)

    def process(self, process_window_function: Any, output_type: Any = None) -> DataStream:
        """Compute results from all elements of a window, with clocks, state and side outputs."""
        function = adapters.window_function(
            process_window_function, (self._process_kind,), "process"
        )
        return self._windowed("process", None, function, output_type)

    def _windowed(
        self,
        how: str,
        incremental: Any,
        function: Function | None,
        output_type: Any,
        reduce_function: object = None,
    ) -> DataStream:
        kinds = (self._apply_kind, self._process_kind)
        given = [one for one in (incremental, function) if one is not None]
        if reduce_function is not None:
            given[0] = reduce_function
        if function is not None:
            function = adapters.window_function(function, kinds, how)
        environment = self.get_execution_environment()
        trigger = self._trigger or self._assigner.get_default_trigger(environment)
        spec = WindowSpec(
            assigner=self._assigner,
            trigger=trigger,
            keyed=self._keyed,
            evictor=self._evictor,
            allowed_lateness=self._lateness,
            late_tag=self._late_tag,
            accumulation=self._accumulation,
            incremental=incremental,
            function=function,
            queryable_name=self._queryable_name,
        )
        self._check(spec)
        name = f"Window({self._assigner!r}, {type(trigger).__name__}, {how})"
        result = self._input()._then(
            nodes.Window, name, output_type, self._inferred(incremental, function), windowing=spec
        )
        of = "Window" if self._keyed else "AllWindow"
        named = [type(one).__name__ for one in (trigger, *given)]
        if self._trigger is None and isinstance(self._assigner, _COUNTING):
            named[0] = "CountTrigger"
        told = ", ".join([str(self._assigner), *named])
        result._transformation.peer = type(self._assigner).__name__
        result._transformation.details = f"{of}({told})"
        if not self._keyed:
            result._transformation.usual = 1
        return result

    def _input(self) -> DataStream:
        return self._stream

    def _inferred(self, incremental: Any, function: Any) -> TypeInformation | None:
        if function is not None:
            return yield_type_of(getattr(function, "process", None) or function.apply)
        if isinstance(incremental, AggregateFunction):
            return return_type_of(incremental.get_result)
        return self._stream._transformation.type_info

    def _check(self, spec: WindowSpec) -> None:
        trigger, assigner = spec.trigger, spec.assigner
        if spec.merging and not trigger.can_merge():
            raise ProgramError(
                f"{type(trigger).__name__} cannot serve {assigner!r}, whose windows merge. Use a "
                "trigger whose can_merge() is True, and give your own an on_merge."
            )
        if type(trigger) is NeverTrigger:
            warnings.warn(
                f"{assigner!r} with a NeverTrigger gives no results, and its state only grows. "
                "Choose a trigger, for example .trigger(CountTrigger.of(100)).",
                stacklevel=5,
            )
        if spec.evictor is not None and spec.accumulation is AccumulationMode.DISCARDING:
            raise ProgramError(
                "An evictor decides which elements stay in a window, and DISCARDING that none do: "
                "leave out one of the two."
            )


class WindowedStream(Windowing):
    """Windows of each key."""

    def set_queryable(self, queryable_state_name: str) -> WindowedStream:
        """Let what windows hold be queried from outside while the job runs, before they fire, under
        a name that no other state of the job has. Queries are answered if
        ``queryable-state.enable`` is set."""
        self._queryable_name = checked_queryable_name(queryable_state_name, "windows")
        return self


class AllWindowedStream(Windowing):
    """Windows over all elements, in one slot."""

    _keyed = False
    _apply_kind = AllWindowFunction
    _process_kind = ProcessAllWindowFunction

    def _input(self) -> DataStream:
        return self._stream.key_by(no_key)


def count_assigner(size: int, slide: int) -> WindowAssigner[Any, Any]:
    """The assigner of ``count_window``."""
    if slide == 0 or slide == size:
        return CountTumblingWindowAssigner(size)
    return CountSlidingWindowAssigner(size, slide)
