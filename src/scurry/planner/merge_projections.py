"""Projections on top of each other become one, so that columns are computed in one step."""

from __future__ import annotations

from scurry.functions.expressions import Expression, InputRef, is_deterministic, references
from scurry.planner.algebra import Node, Project
from scurry.planner.rewrite import bottom_up, substituted


def merge_projections(node: Node) -> Node:
    """The tree with one projection where there were several on top of each other."""
    return bottom_up(node, _merge)


def _merge(node: Node) -> Node:
    if not isinstance(node, Project):
        return node
    if _changes_nothing(node):
        return node.input
    if not isinstance(node.input, Project):
        return node
    below = node.input
    if not all(_once(expression, below) for expression in node.expressions):
        return node
    counts: dict[int, int] = {}
    for expression in node.expressions:
        for one in expression.walk():
            if isinstance(one, InputRef):
                counts[one.index] = counts.get(one.index, 0) + 1
    for index, count in counts.items():
        if count > 1 and below.expressions[index].operands:
            return node
    expressions = tuple(substituted(one, below.expressions) for one in node.expressions)
    return _merge(Project(below.input, expressions, node.names, span=node.span))


def _changes_nothing(node: Project) -> bool:
    same = all(
        isinstance(one, InputRef) and one.index == at for at, one in enumerate(node.expressions)
    )
    return same and node.columns == node.input.columns


def _once(expression: Expression, below: Project) -> bool:
    """Whether everything that an expression reads is the same whenever it is computed."""
    return all(is_deterministic(below.expressions[index]) for index in references(expression))
