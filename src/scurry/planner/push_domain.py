"""Correlated queries in general: the values that the inner query refers to are joined into it.

The *domain* is the distinct values of those columns of the query around that the inner query
mentions. It is joined to the inner query's own relations, below everything that mentions it; from
there on up its columns are carried along behind the others: aggregates are grouped by them, top-N
and OVER are partitioned by them. So the inner query is computed once for each value of the domain,
and its result is joined to the query around on equal values. (Neumann and Kemper, Unnesting
Arbitrary Queries, 2015.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from scurry.functions.builtin import resolve
from scurry.functions.expressions import Expression, InputRef, Literal, rewrite
from scurry.planner import algebra
from scurry.planner.algebra import Join, Node, Project
from scurry.planner.bind.scope import OuterRef
from scurry.planner.expressions_of import with_expressions
from scurry.planner.gaps import refuse
from scurry.planner.outer_columns import outer_refs_of, settled, settled_tree
from scurry.planner.rewrite import all_of, conjuncts


@dataclass(frozen=True)
class Domain:
    """The distinct values, and the columns of the query around that they are values of."""

    node: Node
    indexes: tuple[int, ...]


def domain_of(source: Node, inner: Node) -> Domain:
    """The values of the columns of ``source`` that ``inner`` mentions."""
    indexes = tuple(sorted({ref.index for ref in outer_refs_of(inner)}))
    refs = tuple(InputRef(at, source.type_of(at)) for at in indexes)
    names = tuple(f"$outer{at}" for at in indexes)
    picked = Project(source, refs, names, span=inner.span)
    distinct = algebra.Aggregate(picked, tuple(range(len(indexes))), (), span=inner.span)
    return Domain(distinct, indexes)


def push_domain(node: Node, domain: Domain) -> Node:
    """The rows of ``node`` for each value of the domain, whose columns are the last ones."""
    if not outer_refs_of(node):
        return Join(settled_tree(node), domain.node, "inner", None, span=node.span)
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise refuse("correlated", node.span)
    return handler(node, domain)


def same_values(domain: Domain, left: tuple[int, ...], right: int) -> list[Expression]:
    """The columns ``left`` of a join have the values of the domain's columns, which begin at
    ``right``; null is a value."""
    pairs = zip(left, domain.node.columns, strict=True)
    return [
        resolve(
            "IS NOT DISTINCT FROM",
            (InputRef(index, column.type), InputRef(right + at, column.type)),
        )
        for at, (index, column) in enumerate(pairs)
    ]


# --- relations of one input -----------------------------------------------------------------------


def _placed(tree: Expression, domain: Domain, start: int) -> Expression:
    """The expression with the domain's columns, the first of which is at ``start``."""

    def place(ref: OuterRef) -> Expression:
        return InputRef(start + domain.indexes.index(ref.index), ref.type, span=ref.span)

    return settled(tree, place)


def _carried(domain: Domain, start: int) -> tuple[InputRef, ...]:
    return tuple(InputRef(start + at, c.type) for at, c in enumerate(domain.node.columns))


def _names(domain: Domain) -> tuple[str, ...]:
    return tuple(column.name for column in domain.node.columns)


def _filter(node: algebra.Filter, domain: Domain) -> Node:
    below = push_domain(node.input, domain)
    condition = _placed(node.condition, domain, node.width)
    return algebra.Filter(below, condition, span=node.span)


def _project(node: Project, domain: Domain) -> Node:
    below, start = push_domain(node.input, domain), node.input.width
    shown = tuple(_placed(one, domain, start) for one in node.expressions)
    carried = _carried(domain, start)
    return Project(below, (*shown, *carried), (*node.names, *_names(domain)), span=node.span)


def _aggregate(node: algebra.Aggregate, domain: Domain) -> Node:
    """Grouped by the domain, too. An aggregate of all rows has a row where there are none, so what
    has no group is joined from the domain: a count is 0 then, and everything else null."""
    below, start = push_domain(node.input, domain), node.input.width
    added = tuple(start + at for at in range(len(domain.indexes)))
    made = replace(node, input=below, groups=(*node.groups, *added))
    groups, width = len(node.groups), len(domain.indexes)
    if groups:
        order = [*range(groups), *range(groups + width, made.width), *range(groups, groups + width)]
        return _chosen(made, order, node, domain)
    values = same_values(domain, tuple(range(width)), width)
    whole = Join(domain.node, made, "left", all_of(values), span=node.span)
    results = tuple(
        or_zero(InputRef(2 * width + at, call.type), call) for at, call in enumerate(node.calls)
    )
    names = tuple(column.name for column in node.columns)
    refs = _carried(domain, 0)
    return Project(whole, (*results, *refs), (*names, *_names(domain)), span=node.span)


