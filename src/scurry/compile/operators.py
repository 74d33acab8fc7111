"""Which runtime operator runs which plan node. A node missing here is an error that names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.errors import ProgramError
from scurry.plan import nodes
from scurry.runtime.async_io import AsyncWaitOperator
from scurry.runtime.broadcast import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from scurry.runtime.combining import Combiner
from scurry.runtime.event_time import TimestampsOperator
from scurry.runtime.interval_join import IntervalJoinOperator
from scurry.runtime.keyed import KeyedCoProcessOperator, KeyedProcessOperator, ReduceOperator
from scurry.runtime.operator import Operator
from scurry.runtime.sinks import SinkOperator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.stateless import (
    BatchesOperator,
    CoProcessOperator,
    FilterOperator,
    FlatMapOperator,
    KeyGuardOperator,
    MapOperator,
    ProcessOperator,
)
from scurry.runtime.windowing.choice import (
    runs_vectorised,
    window_operator,
    windows_combiner,
)

Make = Callable[[OperatorSpec], Operator]


class MakeOperator:
    """Makes an operator of ``kind`` for a spec; it travels to the workers inside the spec."""

    def __init__(self, kind: Callable[..., Operator], *arguments: Any) -> None:
        self._kind = kind
        self._arguments = arguments

    def __call__(self, spec: OperatorSpec) -> Operator:
        return self._kind(spec, *self._arguments)


_LOWERINGS: dict[type[nodes.Node], Callable[[Any], Make]] = {
    nodes.Map: lambda node: MakeOperator(MapOperator, node.function),
    nodes.FlatMap: lambda node: MakeOperator(FlatMapOperator, node.function),
    nodes.Filter: lambda node: MakeOperator(FilterOperator, node.function),
    nodes.Process: lambda node: MakeOperator(ProcessOperator, node.function),
    nodes.Batches: lambda node: MakeOperator(BatchesOperator, node.function, node.call),
    nodes.AsyncWait: lambda node: MakeOperator(
        AsyncWaitOperator, node.function, node.timeout_ms, node.retry, node.capacity, node.ordered
    ),
    nodes.Timestamps: lambda node: MakeOperator(TimestampsOperator, node.strategy),
    nodes.KeyedProcess: lambda node: MakeOperator(KeyedProcessOperator, node.function),
    nodes.CoProcess: lambda node: MakeOperator(CoProcessOperator, node.function),
    nodes.KeyedCoProcess: lambda node: MakeOperator(KeyedCoProcessOperator, node.function),
    nodes.BroadcastProcess: lambda node: MakeOperator(
        BroadcastProcessOperator, node.function, node.descriptors
    ),
    nodes.KeyedBroadcastProcess: lambda node: MakeOperator(
        KeyedBroadcastProcessOperator, node.function, node.descriptors
    ),
    nodes.IntervalJoin: lambda node: MakeOperator(
        IntervalJoinOperator, node.function, node.lower, node.upper, node.late
    ),
    nodes.KeyGuard: lambda node: MakeOperator(KeyGuardOperator, node.selector.get_key),
    nodes.Reduce: lambda node: MakeOperator(ReduceOperator, node.function),
    nodes.Sink: lambda node: MakeOperator(SinkOperator, node.sink),
}


def vectorised(node: nodes.Node) -> bool:
    """Whether ``node`` is windows that can run on whole columns."""
    return isinstance(node, nodes.Window) and runs_vectorised(node.windowing)


def combiner_for(node: nodes.Node) -> Combiner | None:
    """What may combine the records on their way to ``node``, None if nothing may."""
    return windows_combiner(node.windowing) if isinstance(node, nodes.Window) else None


def make_for(node: nodes.Node, columns: bool = True) -> Make:
    """What makes the operator that runs ``node``; without ``columns`` an element at a time."""
    if isinstance(node, nodes.Window):
        return MakeOperator(window_operator, node.windowing, columns)
    lowering = _LOWERINGS.get(type(node))
    if lowering is None:
        raise ProgramError(
            f"The compiler does not know how to run a {type(node).__name__} "
            f"({node.name!r}, {node.location})."
        )
    return lowering(node)
