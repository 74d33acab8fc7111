"""References of an inner query to columns of the query around it: where they are, what they become.

A reference has a depth: 1 is the query right around. When an inner query becomes part of that one,
references of depth 1 are columns of it, and those that go further out come one step nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from scurry.functions.expressions import Expression, InputRef, rewrite
from scurry.planner.algebra import Lateral, Node, walk
from scurry.planner.bind.scope import OuterRef
from scurry.planner.bind.subqueries import Subquery
from scurry.planner.expressions_of import expressions_of, with_expressions
from scurry.planner.rewrite import bottom_up

#: the column of the query around that a reference to it becomes
Place = Callable[[OuterRef], Expression]


def _outer_refs(tree: Expression) -> Iterator[OuterRef]:
    for one in tree.walk():
        if isinstance(one, OuterRef) and one.depth == 1:
            yield one


def mentions_outer(tree: Expression) -> bool:
    """Whether an expression refers to the query right around."""
    return any(_outer_refs(tree))


def outer_refs_of(node: Node) -> list[OuterRef]:
    """The references of a whole tree to the query right around it, each once."""
    found = (ref for one in walk(node) for tree in expressions_of(one) for ref in _outer_refs(tree))
    return list(dict.fromkeys(found))


def settled(tree: Expression, place: Place) -> Expression:
    """An expression of the inner query as one of the query around."""

    def change(one: Expression) -> Expression:
        if not isinstance(one, OuterRef):
            return one
        return place(one) if one.depth == 1 else replace(one, depth=one.depth - 1)

    return rewrite(tree, change)


def as_input(ref: OuterRef) -> Expression:
    """The column at the same index: what is around is the left side of the join."""
    return InputRef(ref.index, ref.type, span=ref.span)


def settled_tree(node: Node) -> Node:
    """An inner query without references of depth 1, as part of the query around it."""
    return bottom_up(node, lambda one: with_expressions(one, lambda tree: settled(tree, as_input)))


def with_outer_refs(node: Node, change: Callable[[OuterRef], OuterRef], depth: int = 1) -> Node:
    """An inner query whose references to the query ``depth`` levels around it are others. Queries
    within it, and the right sides of lateral joins, are a level further from there."""

    def query(found: Node, further: int) -> Node:
        return with_outer_refs(found, change, depth + further)

    def one(part: Expression) -> Expression:
        if isinstance(part, OuterRef) and part.depth == depth:
            return change(part)
        return replace(part, query=query(part.query, 1)) if isinstance(part, Subquery) else part

    lateral = isinstance(node, Lateral)
    inputs = [query(source, int(lateral and at > 0)) for at, source in enumerate(node.inputs)]
    return with_expressions(node.with_inputs(*inputs), lambda tree: rewrite(tree, one))
