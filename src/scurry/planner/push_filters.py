"""Filters go down: below projections and unions, into the sides of joins, up to the sources."""

from __future__ import annotations

from dataclasses import replace

from scurry.functions.expressions import (
    Expression,
    InputRef,
    Literal,
    is_deterministic,
    references,
)
from scurry.planner.algebra import Correlate, Filter, Join, Node, Project, Scan, Union, Watermark
from scurry.planner.bind.subqueries import Subquery
from scurry.planner.rewrite import all_of, bottom_up, conjuncts, moved, substituted


def push_filters(node: Node) -> Node:
    """The tree with conditions as near to the sources as they can be."""
    return bottom_up(node, _push)


def _push(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    source = node.input
    if isinstance(source, Filter):
        both = all_of([*conjuncts(source.condition), *conjuncts(node.condition)])
        assert both is not None
        return _push(Filter(source.input, both, span=node.span))
    if isinstance(source, Project):
        return _below_project(node, source)
    if isinstance(source, Union):
        made = tuple(_push(Filter(one, node.condition, span=node.span)) for one in source.relations)
        return replace(source, relations=made)
    if isinstance(source, Join) and source.kind in ("inner", "left", "semi", "anti", "right"):
        return _into_join(node, source)
    if isinstance(source, Correlate):
        return _below(node, source, source.input.width)
    if isinstance(source, Watermark) and isinstance(source.expression, Literal):
        # without watermarks before the end of the input no row is needed for the time it shows
        return replace(source, input=_push(Filter(source.input, node.condition, span=node.span)))
    if isinstance(source, Scan):
        return _into_scan(node, source)
    return node


def _below_project(node: Filter, project: Project) -> Node:
    """Below a projection whose expressions may be computed twice."""
    down: list[Expression] = []
    kept: list[Expression] = []
    for condition in conjuncts(node.condition):
        needed = [project.expressions[index] for index in references(condition)]
        simple = all(is_deterministic(one) and not _has_query(one) for one in needed)
        cheap = all(isinstance(one, InputRef) or not one.operands for one in needed)
        below = simple and cheap and not _has_query(condition)
        (down if below else kept).append(condition)
    if not down:
        return node
    moved_down = all_of([substituted(one, project.expressions) for one in down])
    assert moved_down is not None
    source = _push(Filter(project.input, moved_down, span=node.span))
    rest = all_of(kept)
    made = replace(project, input=source)
    return made if rest is None else Filter(made, rest, span=node.span)


def _has_query(tree: Expression) -> bool:
    return any(isinstance(one, Subquery) for one in tree.walk())


def _below(node: Filter, source: Correlate, width: int) -> Node:
    down: list[Expression] = []
    kept: list[Expression] = []
    for condition in conjuncts(node.condition):
        fits = all(index < width for index in references(condition))
        (down if fits and is_deterministic(condition) else kept).append(condition)
    below, rest = all_of(down), all_of(kept)
    if below is None:
        return node
    made = replace(source, input=_push(Filter(source.input, below, span=node.span)))
    return made if rest is None else Filter(made, rest, span=node.span)


def _into_join(node: Filter, join: Join) -> Node:
    """A condition on one side goes there, unless nulls of an outer join could satisfy it; one on
    both sides of an inner join becomes part of its condition."""
    width = join.left.width
    left, right, both, kept = [], [], [], []
    for condition in conjuncts(node.condition):
        indexes = references(condition)
        if not is_deterministic(condition) or _has_query(condition) or not indexes:
            kept.append(condition)
        elif all(index < width for index in indexes) and join.kind != "right":
            left.append(condition)
        elif all(index >= width for index in indexes) and join.kind in ("inner", "right"):
            right.append(moved(condition, -width))
        elif join.kind == "inner":
            both.append(condition)
        else:
            kept.append(condition)
    made = join
    on_left, on_right = all_of(left), all_of(right)
    if on_left is not None:
        made = replace(made, left=_push(Filter(made.left, on_left, span=node.span)))
    if on_right is not None:
        made = replace(made, right=_push(Filter(made.right, on_right, span=node.span)))
    if both:
        made = replace(made, condition=all_of([*conjuncts(made.condition), *both]))
    rest = all_of(kept)
    return made if rest is None else Filter(made, rest, span=node.span)


def _into_scan(node: Filter, scan: Scan) -> Node:
    """The source may read less; the filter stays, because it need not."""
    usable = tuple(one for one in conjuncts(node.condition) if is_deterministic(one))
    return Filter(replace(scan, filters=usable), node.condition, span=node.span)
