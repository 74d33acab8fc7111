"""Pulls conditions on the query around an inner query up to the top of the inner query.

``SELECT w FROM r WHERE r.k = l.k`` becomes the rows ``w, k`` of ``r`` and the condition ``k = l.k``
that can then be the condition of a join. On their way up, projections are widened by the columns
that the conditions need, and aggregates are grouped by them. Where a condition cannot be pulled,
:mod:`scurry.planner.push_domain` has another way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scurry.functions.expressions import Call, Expression, InputRef, references
from scurry.planner.algebra import Aggregate, Filter, Join, Node, Project
from scurry.planner.outer_columns import mentions_outer, outer_refs_of
from scurry.planner.rewrite import all_of, conjuncts, mapped, moved


@dataclass(frozen=True)
class Pulled:
    """A relation and the conditions on it that refer to the query around it. The columns that the
    relation had before are its first ones."""

    node: Node
    conditions: tuple[Expression, ...] = ()


class CannotPullError(Exception):
    """A condition that has to stay where it is."""


def pull_conditions(node: Node, lone: bool = False) -> Pulled | None:
    """The relation without references to the query around it, None if some have to stay.

    An aggregate of all rows has one row even of no rows, but grouped by more columns it has none
    then. With ``lone`` the relation may be such an aggregate: who asks knows what is missing.
    """
    try:
        found = _pull_aggregate(node) if lone and isinstance(node, Aggregate) else _pull(node)
    except CannotPullError:
        return None
    return None if outer_refs_of(found.node) else found


def _pull(node: Node) -> Pulled:
    if not outer_refs_of(node):
        return Pulled(node)
    if isinstance(node, Filter):
        below = _pull(node.input)
        parts = conjuncts(node.condition)
        kept = all_of([one for one in parts if not mentions_outer(one)])
        source = below.node if kept is None else Filter(below.node, kept, span=node.span)
        pulled = [one for one in parts if mentions_outer(one)]
        return Pulled(source, (*below.conditions, *pulled))
    if isinstance(node, Project):
        return _pull_project(node)
    if isinstance(node, Aggregate) and node.groups:
        return _pull_aggregate(node)
    if isinstance(node, Join) and node.kind == "inner":
        return _pull_join(node)
    raise CannotPullError


def _needed(conditions: tuple[Expression, ...]) -> list[int]:
    return sorted({index for one in conditions for index in references(one)})


def _pull_project(node: Project) -> Pulled:
    """The columns that the conditions need, behind those that are projected."""
    below = _pull(node.input)
    expressions, names = list(node.expressions), list(node.names)
    places: dict[int, int] = {}
    for index in _needed(below.conditions):
        ref = InputRef(index, below.node.type_of(index))
        if ref in expressions:
            places[index] = expressions.index(ref)
        else:
            places[index] = len(expressions)
            expressions.append(ref)
            names.append(f"$outer{index}")
    made = Project(below.node, tuple(expressions), tuple(names), span=node.span)
    return Pulled(made, tuple(mapped(one, places) for one in below.conditions))


def _pull_aggregate(node: Aggregate) -> Pulled:
    """Equalities with columns around become columns to group by."""
    below = _pull(node.input)
    groups = list(node.groups)
    for condition in below.conditions:
        if not isinstance(condition, Call) or condition.function != "=":
            raise CannotPullError
        if any(mentions_outer(one) and references(one) for one in condition.operands):
            raise CannotPullError
    added = [index for index in _needed(below.conditions) if index not in groups]
    calls = len(node.calls)
    wider = replace(node, input=below.node, groups=(*groups, *added))
    order = [*range(len(groups)), *range(len(groups) + len(added), wider.width)]
    order += range(len(groups), len(groups) + len(added))
    refs = tuple(InputRef(at, wider.type_of(at)) for at in order)
    names = tuple(wider.columns[at].name for at in order)
    places = {index: at for at, index in enumerate(groups)}
    places |= {index: len(groups) + calls + at for at, index in enumerate(added)}
    made = Project(wider, refs, names, span=node.span)
    return Pulled(made, tuple(mapped(one, places) for one in below.conditions))


def _pull_join(node: Join) -> Pulled:
    left, right = _pull(node.left), _pull(node.right)
    if left.node.width != node.left.width or right.node.width != node.right.width:
        raise CannotPullError
    width = node.left.width
    parts = conjuncts(node.condition)
    kept = all_of([one for one in parts if not mentions_outer(one)])
    pulled = [one for one in parts if mentions_outer(one)]
    moved_right = [moved(one, width) for one in right.conditions]
    made = replace(node, left=left.node, right=right.node, condition=kept)
    return Pulled(made, (*left.conditions, *moved_right, *pulled))
