"""Lowers what depends on an order of rows: top-N, deduplication, ORDER BY."""

from __future__ import annotations

from scurry.common.data_types import ArrayType, MapType, MultisetType, RowType
from scurry.plan import relational as plan
from scurry.plan.node import Node as PlanNode
from scurry.planner import algebra, physical
from scurry.planner.gaps import refuse
from scurry.planner.lowering.core import LoweringCore, sort_keys
from scurry.planner.rank_strategies import row_key_of
from scurry.planner.time_attributes import is_proctime, is_rowtime
from scurry.planner.traits import changes_of, keys_of

#: types whose values are no keys
_NESTED = (ArrayType, MapType, MultisetType, RowType)


def lower_rank(lowering: LoweringCore, node: algebra.Rank, before: bool) -> PlanNode:
    bound = None
    if isinstance(node, physical.BoundedRank):
        bound = node.partition[node.bound]
    key = None if bound is not None else row_key_of(node.input, node.partition, node.order)
    return plan.Rank(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.partition),),
        order=sort_keys(node.order),
        first=node.first,
        last=node.last,
        number=node.number is not None,
        retracting=not changes_of(node.input).grows,
        row_key=key,
        bound=bound,
        update_before=before,
        retention_ms=lowering.options.retention_ms,
    )


def lower_window_rank(lowering: LoweringCore, node: physical.WindowRank, before: bool) -> PlanNode:
    return plan.WindowRank(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.keys),),
        order=sort_keys(node.order),
        first=node.first,
        last=node.last,
        window_start=node.start,
        window_end=node.end,
        number=node.number is not None,
        zone=lowering.zone_of(node),
    )


def lower_deduplicate(lowering: LoweringCore, node: physical.Deduplicate, before: bool) -> PlanNode:
    proctime = is_proctime(node.input.type_of(node.time))
    return plan.Deduplicate(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, node.keys),),
        keep_last=node.keep_last,
        time=None if proctime else node.time,
        update_before=before,
        retention_ms=lowering.options.retention_ms,
    )


def lower_sort(lowering: LoweringCore, node: algebra.Sort, before: bool) -> PlanNode:
    common = lowering.common(node, before)
    source = (lowering.keyed(node.input, ()),)
    grows = changes_of(node.input).grows
    if (node.order and node.fetch is not None) or (node.fetch is not None and not grows):
        return plan.Rank(
            **common,
            inputs=source,
            order=sort_keys(node.order),
            first=node.offset + 1,
            last=node.offset + node.fetch,
            retracting=not grows,
            row_key=row_key_of(node.input, (), node.order),
            update_before=before,
            retention_ms=lowering.options.retention_ms,
        )
    if not node.order:
        return plan.Limit(**common, inputs=source, offset=node.offset, fetch=node.fetch)
    first = node.order[0]
    alone = len(node.order) == 1 and not node.offset
    if alone and grows and first.ascending and is_proctime(node.input.type_of(first.index)):
        return lowering.lower(node.input)  # rows come in the order of processing time
    in_time = is_rowtime(node.input.type_of(first.index)) and first.ascending and grows
    if not in_time:
        raise refuse("sort", node.span)
    if node.offset:
        raise refuse("offset-only", node.span)
    order = sort_keys(node.order[1:])
    return plan.TemporalSort(**common, inputs=source, time=first.index, order=order)


def lower_final_rows(lowering: LoweringCore, node: physical.FinalRows, before: bool) -> PlanNode:
    return plan.FinalRows(
        **lowering.common(node, before),
        inputs=(lowering.keyed(node.input, _final_keys(node)),),
        order=sort_keys(node.order),
    )


def _final_keys(node: physical.FinalRows) -> tuple[int, ...]:
    """By which columns final rows are collected: an order needs all rows in one place."""
    if node.order:
        return ()
    if node.keys is not None:
        return node.keys
    known = min(keys_of(node.input), key=lambda key: (len(key), sorted(key)), default=None)
    chosen = range(node.width) if known is None else sorted(known)
    return tuple(at for at in chosen if not isinstance(node.type_of(at), _NESTED))
