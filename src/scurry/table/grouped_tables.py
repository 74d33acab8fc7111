"""Tables between ``group_by``, ``window`` or ``over_window`` and the ``select`` that ends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.functions.udfs import UserDefinedFunctionWrapper
from scurry.sql import ast
from scurry.table.column_expressions import names_in, select_item
from scurry.table.expression import Expression
from scurry.table.expression_core import here, name_of, to_node
from scurry.table.expression_time import WINDOW_PROPERTIES
from scurry.table.expressions import col
from scurry.table.table import Table
from scurry.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from scurry.planner.algebra import Node

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "WindowGroupedTable",
]

N = TypeVar("N")


class GroupedTable:
    """Rows in groups."""

    def __init__(self, table: Table, keys: Sequence[Expression]) -> None:
        self._table = table
        self._keys = list(keys)

    def select(self, *fields: Expression) -> Table:
        """Keys and aggregates of each group."""
        items = tuple(self._table._items(fields))
        return self._table._bound(self._grouped(items))

    def _grouped(self, items: tuple[ast.SelectItem, ...]) -> ast.Select:
        keys = tuple(to_node(Expression(key.node)) for key in self._keys)
        group_by = ast.GroupBy(keys, span=here()) if keys else None
        return ast.Select(items, self._table.reference(), group_by=group_by, span=here())

    def aggregate(self, func: Any) -> AggregatedTable:
        """What an aggregate function makes of each group."""
        call = _aggregate_call(self._table, "aggregate", func)
        return AggregatedTable(self, [*self._keys], call)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function makes of each group."""
        call = _aggregate_call(self._table, "flat_aggregate", func)
        return FlatAggregateTable(self._table, self._keys, call)


class AggregatedTable:
    """Groups with what one aggregate function makes of them."""

    def __init__(self, grouped: Any, keys: Sequence[Expression], call: Expression) -> None:
        self._grouped = grouped
        self._keys = keys
        self._call = call

    def select(self, *fields: Expression) -> Table:
        """Keys of the groups and columns of the aggregate."""
        whole = self._grouped.select(*self._keys, Expression(self._call.node).alias("T$row"))
        kept = [col(str(key.names[0] if key.names else key.node)) for key in self._keys]
        row = col("T$row").flatten
        names = self._call.names
        if not names:
            data_type = whole.row_type["T$row"].data_type
            names = tuple(getattr(data_type, "names", ())) or ("f0",)
        made: Table = whole.select(*kept, row.alias(*names)).select(*fields)
        return made


class FlatAggregateTable:
    """Groups with the rows that a table aggregate function makes of them."""

    def __init__(self, table: Table, keys: Sequence[Expression], call: Expression) -> None:
        self._table = table
        self._keys = list(keys)
        self._call = call

    def select(self, *fields: Expression) -> Table:
        """Keys of the groups and columns of the function's rows."""
        environment = self._table._environment
        prepared = self._prepared()
        relation: Node = environment.bind_table_aggregate(
            prepared, [f"k${at}" for at in range(len(self._keys))], self._call
        )
        made = Table(environment, relation)
        names = [self._key_name(at) for at in range(len(self._keys))]
        given = self._call.names or tuple(made.row_type.field_names()[len(self._keys) :])
        return made.alias(*names, *given).select(*fields)

    def _prepared(self) -> Table:
        """Keys and arguments as columns."""
        node = self._call.node
        assert isinstance(node, ast.FunctionCall)
        keys = [Expression(key.node).alias(f"k${at}") for at, key in enumerate(self._keys)]
        inputs = [Expression(one).alias(f"a${at}") for at, one in enumerate(node.arguments)]
        return self._table.select(*keys, *inputs)

    def _key_name(self, at: int) -> str:
        key = self._keys[at]
        if key.names:
            return key.names[0]
        return str(key.node) if isinstance(key.node, ast.Name) else f"EXPR${at}"


class GroupWindowedTable:
    """Rows in windows, which need to be grouped by the window."""

    def __init__(self, table: Table, window: GroupWindow) -> None:
        self._table = table
        self._window = window

    def group_by(self, *fields: Expression) -> WindowGroupedTable:
        """The window by its alias, and keys."""
        named = [field for field in fields if str(field.node) == self._window.name]
        if len(named) != 1:
            raise ProgramError(
                f"group_by behind a window needs the window, col({self._window.name!r}), once."
            )
        keys = [field for field in fields if field is not named[0]]
        return WindowGroupedTable(self._table, self._window, keys)


