"""User functions, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.datastream.java_functions import (
    JavaFunctionWrapper,
    SinkFunction,
    SourceFunction,
)
from scurry.functions import (
    AggregateFunction,
    AllWindowFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedProcessFunction,
    KeyedStateStore,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    RuntimeContext,
    WindowFunction,
)
from scurry.functions.async_io import AsyncFunction, AsyncRetryPredicate, AsyncRetryStrategy
from scurry.functions.broadcast import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from scurry.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    OperatorStateStore,
)
from scurry.functions.co_process import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from scurry.functions.contexts import TimerService
from scurry.functions.dead_letters import DEAD_LETTERS, DeadLetter
from scurry.functions.history import Mark
from scurry.functions.joins import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from scurry.functions.sink import Sink, SinkWriter, WriterContext
from scurry.functions.source import (
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

__all__ = [
    "DEAD_LETTERS",
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CheckpointedFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "DeadLetter",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "JavaFunctionWrapper",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "Mark",
    "OperatorStateStore",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReadPlan",
    "ReadRange",
    "ReduceFunction",
    "RuntimeContext",
    "Sink",
    "SinkFunction",
    "SinkWriter",
    "Source",
    "SourceBatch",
    "SourceEnumerator",
    "SourceFunction",
    "TimerService",
    "WindowFunction",
    "WriterContext",
]
