"""The whole way from a bound tree to plan nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scurry.plan.node import Node as PlanNode
from scurry.planner.algebra import Columns, Filter, Node, Project, Sort
from scurry.planner.decorrelate import decorrelate
from scurry.planner.lower import Lowering
from scurry.planner.merge_projections import merge_projections
from scurry.planner.need_update_before import Needs
from scurry.planner.options import PlannerOptions
from scurry.planner.prune_columns import prune_columns
from scurry.planner.push_filters import push_filters
from scurry.planner.recognise_joins import recognise_joins
from scurry.planner.recognise_ranks import recognise_ranks
from scurry.planner.recognise_windows import recognise_windows
from scurry.planner.share_scans import share_scans
from scurry.planner.simplify_expressions import simplify_expressions
from scurry.planner.traits import Changes, changes_of, keys_of

#: the passes, in order
PASSES: tuple[Callable[[Node], Node], ...] = (
    decorrelate,
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


@dataclass(frozen=True)
class PlannedRelation:
    """A relation that can run: its plan node, its columns, its changes and its keys."""

    node: PlanNode
    columns: Columns
    changes: Changes
    keys: frozenset[frozenset[int]]


def optimise(node: Node) -> Node:
    """The tree of a job after all passes."""
    return optimise_all([node])[0]


def optimise_all(nodes: Sequence[Node]) -> list[Node]:
    """The trees of one job after all passes; what they have in common is equal afterwards."""
    found = []
    for node in nodes:
        for change in PASSES:
            node = change(node)
        found.append(node)
    return [merge_projections(node) for node in share_scans(found)]


def plan_query(node: Node, options: PlannerOptions | None = None) -> PlannedRelation:
    """The plan of a query whose every change is wanted, old rows of updates included."""
    found = optimise(node)
    needs = Needs()
    needs.require(found, needed=True)
    chosen = options or PlannerOptions()
    lowering = Lowering(chosen, needs)
    made = lower_whole(found, lowering, chosen)
    return PlannedRelation(made, found.columns, changes_of(found), keys_of(found))


def lower_whole(node: Node, lowering: Lowering, options: PlannerOptions) -> PlanNode:
    """The plan node of a whole query: in batch mode its rows come once, at the end."""
    if options.batch and not changes_of(node).grows and not _sent_at_end(node):
        return lowering.final_rows(node)
    return lowering.lower(node)


def _sent_at_end(node: Node) -> bool:
    """Whether rows come in an order, which they only do at the end."""
    while isinstance(node, Project | Filter):
        node = node.input
    return isinstance(node, Sort) and bool(node.order)
