"""User functions, under the module name PyFlink has for them."""

from __future__ import annotations

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
from scurry.functions.sink import Sink, SinkWriter, WriterContext
from scurry.functions.source import (
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReadPlan",
    "ReadRange",
    "ReduceFunction",
    "RuntimeContext",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceBatch",
    "SourceEnumerator",
    "WindowFunction",
    "WriterContext",
]