class WindowGroupedTable:
    """Rows in groups by window and keys."""

    def __init__(self, table: Table, window: GroupWindow, keys: Sequence[Expression]) -> None:
        self._table = table
        self._window = window
        self._keys = list(keys)

    def select(self, *fields: Expression) -> Table:
        """Keys, aggregates, and properties of the window such as ``col("w").start``."""
        items = [
            replace(item, expression=self._with_window(item.expression))
            for item in self._table._named([select_item(field) for field in fields])
        ]
        keys = (*(to_node(Expression(key.node)) for key in self._keys), self._call(""))
        group_by = ast.GroupBy(keys, span=here())
        source = self._table.reference()
        select = ast.Select(tuple(items), source, group_by=group_by, span=here())
        return self._table._bound(select)

    def aggregate(self, func: Any) -> AggregatedTable:
        """What an aggregate function makes of each group."""
        call = _aggregate_call(self._table, "aggregate", func)
        return _WindowAggregated(self, self._keys, call)

    def _call(self, suffix: str) -> ast.FunctionCall:
        """SQL's function of the window, or of one of its properties."""
        window = self._window
        for interval in window.intervals:
            node = interval.node
            if isinstance(node, ast.FunctionCall) and str(node.name) == "$ROW_INTERVAL":
                raise NotSupportedError(
                    f"The window {window.name!r} counts rows: only windows of time run here. Use "
                    "count_window of a DataStream, or a window of time."
                )
        arguments = (window.time.node, *(one.node for one in window.intervals))
        return ast.FunctionCall(name_of(window.kind + suffix), arguments, span=here())

    def _with_window(self, node: ast.Expression) -> ast.Expression:
        if isinstance(node, ast.FunctionCall):
            for name, marker in WINDOW_PROPERTIES.items():
                if str(node.name) == marker:
                    self._check_alias(node, name)
                    return self._call(f"_{name.upper()}")
        changed: ast.Expression = _mapped(node, self._with_window)
        return changed

    def _check_alias(self, node: ast.FunctionCall, name: str) -> None:
        if str(node.arguments[0]) != self._window.name:
            raise ProgramError(
                f"{node.arguments[0]} is not the window: write col({self._window.name!r}).{name}."
            )


class _WindowAggregated(AggregatedTable):
    def select(self, *fields: Expression) -> Table:
        grouped: WindowGroupedTable = self._grouped
        properties = {
            f"w${name}": Expression(
                ast.FunctionCall(name_of(marker), (name_of(grouped._window.name),), span=here())
            )
            for name, marker in WINDOW_PROPERTIES.items()
            if name in ("start", "end", "rowtime")
        }
        keys = [*self._keys, *(one.alias(name) for name, one in properties.items())]
        inner = AggregatedTable(grouped, keys, self._call)
        markers = {WINDOW_PROPERTIES[name.removeprefix("w$")]: name for name in properties}

        def property_column(node: ast.Expression) -> ast.Expression:
            if isinstance(node, ast.FunctionCall) and str(node.name) in markers:
                return name_of(markers[str(node.name)])
            changed: ast.Expression = _mapped(node, property_column)
            return changed

        items = grouped._table._named([select_item(field) for field in fields])
        shown = [
            Expression(property_column(item.expression), tuple(names_in(item))) for item in items
        ]
        return inner.select(*shown)


class OverWindowedTable:
    """Rows with windows around each of them."""

    def __init__(self, table: Table, windows: Sequence[OverWindow]) -> None:
        self._table = table
        self._windows = windows

    def select(self, *fields: Expression) -> Table:
        """Columns, and aggregates with ``over(col("w"))``."""
        items = tuple(self._table._items(fields))
        named = tuple(map(_named_window, self._windows))
        source = self._table.reference()
        select = ast.Select(items, source, windows=named, span=here())
        return self._table._bound(select)


def _named_window(window: OverWindow) -> ast.NamedWindow:
    order = ast.OrderItem(window.order_by.node, bool(window.order_by.descending), span=here())
    specification = ast.WindowSpecification(
        None,
        tuple(to_node(one) for one in window.partition_by),
        (order,),
        _frame(window),
        span=here(),
    )
    return ast.NamedWindow(ast.Identifier(window.name, span=here()), specification, span=here())


def _frame(window: OverWindow) -> ast.Frame:
    unit, offset = "RANGE", None
    node = None if window.preceding is None else window.preceding.node
    if isinstance(node, ast.Word):
        unit = "ROWS" if node.name == "UNBOUNDED_ROW" else "RANGE"
        if not node.name.startswith("UNBOUNDED"):
            raise ProgramError(
                f"preceding takes rows, an interval or UNBOUNDED_RANGE, not {node.name}."
            )
    elif isinstance(node, ast.FunctionCall) and str(node.name) == "$ROW_INTERVAL":
        unit, offset = "ROWS", node.arguments[0]
    elif node is not None:
        offset = node
    start = ast.FrameBound("PRECEDING", offset, span=here())
    end = ast.FrameBound("CURRENT ROW", span=here())
    return ast.Frame(unit, start, end, span=here())


def _aggregate_call(table: Table, method: str, func: Any) -> Expression:
    if isinstance(func, Expression):
        if not isinstance(func.node, ast.FunctionCall):
            raise ProgramError(f"{method} takes a call of a function, got {func}.")
        return func
    if not isinstance(func, UserDefinedFunctionWrapper):
        raise ProgramError(f"{method} takes a function or a call of one, got {func!r}.")
    return table.call_with_row(func)


def _mapped(node: Any, change: Any) -> Any:
    """The node with every expression below it changed."""
    if not is_dataclass(node):
        return node
    changed = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ast.Expression):
            changed[field.name] = change(value)
        elif isinstance(value, tuple) and any(isinstance(one, ast.Node) for one in value):
            changed[field.name] = tuple(
                change(one) if isinstance(one, ast.Expression) else _mapped(one, change)
                for one in value
            )
    return replace(node, **changed) if changed and not isinstance(node, type) else node
