"""The whole way from a bound tree to plan nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scurry.plan.node import Node as PlanNode
from scurry.planner.algebra import Columns, Node
from scurry.planner.decorrelate import decorrelate
from scurry.planner.finish_rows import fill_empty_aggregates, finish_rows, wait_for_end
from scurry.planner.lowering import Lowering
from scurry.planner.merge_projections import merge_projections
from scurry.planner.need_update_before import Needs
from scurry.planner.options import PlannerOptions
from scurry.planner.prune_columns import prune_columns
from scurry.planner.push_filters import push_filters
from scurry.planner.recognise_joins import recognise_joins
from scurry.planner.recognise_overs import recognise_batch_overs, recognise_overs
from scurry.planner.recognise_ranks import recognise_ranks
from scurry.planner.recognise_windows import recognise_windows
from scurry.planner.share_scans import share_scans
from scurry.planner.simplify_expressions import simplify_expressions
from scurry.planner.split_aggregates import split_aggregates
from scurry.planner.traits import Changes, changes_of, keys_of

Pass = Callable[[Node], Node]

#: what becomes of queries within queries, and after it the passes, in order
DECORRELATION: tuple[Pass, ...] = (decorrelate,)
BATCH_DECORRELATION: tuple[Pass, ...] = (wait_for_end, decorrelate, fill_empty_aggregates)
PASSES: tuple[Pass, ...] = (
    push_filters,
    recognise_ranks,
    merge_projections,
    prune_columns,
    merge_projections,
    recognise_windows,
    recognise_joins,
    simplify_expressions,
    merge_projections,
)

STREAM_PASSES = (*DECORRELATION, *PASSES, recognise_overs)
BATCH_PASSES = (*BATCH_DECORRELATION, *PASSES, recognise_batch_overs, finish_rows)


@dataclass(frozen=True)
class PlannedRelation:
    """A relation that can run: its plan node, its columns, its changes and its keys."""

    node: PlanNode
    columns: Columns
    changes: Changes
    keys: frozenset[frozenset[int]]


def optimise(node: Node, options: PlannerOptions | None = None) -> Node:
    """The tree of a job after all passes."""
    return optimise_all([node], options)[0]


def optimise_all(nodes: Sequence[Node], options: PlannerOptions | None = None) -> list[Node]:
    """The trees of one job after all passes; what they have in common is equal afterwards."""
    chosen = options or PlannerOptions()
    passes = BATCH_PASSES if chosen.batch else STREAM_PASSES
    found = []
    for node in nodes:
        for change in passes:
            node = change(node)
        found.append(split_aggregates(node, chosen))
    return [merge_projections(node) for node in share_scans(found)]


def plan_query(node: Node, options: PlannerOptions | None = None) -> PlannedRelation:
    """The plan of a query whose every change is wanted, old rows of updates included."""
    chosen = options or PlannerOptions()
    found = optimise(node, chosen)
    needs = Needs()
    needs.require(found, needed=True)
    lowering = Lowering(chosen, needs)
    return PlannedRelation(lowering.lower(found), found.columns, changes_of(found), keys_of(found))
