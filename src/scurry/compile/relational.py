"""Which operators run the nodes of relations, and with which arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.plan import relational as nodes
from scurry.plan.node import Node
from scurry.runtime.operator import Operator
from scurry.runtime.relational import local_windows
from scurry.runtime.relational.appended_top import AppendedTopOperator
from scurry.runtime.relational.async_lookup_join import AsyncLookupJoinOperator
from scurry.runtime.relational.best_rows import LastRowOperator, TopRowOperator
from scurry.runtime.relational.calc import (
    CalcOperator,
    DropUpdateBeforeOperator,
    ExpandOperator,
)
from scurry.runtime.relational.changelogs import (
    FromChangelogOperator,
    ToChangelogOperator,
)
from scurry.runtime.relational.correlate import CorrelateOperator
from scurry.runtime.relational.final_rows import FinalRowsOperator
from scurry.runtime.relational.first_rows import EarliestRowOperator, FirstRowOperator
from scurry.runtime.relational.group_aggregate import GroupAggregateOperator
from scurry.runtime.relational.interval_pairs import IntervalPairsOperator
from scurry.runtime.relational.join import JoinOperator
from scurry.runtime.relational.last_rows import ChangelogNormalizeOperator
from scurry.runtime.relational.local_aggregate import LocalAggregateOperator
from scurry.runtime.relational.lookup_join import LookupJoinOperator
from scurry.runtime.relational.match import MatchOperator
from scurry.runtime.relational.over_aggregate import OverAggregateOperator
from scurry.runtime.relational.rank import RankOperator
from scurry.runtime.relational.row_lists import (
    LimitOperator,
    SetOperator,
    SinkMaterializeOperator,
)
from scurry.runtime.relational.session_aggregate import SessionAggregateOperator
from scurry.runtime.relational.session_partials import SessionPartialsOperator
from scurry.runtime.relational.session_rows import SessionRowsOperator
from scurry.runtime.relational.sorted_over import SortedOverOperator
from scurry.runtime.relational.streams import RecordTimesOperator, StreamColumnsOperator
from scurry.runtime.relational.table_aggregate import TableAggregateOperator
from scurry.runtime.relational.temporal_join import TemporalJoinOperator
from scurry.runtime.relational.temporal_sort import TemporalSortOperator
from scurry.runtime.relational.time_interval_join import TimeIntervalJoinOperator
from scurry.runtime.relational.top_rows import TopRowsOperator
from scurry.runtime.relational.watermarks import WatermarkOperator
from scurry.runtime.relational.window_aggregate import WindowAggregateOperator
from scurry.runtime.relational.window_join import WindowJoinOperator
from scurry.runtime.relational.window_partials import combinable
from scurry.runtime.relational.window_rows import WindowRankOperator
from scurry.runtime.relational.window_table import WindowTableOperator

Arguments = Callable[[Any], tuple[Any, ...]]


def _with(*names: str) -> Arguments:
    """Columns in and out, then the fields ``names`` of the node."""

    def arguments(node: nodes.Relational) -> tuple[Any, ...]:
        return node.columns, node.input_columns, *(getattr(node, name) for name in names)

    return arguments


#: more first rows than are kept one beside the other
_MANY = 1 << 40


def _keyed(*names: str) -> Arguments:
    """Columns in and out, key columns and retention, then the fields ``names`` of the node."""

    def arguments(node: nodes.Keyed | nodes.KeyedPair) -> tuple[Any, ...]:
        rest = (getattr(node, name) for name in names)
        return node.columns, node.input_columns, node.key_columns, node.retention_ms, *rest

    return arguments


_OPERATORS: dict[type[nodes.Relational], tuple[type[Operator], Arguments]] = {
    nodes.ToChangelog: (ToChangelogOperator, _with("codes")),
    nodes.FromChangelog: (FromChangelogOperator, _with("code", "kinds")),
    nodes.Calc: (CalcOperator, _with("condition", "projections")),
    nodes.Correlate: (CorrelateOperator, _with("table", "left", "condition")),
    nodes.Expand: (ExpandOperator, _with("grouped", "sets", "ids")),
    nodes.WatermarkAssigner: (
        WatermarkOperator,
        _with("rowtime", "watermark", "idleness_ms"),
    ),
    nodes.WindowTable: (WindowTableOperator, _with("kind", "time", "size", "step", "offset")),
    nodes.GroupAggregate: (
        GroupAggregateOperator,
        _keyed("calls", "retracting", "update_before", "mini_batch", "mini_batch_rows"),
    ),
    nodes.LocalAggregate: (LocalAggregateOperator, _with("groups", "calls")),
    nodes.RegularJoin: (JoinOperator, _keyed("kind", "condition", "null_equal", "retentions")),
    nodes.WindowAggregate: (
        WindowAggregateOperator,
        _keyed(
            *("calls", "window_start", "window_end", "properties", "event_time", "retracting"),
            "windows",
        ),
    ),
    nodes.SessionRows: (SessionRowsOperator, _keyed("time", "gap")),
    nodes.ChangelogNormalize: (ChangelogNormalizeOperator, _keyed("update_before")),
    nodes.SinkMaterialize: (SinkMaterializeOperator, _keyed()),
    nodes.SetOperation: (SetOperator, _keyed("kind", "all")),
    nodes.Limit: (LimitOperator, _keyed("offset", "fetch")),
    nodes.OverAggregate: (OverAggregateOperator, _keyed("calls", "frame", "time")),
    nodes.SortedOver: (
        SortedOverOperator,
        _keyed("calls", "order", "frame", "net", "update_before"),
    ),
    nodes.Match: (MatchOperator, _keyed("match", "time", "order")),
    nodes.TemporalSort: (TemporalSortOperator, _keyed("time", "order")),
    nodes.TemporalJoin: (
        TemporalJoinOperator,
        _keyed("left", "left_time", "right_time", "condition"),
    ),
    nodes.WindowJoin: (
        WindowJoinOperator,
        _keyed("kind", "left_window", "right_window", "condition"),
    ),
    nodes.WindowRank: (
        WindowRankOperator,
        _keyed("order", "first", "last", "window_end", "number"),
    ),
    nodes.TableAggregate: (
        TableAggregateOperator,
        _keyed("call", "retracting", "update_before"),
    ),
    nodes.LookupJoin: (
        LookupJoinOperator,
        _with("lookup", "keys", "left", "condition", "settings"),
    ),
    nodes.AsyncLookupJoin: (
        AsyncLookupJoinOperator,
        _with("lookup", "keys", "left", "condition", "settings"),
    ),
    nodes.FinalRows: (FinalRowsOperator, _keyed("order")),
    nodes.DropUpdateBefore: (DropUpdateBeforeOperator, _with()),
    nodes.StreamColumns: (StreamColumnsOperator, _with("elements", "places")),
    nodes.RecordTimes: (RecordTimesOperator, _with("rowtime")),
}


#: what runs windows in the time of a zone
_LOCAL: dict[type[Operator], type[Operator]] = {
    WindowTableOperator: local_windows.LocalWindowTableOperator,
    WindowAggregateOperator: local_windows.LocalWindowAggregateOperator,
    SessionPartialsOperator: local_windows.LocalSessionPartialsOperator,
    SessionAggregateOperator: local_windows.LocalSessionAggregateOperator,
    SessionRowsOperator: local_windows.LocalSessionRowsOperator,
    WindowJoinOperator: local_windows.LocalWindowJoinOperator,
    WindowRankOperator: local_windows.LocalWindowRankOperator,
}
#: the same for sessions of processing time
_LOCAL_BOUNDS: dict[type[Operator], type[Operator]] = {
    SessionAggregateOperator: local_windows.LocalBoundsOperator,
    SessionRowsOperator: local_windows.LocalRowBoundsOperator,
}


def relational_operator(node: Node) -> tuple[type[Operator], Arguments] | None:
    """What runs ``node``, if it is of a relation, and what gives the arguments for that."""
    found = _plain_operator(node)
    zone = getattr(node, "zone", "")
    if found is None or not zone:
        return found
    operator, arguments = found
    known = _LOCAL
    if isinstance(node, nodes.SessionAggregate | nodes.SessionRows) and node.time is None:
        known = _LOCAL_BOUNDS
    return known[operator], lambda one: (*arguments(one), zone)


def _plain_operator(node: Node) -> tuple[type[Operator], Arguments] | None:
    if isinstance(node, nodes.Rank):
        return _rank(node)
    if isinstance(node, nodes.Deduplicate):
        return _deduplicate(node)
    if isinstance(node, nodes.SessionAggregate):
        kept = _session_rows(node)
        made = SessionAggregateOperator if kept else SessionPartialsOperator
        return made, _keyed("calls", "time", "gap", "properties", "retracting")
    if isinstance(node, nodes.TimeIntervalJoin):
        # rows that are sent beside nulls are sent when their time has passed, one after the other
        pairs = IntervalPairsOperator if node.kind == "inner" else TimeIntervalJoinOperator
        return pairs, _keyed("kind", "lower", "upper", "left_time", "right_time", "condition")
    return _OPERATORS.get(type(node)) if isinstance(node, nodes.Relational) else None


def _session_rows(node: nodes.SessionAggregate) -> bool:
    """Whether the rows of sessions have to be kept."""
    return node.time is None or not combinable(node.calls, node.retracting)


def _rank(node: nodes.Rank) -> tuple[type[Operator], Arguments]:
    """Rows that go may let any other row in; where none goes, those beyond the range are let go."""
    every = node.bound is not None or node.last >= _MANY
    if every or (node.retracting and node.row_key is None):
        return RankOperator, _keyed(
            "order", "first", "last", "number", "update_before", "bound", "retracting"
        )
    if (node.first, node.last) == (1, 1) and not node.number and node.row_key is None:
        return TopRowOperator, _keyed("update_before", "order")
    if node.row_key is None:
        return AppendedTopOperator, _keyed("order", "first", "last", "number", "update_before")
    names = "order", "first", "last", "number", "row_key", "update_before"
    return TopRowsOperator, _keyed(*names)


def _deduplicate(node: nodes.Deduplicate) -> tuple[type[Operator], Arguments]:
    if node.keep_last:
        return LastRowOperator, _keyed("update_before", "time")
    if node.time is None:
        return FirstRowOperator, _keyed("update_before")
    return EarliestRowOperator, _keyed("time")