def or_zero(value: InputRef, call: algebra.Aggregation) -> Expression:
    """The result of an aggregate where a left join may have found none: a count is 0 then."""
    nullable = InputRef(value.index, value.type.nullable())
    if call.function != "COUNT":
        return nullable
    return resolve("COALESCE", (nullable, Literal(0, call.type.not_null())))


def _expand(node: algebra.Expand, domain: Domain) -> Node:
    """The number of the grouping set comes behind the domain's columns; it is put before."""
    below, start, width = push_domain(node.input, domain), node.input.width, len(domain.indexes)
    order = [*range(start), start + width, *range(start, start + width)]
    return _chosen(replace(node, input=below), order, node, domain)


def _chosen(made: Node, order: list[int], node: Node, domain: Domain) -> Node:
    refs = tuple(InputRef(at, made.type_of(at)) for at in order)
    names = (*(column.name for column in node.columns), *_names(domain))
    return Project(made, refs, names, span=node.span)


def _sort(node: algebra.Sort, domain: Domain) -> Node:
    """The first rows of all are the first rows for each value; a mere order means nothing here."""
    below, start = push_domain(node.input, domain), node.input.width
    if node.fetch is None:
        if node.offset:
            raise refuse("correlated", node.span)
        return below
    partition = tuple(start + at for at in range(len(domain.indexes)))
    last = node.offset + node.fetch
    return algebra.Rank(below, partition, node.order, node.offset + 1, last, span=node.span)


def _over(node: algebra.Over, domain: Domain) -> Node:
    below, start = push_domain(node.input, domain), node.input.width
    added = tuple(start + at for at in range(len(domain.indexes)))
    made = replace(node, input=below, partition=(*node.partition, *added))
    calls = range(made.width - len(node.calls), made.width)
    return _chosen(made, [*range(start), *calls, *added], node, domain)


def _handed_on(node: algebra.Correlate, domain: Domain) -> Node:
    """The columns that are made for each row come behind the domain's; they are put before."""
    below, start, width = push_domain(node.input, domain), node.input.width, len(domain.indexes)

    def change(tree: Expression) -> Expression:
        return _placed(_opened(tree, start, width), domain, start)

    made = with_expressions(replace(node, input=below), change)
    order = [*range(start), *range(start + width, made.width), *range(start, start + width)]
    return _chosen(made, order, node, domain)


# --- relations of several inputs ------------------------------------------------------------------


def _opened(tree: Expression, start: int, by: int) -> Expression:
    """The expression over columns of which those from ``start`` on have moved to the right."""

    def change(one: Expression) -> Expression:
        if isinstance(one, InputRef) and one.index >= start:
            return InputRef(one.index + by, one.type, span=one.span)
        return one

    return rewrite(tree, change)


def _join(node: Join, domain: Domain) -> Node:
    """The left side has the domain's columns; so has the right one if it mentions the domain, and
    then both are compared."""
    if node.kind in ("right", "full"):
        raise refuse("correlated", node.span)
    left, width, added = push_domain(node.left, domain), node.left.width, len(domain.indexes)
    parts = [_opened(one, width, added) for one in conjuncts(node.condition)]
    parts = [_placed(one, domain, width) for one in parts]
    correlated = bool(outer_refs_of(node.right))
    right = push_domain(node.right, domain) if correlated else settled_tree(node.right)
    if correlated:
        mine = tuple(range(width, width + added))
        parts += same_values(domain, mine, width + added + node.right.width)
    made = replace(node, left=left, right=right, condition=all_of(parts))
    if node.kind in ("semi", "anti"):
        return made
    theirs = range(width + added, width + added + node.right.width)
    order = [*range(width), *theirs, *range(width, width + added)]
    return _chosen(made, order, node, domain)


def _union(node: algebra.Union, domain: Domain) -> Node:
    return replace(node, relations=tuple(push_domain(one, domain) for one in node.relations))


def _set_operation(node: algebra.SetOperation, domain: Domain) -> Node:
    return replace(node, left=push_domain(node.left, domain), right=push_domain(node.right, domain))


_HANDLERS: dict[type[Node], Callable[[Any, Domain], Node]] = {
    algebra.Filter: _filter,
    algebra.Project: _project,
    algebra.Aggregate: _aggregate,
    algebra.Expand: _expand,
    algebra.Sort: _sort,
    algebra.Over: _over,
    algebra.Correlate: _handed_on,
    algebra.Join: _join,
    algebra.Union: _union,
    algebra.SetOperation: _set_operation,
}
