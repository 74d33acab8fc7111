"""Tables between ``group_by``, ``window`` or ``over_window`` and the ``select`` that ends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scurry.common.data_types import BigIntType
from scurry.common.errors import ProgramError
from scurry.functions.udfs import UserDefinedFunctionWrapper
from scurry.sql import ast
from scurry.sql.parser import parse_expression
from scurry.table.column_expressions import names_in, select_item
from scurry.table.count_windows import (
    check_count_window,
    counts_rows,
    select_of_count_window,
)
from scurry.table.expression import Expression
from scurry.table.expression_core import here, mapped, name_of, to_node
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

_EPOCH = parse_expression("TIMESTAMP '1970-01-01 00:00:00.000'")
_MILLISECOND = parse_expression("INTERVAL '0.001' SECOND")


class GroupedTable:
    """Rows in groups."""

    def __init__(self, table: Table, keys: Sequence[Expression]) -> None:
        self._table = table
        self._keys = list(keys)

    def select(self, *fields: Expression) -> Table:
        """Keys and aggregates of each group."""
        items = tuple(_with_keys(self._table._items(fields), self._keys, self._table))
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
        return WindowGroupedTable(*self._in_timestamps(), keys)

    def _in_timestamps(self) -> tuple[Table, GroupWindow]:
        """In batch mode, milliseconds since 1970 are times as well: a column of timestamps is added
        for them."""
        table, window = self._table, self._window
        if table._environment.streaming or not isinstance(
            table._type_of(window.time.node), BigIntType
        ):
            return table, window
        passed = ast.Binary("*", window.time.node, _MILLISECOND, span=here())
        time = Expression(ast.Binary("+", _EPOCH, passed, span=here()))
        return table.add_columns(time.alias("w$time")), replace(window, time=col("w$time"))


class WindowGroupedTable:
    """Rows in groups by window and keys."""

    def __init__(self, table: Table, window: GroupWindow, keys: Sequence[Expression]) -> None:
        self._table = table
        self._window = window
        self._keys = list(keys)

    def select(self, *fields: Expression) -> Table:
        """Keys, aggregates, and properties of the window such as ``col("w").start``."""
        named = self._table._named([select_item(field) for field in fields])
        items = _with_keys(named, self._keys, self._table)
        keys = [to_node(Expression(key.node)) for key in self._keys]
        if counts_rows(self._window):
            return self._counting(items, keys)
        items = [replace(item, expression=self._with_window(item.expression)) for item in items]
        group_by = ast.GroupBy((*keys, self._call("")), span=here())
        source = self._table.reference()
        select = ast.Select(tuple(items), source, group_by=group_by, span=here())
        return self._table._bound(select)

    def _counting(self, items: list[ast.SelectItem], keys: list[ast.Expression]) -> Table:
        """The windows of so many rows."""
        table, environment = self._table, self._table._environment
        time = table._type_of(self._window.time.node)
        check_count_window(self._window, time, batch=not environment.streaming)
        find_function = environment.session_catalog.find_function
        source = table.reference()
        select = select_of_count_window(source, self._window, keys, items, find_function)
        # a column that is neither a key nor below an aggregate is a mistake, as in any group
        group_by = ast.GroupBy(tuple(keys), span=here()) if keys else None
        count = ast.FunctionCall(name_of("COUNT"), (ast.Star(span=here()),), span=here())
        counted = (*items, ast.SelectItem(count, span=here()))
        table._bound(ast.Select(counted, source, group_by=group_by, span=here()))
        return table._bound(select)

    def aggregate(self, func: Any) -> AggregatedTable:
        """What an aggregate function makes of each group."""
        call = _aggregate_call(self._table, "aggregate", func)
        if counts_rows(self._window):
            return AggregatedTable(self, self._keys, call)
        return _WindowAggregated(self, self._keys, call)

    def _call(self, suffix: str) -> ast.FunctionCall:
        """SQL's function of the window, or of one of its properties."""
        window = self._window
        arguments = (window.time.node, *(one.node for one in window.intervals))
        return ast.FunctionCall(name_of(window.kind + suffix), arguments, span=here())

    def _with_window(self, node: ast.Expression) -> ast.Expression:
        if isinstance(node, ast.FunctionCall):
            for name, marker in WINDOW_PROPERTIES.items():
                if str(node.name) == marker:
                    self._check_alias(node, name)
                    return self._call(f"_{name.upper()}")
        changed: ast.Expression = mapped(node, self._with_window)
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
            changed: ast.Expression = mapped(node, property_column)
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


def _with_keys(
    items: Sequence[ast.SelectItem], keys: Sequence[Expression], table: Table
) -> list[ast.SelectItem]:
    """A select list in which the aliases of keys stand for the keys.

    An alias that is also a column of the table means the key only where it stands alone: below an
    aggregate function, the name means the column.
    """
    named = {key.names[0]: key.node for key in keys if key.names}
    if not named:
        return list(items)
    fresh = {name: node for name, node in named.items() if name not in table.row_type.field_names()}

    def key_of(node: ast.Expression) -> ast.Expression:
        if isinstance(node, ast.Name) and str(node) in fresh:
            return fresh[str(node)]
        changed: ast.Expression = mapped(node, key_of)
        return changed

    found = []
    for item in items:
        name = str(item.expression) if isinstance(item.expression, ast.Name) else None
        if name in named:
            alias = item.alias or ast.Identifier(name, span=here())
            found.append(replace(item, expression=named[name], alias=alias))
        else:
            found.append(replace(item, expression=key_of(item.expression)))
    return found
