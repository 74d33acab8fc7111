"""How passes go through a tree: from the leaves up, each node once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scurry.common.data_types import DataTypes
from scurry.functions.builtin import resolve
from scurry.functions.expressions import Expression, InputRef, Literal, rewrite
from scurry.functions.expressions import conjuncts as conjuncts
from scurry.planner.algebra import Filter, Node


def bottom_up(node: Node, change: Callable[[Node], Node]) -> Node:
    """The tree with ``change`` applied to every node, after its inputs."""
    inputs = tuple(bottom_up(source, change) for source in node.inputs)
    if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
        node = node.with_inputs(*inputs)
    return change(node)


def no_rows_of(node: Node) -> Node:
    """A relation of the same columns that has no rows."""
    return Filter(node, Literal(False, DataTypes.BOOLEAN(False)), span=node.span)


def all_of(conditions: list[Expression]) -> Expression | None:
    """Conditions connected by AND, None for none."""
    if not conditions:
        return None
    if len(conditions) == 1:
        return conditions[0]
    return resolve("AND", conditions, span=conditions[0].span)


def substituted(tree: Expression, columns: tuple[Expression, ...]) -> Expression:
    """The tree with each reference to a column replaced by the expression for that column."""
    return rewrite(tree, lambda one: columns[one.index] if isinstance(one, InputRef) else one)


def moved(tree: Expression, by: int) -> Expression:
    """The tree over columns that stand further to the right."""
    return rewrite(
        tree,
        lambda one: (
            InputRef(one.index + by, one.type, span=one.span) if isinstance(one, InputRef) else one
        ),
    )


def mapped(tree: Expression, places: Mapping[int, int]) -> Expression:
    """The tree over columns at other places."""
    return rewrite(
        tree,
        lambda one: (
            InputRef(places[one.index], one.type, span=one.span)
            if isinstance(one, InputRef)
            else one
        ),
    )
