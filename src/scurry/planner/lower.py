"""From the algebra to plan nodes, which have row kinds, keys and uids.

Equal parts of the tree become one plan node: that is how a common table that is used twice is
computed once. A uid is made of what an operator and everything below it compute, so it does not
change when another part of the query does, or what is done with the operator's rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import ArrayType, MapType, MultisetType, RowType
from scurry.common.spans import NOWHERE
from scurry.connectors.relation import RelationSource
from scurry.functions.aggregate_calls import (
    AggregateCall,
    ColumnsKey,
    Frame,
    SortKey,
    TableCall,
    Unnest,
)
from scurry.functions.expressions import Expression, InputRef, SessionExpression
from scurry.functions.lookups import AwaitedLookup
from scurry.functions.udfs import AggregateFunction
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.plan import relational as plan
from scurry.plan.node import Node as PlanNode
from scurry.plan.nodes import KeyBy, Source
from scurry.plan.nodes import Union as PlanUnion
from scurry.planner import algebra, physical
from scurry.planner.algebra import Aggregation, Columns, Node, SortItem
from scurry.planner.catalog import ScanRequest
from scurry.planner.describe import describe
from scurry.planner.gaps import refuse
from scurry.planner.identify import identity, taken_from_scan
from scurry.planner.lower_match import lowered_match
from scurry.planner.need_update_before import Needs
from scurry.planner.options import PlannerOptions
from scurry.planner.rank_strategies import row_key_of
from scurry.planner.time_attributes import is_proctime, is_rowtime
from scurry.planner.traits import changes_of, keys_of

#: types whose values are no keys
_NESTED = (ArrayType, MapType, MultisetType, RowType)
Handler = Callable[["Lowering", Any, bool], PlanNode]


def schema_of(columns: Columns) -> pa.Schema:
    """The Arrow schema of columns."""
    return pa.schema([pa.field(c.name, c.type.arrow_type(), c.type.is_nullable) for c in columns])


class Lowering:
    """Lowers trees; what several of them have in common is one node."""

    def __init__(self, options: PlannerOptions, needs: Needs) -> None:
        self._options = options
        self._needs = needs
        self._made: dict[Node, PlanNode] = {}
        self._digests: dict[Node, str] = {}

    def lower(self, node: Node) -> PlanNode:
        """The plan node of a relation, with old rows of updates if anybody needs them."""
        found = self._made.get(node)
        if found is None:
            found = _HANDLERS[type(node)](self, node, self._needs.update_before(node))
            self._made[node] = found
        return found

    def digest(self, node: Node) -> str:
        """What the node computes, in ten letters."""
        found = self._digests.get(node)
        if found is None:
            found = self._digests[node] = _hashed(self._computed(node))
        return found

    def _computed(self, node: Node) -> str:
        """What the node and all below it compute, as a text."""
        taken = taken_from_scan(node)
        if taken is not None:
            scan = node if isinstance(node, algebra.Scan) else node.inputs[0]
            return f"{identity(scan)}{taken}"
        if isinstance(node, algebra.Project) and isinstance(node.input, algebra.Scan):
            return f"{identity(node)}({identity(node.input)})"
        return f"{identity(node)}({','.join(map(self.digest, node.inputs))})"

    def _common(self, node: Node, before: bool) -> dict[str, Any]:
        """What all relational plan nodes are given."""
        where = node.span.where() if node.span is not NOWHERE else ""
        return {
            "name": describe(node)[:200],
            "uid": f"{type(node).__name__}-{self.digest(node)}",
            "columns": schema_of(node.columns),
            "mode": changes_of(node).mode(before),
            "location": where,
        }

    def _keyed(self, source: Node, keys: tuple[int, ...]) -> PlanNode:
        below = self.lower(source)
        return KeyBy(name="key", inputs=(below,), selector=ColumnsKey(*keys))

    def _session(self, tree: Expression) -> SessionExpression:
        """An expression with what the session says of its evaluation."""
        options = self._options
        return SessionExpression(
            tree, options.zone, options.query_start, options.database, options.asynchronous
        )

    def _condition(self, tree: Expression | None) -> SessionExpression | None:
        return None if tree is None else self._session(tree)

    def _made_table(
        self, table: algebra.Unnested | algebra.TableFunctionCall
    ) -> Unnest | TableCall:
        if isinstance(table, algebra.Unnested):
            multiset = isinstance(table.operand.type, MultisetType)
            return Unnest(self._session(table.operand), table.ordinality, multiset)
        return TableCall(table.function.function(), tuple(map(self._session, table.operands)))

    # --- sources ----------------------------------------------------------------------------------

    def _scan(self, node: algebra.Scan, before: bool) -> PlanNode:
        known = _hashed(identity(node))
        uid = f"Scan-{known}"
        found = node.table.access.scan(ScanRequest(node.scanned, node.filters, uid=uid))
        if node.table.mode is not ChangelogMode.UPSERT:
            return found
        (key,) = keys_of(node)
        return plan.ChangelogNormalize(
            **{
                **self._common(node, before),
                "name": f"ChangelogNormalize({node.table.name})",
                "uid": f"ChangelogNormalize-{known}",
            },
            inputs=(KeyBy(name="key", inputs=(found,), selector=ColumnsKey(*sorted(key))),),
            update_before=before,
            retention_ms=self._options.retention_ms,
        )

    def _values(self, node: algebra.Values, before: bool) -> PlanNode:
        schema = schema_of(node.columns)
        arrays = [
            pa.array([row[at].value for row in node.rows], field.type)
            for at, field in enumerate(schema)
        ]
        source = RelationSource(pa.table(arrays, schema=schema))
        return Source(name=describe(node)[:200], uid=f"Values-{self.digest(node)}", source=source)

    def _watermark(self, node: algebra.Watermark, before: bool) -> PlanNode:
        return plan.WatermarkAssigner(
            **self._common(node, before),
            inputs=(self.lower(node.input),),
            rowtime=node.time,
            watermark=self._session(node.expression),
            idleness_ms=self._options.idle_ms,
        )

    # --- without state ----------------------------------------------------------------------------

    def _project(self, node: algebra.Project, before: bool) -> PlanNode:
        condition, source = None, node.input
        if isinstance(source, algebra.Filter):
            condition, source = source.condition, source.input
        return plan.Calc(
            **self._common(node, before),
            inputs=(self.lower(source),),
            condition=self._condition(condition),
            projections=tuple(map(self._session, node.expressions)),
        )

    def _filter(self, node: algebra.Filter, before: bool) -> PlanNode:
        return plan.Calc(
            **self._common(node, before),
            inputs=(self.lower(node.input),),
            condition=self._condition(node.condition),
        )

    def _correlate(self, node: algebra.Correlate, before: bool) -> PlanNode:
        return plan.Correlate(
            **self._common(node, before),
            inputs=(self.lower(node.input),),
            table=self._made_table(node.table),
            left=node.left,
            condition=self._condition(node.condition),
        )

    def _expand(self, node: algebra.Expand, before: bool) -> PlanNode:
        return plan.Expand(
            **self._common(node, before),
            inputs=(self.lower(node.input),),
            grouped=node.grouped,
            sets=node.sets,
            ids=node.ids,
        )

    def _union(self, node: algebra.Union, before: bool) -> PlanNode:
        wanted = schema_of(node.columns)
        inputs = tuple(self._conforming(one, wanted, before) for one in node.relations)
        return PlanUnion(name="union", inputs=inputs)

    def _conforming(self, node: Node, wanted: pa.Schema, before: bool) -> PlanNode:
        """An input of a union under the union's names and nullability."""
        found = self.lower(node)
        if found.schema == wanted:
            return found
        refs: tuple[Expression, ...] = tuple(
            InputRef(at, column.type) for at, column in enumerate(node.columns)
        )
        common = self._common(node, before)
        uid = f"Rename-{self.digest(node)}"
        return plan.Calc(
            **{**common, "columns": wanted, "uid": uid},
            inputs=(found,),
            projections=tuple(map(self._session, refs)),
        )

    def _window_table(self, node: algebra.WindowTable, before: bool) -> PlanNode:
        proctime = is_proctime(node.input.type_of(node.time))
        if node.kind == "session":
            if not changes_of(node.input).grows:
                raise refuse("session-rows", node.span)
            return plan.SessionRows(
                **self._common(node, before),
                inputs=(self._keyed(node.input, node.keys),),
                time=None if proctime else node.time,
                gap=node.size,
            )
        return plan.WindowTable(
            **self._common(node, before),
            inputs=(self.lower(node.input),),
            kind=node.kind,
            time=None if proctime else node.time,
            size=node.size,
            step=node.step,
            offset=node.offset,
        )

    # --- aggregates -------------------------------------------------------------------------------

    def _aggregate(self, node: algebra.Aggregate, before: bool) -> PlanNode:
        _check_retracting(node)
        return plan.GroupAggregate(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.groups),),
            calls=_calls(node.calls),
            retracting=not changes_of(node.input).grows,
            update_before=before,
            mini_batch=self._options.mini_batch or self._options.batch,
            mini_batch_rows=0 if self._options.batch else self._options.mini_batch_rows,
            retention_ms=self._options.retention_ms if node.ttl is None else node.ttl,
        )

    def _local_aggregate(self, node: physical.LocalAggregate, before: bool) -> PlanNode:
        return plan.LocalAggregate(
            **self._common(node, before),
            inputs=(self.lower(node.input),),
            groups=node.groups,
            calls=_calls(node.calls),
        )

    def _window_aggregate(self, node: physical.WindowAggregate, before: bool) -> PlanNode:
        _check_retracting(node)
        return plan.WindowAggregate(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.keys),),
            calls=_calls(node.calls),
            window_start=node.start,
            window_end=node.end,
            properties=_properties(node.window),
            event_time=node.event_time,
            retracting=not changes_of(node.input).grows,
        )

    def _session_aggregate(self, node: physical.SessionAggregate, before: bool) -> PlanNode:
        _check_retracting(node)
        proctime = is_proctime(node.input.type_of(node.time))
        return plan.SessionAggregate(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.keys),),
            calls=_calls(node.calls),
            time=None if proctime else node.time,
            gap=node.gap,
            properties=_properties(node.window),
            retracting=not changes_of(node.input).grows,
        )

    def _over(self, node: algebra.Over, before: bool) -> PlanNode:
        if not changes_of(node.input).grows:
            raise refuse("over-updates", node.span)
        (item,) = node.order
        proctime = is_proctime(node.input.type_of(item.index))
        return plan.OverAggregate(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.partition),),
            calls=_calls(node.calls),
            frame=Frame(node.frame.rows, node.frame.preceding),
            time=None if proctime else item.index,
            retention_ms=self._options.retention_ms,
        )

    def _sorted_over(self, node: physical.SortedOver, before: bool) -> PlanNode:
        frame = Frame(node.frame.rows, node.frame.preceding, node.frame.following)
        return plan.SortedOver(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.partition),),
            calls=_calls(node.calls),
            order=_sort_keys(node.order),
            frame=frame,
            net=self._options.mini_batch or self._options.batch,
            update_before=before,
            retention_ms=self._options.retention_ms,
        )

    def _match(self, node: algebra.Match, before: bool) -> PlanNode:
        if not changes_of(node.input).grows:
            raise refuse("match-updates", node.span)
        time, *rest = node.order
        proctime = is_proctime(node.input.type_of(time.index))
        return plan.Match(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.partition),),
            match=lowered_match(node, self._session),
            time=None if proctime else time.index,
            order=_sort_keys(tuple(rest)),
        )

    # --- order ------------------------------------------------------------------------------------

    def _rank(self, node: algebra.Rank, before: bool) -> PlanNode:
        bound = None
        if isinstance(node, physical.BoundedRank):
            bound = node.partition[node.bound]
        key = None if bound is not None else row_key_of(node.input, node.partition, node.order)
        return plan.Rank(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.partition),),
            order=_sort_keys(node.order),
            first=node.first,
            last=node.last,
            number=node.number is not None,
            retracting=not changes_of(node.input).grows,
            row_key=key,
            bound=bound,
            update_before=before,
            retention_ms=self._options.retention_ms,
        )

    def _window_rank(self, node: physical.WindowRank, before: bool) -> PlanNode:
        return plan.WindowRank(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.keys),),
            order=_sort_keys(node.order),
            first=node.first,
            last=node.last,
            window_start=node.start,
            window_end=node.end,
            number=node.number is not None,
        )

    def _deduplicate(self, node: physical.Deduplicate, before: bool) -> PlanNode:
        proctime = is_proctime(node.input.type_of(node.time))
        return plan.Deduplicate(
            **self._common(node, before),
            inputs=(self._keyed(node.input, node.keys),),
            keep_last=node.keep_last,
            time=None if proctime else node.time,
            update_before=before,
            retention_ms=self._options.retention_ms,
        )

    def _sort(self, node: algebra.Sort, before: bool) -> PlanNode:
        common = self._common(node, before)
        source = (self._keyed(node.input, ()),)
        grows = changes_of(node.input).grows
        if (node.order and node.fetch is not None) or (node.fetch is not None and not grows):
            return plan.Rank(
                **common,
                inputs=source,
                order=_sort_keys(node.order),
                first=node.offset + 1,
                last=node.offset + node.fetch,
                retracting=not grows,
                row_key=row_key_of(node.input, (), node.order),
                update_before=before,
                retention_ms=self._options.retention_ms,
            )
        if not node.order:
            return plan.Limit(**common, inputs=source, offset=node.offset, fetch=node.fetch)
        first = node.order[0]
        in_time = is_rowtime(node.input.type_of(first.index)) and first.ascending and grows
        if not in_time:
            raise refuse("sort", node.span)
        if node.offset:
            raise refuse("offset-only", node.span)
        order = _sort_keys(node.order[1:])
        return plan.TemporalSort(**common, inputs=source, time=first.index, order=order)

    def _final_rows(self, node: physical.FinalRows, before: bool) -> PlanNode:
        return plan.FinalRows(
            **self._common(node, before),
            inputs=(self._keyed(node.input, _final_keys(node)),),
            order=_sort_keys(node.order),
        )

    # --- two inputs -------------------------------------------------------------------------------

    def _set_operation(self, node: algebra.SetOperation, before: bool) -> PlanNode:
        every = tuple(range(node.width))
        return plan.SetOperation(
            **self._common(node, before),
            inputs=(self._keyed(node.left, every), self._keyed(node.right, every)),
            kind=node.kind,
            all=node.all,
            retention_ms=self._options.retention_ms,
        )

    def _pair(self, node: Any) -> tuple[PlanNode, ...]:
        return self._keyed(node.left, node.left_keys), self._keyed(node.right, node.right_keys)

    def _equi_join(self, node: physical.EquiJoin, before: bool) -> PlanNode:
        left, right = (self._options.retention_ms if one is None else one for one in node.ttl)
        return plan.RegularJoin(
            **self._common(node, before),
            inputs=self._pair(node),
            kind=node.kind,
            condition=self._condition(node.condition),
            null_equal=node.null_equal,
            retention_ms=max(left, right),
            retentions=(left, right),
        )

    def _interval_join(self, node: physical.IntervalJoin, before: bool) -> PlanNode:
        proctime = is_proctime(node.left.type_of(node.left_time))
        return plan.TimeIntervalJoin(
            **self._common(node, before),
            inputs=self._pair(node),
            kind=node.kind,
            lower=node.lower,
            upper=node.upper,
            left_time=None if proctime else node.left_time,
            right_time=None if proctime else node.right_time,
            condition=self._condition(node.condition),
        )

    def _versioned_join(self, node: physical.VersionedJoin, before: bool) -> PlanNode:
        return plan.TemporalJoin(
            **self._common(node, before),
            inputs=self._pair(node),
            left=node.kind == "left",
            left_time=node.left_time,
            right_time=node.right_time,
            condition=self._condition(node.condition),
            retention_ms=self._options.retention_ms,
        )

    def _window_join(self, node: physical.WindowJoin, before: bool) -> PlanNode:
        return plan.WindowJoin(
            **self._common(node, before),
            inputs=self._pair(node),
            kind=node.kind,
            left_window=node.left_window,
            right_window=node.right_window,
            condition=self._condition(node.condition),
        )

    def _lookup_join(self, node: physical.LookupJoin, before: bool) -> PlanNode:
        settings = replace(self._options.lookups, **dict(node.hint))
        awaiting = settings.asynchronous
        if not isinstance(node.lookup, AwaitedLookup):
            awaiting = False
        elif awaiting is None:
            awaiting = node.lookup.prefers_awaiting
        source = self.lower(node.input)
        if source.changelog is not ChangelogMode.INSERT_ONLY:
            # a row must not overtake the one that it takes back
            settings = replace(settings, ordered=True)
        return (plan.AsyncLookupJoin if awaiting else plan.LookupJoin)(
            **self._common(node, before),
            inputs=(source,),
            lookup=node.lookup,
            keys=tuple(map(self._session, node.keys)),
            left=node.kind == "left",
            condition=self._condition(node.condition),
            settings=settings,
        )


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:10]


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


