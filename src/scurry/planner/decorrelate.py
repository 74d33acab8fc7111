"""Queries within expressions, and lateral ones, become joins.

``EXISTS`` and ``IN`` that are conditions by themselves are semi joins, their negations anti joins.
Where they are part of a larger expression, under OR or in the select list, their truth becomes a
column (:mod:`scurry.planner.mark_rows`). A query whose one value is meant is joined from the left,
and a lateral query as it says. What an inner query says about the query around it becomes the
condition of the join: either its conditions are pulled up, or, where they cannot be, the values
around are pushed into it (:mod:`scurry.planner.push_domain`).
"""

from __future__ import annotations

from dataclasses import replace

from scurry.common.spans import NOWHERE
from scurry.functions.builtin import resolve
from scurry.functions.expressions import Call, Expression, InputRef, references, rewrite
from scurry.planner.algebra import (
    Aggregate,
    Aggregation,
    Filter,
    Join,
    Lateral,
    Node,
    Project,
    Values,
)
from scurry.planner.bind.subqueries import Subquery
from scurry.planner.expressions_of import expressions_of
from scurry.planner.gaps import refuse
from scurry.planner.join_inner import join_lateral, join_results, joinable, peel_results
from scurry.planner.mark_rows import mark_rows
from scurry.planner.outer_columns import outer_refs_of, with_outer_refs
from scurry.planner.rewrite import all_of, bottom_up, conjuncts, moved


def decorrelate(node: Node) -> Node:
    """The tree without queries in expressions, and without lateral ones."""
    return bottom_up(node, _decorrelate)


def _decorrelate(node: Node) -> Node:
    if isinstance(node, Lateral):
        return join_lateral(node)
    if not any(_has_query(one) for one in expressions_of(node)):
        return node
    if isinstance(node, Filter):
        return _filter(node)
    if isinstance(node, Project):
        return _project(node)
    if isinstance(node, Join) and node.kind == "inner":
        return _filter(Filter(replace(node, condition=None), _condition(node), span=node.span))
    if isinstance(node, Join):
        return _outer_join(node)
    (found,) = [one for one in expressions_of(node) if _has_query(one)][:1]
    raise refuse("nested-subquery", found.span or NOWHERE)


def _condition(node: Join) -> Expression:
    assert node.condition is not None
    return node.condition


def _has_query(tree: Expression) -> bool:
    return any(isinstance(one, Subquery) for one in tree.walk())


# --- where queries stand --------------------------------------------------------------------------


def _filter(node: Filter) -> Node:
    """Conditions without queries first, then those that are queries, then all others."""
    parts = conjuncts(node.condition)
    source = node.input
    plain = all_of([one for one in parts if not _has_query(one)])
    if plain is not None:
        source = Filter(source, plain, span=node.span)
    values: list[Expression] = []
    for condition in parts:
        subquery, negated = _tested(condition)
        if subquery is not None:
            source = _semi_join(source, subquery, negated)
        elif _has_query(condition):
            source, condition = _with_values(source, condition, unknown_is_false=True)
            values.append(condition)
    rest = all_of(values)
    if rest is not None:
        source = Filter(source, rest, span=node.span)
    return _narrowed(source, node)


def _project(node: Project) -> Node:
    source, expressions = node.input, []
    for expression in node.expressions:
        if _has_query(expression):
            source, expression = _with_values(source, expression)
        expressions.append(expression)
    return Project(source, tuple(expressions), node.names, span=node.span)


def _narrowed(source: Node, node: Node) -> Node:
    if source.width == node.width:
        return source
    refs = tuple(InputRef(at, column.type) for at, column in enumerate(node.columns))
    return Project(source, refs, tuple(column.name for column in node.columns), span=node.span)


def _tested(condition: Expression) -> tuple[Subquery | None, bool]:
    """The EXISTS or IN that a condition is, and whether it is negated."""
    negated = False
    while isinstance(condition, Call) and condition.function == "NOT":
        condition, negated = condition.operands[0], not negated
    if isinstance(condition, Subquery) and condition.kind != "scalar":
        return condition, negated
    return None, False


def _outer_join(node: Join) -> Node:
    """The value of each query in ON is a column of that side which the query mentions."""
    width, sides = node.left.width, [node.left, node.right]
    values: dict[Expression, tuple[int, Expression]] = {}
    for query in _queries_in(_condition(node)):
        at = _side(query, width)
        sides[at], value = _with_values(sides[at], _shifted(query, -width) if at else query)
        values[query] = at, value
    added = sides[0].width - width

    def placed(tree: Expression) -> Expression:
        if isinstance(tree, Subquery):
            at, value = values[tree]
            return moved(value, sides[0].width) if at else value
        if isinstance(tree, InputRef):
            return moved(tree, added) if tree.index >= width else tree
        return tree.with_operands(tuple(map(placed, tree.operands)))

    made = replace(node, left=sides[0], right=sides[1], condition=placed(_condition(node)))
    shown = (*range(width), *range(width + added, width + added + node.right.width))
    refs = tuple(InputRef(at, made.type_of(at)) for at in shown[: node.width])
    names = tuple(column.name for column in node.columns)
    return Project(made, refs, names, span=node.span)


