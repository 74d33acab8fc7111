"""Plan nodes. Each is valid once made and never changes; a pass makes new ones.

Some nodes are operators, something that runs. Others only say how records get from one operator to
the next: :class:`KeyBy`, :class:`Partition`, :class:`Union`, :class:`SideOutput`.

Each operator class says whether its operators *keep* something from one micro-batch to the next.
What is kept is found again by the operator's uid after a restart. Other facts about a class that
passes ask for are its traits: :mod:`scurry.plan.node`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from scurry.common.changelog import ChangelogMode, mode_of_union
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.functions import sink as sinks
from scurry.functions import source as sources
from scurry.functions.async_io import AsyncFunction, AsyncRetryStrategy
from scurry.functions.broadcast import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from scurry.functions.co_process import CoProcessFunction, KeyedCoProcessFunction
from scurry.functions.joins import ProcessJoinFunction
from scurry.functions.output_tag import OutputTag
from scurry.functions.panes import AccumulationMode
from scurry.functions.process import KeyedProcessFunction, ProcessFunction
from scurry.functions.transforms import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from scurry.plan.node import FunctionOperator, schema_of, with_inner
from scurry.plan.node import Node as Node
from scurry.plan.node import Operator as Operator
from scurry.state.states import MapStateDescriptor
from scurry.windowing.spec import WindowSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class Source(Operator):
    """Reads records."""

    keeps: ClassVar[bool] = True

    source: sources.Source

    @property
    def schema(self) -> pa.Schema | None:
        relation = self.source.relation
        return schema_of(self.type_info) if relation is None else relation

    @property
    def changelog(self) -> ChangelogMode | None:
        return self.source.changelog


@dataclass(frozen=True, eq=False, kw_only=True)
class Map(FunctionOperator):
    """One record for each."""

    function: MapFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatMap(FunctionOperator):
    """Any number of records for each."""

    function: FlatMapFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Filter(FunctionOperator):
    """Some of the records."""

    hands_on: ClassVar[bool] = True

    function: FilterFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Process(FunctionOperator):
    """A process function without keys."""

    function: ProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Batches(Operator):
    """A function over Arrow batches."""

    function: Function
    call: Callable[..., Any]

    @property
    def changelog(self) -> ChangelogMode | None:
        # a row keeps the kind of the row whose place it takes
        return mode_of_union(source.changelog for source in self.inputs)


@dataclass(frozen=True, eq=False, kw_only=True)
class AsyncWait(FunctionOperator):
    """Awaits the results of a function, many at a time."""

    function: AsyncFunction[Any, Any]
    timeout_ms: int
    retry: AsyncRetryStrategy[Any]
    capacity: int
    ordered: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Timestamps(FunctionOperator):
    """Assigns timestamps and watermarks."""

    hands_on: ClassVar[bool] = True
    gives_time: ClassVar[bool] = True

    strategy: WatermarkStrategy
    #: whether it is the source's own strategy, which is always applied where the source is read
    of_source: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedProcess(FunctionOperator):
    """A process function with state and timers per key."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 1

    function: KeyedProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Reduce(FunctionOperator):
    """A rolling reduce per key."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 1

    function: ReduceFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoInputs(Operator):
    """An operator of two inputs, which may be of different types."""

    input_count: ClassVar[int] = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoInputFunction(TwoInputs, FunctionOperator):
    """One that calls a function of the user's with one element at a time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CoProcess(TwoInputFunction):
    """A function with a method for each input, without keys."""

    function: CoProcessFunction | KeyedCoProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedCoProcess(TwoInputFunction):
    """A function with a method for each input, and state and timers per key."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 2

    function: CoProcessFunction | KeyedCoProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class BroadcastProcess(TwoInputFunction):
    """A function over a stream without keys and a broadcast stream, the second input."""

    keeps: ClassVar[bool] = True

    function: BroadcastProcessFunction[Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedBroadcastProcess(TwoInputFunction):
    """A function over a keyed stream and a broadcast stream, the second input."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 1

    function: KeyedBroadcastProcessFunction[Any, Any, Any, Any]
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Window(Operator):
    """Windows of each key: assigner, trigger and functions."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 1

    windowing: WindowSpec

    @property
    def functions(self) -> tuple[Any, ...]:
        return with_inner(self.windowing.incremental, self.windowing.function)

    @property
    def changelog(self) -> ChangelogMode | None:
        if self.windowing.accumulation is AccumulationMode.ACCUMULATING_AND_RETRACTING:
            return ChangelogMode.RETRACT
        return ChangelogMode.INSERT_ONLY if self.windowing.built_in else None

    @property
    def names_failures(self) -> bool:
        # built-in aggregates handle elements by the thousand
        return not self.windowing.built_in

    @property
    def may_be_combined(self) -> bool:
        return self.windowing.built_in and not self.windowing.asks_for_late_elements


@dataclass(frozen=True, eq=False, kw_only=True)
class IntervalJoin(TwoInputs):
    """Joins elements of equal keys: right ones ``lower`` to ``upper`` ms after left ones."""

    keeps: ClassVar[bool] = True
    keyed_inputs: ClassVar[int] = 2

    function: ProcessJoinFunction
    lower: int
    upper: int
    #: the side outputs of late elements, left and right
    late: tuple[OutputTag | None, OutputTag | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Sink(Operator):
    """Writes records."""

    needs_order: ClassVar[bool] = False

    sink: sinks.Sink
    #: what to do about batches that the checkpoint does not know; None for the job's own choice
    on_other_history: str | None = None

    @property
    def stateful(self) -> bool:
        return self.sink.known_by_uid


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyBy(Node):
    """Partitions by key."""

    hands_on: ClassVar[bool] = True

    selector: KeySelector

    @property
    def names_failures(self) -> bool:
        return True


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyGuard(Operator):
    """Lets elements pass whose key can be computed."""

    hands_on: ClassVar[bool] = True

    selector: KeySelector


@dataclass(frozen=True, eq=False, kw_only=True)
class AllDeadLetters(Node):
    """The dead letters of all operators that have any; compiling replaces it by their union."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Partition(Node):
    """Partitions in another way: forward, rebalance, shuffle, broadcast, global, custom."""

    hands_on: ClassVar[bool] = True

    how: str
    partitioner: Partitioner | None = None
    selector: KeySelector | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Union(Node):
    """Several streams as one."""

    hands_on: ClassVar[bool] = True


@dataclass(frozen=True, eq=False, kw_only=True)
class SideOutput(Node):
    """The side output ``tag`` of an operator."""

    tag: str
