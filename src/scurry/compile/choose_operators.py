"""Choosing operators: which runtime operator runs each node, and how it lays out its state.

The choice is made here, on the driver, once: what a worker is given is a class and its arguments.
It follows from what the program says, never from what a function's code looks like. A node
missing here is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scurry.common.errors import ProgramError
from scurry.compile.relational import relational_operator
from scurry.plan import nodes
from scurry.runtime.async_io import AsyncWaitOperator
from scurry.runtime.broadcast import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from scurry.runtime.event_time import TimestampsOperator
from scurry.runtime.interval_join import IntervalJoinOperator
from scurry.runtime.keyed import KeyedCoProcessOperator, KeyedProcessOperator, ReduceOperator
from scurry.runtime.make_operator import MakeOperator
from scurry.runtime.operator import Operator
from scurry.runtime.sinks import SinkOperator
from scurry.runtime.stateless import (
    BatchesOperator,
    CoProcessOperator,
    FilterOperator,
    FlatMapOperator,
    KeyGuardOperator,
    MapOperator,
    ProcessOperator,
)
from scurry.runtime.windowing.aligned import AlignedWindowOperator, runs_aligned
from scurry.runtime.windowing.common import WindowingOperator
from scurry.runtime.windowing.layouts import VECTORISED
from scurry.runtime.windowing.operator import WindowOperator
from scurry.runtime.windowing.sessions import SessionOperator, runs_sessions
from scurry.runtime.windowing.vectorised.aligned import (
    VectorisedAlignedOperator,
    VectorisedOperator,
)
from scurry.runtime.windowing.vectorised.sessions import VectorisedSessionOperator, fixed_sessions
from scurry.state.layout import StateLayout
from scurry.windowing.spec import WindowSpec


@dataclass(frozen=True)
class PhysicalOperator:
    """What runs a node, and how that lays out its state; a source is run by the ingress itself."""

    layout: StateLayout
    make: MakeOperator | None = None

    @property
    def vectorised(self) -> bool:
        """Whether it works on whole columns."""
        return self.make is not None and issubclass(self.make.kind, VectorisedOperator)


Arguments = Callable[[Any], tuple[Any, ...]]


def _function(node: Any) -> tuple[Any, ...]:
    return (node.function,)


def _with_descriptors(node: Any) -> tuple[Any, ...]:
    return node.function, node.descriptors


_OPERATORS: dict[type[nodes.Node], tuple[type[Operator], Arguments]] = {
    nodes.Map: (MapOperator, _function),
    nodes.FlatMap: (FlatMapOperator, _function),
    nodes.Filter: (FilterOperator, _function),
    nodes.Process: (ProcessOperator, _function),
    nodes.Batches: (BatchesOperator, lambda node: (node.function, node.call)),
    nodes.AsyncWait: (
        AsyncWaitOperator,
        lambda node: (node.function, node.timeout_ms, node.retry, node.capacity, node.ordered),
    ),
    nodes.Timestamps: (TimestampsOperator, lambda node: (node.strategy,)),
    nodes.KeyedProcess: (KeyedProcessOperator, _function),
    nodes.CoProcess: (CoProcessOperator, _function),
    nodes.KeyedCoProcess: (KeyedCoProcessOperator, _function),
    nodes.BroadcastProcess: (BroadcastProcessOperator, _with_descriptors),
    nodes.KeyedBroadcastProcess: (KeyedBroadcastProcessOperator, _with_descriptors),
    nodes.IntervalJoin: (
        IntervalJoinOperator,
        lambda node: (node.function, node.lower, node.upper, node.late),
    ),
    nodes.KeyGuard: (KeyGuardOperator, lambda node: (node.selector.get_key,)),
    nodes.Reduce: (ReduceOperator, _function),
    nodes.Sink: (SinkOperator, lambda node: (node.sink,)),
}


def choose_operators(
    operators: Iterable[nodes.Operator], columns: bool = True
) -> Mapping[nodes.Operator, PhysicalOperator]:
    """What runs each of ``operators``; without ``columns`` all of them an element at a time."""
    return {node: choose_operator(node, columns) for node in operators}


def choose_operator(node: nodes.Node, columns: bool = True) -> PhysicalOperator:
    """What runs ``node``."""
    if isinstance(node, nodes.Source):
        return PhysicalOperator(StateLayout(f"source {node.source.position_form}"))
    if isinstance(node, nodes.Window):
        return _windows(node, columns)
    make = _make(node)
    return PhysicalOperator(make.kind.state_layout(*make.arguments), make)


def _windows(node: nodes.Window, columns: bool) -> PhysicalOperator:
    make = MakeOperator(_window_operator(node.windowing, columns), (node.windowing,))
    layout = make.kind.state_layout(*make.arguments)
    # so that a refusal can name the setting
    settings = {VECTORISED: columns} if fits_columns(node.windowing) else {}
    parameters = {**layout.parameters, **settings}
    return PhysicalOperator(msgspec.structs.replace(layout, parameters=parameters), make)


def _make(node: nodes.Node) -> MakeOperator:
    known = relational_operator(node) or _OPERATORS.get(type(node))
    if known is None:
        raise ProgramError(
            f"The compiler does not know how to run a {type(node).__name__} "
            f"({node.name!r}, {node.location})."
        )
    kind, arguments = known
    return MakeOperator(kind, arguments(node))


def _window_operator(windowing: WindowSpec, columns: bool) -> type[WindowingOperator]:
    """The fastest operator that can run a windowing; all give the same results."""
    if columns and fits_columns(windowing):
        return VectorisedSessionOperator if windowing.merging else VectorisedAlignedOperator
    if runs_aligned(windowing):
        return AlignedWindowOperator
    return SessionOperator if runs_sessions(windowing) else WindowOperator


def fits_columns(windowing: WindowSpec) -> bool:
    """Whether there is an operator that runs a windowing on whole columns."""
    return windowing.built_in and (runs_aligned(windowing) or fixed_sessions(windowing))
