"""Whether an inner query has a row, as a column: IN and EXISTS as values.

``EXISTS`` is true or false. ``x IN (...)`` is unknown, null, if no row is equal to ``x`` but one
may be, because it is null or ``x`` is. Where unknown is as good as false, as in a condition of
rows, two values are enough.

On equal columns the distinct values of the inner query are joined from the left: a row that finds
its own is marked. For the unknown, it is also asked whether there is a null among the values. With
any other condition the rows are sent in parts: those of a semi join are marked true, those of an
anti join false.
"""

from __future__ import annotations

from scurry.common.data_types import DataTypes
from scurry.functions.builtin import resolve
from scurry.functions.expressions import Expression, InputRef, Literal
from scurry.planner.algebra import Aggregate, Aggregation, Join, Node, Project, Union
from scurry.planner.bind.subqueries import Subquery
from scurry.planner.join_inner import joinable
from scurry.planner.rewrite import all_of, moved
from scurry.planner.sides import parts_of

_BOOLEAN = DataTypes.BOOLEAN(False)
TRUE, FALSE = Literal(True, _BOOLEAN), Literal(False, _BOOLEAN)
_INT = DataTypes.INT(False)


def mark_rows(
    source: Node, subquery: Subquery, inner: Node, unknown_is_false: bool
) -> tuple[Node, Expression]:
    """The source with columns behind its own, and the truth of the subquery as an expression over
    them. ``inner`` is the subquery's query without queries of its own."""
    width = source.width
    joined, conditions = joinable(source, inner)
    columns = [InputRef(width + at, joined.type_of(at)) for at, _ in enumerate(subquery.operands)]
    pairs = list(zip(subquery.operands, columns, strict=True))
    equal: list[Expression] = [
        resolve(subquery.operator, pair, span=subquery.span) for pair in pairs
    ]
    unknown = [] if unknown_is_false else [_maybe(*pair) for pair in pairs]
    every = parts_of(all_of([*conditions, *equal]), width)
    if every.rest or not every.left or (any(unknown) and len(pairs) > 1):
        return _in_parts(source, joined, conditions, equal, unknown)
    mark = Join(
        source, _distinct(joined, every.right), "left",
        _on(source, every.left, every.right, every.null_equal), span=subquery.span,
    )  # fmt: skip
    found: Expression = resolve("IS NOT NULL", (InputRef(mark.width - 1, _BOOLEAN.nullable()),))
    if not any(unknown):
        return mark, found
    ((operand, column),) = pairs
    return _with_unknown(mark, found, operand, column, joined, conditions, width)


def _maybe(operand: Expression, column: Expression) -> Expression | None:
    """When it is not known whether both are equal, None for never."""
    tests = [resolve("IS NULL", (one,)) for one in (operand, column) if one.type.is_nullable]
    if not tests:
        return None
    return tests[0] if len(tests) == 1 else resolve("OR", tuple(tests))


# --- by equal columns -----------------------------------------------------------------------------


def _distinct(joined: Node, keys: list[Expression]) -> Node:
    """The distinct values of the keys, and a column that is true."""
    names = tuple(f"$key{at}" for at in range(len(keys)))
    picked = Project(joined, tuple(keys), names, span=joined.span)
    once = Aggregate(picked, tuple(range(len(keys))), (), span=joined.span)
    refs = tuple(InputRef(at, column.type) for at, column in enumerate(once.columns))
    return Project(once, (*refs, TRUE), (*names, "$mark"), span=joined.span)


def _on(
    source: Node, left: list[Expression], right: list[Expression], null_equal: list[bool]
) -> Expression | None:
    found: list[Expression] = []
    for at, (one, other, same) in enumerate(zip(left, right, null_equal, strict=True)):
        operator = "IS NOT DISTINCT FROM" if same else "="
        found.append(resolve(operator, (one, InputRef(source.width + at, other.type))))
    return all_of(found)


def _with_unknown(
    mark: Node,
    found: Expression,
    operand: Expression,
    column: InputRef,
    joined: Node,
    conditions: list[Expression],
    width: int,
) -> tuple[Node, Expression]:
    """Beside the mark: whether there is any row to compare with, and whether one of them is null.
    Both are in the least of 0 for a null and 1 for a value."""
    keys = parts_of(all_of(conditions), width)
    own = moved(column, -width)
    number = resolve("IF", (resolve("IS NULL", (own,)), Literal(0, _INT), Literal(1, _INT)))
    names = tuple(f"$key{at}" for at in range(len(keys.right)))
    picked = Project(joined, (*keys.right, number), (*names, "$value"), span=joined.span)
    least = Aggregation("MIN", (len(names),), _INT.nullable(), name="$least")
    groups = Aggregate(picked, tuple(range(len(names))), (least,), span=joined.span)
    both = Join(
        mark, groups, "left", _on(mark, keys.left, keys.right, keys.null_equal), span=joined.span
    )
    there = InputRef(both.width - 1, _INT.nullable())
    empty = resolve("IS NULL", (there,))
    unknown = resolve(
        "OR", (resolve("=", (there, Literal(0, _INT))), resolve("IS NULL", (operand,)))
    )
    null = Literal(None, _BOOLEAN.nullable())
    value = resolve("CASE", (found, TRUE, empty, FALSE, unknown, null, FALSE))
    return both, value


# --- by any condition -----------------------------------------------------------------------------


def _in_parts(
    source: Node,
    joined: Node,
    conditions: list[Expression],
    equal: list[Expression],
    unknown: list[Expression | None],
) -> tuple[Node, Expression]:
    """The rows of a semi join and those of an anti join, and those between them."""
    sure = all_of([*conditions, *equal])
    kind = _BOOLEAN.nullable() if any(unknown) else _BOOLEAN
    found: list[Node] = [_marked(Join(source, joined, "semi", sure), Literal(True, kind))]
    rest: Node = Join(source, joined, "anti", sure)
    if any(unknown):
        pairs = zip(equal, unknown, strict=True)
        maybe = [one if test is None else resolve("OR", (one, test)) for one, test in pairs]
        possible = all_of([*conditions, *maybe])
        found.append(_marked(Join(rest, joined, "semi", possible), Literal(None, kind)))
        rest = Join(rest, joined, "anti", possible)
    found.append(_marked(rest, Literal(False, kind)))
    return Union(tuple(found), span=source.span), InputRef(source.width, kind)


def _marked(node: Node, mark: Literal) -> Node:
    refs = tuple(InputRef(at, column.type) for at, column in enumerate(node.columns))
    names = (*(column.name for column in node.columns), "$mark")
    return Project(node, (*refs, mark), names, span=node.span)
