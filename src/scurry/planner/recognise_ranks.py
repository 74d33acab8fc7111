"""Recognises top-N and deduplication: a filter on ROW_NUMBER() OVER (...).

``WHERE row_num <= 10`` on the number of a row in its partition keeps the first ten; with 1 and the
order of a time attribute it keeps the first or last row of each key. Between the numbering and the
filter there may be a projection.

The bound may be a column instead of a constant. Where the column is one of the partition's, rows
beyond it are let go; any other bound needs the numbers of all rows, and the filter chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from scurry.common.data_types import BigIntType, IntegralType
from scurry.functions.expressions import Call, Expression, InputRef, Literal
from scurry.planner.algebra import ALL_ROWS, Filter, Node, Over, Project, Rank
from scurry.planner.pattern_refs import columns_read
from scurry.planner.physical import BoundedRank, Deduplicate, WindowRank
from scurry.planner.rewrite import all_of, bottom_up, conjuncts, no_rows_of, substituted
from scurry.planner.time_attributes import is_time_attribute
from scurry.planner.traits import changes_of
from scurry.planner.windows import windows_of

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


@dataclass
class _Range:
    """Which numbers are kept, None for no bound."""

    first: int = 1
    last: int | None = None

    def take(self, operator: str, bound: int) -> None:
        if operator in ("<", "<="):
            limit = bound if operator == "<=" else bound - 1
            self.last = limit if self.last is None else min(self.last, limit)
        elif operator in (">", ">="):
            self.first = max(self.first, bound if operator == ">=" else bound + 1)
        else:
            self.take("<=", bound)
            self.take(">=", bound)


def recognise_ranks(node: Node) -> Node:
    """The tree with top-N and deduplication in place of numbering and filter."""
    return bottom_up(node, _recognise)


def _recognise(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    project = node.input if isinstance(node.input, Project) else None
    over = node.input if project is None else project.input
    if not isinstance(over, Over) or [call.function for call in over.calls] != ["ROW_NUMBER"]:
        return node
    kept: list[Expression] = []
    found, number = _Range(), over.width - 1
    for condition in conjuncts(node.condition):
        below = condition if project is None else substituted(condition, project.expressions)
        bounds = [_bound(one, number) for one in _halves(below)]
        known = [bound for bound in bounds if bound is not None]
        if len(known) < len(bounds):
            kept.append(condition)
        for bound in known:
            found.take(*bound)
    last = found.last
    ranked = _up_to(over, found, kept, project) if last is None else _ranked(over, found, last)
    if ranked is None:
        return node
    if project is not None:
        ranked = Project(ranked, project.expressions, project.names, span=project.span)
    rest = all_of(kept)
    return ranked if rest is None else Filter(ranked, rest, span=node.span)


def _up_to(
    over: Over, found: _Range, kept: list[Expression], project: Project | None
) -> Node | None:
    """The rows up to a number that a column has; ``kept`` loses what need not be asked again."""
    number, name = over.width - 1, over.columns[-1].name
    bounds = [(one, _column_bound(one, number, project)) for one in kept]
    known = [(one, bound) for one, bound in bounds if bound is not None]
    given = over.input, over.partition, over.order, found.first, ALL_ROWS, name
    for condition, bound in known:
        column = _without_cast(bound.value)
        if isinstance(column, InputRef) and column.index in over.partition:
            if bound.exact:
                kept.remove(condition)
            return BoundedRank(*given, over.partition.index(column.index), span=over.span)
    return Rank(*given, span=over.span) if known else None


class _Bound(NamedTuple):
    """What a number is at most; ``exact`` says that it may be that itself and all below it."""

    value: Expression
    exact: bool


def _column_bound(condition: Expression, number: int, project: Project | None) -> _Bound | None:
    """What a condition says that the number is at most, other than a constant."""
    below = condition if project is None else substituted(condition, project.expressions)
    halves = [one for one in _halves(below) if isinstance(one, Call) and one.function in _MIRRORED]
    for one in halves:
        first, second = one.operands
        both = (one.function, first, second), (_MIRRORED[one.function], second, first)
        for operator, left, right in both:
            counts = isinstance(left, InputRef) and left.index == number
            if counts and operator in ("<", "<=", "=") and number not in columns_read(right):
                return _Bound(right, one is below and operator == "<=")
    return None


def _without_cast(tree: Expression) -> Expression:
    """A whole number as it was before it was widened."""
    if isinstance(tree, Call) and tree.function == "CAST" and isinstance(tree.type, BigIntType):
        inner = tree.operands[0]
        return inner if isinstance(inner.type, IntegralType) else tree
    return tree


def _halves(condition: Expression) -> list[Expression]:
    """BETWEEN as its two comparisons, any other condition as it is."""
    if not isinstance(condition, Call) or condition.function != "BETWEEN":
        return [condition]
    value, low, high = condition.operands
    return [
        Call(">=", (value, low), condition.type),
        Call("<=", (value, high), condition.type),
    ]


def _bound(condition: Expression, number: int) -> tuple[str, int] | None:
    """The comparison of the number with a constant that a condition is."""
    if not isinstance(condition, Call) or condition.function not in _MIRRORED:
        return None
    left, right = (_uncast(operand) for operand in condition.operands)
    if isinstance(left, InputRef) and left.index == number and isinstance(right, Literal):
        return (condition.function, int(right.value)) if _whole(right) else None
    if isinstance(right, InputRef) and right.index == number and isinstance(left, Literal):
        return (_MIRRORED[condition.function], int(left.value)) if _whole(left) else None
    return None


def _uncast(tree: Expression) -> Expression:
    inner = tree.operands[0] if isinstance(tree, Call) and tree.function == "CAST" else tree
    return inner if isinstance(inner, Literal) and isinstance(tree, Call) else tree


def _whole(literal: Literal) -> bool:
    return isinstance(literal.value, int) and not isinstance(literal.value, bool)


def _ranked(over: Over, found: _Range, last: int) -> Node:
    """The rows, and the number as a last column."""
    name, source = over.columns[-1].name, over.input
    if last < found.first:
        return _with_number(no_rows_of(source), last, over)
    windows = windows_of(source)
    if windows is not None and {windows.start, windows.end} <= set(over.partition):
        assert windows.start is not None
        assert windows.end is not None
        keys = tuple(
            one for one in over.partition if one not in (windows.start, windows.end, windows.time)
        )
        return WindowRank(
            source, keys, over.order, found.first, last, windows.start, windows.end, name,
            span=over.span,
        )  # fmt: skip
    if (found.first, last) == (1, 1) and _by_time(over) and changes_of(source).grows:
        keep_last = not over.order[0].ascending
        node = Deduplicate(source, over.partition, over.order[0].index, keep_last, span=over.span)
        return _with_number(node, 1, over)
    if found.first == last:
        ranked = Rank(source, over.partition, over.order, last, last, span=over.span)
        return _with_number(ranked, last, over)
    return Rank(source, over.partition, over.order, found.first, last, name, span=over.span)


def _with_number(node: Node, number: int, over: Over) -> Node:
    """The rows with their number, which is the same for all."""
    refs = tuple(InputRef(at, column.type) for at, column in enumerate(node.columns))
    constant = Literal(number, over.columns[-1].type)
    names = tuple(column.name for column in over.columns)
    return Project(node, (*refs, constant), names, span=over.span)


def _by_time(over: Over) -> bool:
    return len(over.order) == 1 and is_time_attribute(over.input.type_of(over.order[0].index))