def _queries_in(tree: Expression) -> list[Subquery]:
    if isinstance(tree, Subquery):
        return [tree]
    return [found for operand in tree.operands for found in _queries_in(operand)]


def _side(query: Subquery, width: int) -> int:
    """The side of a join, the left one of which has so many columns, that a query mentions."""
    inner = decorrelate(query.query)
    mentioned = {ref.index for ref in outer_refs_of(inner)}
    for operand in query.operands:
        mentioned |= set(references(operand))
        mentioned |= {ref.index for one in _queries_in(operand) for ref in outer_refs_of(one.query)}
    sides = {index >= width for index in mentioned}
    if len(sides) > 1:
        raise refuse("nested-subquery", query.span or NOWHERE)
    return int(True in sides)


def _shifted(query: Subquery, by: int) -> Subquery:
    """The query of a row whose columns stand elsewhere."""
    inner = with_outer_refs(query.query, lambda ref: replace(ref, index=ref.index + by))
    operands = tuple(moved(operand, by) for operand in query.operands)
    return replace(query, query=inner, operands=operands)


# --- conditions -----------------------------------------------------------------------------------


def _semi_join(source: Node, subquery: Subquery, negated: bool) -> Node:
    source, subquery = _with_operands(source, subquery)
    inner, conditions = joinable(source, decorrelate(subquery.query))
    width = source.width
    for at, operand in enumerate(subquery.operands):
        column = InputRef(width + at, inner.type_of(at))
        conditions.append(_sought(subquery.operator, operand, column, negated))
    kind = "anti" if negated else "semi"
    return Join(source, inner, kind, all_of(conditions), span=subquery.span)


def _with_operands(source: Node, subquery: Subquery) -> tuple[Node, Subquery]:
    """What is looked for may itself be a value of a query."""
    operands = []
    for operand in subquery.operands:
        if _has_query(operand):
            source, operand = _with_values(source, operand)
        operands.append(operand)
    return source, subquery.with_operands(tuple(operands))


def _sought(operator: str, operand: Expression, column: Expression, negated: bool) -> Expression:
    """The comparison; negated, what may be true counts, too: NULL on either side."""
    equal: Expression = resolve(operator, (operand, column), span=operand.span)
    if not negated:
        return equal
    unknown = [resolve("IS NULL", (one,)) for one in (operand, column) if one.type.is_nullable]
    return resolve("OR", (equal, *unknown)) if unknown else equal


# --- values ---------------------------------------------------------------------------------------


def _with_values(
    source: Node, expression: Expression, unknown_is_false: bool = False
) -> tuple[Node, Expression]:
    """The source with the values of queries as columns behind its own, and the expression over
    them. A condition of rows takes unknown for false, and so do its parts under AND and OR."""
    if unknown_is_false and isinstance(expression, Call) and expression.function in ("AND", "OR"):
        operands = []
        for operand in expression.operands:
            source, made = _with_values(source, operand, unknown_is_false=True)
            operands.append(made)
        return source, expression.with_operands(tuple(operands))
    lenient = unknown_is_false and isinstance(expression, Subquery)
    state = [source]

    def change(one: Expression) -> Expression:
        if not isinstance(one, Subquery):
            return one
        inner = decorrelate(one.query)
        if one.kind == "scalar":
            state[0], value = _scalar(state[0], one, inner)
        else:
            state[0], value = mark_rows(state[0], one, inner, lenient)
        return value

    found = rewrite(expression, change)
    return state[0], found


def _scalar(source: Node, subquery: Subquery, inner: Node) -> tuple[Node, Expression]:
    """The source joined from the left with the one row that an inner query has."""
    inner = _single(inner, subquery)
    peeled = peel_results(inner) if outer_refs_of(inner) else None
    width = source.width
    if peeled is None:
        joined, conditions = joinable(source, inner)
        made = Join(source, joined, "left", all_of(conditions), span=subquery.span)
        return made, InputRef(width, subquery.type, span=subquery.span)
    whole, (value,) = join_results(source, peeled)
    return whole, value


def _single(inner: Node, subquery: Subquery) -> Node:
    """The query with one row at most. Where that is not sure, having more is an error when it
    happens, as in Flink."""
    node = inner
    while isinstance(node, Project | Filter):
        node = node.input
    if isinstance(node, Aggregate) and not node.groups:
        return inner
    if isinstance(node, Values) and len(node.rows) == 1:
        return inner
    only = Aggregation("SINGLE_VALUE", (0,), subquery.type, name="$single")
    return Aggregate(inner, (), (only,), span=subquery.span)
