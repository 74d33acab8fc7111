"""OVER: functions over the rows around a row, collected as aggregates are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scurry.common.data_types import DataTypes, NumericType
from scurry.functions.builtin import Kind, find, resolve_aggregate
from scurry.functions.expressions import Expression, InputRef, Literal
from scurry.planner.algebra import Aggregation, FrameSpec, Node, Over, Project, SortItem
from scurry.planner.bind.aggregates import Pending, pending_aggregate
from scurry.planner.bind.calls import CallBinder, Collector
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.literals import is_months
from scurry.planner.bind.orders import check_order
from scurry.planner.bind.subqueries import OverRef
from scurry.planner.errors import SqlValidationError, at, unknown
from scurry.sql import ast

_ARGUMENTS = "the arguments of another call with OVER"
Regroup = Callable[[Expression], Expression]


@dataclass(frozen=True)
class Ordered:
    """One expression of an order."""

    expression: Expression
    ascending: bool
    nulls_last: bool


@dataclass(frozen=True)
class Window:
    """What stands in the parentheses of OVER."""

    partition: tuple[Expression, ...]
    order: tuple[Ordered, ...]
    frame: FrameSpec


class OverCalls:
    """The OVER calls of one SELECT."""

    def __init__(self, windows: tuple[ast.NamedWindow, ...]) -> None:
        self._windows = {window.name.name: window.specification for window in windows}
        self.pending: list[tuple[Pending, Window]] = []

    def collect(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """A reference to the result of a call with OVER."""
        found = (_function(binder, call), self._window(binder, call))
        if found not in self.pending:
            self.pending.append(found)
        return OverRef(self.pending.index(found), found[0].type, span=call.span)

    def _window(self, binder: CallBinder, call: ast.FunctionCall) -> Window:
        specification = self._specification(call.over)
        order = tuple(_ordered(binder, item) for item in specification.order_by)
        partition = tuple(binder.bind(one) for one in specification.partition_by)
        numeric = bool(order) and isinstance(order[0].expression.type, NumericType)
        return Window(partition, order, _frame(binder, specification, numeric))

    def _specification(
        self, over: ast.Identifier | ast.WindowSpecification | None
    ) -> ast.WindowSpecification:
        if isinstance(over, ast.Identifier):
            if over.name not in self._windows:
                raise unknown("window", over.name, self._windows, over.span)
            return self._specification(self._windows[over.name])
        assert over is not None
        if over.base is None:
            return over
        base = self._specification(over.base)
        return replace(
            over,
            base=None,
            partition_by=over.partition_by or base.partition_by,
            order_by=over.order_by or base.order_by,
            frame=over.frame or base.frame,
        )

    def stack(self, source: Node, regroup: Regroup) -> tuple[Node, list[InputRef]]:
        """The calls computed on top of ``source``, and where each result is."""
        places: list[InputRef] = []
        node = source
        for pending, window in self.pending:
            node, place = _over(node, pending, window, regroup)
            places.append(place)
        return node, places


@dataclass(frozen=True)
class _WithinOver:
    """What may stand in the arguments of a call with OVER: aggregates of the groups."""

    collector: Collector

    def aggregate(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        return self.collector.aggregate(binder, call)

    def over(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        message = f"A function with OVER cannot stand in {_ARGUMENTS}"
        raise SqlValidationError(message, call.span, "Put it into a query within FROM.")

    def window(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        return self.collector.window(binder, call)


def _function(binder: CallBinder, call: ast.FunctionCall) -> Pending:
    entry = find(str(call.name)) if binder.user_function(call) is None else None
    within = None if binder.collector is None else _WithinOver(binder.collector)
    if entry is None or entry.kind is not Kind.WINDOW:
        return pending_aggregate(binder, call, within)
    inner = ExpressionBinder(binder.scope, binder.catalog, binder.queries, within, _ARGUMENTS)
    arguments = [inner.bind(one) for one in call.arguments]
    with at(call.span):
        found, adapted, result = resolve_aggregate(entry.name, arguments)
    values = adapted[:1] if found.name in ("LAG", "LEAD") else ()
    options = adapted[len(values) :]
    constants = tuple(a.value for a in options if isinstance(a, Literal))
    kept = (*values, *(a for a in options if not isinstance(a, Literal)))
    if found.name in ("ROW_NUMBER", "RANK", "DENSE_RANK"):
        result = DataTypes.BIGINT(False)
    return Pending(found.name, kept, result, constants=constants)


def _ordered(binder: CallBinder, item: ast.OrderItem) -> Ordered:
    last = item.descending if item.nulls is None else item.nulls == "LAST"
    expression = binder.bind(item.expression)
    check_order(expression.type, item)
    return Ordered(expression, not item.descending, last)


def _frame(binder: CallBinder, specification: ast.WindowSpecification, numeric: bool) -> FrameSpec:
    """The frame; ``numeric`` says that the rows are in the order of a number."""
    frame = specification.frame
    if frame is None:
        return FrameSpec(rows=False, preceding=None)
    start = _bound(binder, frame, frame.start, "PRECEDING", numeric)
    if frame.end is None:
        return FrameSpec(frame.unit == "ROWS", start)
    end = _bound(binder, frame, frame.end, "FOLLOWING", numeric)
    return FrameSpec(frame.unit == "ROWS", start, end)


def _bound(
    binder: CallBinder, frame: ast.Frame, bound: ast.FrameBound, way: str, numeric: bool
) -> int | None:
    """How far a bound is from the row in the direction ``way``, None for all rows there."""
    if bound.kind == "CURRENT ROW":
        return 0
    if bound.offset is None:
        if bound.kind != way:
            message = f"The frame cannot {'begin' if way == 'PRECEDING' else 'end'} there"
            raise SqlValidationError(message, frame.span)
        return None
    distance = _offset(binder, frame, bound.offset, numeric)
    return distance if bound.kind == way else -distance


def _offset(binder: CallBinder, frame: ast.Frame, node: ast.Expression, numeric: bool) -> int:
    offset = binder.bind(node)
    if isinstance(offset, Literal) and isinstance(offset.value, int):
        interval = offset.type.type_name().endswith("INTERVAL")
        counts = frame.unit == "ROWS" or numeric
        if interval != counts and not (interval and is_months(offset.type)):
            return offset.value
    wanted = "a number of rows" if frame.unit == "ROWS" else "an interval"
    raise SqlValidationError(f"{frame.unit} needs {wanted}, constant", node.span)


def _over(
    source: Node, pending: Pending, window: Window, regroup: Regroup
) -> tuple[Node, InputRef]:
    """One call: what it needs as columns behind those of the source, then the call."""
    columns: list[Expression] = [InputRef(at, c.type) for at, c in enumerate(source.columns)]
    names = [column.name for column in source.columns]
    arguments = tuple(_column(regroup(one), columns, names) for one in pending.arguments)
    chosen = None
    if pending.filter is not None:
        chosen = _column(regroup(pending.filter), columns, names)
    partition = tuple(_column(regroup(one), columns, names) for one in window.partition)
    order = tuple(
        SortItem(_column(regroup(o.expression), columns, names), o.ascending, o.nulls_last)
        for o in window.order
    )
    name = pending.function if isinstance(pending.function, str) else pending.function.name
    call = Aggregation(
        pending.function, arguments, pending.type, pending.distinct, chosen, pending.constants,
        f"${name}",
    )  # fmt: skip
    below = source
    if len(columns) > source.width:
        below = Project(source, tuple(columns), tuple(names))
    node = Over(below, (call,), partition, order, window.frame, span=source.span)
    place = InputRef(node.width - 1, pending.type)
    return node, place


def _column(expression: Expression, columns: list[Expression], names: list[str]) -> int:
    if expression not in columns:
        columns.append(expression)
        names.append(f"${len(columns)}")
    return columns.index(expression)
