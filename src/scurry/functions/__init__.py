"""User contracts: the functions a program hands to the engine, and what the engine hands back.

Nothing here knows how a job is run. An ``XxxFunction`` is the user's; the operator that calls it
lives in :mod:`scurry.runtime`.
"""

from __future__ import annotations

from scurry.functions.contexts import (
    FunctionContext,
    KeyedStateStore,
    RuntimeContext,
    TimeDomain,
    TimerService,
)
from scurry.functions.output_tag import OutputTag
from scurry.functions.process import KeyedProcessFunction, ProcessFunction
from scurry.functions.transforms import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)
from scurry.functions.windows import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "FunctionContext",
    "KeySelector",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "OutputTag",
    "Partitioner",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "TimeDomain",
    "TimerService",
    "WindowFunction",
]
