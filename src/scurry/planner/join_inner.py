"""Joins the relation of an inner query to the query around it.

An aggregate of all rows has one row also where there are no rows: it is joined from the left, and
what is computed of its results is computed above the join. There a count that is missing is 0, and
everything else null.
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.spans import NOWHERE
from scurry.functions.builtin import resolve
from scurry.functions.expressions import Expression, InputRef, Literal
from scurry.planner.algebra import Aggregate, Filter, Join, Lateral, Node, Project
from scurry.planner.bind.subqueries import Subquery
from scurry.planner.gaps import refuse
from scurry.planner.outer_columns import (
    as_input,
    mentions_outer,
    outer_refs_of,
    settled,
    settled_tree,
)
from scurry.planner.pull_conditions import pull_conditions
from scurry.planner.push_domain import domain_of, or_zero, push_domain, same_values
from scurry.planner.rewrite import all_of, conjuncts, moved, substituted


def joinable(source: Node, inner: Node, lone: bool = False) -> tuple[Node, list[Expression]]:
    """The inner query without references to ``source``, and the conditions of its join with that;
    the columns it had are its first ones. For ``lone`` see ``pull_conditions``."""
    width = source.width
    pulled = pull_conditions(inner, lone)
    if pulled is not None:
        conditions = [settled(moved(one, width), as_input) for one in pulled.conditions]
        return settled_tree(pulled.node), conditions
    domain = domain_of(source, inner)
    return push_domain(inner, domain), same_values(domain, domain.indexes, width + inner.width)


# --- aggregates of all rows -----------------------------------------------------------------------


@dataclass(frozen=True)
class Peeled:
    """An aggregate of all rows, and what is computed of its results."""

    aggregate: Aggregate
    shown: tuple[Expression, ...]


def peel_results(inner: Node) -> Peeled | None:
    """The aggregate that a query is, None if it is something else."""
    shown = tuple(InputRef(at, column.type) for at, column in enumerate(inner.columns))
    node, computed = _below_projections(inner, shown)
    return Peeled(node, computed) if isinstance(node, Aggregate) and not node.groups else None


def _below_projections(
    node: Node, shown: tuple[Expression, ...]
) -> tuple[Node, tuple[Expression, ...]]:
    while isinstance(node, Project):
        columns = node.expressions
        shown = tuple(substituted(one, columns) for one in shown)
        node = node.input
    return node, shown


def join_results(source: Node, peeled: Peeled) -> tuple[Node, tuple[Expression, ...]]:
    """The source beside the results for each of its rows, and what is computed of these."""
    width = source.width
    joined, conditions = joinable(source, peeled.aggregate, lone=True)
    made = Join(source, joined, "left", all_of(conditions), span=peeled.aggregate.span)
    results = tuple(
        or_zero(InputRef(width + at, call.type), call)
        for at, call in enumerate(peeled.aggregate.calls)
    )
    computed = (settled(substituted(one, results), as_input) for one in peeled.shown)
    return made, tuple(computed)


# --- lateral queries ------------------------------------------------------------------------------


def join_lateral(node: Lateral) -> Node:
    """The rows of the left side, each beside those that the right one has for it."""
    condition = node.condition
    if condition is not None and any(isinstance(one, Subquery) for one in condition.walk()):
        raise refuse("nested-subquery", condition.span or NOWHERE)
    if not outer_refs_of(node.right):
        right = settled_tree(node.right)
        return Join(node.left, right, node.kind, condition, span=node.span)
    peeled = peel_results(node.right)
    if peeled is not None:
        return _join_aggregate(node, peeled)
    if node.kind == "inner":
        return _join_rows(node)
    joined, conditions = joinable(node.left, node.right)
    every = all_of([*conditions, *conjuncts(condition)])
    return _shown(Join(node.left, joined, "left", every, span=node.span), node)


def _refs(node: Node, width: int) -> tuple[Expression, ...]:
    return tuple(InputRef(at, column.type) for at, column in enumerate(node.columns[:width]))


def _shown(made: Node, node: Lateral, columns: tuple[Expression, ...] | None = None) -> Project:
    names = tuple(column.name for column in node.columns)
    return Project(made, columns or _refs(node, node.width), names, span=node.span)


def _join_rows(node: Lateral) -> Node:
    """What the select list says of the left side's columns is computed above the join."""
    width = node.left.width
    inner, shown = node.right, _refs(node.right, node.right.width)
    while isinstance(inner, Project) and any(map(mentions_outer, inner.expressions)):
        shown = tuple(substituted(one, inner.expressions) for one in shown)
        inner = inner.input
    joined, conditions = joinable(node.left, inner)
    made = Join(node.left, joined, "inner", all_of(conditions), span=node.span)
    computed = tuple(settled(moved(one, width), as_input) for one in shown)
    found = _shown(made, node, (*_refs(node.left, width), *computed))
    if node.condition is None:
        return found
    return Filter(found, node.condition, span=node.span)


def _join_aggregate(node: Lateral, peeled: Peeled) -> Node:
    width = node.left.width
    made, computed = join_results(node.left, peeled)
    found = _shown(made, node, (*_refs(node.left, width), *computed))
    if node.condition is None:
        return found
    if node.kind == "inner":
        return Filter(found, node.condition, span=node.span)
    condition = node.condition
    kept = (
        resolve("IF", (condition, InputRef(at, c.type), Literal(None, c.type.nullable())))
        for at, c in enumerate(found.columns[width:], width)
    )
    return _shown(found, node, (*_refs(node.left, width), *kept))
