"""Lowers aggregates of all kinds: of groups, of windows, of the rows around a row, of matches."""

from __future__ import annotations

from typing import Any

from scurry.functions.aggregate_calls import (
    AggregateCall,
    AssignedWindows,
    Frame,
)
from scurry.functions.udfs import AggregateFunction
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.plan import relational as plan
from scurry.plan.node import Node as PlanNode
from scurry.planner import algebra, physical
from scurry.planner.algebra import Aggregation, Columns
from scurry.planner.assign_windows import rows_to_assign
from scurry.planner.gaps import refuse
from scurry.planner.lowering.core import LoweringCore, schema_of, sort_keys
from scurry.planner.lowering.matches import lowered_match
from scurry.planner.time_attributes import is_proctime
from scurry.planner.traits import changes_of


def lower_aggregate(lowering: LoweringCore, node: algebra.Aggregate, before: bool) -> PlanNode:
    _check_retracting(node)
    return plan.GroupAggregate(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.groups),),
        calls=_calls(node.calls),
        retracting=not changes_of(node.input).grows,
        update_before=before,
        mini_batch=lowering.options.mini_batch or lowering.options.batch,
        mini_batch_rows=0 if lowering.options.batch else lowering.options.mini_batch_rows,
        retention_ms=lowering.options.retention_ms if node.ttl is None else node.ttl,
    )


def lower_local_aggregate(
    lowering: LoweringCore, node: physical.LocalAggregate, before: bool
) -> PlanNode:
    return plan.LocalAggregate(
        **lowering.common(node, before),
        inputs=(lowering.lower(node.input),),
        groups=node.groups,
        calls=_calls(node.calls),
    )


def lower_window_aggregate(
    lowering: LoweringCore, node: physical.WindowAggregate, before: bool
) -> PlanNode:
    _check_retracting(node)
    zone = lowering.zone_of(node)
    # in local time the bounds are other times than those of rows
    found = None if zone else rows_to_assign(node)
    if found is not None:
        columns = schema_of(node.input.columns)
        windows = AssignedWindows(*found.windows, columns, node.keys, _calls(node.calls))
        source, keys, calls = found.source, found.keys, found.calls
    else:
        windows, source, keys, calls = None, node.input, node.keys, node.calls
    return plan.WindowAggregate(
        **lowering.common(node, before),
        inputs=(lowering.keyed(source, keys),),
        calls=_calls(calls),
        window_start=node.start,
        window_end=node.end,
        properties=_properties(node.window),
        event_time=node.event_time,
        retracting=not changes_of(node.input).grows,
        zone=zone,
        windows=windows,
    )


def lower_session_aggregate(
    lowering: LoweringCore, node: physical.SessionAggregate, before: bool
) -> PlanNode:
    _check_retracting(node)
    proctime = is_proctime(node.input.type_of(node.time))
    return plan.SessionAggregate(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.keys),),
        calls=_calls(node.calls),
        time=None if proctime else node.time,
        gap=node.gap,
        properties=_properties(node.window),
        retracting=not changes_of(node.input).grows,
        zone=lowering.zone_of(node),
    )


def lower_over(lowering: LoweringCore, node: algebra.Over, before: bool) -> PlanNode:
    if not changes_of(node.input).grows:
        raise refuse("over-updates", node.span)
    (item,) = node.order
    proctime = is_proctime(node.input.type_of(item.index))
    return plan.OverAggregate(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.partition),),
        calls=_calls(node.calls),
        frame=Frame(node.frame.rows, node.frame.preceding),
        time=None if proctime else item.index,
        retention_ms=lowering.options.retention_ms,
    )


def lower_sorted_over(lowering: LoweringCore, node: physical.SortedOver, before: bool) -> PlanNode:
    frame = Frame(node.frame.rows, node.frame.preceding, node.frame.following)
    return plan.SortedOver(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.partition),),
        calls=_calls(node.calls),
        order=sort_keys(node.order),
        frame=frame,
        net=lowering.options.mini_batch or lowering.options.batch,
        update_before=before,
        retention_ms=lowering.options.retention_ms,
    )


def lower_match(lowering: LoweringCore, node: algebra.Match, before: bool) -> PlanNode:
    if not changes_of(node.input).grows:
        raise refuse("match-updates", node.span)
    time, *rest = node.order
    proctime = is_proctime(node.input.type_of(time.index))
    return plan.Match(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.partition),),
        match=lowered_match(node, lowering.session),
        time=None if proctime else time.index,
        order=sort_keys(tuple(rest)),
    )


def _calls(calls: tuple[Aggregation, ...]) -> tuple[AggregateCall, ...]:
    return tuple(
        AggregateCall(
            _function(call.function),
            call.arguments,
            call.type.arrow_type(),
            call.distinct,
            call.filter,
            call.constants,
            call.name,
        )
        for call in calls
    )


def _function(function: Any) -> Any:
    return function.function() if isinstance(function, UserDefinedFunctionWrapper) else function


def _check_retracting(
    node: algebra.Aggregate | physical.WindowAggregate | physical.SessionAggregate,
) -> None:
    """A user's aggregate can take rows back only if it says how."""
    if changes_of(node.input).grows:
        return
    for call in node.calls:
        if isinstance(call.function, UserDefinedFunctionWrapper):
            made = call.function.function()
            if getattr(type(made), "retract", None) is AggregateFunction.retract:
                what = f"The aggregate {call.function.name}, which has no retract,"
                raise refuse("aggregate-updates", node.span, f"{what} on a table that is updated")


def _properties(window: Columns) -> tuple[str, ...]:
    return ("start", "end", "time")[: len(window)]
