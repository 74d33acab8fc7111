"""Plan nodes. Each is valid once made and never changes; a pass makes new ones.

Some nodes are operators, something that runs. Others only say how records get from one operator to
the next: :class:`KeyBy`, :class:`Partition`, :class:`Union`, :class:`SideOutput`.

Each operator class says whether its operators *keep* something from one micro-batch to the next.
What is kept is found again by the operator's uid after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from scurry.common.type_information import TypeInformation
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.functions import sink as sinks
from scurry.functions import source as sources
from scurry.functions.async_io import AsyncFunction, AsyncRetryStrategy
from scurry.functions.broadcast import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from scurry.functions.checkpointed import CheckpointedFunction
from scurry.functions.co_process import CoProcessFunction, KeyedCoProcessFunction
from scurry.functions.joins import ProcessJoinFunction
from scurry.functions.output_tag import OutputTag
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
from scurry.state.states import MapStateDescriptor
from scurry.windowing.spec import WindowSpec


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """A step of the program."""

    name: str
    inputs: tuple[Node, ...] = ()
    uid: str | None = None
    parallelism: int | None = None
    max_parallelism: int | None = None
    #: the user's file and line
    location: str = ""
    type_info: TypeInformation | None = None
    #: whether the user declared ``type_info``, so that values are checked against it
    declared: bool = False
    #: "chain", "head" (start a new chain here) or "never"
    chaining: str = "chain"
    description: str = ""
    #: "fail" or "dead-letter", None for what the job says
    on_error: str | None = None
    #: whether the user chose ``name``
    named: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Operator(Node):
    """A node that runs."""

    #: whether operators of this class always keep something
    keeps: ClassVar[bool] = False

    @property
    def functions(self) -> tuple[Any, ...]:
        """The user's functions, those inside adapters included."""
        return _with_inner(getattr(self, "function", None))

    @property
    def stateful(self) -> bool:
        """Whether the operator keeps something that must be found again after a restart."""
        return self.keeps or any(isinstance(f, CheckpointedFunction) for f in self.functions)


def _with_inner(*functions: Any) -> tuple[Any, ...]:
    found = [f for f in functions if f is not None]
    inner = (getattr(f, "function", None) for f in found)
    return (*found, *(f for f in inner if f is not None))


@dataclass(frozen=True, eq=False, kw_only=True)
class Source(Operator):
    """Reads records."""

    keeps: ClassVar[bool] = True

    source: sources.Source


@dataclass(frozen=True, eq=False, kw_only=True)
class Map(Operator):
    """One record for each."""

    function: MapFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class FlatMap(Operator):
    """Any number of records for each."""

    function: FlatMapFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Filter(Operator):
    """Some of the records."""

    function: FilterFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Process(Operator):
    """A process function without keys."""

    function: ProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Batches(Operator):
    """A function over Arrow batches."""

    function: Function
    call: Callable[..., Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class AsyncWait(Operator):
    """Awaits the results of a function, many at a time."""

    function: AsyncFunction
    timeout_ms: int
    retry: AsyncRetryStrategy
    capacity: int
    ordered: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Timestamps(Operator):
    """Assigns timestamps and watermarks."""

    strategy: WatermarkStrategy
    #: whether it is the source's own strategy, which is always applied where the source is read
    of_source: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedProcess(Operator):
    """A process function with state and timers per key."""

    keeps: ClassVar[bool] = True

    function: KeyedProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class Reduce(Operator):
    """A rolling reduce per key."""

    keeps: ClassVar[bool] = True

    function: ReduceFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoInputs(Operator):
    """An operator of two inputs, which may be of different types."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CoProcess(TwoInputs):
    """A function with a method for each input, without keys."""

    function: CoProcessFunction | KeyedCoProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedCoProcess(TwoInputs):
    """A function with a method for each input, and state and timers per key."""

    keeps: ClassVar[bool] = True

    function: CoProcessFunction | KeyedCoProcessFunction


@dataclass(frozen=True, eq=False, kw_only=True)
class BroadcastProcess(TwoInputs):
    """A function over a stream without keys and a broadcast stream, the second input."""

    keeps: ClassVar[bool] = True

    function: BroadcastProcessFunction
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyedBroadcastProcess(TwoInputs):
    """A function over a keyed stream and a broadcast stream, the second input."""

    keeps: ClassVar[bool] = True

    function: KeyedBroadcastProcessFunction
    descriptors: tuple[MapStateDescriptor, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Window(Operator):
    """Windows of each key: assigner, trigger and functions."""

    keeps: ClassVar[bool] = True

    windowing: WindowSpec

    @property
    def functions(self) -> tuple[Any, ...]:
        return _with_inner(self.windowing.incremental, self.windowing.function)


@dataclass(frozen=True, eq=False, kw_only=True)
class IntervalJoin(TwoInputs):
    """Joins elements of equal keys: right ones ``lower`` to ``upper`` ms after left ones."""

    keeps: ClassVar[bool] = True

    function: ProcessJoinFunction
    lower: int
    upper: int
    #: the side outputs of late elements, left and right
    late: tuple[OutputTag | None, OutputTag | None]


@dataclass(frozen=True, eq=False, kw_only=True)
class Sink(Operator):
    """Writes records."""

    sink: sinks.Sink
    #: what to do about batches that the checkpoint does not know; None for the job's own choice
    on_other_history: str | None = None

    @property
    def stateful(self) -> bool:
        return self.sink.known_by_uid


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyBy(Node):
    """Partitions by key."""

    selector: KeySelector


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyGuard(Operator):
    """Lets elements pass whose key can be computed."""

    selector: KeySelector


@dataclass(frozen=True, eq=False, kw_only=True)
class AllDeadLetters(Node):
    """The dead letters of all operators that have any; compiling replaces it by their union."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Partition(Node):
    """Partitions in another way: forward, rebalance, shuffle, broadcast, global, custom."""

    how: str
    partitioner: Partitioner | None = None
    selector: KeySelector | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Union(Node):
    """Several streams as one."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SideOutput(Node):
    """The side output ``tag`` of an operator."""

    tag: str