def _final_keys(node: physical.FinalRows) -> tuple[int, ...]:
    """By which columns final rows are collected: an order needs all rows in one place."""
    if node.order:
        return ()
    if node.keys is not None:
        return node.keys
    known = min(keys_of(node.input), key=lambda key: (len(key), sorted(key)), default=None)
    chosen = range(node.width) if known is None else sorted(known)
    return tuple(at for at in chosen if not isinstance(node.type_of(at), _NESTED))


def _sort_keys(order: tuple[SortItem, ...]) -> tuple[SortKey, ...]:
    return tuple(SortKey(key.index, key.ascending, key.nulls_last) for key in order)


def _properties(window: Columns) -> tuple[str, ...]:
    return ("start", "end", "time")[: len(window)]


_HANDLERS: dict[type[Node], Handler] = {
    algebra.Scan: Lowering._scan,
    algebra.Values: Lowering._values,
    algebra.Watermark: Lowering._watermark,
    algebra.Project: Lowering._project,
    algebra.Filter: Lowering._filter,
    algebra.Correlate: Lowering._correlate,
    algebra.Expand: Lowering._expand,
    algebra.Union: Lowering._union,
    algebra.WindowTable: Lowering._window_table,
    algebra.Aggregate: Lowering._aggregate,
    algebra.Over: Lowering._over,
    algebra.Rank: Lowering._rank,
    physical.BoundedRank: Lowering._rank,
    algebra.Match: Lowering._match,
    algebra.Sort: Lowering._sort,
    algebra.SetOperation: Lowering._set_operation,
    physical.LocalAggregate: Lowering._local_aggregate,
    physical.WindowAggregate: Lowering._window_aggregate,
    physical.SessionAggregate: Lowering._session_aggregate,
    physical.WindowRank: Lowering._window_rank,
    physical.Deduplicate: Lowering._deduplicate,
    physical.SortedOver: Lowering._sorted_over,
    physical.FinalRows: Lowering._final_rows,
    physical.EquiJoin: Lowering._equi_join,
    physical.IntervalJoin: Lowering._interval_join,
    physical.VersionedJoin: Lowering._versioned_join,
    physical.WindowJoin: Lowering._window_join,
    physical.LookupJoin: Lowering._lookup_join,
}
