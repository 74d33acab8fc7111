"""Queries within expressions become joins.

``EXISTS`` and ``IN`` are semi joins, their negations anti joins; a query whose one value is meant
is joined from the left. Conditions of the inner query that refer to the query around it are pulled
up into the condition of the join; on their way, projections are widened by the columns they need,
and aggregates are grouped by them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scurry.common.spans import NOWHERE
from scurry.functions.builtin import resolve
from scurry.functions.expressions import Call, Expression, InputRef, Literal, references, rewrite
from scurry.planner.algebra import Aggregate, Filter, Join, Node, Project, Values
from scurry.planner.bind.scope import OuterRef
from scurry.planner.bind.subqueries import Subquery
from scurry.planner.expressions_of import expressions_of
from scurry.planner.gaps import refuse
from scurry.planner.rewrite import all_of, bottom_up, conjuncts, moved


def decorrelate(node: Node) -> Node:
    """The tree without queries in expressions."""
    return bottom_up(node, _decorrelate)


def _decorrelate(node: Node) -> Node:
    if not any(_has_query(one) for one in expressions_of(node)):
        return node
    if isinstance(node, Filter):
        return _filter(node)
    if isinstance(node, Project):
        return _project(node)
    (found,) = [one for one in expressions_of(node) if _has_query(one)][:1]
    raise refuse("nested-subquery", found.span or NOWHERE)


def _has_query(tree: Expression) -> bool:
    return any(isinstance(one, Subquery) for one in tree.walk())


# --- where queries stand --------------------------------------------------------------------------


def _filter(node: Filter) -> Node:
    source, kept = node.input, []
    for condition in conjuncts(node.condition):
        if not _has_query(condition):
            kept.append(condition)
    plain = all_of(kept)
    if plain is not None:
        source = Filter(source, plain, span=node.span)
    values: list[Expression] = []
    for condition in conjuncts(node.condition):
        subquery, negated = _tested(condition)
        if subquery is not None:
            source = _semi_join(source, subquery, negated)
        elif _has_query(condition):
            source, condition = _with_values(source, condition)
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


# --- joins ----------------------------------------------------------------------------------------


def _semi_join(source: Node, subquery: Subquery, negated: bool) -> Node:
    _check(subquery.operands)
    inner, conditions = _pulled(decorrelate(subquery.query))
    width = source.width
    found = [_joined(condition, width) for condition in conditions]
    for operand, at in zip(subquery.operands, range(len(subquery.operands)), strict=True):
        column = InputRef(width + at, inner.type_of(at))
        found.append(_sought(operand, column, negated))
    kind = "anti" if negated else "semi"
    return Join(source, inner, kind, all_of(found), span=subquery.span)


def _sought(operand: Expression, column: Expression, negated: bool) -> Expression:
    """Equality; under NOT IN what may be equal counts, too: NULL on either side."""
    equal: Expression = resolve("=", (operand, column), span=operand.span)
    if not negated:
        return equal
    unknown = [resolve("IS NULL", (one,)) for one in (operand, column) if one.type.is_nullable]
    return resolve("OR", (equal, *unknown)) if unknown else equal


def _with_values(source: Node, expression: Expression) -> tuple[Node, Expression]:
    """The source joined with the queries whose values an expression needs, and the expression."""
    state = [source]

    def change(one: Expression) -> Expression:
        if not isinstance(one, Subquery):
            return one
        if one.kind != "scalar":
            raise refuse("nested-subquery", one.span or NOWHERE)
        width = state[0].width
        inner, conditions = _pulled(decorrelate(one.query))
        _check_single(inner, bool(conditions), one)
        condition = all_of([_joined(condition, width) for condition in conditions])
        state[0] = Join(state[0], inner, "left", condition, span=one.span)
        value: Expression = InputRef(width, one.type, span=one.span)
        return _counted(value, inner) if conditions else value

    found = rewrite(expression, change)
    return state[0], found


def _counted(value: Expression, inner: Node) -> Expression:
    """A count of no rows is 0, not NULL, also where the join finds no group."""
    node = inner
    while isinstance(node, Project) and isinstance(node.expressions[0], InputRef):
        if isinstance(node.input, Aggregate):
            at = node.expressions[0].index - len(node.input.groups)
            if at >= 0 and node.input.calls[at].function == "COUNT":
                zero = Literal(0, value.type.not_null())
                return resolve("COALESCE", (value, zero))
        node = node.input
    return value


def _check_single(inner: Node, correlated: bool, subquery: Subquery) -> None:
    """Whether there is one row at most: an aggregate of all rows, or of those of a key."""
    node = inner
    while isinstance(node, Project | Filter):
        node = node.input
    single = isinstance(node, Aggregate) and (correlated or not node.groups)
    if isinstance(node, Values):
        single = len(node.rows) == 1
    if not single:
        raise refuse("scalar-rows", subquery.span or NOWHERE)


def _joined(condition: Expression, width: int) -> Expression:
    """A condition over the join: columns around it are those of the left side."""

    def change(one: Expression) -> Expression:
        if isinstance(one, OuterRef):
            if one.depth != 1:
                raise refuse("correlated", one.span or NOWHERE)
            return InputRef(one.index, one.type, span=one.span)
        return one

    return rewrite(moved(condition, width), change)


def _check(operands: tuple[Expression, ...]) -> None:
    for operand in operands:
        if _has_query(operand):
            raise refuse("nested-subquery", operand.span or NOWHERE)


# --- pulling up -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pulled:
    """A relation and the conditions on it that refer to the query around it."""

    node: Node
    conditions: tuple[Expression, ...] = ()


def _pulled(node: Node) -> tuple[Node, tuple[Expression, ...]]:
    found = _pull(node)
    for one in _all_expressions(found.node):
        if any(isinstance(part, OuterRef) for part in one.walk()):
            raise refuse("correlated", one.span or NOWHERE)
    return found.node, found.conditions


def _all_expressions(node: Node) -> list[Expression]:
    below = [one for source in node.inputs for one in _all_expressions(source)]
    return [*expressions_of(node), *below]


def _outer(tree: Expression) -> bool:
    return any(isinstance(one, OuterRef) for one in tree.walk())


def _pull(node: Node) -> _Pulled:
    if not any(_outer(one) for one in _all_expressions(node)):
        return _Pulled(node)
    if isinstance(node, Filter):
        below = _pull(node.input)
        parts = conjuncts(node.condition)
        kept = all_of([one for one in parts if not _outer(one)])
        source = below.node if kept is None else Filter(below.node, kept, span=node.span)
        pulled = [one for one in parts if _outer(one)]
        return _Pulled(source, (*below.conditions, *pulled))
    if isinstance(node, Project):
        return _pull_project(node)
    if isinstance(node, Aggregate):
        return _pull_aggregate(node)
    if isinstance(node, Join) and node.kind == "inner":
        return _pull_join(node)
    return _Pulled(node)


def _pull_project(node: Project) -> _Pulled:
    """The columns that the conditions need, behind those that are projected."""
    below = _pull(node.input)
    expressions, names = list(node.expressions), list(node.names)
    places: dict[int, int] = {}
    for index in sorted({i for one in below.conditions for i in references(one)}):
        ref = InputRef(index, below.node.type_of(index))
        if ref in expressions:
            places[index] = expressions.index(ref)
        else:
            places[index] = len(expressions)
            expressions.append(ref)
            names.append(f"$outer{index}")
    made = Project(below.node, tuple(expressions), tuple(names), span=node.span)
    return _Pulled(made, tuple(_placed(one, places) for one in below.conditions))


def _pull_aggregate(node: Aggregate) -> _Pulled:
    """Equalities with columns around become columns to group by."""
    below = _pull(node.input)
    groups = list(node.groups)
    for condition in below.conditions:
        plain = isinstance(condition, Call) and condition.function == "="
        if not plain:
            raise refuse("correlated", condition.span or NOWHERE)
    added = [
        index
        for index in sorted({i for one in below.conditions for i in references(one)})
        if index not in groups
    ]
    calls = len(node.calls)
    wider = replace(node, input=below.node, groups=(*groups, *added))
    order = [*range(len(groups)), *range(len(groups) + len(added), wider.width)]
    order += range(len(groups), len(groups) + len(added))
    refs = tuple(InputRef(at, wider.type_of(at)) for at in order)
    names = tuple(wider.columns[at].name for at in order)
    places = {index: at for at, index in enumerate(groups)}
    places |= {index: len(groups) + calls + at for at, index in enumerate(added)}
    made = Project(wider, refs, names, span=node.span)
    return _Pulled(made, tuple(_placed(one, places) for one in below.conditions))


def _pull_join(node: Join) -> _Pulled:
    left, right = _pull(node.left), _pull(node.right)
    if left.node.width != node.left.width or right.node.width != node.right.width:
        raise refuse("correlated", node.span)
    width = node.left.width
    parts = conjuncts(node.condition)
    kept = all_of([one for one in parts if not _outer(one)])
    pulled = [one for one in parts if _outer(one)]
    moved_right = [moved(one, width) for one in right.conditions]
    made = replace(node, left=left.node, right=right.node, condition=kept)
    return _Pulled(made, (*left.conditions, *moved_right, *pulled))


def _placed(tree: Expression, places: dict[int, int]) -> Expression:
    def change(one: Expression) -> Expression:
        if isinstance(one, InputRef):
            return InputRef(places[one.index], one.type, span=one.span)
        return one

    return rewrite(tree, change)
