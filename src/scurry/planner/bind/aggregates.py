"""Aggregates of one SELECT: collected while its expressions are bound, then made a node.

While an expression is bound, an aggregate in it becomes an
:class:`~scurry.planner.bind.subqueries.AggregateRef`. Afterwards the expression is *regrouped*:
what equals a grouping expression becomes the column of that group, a reference to an aggregate the
column of its result, and a column that is neither is a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from scurry.common.data_types import DataType, DataTypes
from scurry.functions.builtin import resolve, resolve_aggregate
from scurry.functions.builtin.json import is_json
from scurry.functions.builtin.signatures import cast_to
from scurry.functions.expressions import Expression, InputRef, Literal
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.planner.algebra import Aggregate, Aggregation, Expand, Node, Project
from scurry.planner.bind.calls import CallBinder, Collector
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.scope import OuterRef
from scurry.planner.bind.subqueries import AggregateRef, Subquery, WindowRef
from scurry.planner.errors import SqlValidationError, at
from scurry.planner.gaps import refuse
from scurry.planner.outer_columns import with_outer_refs
from scurry.planner.time_attributes import plain
from scurry.planner.windows import windows_of
from scurry.sql import ast

_BIGINT = DataTypes.BIGINT(False)
#: the index of the grouping set's number among the aggregates: it is no aggregate
GROUPING_ID = -1


@dataclass(frozen=True)
class Pending:
    """An aggregate before its arguments are columns."""

    function: Any
    arguments: tuple[Expression, ...]
    type: DataType
    distinct: bool = False
    filter: Expression | None = None
    constants: tuple[Any, ...] = ()


def pending_aggregate(
    binder: CallBinder, call: ast.FunctionCall, collector: Collector | None = None
) -> Pending:
    """An aggregate call with its arguments bound over the input; ``collector`` takes aggregates
    within them, which only a call with OVER may have."""
    if call.within_group and str(call.name).upper() != "COLLECT":  # a multiset has no order
        raise refuse("within-group", call.span)
    if call.order_by:
        raise refuse("aggregate-order", call.span)
    clause = "the arguments of another aggregate"
    inner = ExpressionBinder(binder.scope, binder.catalog, binder.queries, collector, clause)
    condition = None if call.filter is None else inner.condition(call.filter, "FILTER")
    distinct = call.quantifier == "DISTINCT"
    user = binder.user_function(call)
    if user is not None:
        return _user_aggregate(user, inner, call, distinct, condition)
    starred = any(isinstance(one, ast.Star) for one in call.arguments)
    arguments = [] if starred else [inner.bind(one) for one in call.arguments]
    with at(call.span):
        entry, adapted, result = resolve_aggregate(str(call.name), arguments)
    kept, constants = _constants(entry.name, adapted, call)
    return Pending(entry.name.lstrip("$"), kept, plain(result), distinct, condition, constants)


def _constants(
    name: str, arguments: tuple[Expression, ...], call: ast.FunctionCall
) -> tuple[tuple[Expression, ...], tuple[Any, ...]]:
    """What is the same for all rows: the separator of LISTAGG, and what becomes of nulls."""
    if name in ("JSON_ARRAYAGG", "JSON_OBJECTAGG"):
        return arguments, (call.nulls, *(("RAW",) if is_json(arguments[-1]) else ()))
    if call.nulls and name == "ARRAY_AGG":
        return arguments, (call.nulls,)
    if call.nulls == "RESPECT":
        message = f"{name} takes no values that are NULL"
        raise SqlValidationError(message, call.span, "Leave RESPECT NULLS out.")
    if name != "LISTAGG" or len(arguments) < 2:
        return arguments, ()
    if not isinstance(arguments[1], Literal):
        raise SqlValidationError("The separator of LISTAGG must be a constant", call.span)
    return arguments[:1], (arguments[1].value,)


def _user_aggregate(
    user: UserDefinedFunctionWrapper,
    inner: ExpressionBinder,
    call: ast.FunctionCall,
    distinct: bool,
    condition: Expression | None,
) -> Pending:
    arguments = [inner.bind(one) for one in call.arguments]
    with at(call.span):
        overload, types = user.resolve([argument.type for argument in arguments])
    cast = tuple(cast_to(a, t) for a, t in zip(arguments, types, strict=True))
    return Pending(user, cast, overload.result_types[0], distinct, condition)


class Aggregates:
    """The grouping of one SELECT."""

    def __init__(self, groups: list[Expression], sets: list[tuple[int, ...]] | None) -> None:
        self.groups = groups
        #: grouping sets, as indexes of groups; None for plain GROUP BY
        self.sets = sets
        self.pending: list[Pending] = []
        #: properties of the group window: "start" to the grouping expression that it is
        self.window: dict[str, Expression] = {}
        #: groups that stay time attributes: those of windows that are grouped by
        self.timed: frozenset[int] = frozenset()

    def windowed(self, source: Node) -> None:
        """Finds out which groups are the time attribute of a window of ``source``."""
        windows = windows_of(source)
        places = {one.index: at for at, one in enumerate(self.groups) if isinstance(one, InputRef)}
        if windows is not None and windows.start in places and windows.end in places:
            self.timed = frozenset(at for index, at in places.items() if index == windows.time)

    def collect(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """A reference to an aggregate; equal ones are computed once."""
        name = str(call.name).upper()
        if name in ("GROUPING", "GROUPING_ID", "GROUP_ID"):
            return self._grouping(binder, call, name)
        found = pending_aggregate(binder, call)
        if found not in self.pending:
            self.pending.append(found)
        return AggregateRef(self.pending.index(found), found.type, span=call.span)

    def _grouping(self, binder: CallBinder, call: ast.FunctionCall, name: str) -> Expression:
        """Bits of the number of the grouping set: 1 for a column that is not in it."""
        if not self.groups and self.sets is None:
            raise SqlValidationError(f"{name} needs a GROUP BY", call.span)
        if bool(call.arguments) == (name == "GROUP_ID"):
            takes = "nothing" if name == "GROUP_ID" else "one grouping expression or several"
            raise SqlValidationError(f"{name} takes {takes}", call.span)
        if name == "GROUP_ID":
            if self.sets is None:
                return Literal(0, _BIGINT, span=call.span)
            before = Literal(2 ** len(self.groups), _BIGINT)
            return cast_to(resolve("/", (AggregateRef(GROUPING_ID, _BIGINT), before)), _BIGINT)
        inner = ExpressionBinder(binder.scope, binder.catalog, clause=name)
        result: Expression = Literal(0, _BIGINT)
        for argument in call.arguments:
            found = inner.bind(argument)
            if found not in self.groups:
                message = f"{name} takes grouping expressions only"
                raise SqlValidationError(message, argument.span)
            if self.sets is None:
                continue
            shift = 2 ** (len(self.groups) - 1 - self.groups.index(found))
            number = AggregateRef(GROUPING_ID, _BIGINT)
            shifted = resolve("/", (number, Literal(shift, _BIGINT)))
            bit = resolve("%", (shifted, Literal(2, _BIGINT)))
            doubled = resolve("*", (result, Literal(2, _BIGINT)))
            result = resolve("+", (doubled, bit))
        return cast_to(result, _BIGINT)

    def window_property(self, call: ast.FunctionCall) -> Expression:
        """``TUMBLE_START(...)``: checked when it is regrouped, the window may not be known yet."""
        what = str(call.name).upper().rsplit("_", 1)[1].lower()
        if what not in self.window:
            raise SqlValidationError(
                f"{call.name} needs the same window in GROUP BY",
                call.span,
                f"Add {str(call.name).rsplit('_', 1)[0]}(...) to GROUP BY.",
            )
        return WindowRef(what, self.window[what].type, span=call.span)

    # --- the node ---------------------------------------------------------------------------------

    def node(self, source: Node, ttl: int | None = None) -> Node:
        """The aggregation of ``source``: groups first, then aggregates."""
        columns: list[Expression] = list(self.groups)
        calls = tuple(self._aggregation(one, columns) for one in self.pending)
        if not columns:  # rows are counted by a column that they have
            columns.append(Literal(0, DataTypes.INT(False)))
        names = tuple(
            source.columns[e.index].name if isinstance(e, InputRef) else f"${at}"
            for at, e in enumerate(columns)
        )
        below: Node = Project(source, tuple(columns), names, span=source.span)
        groups = tuple(range(len(self.groups)))
        if self.sets is None:
            return Aggregate(below, groups, calls, ttl, span=source.span)
        ids = tuple(self._set_number(at) for at in range(len(self.sets)))
        below = Expand(below, groups, tuple(self.sets), ids)
        return Aggregate(below, (*groups, below.width - 1), calls, ttl, span=source.span)

    def _aggregation(self, one: Pending, columns: list[Expression]) -> Aggregation:
        # a grouping set has NULL in the groups that are not in it, arguments have not
        own = len(self.groups) if self.sets is not None else 0
        arguments = tuple(_place(argument, columns, own) for argument in one.arguments)
        chosen = None if one.filter is None else _place(one.filter, columns, own)
        name = one.function if isinstance(one.function, str) else one.function.name
        return Aggregation(
            one.function, arguments, one.type, one.distinct, chosen, one.constants, f"${name}"
        )

    def _set_number(self, index: int) -> int:
        """The bits of the groups that are not in a set; above them, how many equal sets came
        before it, so that each has rows of its own."""
        assert self.sets is not None
        last, members = len(self.groups) - 1, self.sets[index]
        bits = sum(1 << (last - at) for at in range(last + 1) if at not in members)
        before = self.sets[:index].count(members)
        return bits + (before << (last + 1))

    def regroup(self, tree: Expression) -> Expression:
        """An expression over the input as one over the aggregation."""
        if tree in self.groups:
            at = self.groups.index(tree)
            kind = tree.type if at in self.timed else plain(tree.type)
            kind = kind.nullable() if self._may_be_null(at) else kind
            return InputRef(at, kind, span=tree.span)
        if isinstance(tree, WindowRef):
            return self.regroup(self.window[tree.property])
        if isinstance(tree, AggregateRef):
            return InputRef(self._result_place(tree.index), tree.type, span=tree.span)
        if isinstance(tree, InputRef):
            raise SqlValidationError(
                "This column is neither in GROUP BY nor within an aggregate",
                tree.span,
                "Add it to GROUP BY, or take MAX or MIN of it.",
            )
        if isinstance(tree, Subquery):
            tree = replace(tree, query=with_outer_refs(tree.query, self._regroup_outer))
        return tree.with_operands(tuple(map(self.regroup, tree.operands)))

    def _regroup_outer(self, ref: OuterRef) -> OuterRef:
        """A column of the groups, as a query within the expression refers to it."""
        found = self.regroup(InputRef(ref.index, ref.type, span=ref.span))
        assert isinstance(found, InputRef)
        return replace(ref, index=found.index, type=found.type)

    def _may_be_null(self, group: int) -> bool:
        return self.sets is not None and not all(group in one for one in self.sets)

    def _result_place(self, index: int) -> int:
        behind = len(self.groups) + (self.sets is not None)
        return len(self.groups) if index == GROUPING_ID else behind + index


def _place(expression: Expression, columns: list[Expression], first: int) -> int:
    """The column, from ``first`` on, that has the value of an expression; a new one if there is
    none."""
    if expression not in columns[first:]:
        columns.append(expression)
    return columns.index(expression, first)
