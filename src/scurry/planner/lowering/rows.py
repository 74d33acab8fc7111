"""Lowers what looks at each row by itself: sources, projections, filters, unions, windows."""

from __future__ import annotations

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.connectors.relation import RelationSource
from scurry.functions.aggregate_calls import (
    ColumnsKey,
)
from scurry.functions.expressions import Expression, InputRef
from scurry.plan import relational as plan
from scurry.plan.node import Node as PlanNode
from scurry.plan.nodes import KeyBy, Source
from scurry.plan.nodes import Union as PlanUnion
from scurry.planner import algebra
from scurry.planner.algebra import Node
from scurry.planner.catalog import ScanRequest
from scurry.planner.describe import describe
from scurry.planner.gaps import refuse
from scurry.planner.identify import identity
from scurry.planner.lowering.core import LoweringCore, hashed, schema_of
from scurry.planner.time_attributes import is_proctime
from scurry.planner.traits import changes_of, keys_of


def lower_scan(lowering: LoweringCore, node: algebra.Scan, before: bool) -> PlanNode:
    known = hashed(identity(node))
    uid = f"Scan-{known}"
    found = node.table.access.scan(ScanRequest(node.scanned, node.filters, uid=uid))
    if node.table.mode is not ChangelogMode.UPSERT:
        return found
    (key,) = keys_of(node)
    if found.changelog is ChangelogMode.RETRACT:  # the table may be told of a change twice
        found = plan.DropUpdateBefore(
            name=f"DropUpdateBefore({node.table.name})",
            uid=f"DropUpdateBefore-{known}",
            inputs=(found,),
            columns=schema_of(node.columns),
            mode=ChangelogMode.UPSERT,
        )
    return plan.ChangelogNormalize(
        **{
            **lowering.common(node, before),
            "name": f"ChangelogNormalize({node.table.name})",
            "uid": f"ChangelogNormalize-{known}",
        },
        inputs=(KeyBy(name="key", inputs=(found,), selector=ColumnsKey(*sorted(key))),),
        update_before=before,
        retention_ms=lowering.options.retention_ms,
    )


def lower_values(lowering: LoweringCore, node: algebra.Values, before: bool) -> PlanNode:
    schema = schema_of(node.columns)
    arrays = [
        pa.array([row[at].value for row in node.rows], field.type)
        for at, field in enumerate(schema)
    ]
    source = RelationSource(pa.table(arrays, schema=schema))
    return Source(name=describe(node)[:200], uid=f"Values-{lowering.digest(node)}", source=source)


def lower_watermark(lowering: LoweringCore, node: algebra.Watermark, before: bool) -> PlanNode:
    return plan.WatermarkAssigner(
        **lowering.common(node, before),
        inputs=(lowering.lower(node.input),),
        rowtime=node.time,
        watermark=lowering.session(node.expression),
        idleness_ms=lowering.options.idle_ms,
    )


def lower_project(lowering: LoweringCore, node: algebra.Project, before: bool) -> PlanNode:
    condition, source = None, node.input
    if isinstance(source, algebra.Filter):
        condition, source = source.condition, source.input
    return plan.Calc(
        **lowering.common(node, before),
        inputs=(lowering.lower(source),),
        condition=lowering.condition(condition),
        projections=tuple(map(lowering.session, node.expressions)),
    )


def lower_filter(lowering: LoweringCore, node: algebra.Filter, before: bool) -> PlanNode:
    return plan.Calc(
        **lowering.common(node, before),
        inputs=(lowering.lower(node.input),),
        condition=lowering.condition(node.condition),
    )


def lower_correlate(lowering: LoweringCore, node: algebra.Correlate, before: bool) -> PlanNode:
    return plan.Correlate(
        **lowering.common(node, before),
        inputs=(lowering.lower(node.input),),
        table=lowering.made_table(node.table),
        left=node.left,
        condition=lowering.condition(node.condition),
    )


def lower_expand(lowering: LoweringCore, node: algebra.Expand, before: bool) -> PlanNode:
    return plan.Expand(
        **lowering.common(node, before),
        inputs=(lowering.lower(node.input),),
        grouped=node.grouped,
        sets=node.sets,
        ids=node.ids,
    )


def lower_union(lowering: LoweringCore, node: algebra.Union, before: bool) -> PlanNode:
    wanted = schema_of(node.columns)
    inputs = tuple(_conforming(lowering, one, wanted, before) for one in node.relations)
    return PlanUnion(name="union", inputs=inputs)


def _conforming(lowering: LoweringCore, node: Node, wanted: pa.Schema, before: bool) -> PlanNode:
    """An input of a union under the union's names and nullability."""
    found = lowering.lower(node)
    if found.schema == wanted:
        return found
    refs: tuple[Expression, ...] = tuple(
        InputRef(at, column.type) for at, column in enumerate(node.columns)
    )
    common = lowering.common(node, before)
    uid = f"Rename-{lowering.digest(node)}"
    return plan.Calc(
        **{**common, "columns": wanted, "uid": uid},
        inputs=(found,),
        projections=tuple(map(lowering.session, refs)),
    )


def lower_to_changelog(lowering: LoweringCore, node: algebra.ToChangelog, before: bool) -> PlanNode:
    common = lowering.common(node, before)
    return plan.ToChangelog(**common, inputs=(lowering.lower(node.input),), codes=node.codes)


def lower_from_changelog(
    lowering: LoweringCore, node: algebra.FromChangelog, before: bool
) -> PlanNode:
    if not changes_of(node.input).grows:
        raise refuse("changelog-updates", node.span)
    common = {**lowering.common(node, before), "mode": ChangelogMode.RETRACT}
    source = (lowering.lower(node.input),)
    return plan.FromChangelog(**common, inputs=source, code=node.code, kinds=node.kinds)


def lower_window_table(lowering: LoweringCore, node: algebra.WindowTable, before: bool) -> PlanNode:
    proctime = is_proctime(node.input.type_of(node.time))
    if node.kind == "session":
        if not changes_of(node.input).grows:
            raise refuse("session-rows", node.span)
        return plan.SessionRows(
            **lowering.common(node, before),
            inputs=(lowering.keyed(node.input, node.keys),),
            time=None if proctime else node.time,
            gap=node.size,
            zone=lowering.zone_of(node),
        )
    return plan.WindowTable(
        **lowering.common(node, before),
        inputs=(lowering.lower(node.input),),
        kind=node.kind,
        time=None if proctime else node.time,
        size=node.size,
        step=node.step,
        offset=node.offset,
        zone=lowering.zone_of(node),
    )
