"""MATCH_RECOGNIZE: the clause as a node of the algebra."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from scurry.automaton.compiler import compile_pattern
from scurry.automaton.errors import MalformedPatternError
from scurry.functions.expressions import Expression, InputRef, Literal, rewrite
from scurry.functions.match_calls import MatchSpec, PatternStep
from scurry.functions.match_patterns import search_pattern
from scurry.planner.algebra import Match, Node, SortItem
from scurry.planner.bind.aggregates import pending_aggregate
from scurry.planner.bind.calls import CallBinder
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.literals import bind_literal, is_months
from scurry.planner.bind.scope import Scope
from scurry.planner.catalog import Catalog
from scurry.planner.errors import SqlValidationError, at, unknown
from scurry.planner.gaps import refuse
from scurry.planner.pattern_refs import MatchTime, PatternAggregate, PatternRef
from scurry.planner.time_attributes import is_proctime, is_rowtime, plain
from scurry.sql import ast

#: functions that say which row is meant, and whether they count from the last one
_NAVIGATION = {"FIRST": False, "LAST": True}


class MatchBinder:
    """Binds one clause over a relation."""

    def __init__(self, source: Node, scope: Scope, catalog: Catalog) -> None:
        self._source = source
        self._scope = scope
        self._catalog = catalog

    def bind(self, node: ast.MatchRecognize) -> Match:
        """The clause."""
        self._check(node)
        steps = tuple(self._step(one) for one in _sequence(node.pattern))
        _check_steps(steps, node.pattern)
        variables = tuple(step.variable for step in steps)
        skip = self._skip(node.after, variables)
        within = None if node.within is None else _length(node.within)
        _check_pattern(MatchSpec(steps, (), (), *skip, within), node.pattern)
        order = self._order(node)
        conditions = self._conditions(node, variables)
        rows = MatchRowsBinder(self._scope, self._catalog, variables, order[0].index)
        measures = tuple(rows.bind(one.expression) for one in node.measures)
        return Match(
            self._source,
            tuple(self._column(one, "PARTITION BY").index for one in node.partition_by),
            order,
            steps,
            tuple(conditions),
            tuple(conditions.values()),
            measures,
            tuple(one.name.name for one in node.measures),
            skip,
            within,
            span=node.span,
        )

    def _check(self, node: ast.MatchRecognize) -> None:
        if node.rows == "ALL ROWS PER MATCH":
            raise refuse("match-all-rows", node.span)
        if node.subsets:
            raise refuse("match-subset", node.subsets[0].span)
        if node.anchored_start or node.anchored_end:
            raise refuse("match-anchor", node.pattern.span)

    # --- partitions and order

    def _column(self, node: ast.Expression, where: str) -> InputRef:
        binder = ExpressionBinder(self._scope, self._catalog, clause=where)
        found = binder.bind(node)
        if not isinstance(found, InputRef):
            message = f"{where} of MATCH_RECOGNIZE takes columns only"
            raise SqlValidationError(message, node.span, "Compute it in a query within FROM.")
        return found

    def _order(self, node: ast.MatchRecognize) -> tuple[SortItem, ...]:
        advice = "Write ORDER BY with the rowtime or the processing-time column."
        if not node.order_by:
            message = "MATCH_RECOGNIZE needs an order in time"
            raise SqlValidationError(message, node.span, advice)
        found = []
        for item in node.order_by:
            index = self._column(item.expression, "ORDER BY").index
            ascending = not item.descending
            last = item.nulls == "LAST" if item.nulls else not ascending
            found.append(SortItem(index, ascending, last))
        kind = self._source.type_of(found[0].index)
        if not (is_rowtime(kind) or is_proctime(kind)):
            message = "The first column of the order must be a time attribute"
            raise SqlValidationError(message, node.order_by[0].span, advice)
        if not found[0].ascending:
            message = "The order in time must be ascending"
            raise SqlValidationError(message, node.order_by[0].span)
        return tuple(found)

    # --- the pattern

    def _step(self, node: ast.Pattern) -> PatternStep:
        least, most, greedy = 1, 1, True
        if isinstance(node, ast.PatternRepetition):
            least, greedy = node.least, not node.reluctant
            item = node.item
            if (least, node.most) == (0, 1) and not greedy:
                raise refuse("match-reluctant-optional", node.span)
            if node.most == 0 or (node.most is not None and node.most < least):
                message = f"{least} to {node.most} times is never"
                raise SqlValidationError(message, node.span)
            if isinstance(item, ast.PatternVariable):
                return PatternStep(item.name.name, least, node.most, greedy)
            node = item
        if isinstance(node, ast.PatternVariable):
            return PatternStep(node.name.name, least, most, greedy)
        raise refuse("match-group", node.span)

    def _skip(self, after: ast.AfterMatch | None, variables: tuple[str, ...]) -> tuple[str, str]:
        if after is None:
            return "NEXT ROW", ""
        if after.variable is None:
            return after.kind, ""
        name = after.variable.name
        if name not in variables:
            raise unknown("variable", name, variables, after.variable.span)
        return after.kind, name

    def _conditions(
        self, node: ast.MatchRecognize, variables: tuple[str, ...]
    ) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for one in node.definitions:
            name = one.name.name
            if name not in variables:
                raise unknown("variable of the pattern", name, variables, one.name.span)
            if name in found:
                message = f"The variable {name} is defined twice"
                raise SqlValidationError(message, one.name.span)
            rows = MatchRowsBinder(self._scope, self._catalog, variables, None, name)
            found[name] = rows.condition(one.condition, f"The definition of {name}")
        return found


class MatchRowsBinder(ExpressionBinder):
    """Binds expressions over the rows of a match: conditions if they are of a variable that is
    ``defined``, else measures, in which ``time`` is the column of the order."""

    def __init__(
        self,
        scope: Scope,
        catalog: Catalog,
        variables: tuple[str, ...],
        time: int | None,
        defined: str | None = None,
    ) -> None:
        clause = "MEASURES" if defined is None else "DEFINE"
        super().__init__(scope, catalog, collector=_Aggregates(variables), clause=clause)
        self._variables = variables
        self._time = time
        self._defined = defined
        #: which row names refer to: how far from the last one, or from the first
        self._offset, self._from_last = 0, True
        #: whether that is said by FIRST or LAST
        self._within = False

    def bind(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.Name | ast.FunctionCall):
            with at(node.span):
                return self._name(node) if isinstance(node, ast.Name) else self.call(node)
        return super().bind(node)

    def _name(self, node: ast.Name) -> Expression:
        variable = None
        if len(node.parts) > 1 and node.parts[0].name in self._variables:
            variable = node.parts[0].name
            node = replace(node, parts=node.parts[1:])
        found = self.scope.resolve(node)
        return rewrite(
            found, lambda one: self._ref(one, variable) if isinstance(one, InputRef) else one
        )

    def _ref(self, one: InputRef, variable: str | None) -> Expression:
        ref = PatternRef(
            one.index, plain(one.type), variable, self._offset, self._from_last, span=one.span
        )
        current = self._from_last and not self._offset and self._defined is not None
        if current and variable in (None, self._defined):
            return ref
        return PatternRef(
            ref.index, ref.type.nullable(), variable, ref.offset, ref.from_last, span=one.span
        )

    def call(self, node: ast.FunctionCall) -> Expression:
        name = str(node.name).upper()
        if name in _NAVIGATION and self.user_function(node) is None:
            return self._navigated(node, _NAVIGATION[name])
        if name in ("PREV", "NEXT") and self.user_function(node) is None:
            raise refuse("match-physical-offset", node.span)
        if name in ("MATCH_ROWTIME", "MATCH_PROCTIME"):
            return self._match_time(node, name)
        if node.semantics:
            raise refuse("match-semantics", node.span)
        return super().call(node)

    def _navigated(self, node: ast.FunctionCall, from_last: bool) -> Expression:
        """FIRST and LAST: all names within are of the row that they say."""
        name = str(node.name).upper()
        if node.semantics and (node.semantics == "RUNNING" or self._defined is not None):
            raise refuse("match-semantics", node.span)
        if self._within:
            message = f"{name} cannot stand within FIRST or LAST"
            raise SqlValidationError(message, node.span)
        if not 1 <= len(node.arguments) <= 2:
            message = f"{name} takes a value and, if need be, a number of rows"
            raise SqlValidationError(message, node.span, f"Write {name}(A.price, 1).")
        offset = 0
        if len(node.arguments) == 2:
            given = bind_literal(node.arguments[1])
            if not isinstance(given, Literal) or type(given.value) is not int:
                message = f"The number of rows in {name} must be a constant"
                raise SqlValidationError(message, node.arguments[1].span)
            offset = given.value
        self._offset, self._from_last, self._within = offset, from_last, True
        try:
            found = self.bind(node.arguments[0])
        finally:
            self._offset, self._from_last, self._within = 0, True, False
        read = {one.variable for one in found.walk() if isinstance(one, PatternRef)}
        if len(read) != 1:
            message = f"{name} takes a value of the rows of one variable"
            raise SqlValidationError(message, node.arguments[0].span)
        return found

    def _match_time(self, node: ast.FunctionCall, name: str) -> Expression:
        if self._time is None:
            message = f"{name} belongs to MEASURES"
            raise SqlValidationError(message, node.span)
        kind = self.scope.columns[self._time].type
        if name == "MATCH_PROCTIME":
            return ExpressionBinder(self.scope, self.catalog).bind(
                ast.FunctionCall(
                    ast.Name((ast.Identifier("PROCTIME", span=node.span),), span=node.span),
                    span=node.span,
                )
            )
        if is_proctime(kind):
            message = "MATCH_ROWTIME needs rows in the order of event time"
            raise SqlValidationError(message, node.span, "Use MATCH_PROCTIME.")
        for argument in node.arguments:
            column = ExpressionBinder(self.scope, self.catalog).bind(argument)
            if not isinstance(column, InputRef) or not is_rowtime(column.type):
                message = "MATCH_ROWTIME takes the rowtime column"
                raise SqlValidationError(message, argument.span)
        return MatchTime(self._time, kind, None, span=node.span)


class _Aggregates:
    """Takes the aggregates that are found in expressions over rows of a match."""

    def __init__(self, variables: tuple[str, ...]) -> None:
        self._variables = variables

    def aggregate(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """An aggregate over the rows of one variable."""
        if isinstance(binder, MatchRowsBinder) and binder._within:
            message = "FIRST and LAST take a value of one row, not an aggregate"
            raise SqlValidationError(message, call.span)
        if call.filter is not None:
            raise refuse("match-filter", call.span)
        if call.quantifier == "DISTINCT":
            raise refuse("match-distinct", call.span)
        met: set[str | None] = set()
        named = _without_variables(call, self._variables, met)
        if len(met) > 1:
            message = "An aggregate takes the rows of one variable"
            raise SqlValidationError(message, call.span)
        if not met <= {None, *self._variables}:
            raise unknown("variable", str(*met), self._variables, call.span)
        inner = ExpressionBinder(binder.scope, binder.catalog, clause="an aggregate")
        found = pending_aggregate(inner, named)
        (variable,) = met or {None}
        return PatternAggregate(
            found.function, found.arguments, found.type, variable, found.constants, span=call.span
        )

    def over(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """There is no OVER here."""
        message = "OVER cannot stand in MATCH_RECOGNIZE"
        raise SqlValidationError(message, call.span)

    def window(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """There are no windows here."""
        message = f"{call.name} cannot stand in MATCH_RECOGNIZE"
        raise SqlValidationError(message, call.span)


def _without_variables(node: Any, variables: tuple[str, ...], met: set[str | None]) -> Any:
    """A part of a statement in which ``A.price`` is ``price``; which variables it names, None for
    none, is put into ``met``."""
    if isinstance(node, ast.FunctionCall):
        inside = tuple(_without_variables(one, variables, met) for one in node.arguments)
        return replace(node, arguments=inside)
    if isinstance(node, ast.Star) and node.qualifier is not None:
        met.add(str(node.qualifier))
        return replace(node, qualifier=None)
    if isinstance(node, ast.Name):
        qualified = len(node.parts) > 1 and node.parts[0].name in variables
        met.add(node.parts[0].name if qualified else None)
        return replace(node, parts=node.parts[1:]) if qualified else node
    if not isinstance(node, ast.Node):
        return node
    changed = {}
    for one in fields(node):
        value = getattr(node, one.name)
        if isinstance(value, ast.Node):
            changed[one.name] = _without_variables(value, variables, met)
        elif isinstance(value, tuple):
            changed[one.name] = tuple(_without_variables(v, variables, met) for v in value)
    return replace(node, **changed) if changed else node


def _sequence(node: ast.Pattern) -> list[ast.Pattern]:
    """The steps of a pattern; parentheses around some of them mean nothing."""
    if isinstance(node, ast.PatternGroup) and node.kind == "SEQUENCE":
        return [step for item in node.items for step in _sequence(item)]
    return [node]


def _check_steps(steps: tuple[PatternStep, ...], pattern: ast.Pattern) -> None:
    names = [step.variable for step in steps]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        message = f"The variable {twice} stands twice in the pattern"
        raise SqlValidationError(message, pattern.span, "Give the second one another name.")
    if not any(step.least for step in steps):
        message = "The pattern can match no row at all"
        raise SqlValidationError(message, pattern.span, "One variable must occur at least once.")
    last = steps[-1]
    if last.greedy and last.most != last.least and (last.least, last.most) != (0, 1):
        raise SqlValidationError(
            "A pattern cannot end with a variable that takes as many rows as it can",
            pattern.span,
            f"Add a variable behind {last.variable}, or take as few rows as possible: "
            f"{last.variable}+?.",
        )


def _check_pattern(match: MatchSpec, pattern: ast.Pattern) -> None:
    """What the automaton cannot do is refused where it is written."""
    try:
        compile_pattern(search_pattern(match, {}))
    except MalformedPatternError as failure:
        advice = "A variable that may be missing cannot follow one that takes as many as it can."
        raise SqlValidationError(str(failure).rstrip("."), pattern.span, advice) from None


def _length(node: ast.IntervalLiteral) -> int:
    found = bind_literal(node)
    assert isinstance(found, Literal)
    if is_months(found.type):
        message = "WITHIN takes days, hours, minutes or seconds"
        raise SqlValidationError(message, node.span, "A month has no fixed length.")
    if found.value <= 0:
        raise SqlValidationError("WITHIN takes a length of time above 0", node.span)
    length: int = found.value
    return length
