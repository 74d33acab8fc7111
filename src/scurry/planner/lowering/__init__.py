"""From the algebra to plan nodes, which have row kinds, keys and uids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from scurry.planner import algebra, physical
from scurry.planner.algebra import Node
from scurry.planner.lowering.aggregates import (
    lower_aggregate,
    lower_local_aggregate,
    lower_match,
    lower_over,
    lower_session_aggregate,
    lower_sorted_over,
    lower_window_aggregate,
)
from scurry.planner.lowering.core import Handler, LoweringCore, schema_of
from scurry.planner.lowering.joins import (
    lower_equi_join,
    lower_interval_join,
    lower_lookup_join,
    lower_set_operation,
    lower_versioned_join,
    lower_window_join,
)
from scurry.planner.lowering.orders import (
    lower_deduplicate,
    lower_final_rows,
    lower_rank,
    lower_sort,
    lower_window_rank,
)
from scurry.planner.lowering.rows import (
    lower_correlate,
    lower_expand,
    lower_filter,
    lower_from_changelog,
    lower_project,
    lower_scan,
    lower_to_changelog,
    lower_union,
    lower_values,
    lower_watermark,
    lower_window_table,
)

__all__ = ["Lowering", "schema_of"]


class Lowering(LoweringCore):
    """Lowers every node that passes leave."""

    handlers: ClassVar[Mapping[type[Node], Handler]] = {
        algebra.Scan: lower_scan,
        algebra.Values: lower_values,
        algebra.Watermark: lower_watermark,
        algebra.Project: lower_project,
        algebra.Filter: lower_filter,
        algebra.Correlate: lower_correlate,
        algebra.Expand: lower_expand,
        algebra.Union: lower_union,
        algebra.WindowTable: lower_window_table,
        algebra.ToChangelog: lower_to_changelog,
        algebra.FromChangelog: lower_from_changelog,
        algebra.Aggregate: lower_aggregate,
        algebra.Over: lower_over,
        algebra.Rank: lower_rank,
        physical.BoundedRank: lower_rank,
        algebra.Match: lower_match,
        algebra.Sort: lower_sort,
        algebra.SetOperation: lower_set_operation,
        physical.LocalAggregate: lower_local_aggregate,
        physical.WindowAggregate: lower_window_aggregate,
        physical.SessionAggregate: lower_session_aggregate,
        physical.WindowRank: lower_window_rank,
        physical.Deduplicate: lower_deduplicate,
        physical.SortedOver: lower_sorted_over,
        physical.FinalRows: lower_final_rows,
        physical.EquiJoin: lower_equi_join,
        physical.IntervalJoin: lower_interval_join,
        physical.VersionedJoin: lower_versioned_join,
        physical.WindowJoin: lower_window_join,
        physical.LookupJoin: lower_lookup_join,
    }
