"""Lowers what has two inputs, and look-ups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scurry.common.changelog import ChangelogMode
from scurry.functions.lookups import AwaitedLookup
from scurry.plan import relational as plan
from scurry.plan.node import Node as PlanNode
from scurry.planner import algebra, physical
from scurry.planner.lowering.core import LoweringCore
from scurry.planner.time_attributes import is_proctime


def lower_set_operation(
    lowering: LoweringCore, node: algebra.SetOperation, before: bool
) -> PlanNode:
    every = tuple(range(node.width))
    return plan.SetOperation(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.left, every), lowering.keyed(node.right, every)),
        kind=node.kind,
        all=node.all,
        retention_ms=lowering.options.retention_ms,
    )


def _pair(lowering: LoweringCore, node: Any) -> tuple[PlanNode, ...]:
    return lowering.keyed(node.left, node.left_keys), lowering.keyed(node.right, node.right_keys)


def lower_equi_join(lowering: LoweringCore, node: physical.EquiJoin, before: bool) -> PlanNode:
    left, right = (lowering.options.retention_ms if one is None else one for one in node.ttl)
    return plan.RegularJoin(
        **lowering.common(node, before),
        inputs=_pair(lowering, node),
        kind=node.kind,
        condition=lowering.condition(node.condition),
        null_equal=node.null_equal,
        retention_ms=max(left, right),
        retentions=(left, right),
    )


def lower_interval_join(
    lowering: LoweringCore, node: physical.IntervalJoin, before: bool
) -> PlanNode:
    proctime = is_proctime(node.left.type_of(node.left_time))
    return plan.TimeIntervalJoin(
        **lowering.common(node, before),
        inputs=_pair(lowering, node),
        kind=node.kind,
        lower=node.lower,
        upper=node.upper,
        left_time=None if proctime else node.left_time,
        right_time=None if proctime else node.right_time,
        condition=lowering.condition(node.condition),
    )


def lower_versioned_join(
    lowering: LoweringCore, node: physical.VersionedJoin, before: bool
) -> PlanNode:
    return plan.TemporalJoin(
        **lowering.common(node, before),
        inputs=_pair(lowering, node),
        left=node.kind == "left",
        left_time=node.left_time,
        right_time=node.right_time,
        condition=lowering.condition(node.condition),
        retention_ms=lowering.options.retention_ms,
    )


def lower_window_join(lowering: LoweringCore, node: physical.WindowJoin, before: bool) -> PlanNode:
    return plan.WindowJoin(
        **lowering.common(node, before),
        inputs=_pair(lowering, node),
        kind=node.kind,
        left_window=node.left_window,
        right_window=node.right_window,
        condition=lowering.condition(node.condition),
        zone=lowering.zone_of(node),
    )


def lower_lookup_join(lowering: LoweringCore, node: physical.LookupJoin, before: bool) -> PlanNode:
    settings = replace(lowering.options.lookups, **dict(node.hint))
    awaiting = settings.asynchronous
    if not isinstance(node.lookup, AwaitedLookup):
        awaiting = False
    elif awaiting is None:
        awaiting = node.lookup.prefers_awaiting
    source = lowering.lower(node.input)
    if source.changelog is not ChangelogMode.INSERT_ONLY:
        # a row must not overtake the one that it takes back
        settings = replace(settings, ordered=True)
    return (plan.AsyncLookupJoin if awaiting else plan.LookupJoin)(
        **lowering.common(node, before),
        inputs=(source,),
        lookup=node.lookup,
        keys=tuple(map(lowering.session, node.keys)),
        left=node.kind == "left",
        condition=lowering.condition(node.condition),
        settings=settings,
    )
