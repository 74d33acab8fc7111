"""Tables of the Table API: each method adds a step to a query, and nothing runs yet.

A step becomes the very query that SQL would have for it, over the table it was called on, and is
bound at once, so that a wrong name or type is refused in the line that wrote it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scurry.common.data_types import DataType, RowType
from scurry.common.errors import ProgramError
from scurry.functions.udfs import UserDefinedFunctionWrapper
from scurry.planner.time_attributes import is_rowtime, plain
from scurry.sql import ast
from scurry.table.catalog.errors import nearest
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.column_expressions import expanded, names_in, select_item
from scurry.table.column_names import named_items
from scurry.table.declared_schemas import resolved_as_declared
from scurry.table.explain_detail import ExplainDetail
from scurry.table.expression import Expression
from scurry.table.expression_core import here, to_node
from scurry.table.expressions import col
from scurry.table.table_combinations import CombiningMethods, called_table
from scurry.table.table_core import STAR, given_expression
from scurry.table.table_descriptor import TableDescriptor
from scurry.table.table_result import TableResult
from scurry.table.table_schema import TableSchema
from scurry.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    import pandas as pd

    from scurry.table.grouped_tables import (
        AggregatedTable,
        FlatAggregateTable,
        GroupedTable,
        GroupWindowedTable,
        OverWindowedTable,
        WindowGroupedTable,
    )
    from scurry.table.table_pipeline import TablePipeline

__all__ = [
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


class Table(CombiningMethods):
    """A query that has a schema; made by a :class:`TableEnvironment`."""

    def __str__(self) -> str:
        """A name under which SQL finds this table: ``env.sql_query(f"SELECT * FROM {table}")``."""
        if self._name is None:
            self._name = self._environment.name_table(self)
        return self._name

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.row_type.field_names():
            raise AttributeError(
                f"The table has no column {name!r}. {nearest(name, self.row_type.field_names())}"
            )
        return col(name)

    def get_schema(self) -> TableSchema:
        """Names and types of the columns, in the older form."""
        shown = self._shown_type()
        notes = {} if self.declared is None else self.get_resolved_schema().notes()
        return TableSchema(shown.field_names(), shown.field_types(), notes)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Names and types of the columns; of a catalog's table read as it is, its declaration."""
        shown = self._shown_type()
        if self.declared is not None:
            return resolved_as_declared(self.declared, shown)
        return ResolvedSchema.physical(shown.field_names(), shown.field_types())

    def _shown_type(self) -> RowType:
        """The columns as schemas show them: in batch mode there is no event time."""
        if self._environment.streaming:
            return self.row_type
        fields = [(f.name, f.data_type) for f in self.row_type]
        return RowType.of(
            [name for name, _ in fields],
            [plain(kind) if is_rowtime(kind) else kind for _, kind in fields],
        )

    def print_schema(self) -> None:
        """Write the schema to standard output."""
        print(self.get_resolved_schema())

    # --- rows and columns

    def select(self, *fields: Expression) -> Table:
        """The values of expressions: columns, computations, or aggregates of all rows."""
        items = self._items(fields)
        self._check_unique("select", items)
        return self._selecting(items)

    def alias(self, field: str, *fields: str) -> Table:
        """The same columns under other names, all or the first of them."""
        names = self.row_type.field_names()
        given = (field, *fields)
        if len(given) > len(names) or not all(isinstance(one, str) and one for one in given):
            raise ProgramError(
                f"alias takes at most {len(names)} names for the columns {names}, got {given!r}."
            )
        renamed = [*given, *names[len(given) :]]
        items = [col(old).alias(new) for old, new in zip(names, renamed, strict=True)]
        return self.select(*items)

    def filter(self, predicate: Expression) -> Table:
        """The rows for which the predicate is true."""
        condition = to_node(given_expression("filter", predicate))
        select = ast.Select((STAR,), self.reference(), condition, span=here())
        made = self._bound(select)
        made.declared = self.declared
        return made

    def where(self, predicate: Expression) -> Table:
        """The same as :meth:`filter`."""
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Each row once."""
        select = ast.Select((STAR,), self.reference(), quantifier="DISTINCT", span=here())
        return self._bound(select)

    def add_columns(self, *fields: Expression) -> Table:
        """The columns, and more of them behind; their names must be new."""
        items = self._items([*map(col, self.row_type.field_names()), *fields])
        self._check_unique("add_columns", items)
        return self._selecting(items)

    def add_or_replace_columns(self, *fields: Expression) -> Table:
        """The columns, and more of them; one of a known name takes the place of the old one."""
        known = [*map(col, self.row_type.field_names()), *fields]
        items = {name: item for item in self._items(known) for name in names_in(item)}
        return self._selecting(list(items.values()))

    def rename_columns(self, *fields: Expression) -> Table:
        """The columns, some of them under other names: ``col("a").alias("b")``."""
        new: dict[str, str] = {}
        for field in fields:
            expression = given_expression("rename_columns", field)
            old = self._column_name("rename_columns", expression)
            if len(expression.names) != 1:
                raise ProgramError(f"rename_columns takes col('a').alias('b'), got {field!r}.")
            new[old] = expression.names[0]
        names = self.row_type.field_names()
        return self.select(*(col(name).alias(new.get(name, name)) for name in names))

    def drop_columns(self, *fields: Expression) -> Table:
        """The columns without these."""
        gone: set[str] = set()
        for field in fields:
            for item in expanded(given_expression("drop_columns", field), self.row_type):
                gone.add(self._column_name("drop_columns", item))
        left = [name for name in self.row_type.field_names() if name not in gone]
        if not left:
            raise ProgramError("drop_columns would drop all columns.")
        return self.select(*map(col, left))

    # --- groups and windows

    def group_by(self, *fields: Expression) -> GroupedTable:
        """Rows in groups of the same values; ``select`` then aggregates."""
        from scurry.table.grouped_tables import GroupedTable

        return GroupedTable(self, [given_expression("group_by", field) for field in fields])

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Rows in windows of time, for ``group_by``."""
        from scurry.table.grouped_tables import GroupWindowedTable

        if not isinstance(window, GroupWindow):
            raise ProgramError(
                f"window takes one such as Tumble.over(...).on(...).alias('w'), got {window!r}."
            )
        return GroupWindowedTable(self, window)

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Windows of each row, for aggregates with ``over``."""
        from scurry.table.grouped_tables import OverWindowedTable

        if not over_windows or not all(isinstance(one, OverWindow) for one in over_windows):
            raise ProgramError(
                "over_window takes windows such as Over.partition_by(...).order_by(...)"
                f".alias('w'), got {over_windows!r}."
            )
        return OverWindowedTable(self, over_windows)

    # --- order

    def order_by(self, *fields: Expression) -> Table:
        """The rows in order; together with :meth:`fetch`, or by a time attribute."""
        if not fields:
            raise ProgramError("order_by needs at least one expression.")
        items = []
        for field in fields:
            expression = given_expression("order_by", field)
            node = to_node(Expression(expression.node))
            # Flink's Table API sorts nulls behind everything, SQL before everything
            nulls = "FIRST" if expression.descending else "LAST"
            items.append(ast.OrderItem(node, bool(expression.descending), nulls, span=here()))
        query = replace(self.as_query(), order_by=tuple(items))
        return Table(self._environment, query=query)

    def offset(self, offset: int) -> Table:
        """Without the first rows; behind :meth:`order_by`."""
        query = self._unlimited(again=self._query is not None and self._query.offset is not None)
        return Table(self._environment, query=replace(query, offset=_count("offset", offset)))

    def fetch(self, fetch: int) -> Table:
        """The first rows only; behind :meth:`order_by`."""
        query = self._unlimited()
        return Table(self._environment, query=replace(query, limit=_count("fetch", fetch)))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """So many rows, behind the first ones."""
        table = self.offset(offset) if offset else self
        return table.fetch(fetch)

    def _unlimited(self, again: bool = False) -> ast.Query:
        """The query that a bound can be added to: this one with its order, if it has no limit."""
        query = self._query
        if query is None or query.limit is not None or again:
            return self.as_query()
        return query

    # --- functions of rows

    def map(self, func: Any) -> Table:
        """What a scalar function makes of each row: the fields of the row that it returns."""
        call = self._called("map", func)
        if not isinstance(self._type_of(call.node), RowType):
            return self.select(call if call.names else call.alias("f0"))
        # the row is a column first, so that the function is called once for all its fields
        whole = self.select(Expression(call.node).alias("T$row"))
        row = whole.row_type["T$row"].data_type
        assert isinstance(row, RowType)
        return whole.select(col("T$row").flatten.alias(*(call.names or row.names)))

    def flat_map(self, func: Any) -> Table:
        """The rows that a table function makes of each row."""
        call = self._called("flat_map", func)
        table = called_table("flat_map", call)
        source = ast.Join("INNER", self.reference(), table, ast.BooleanLiteral(True), span=here())
        star = ast.Star(ast.Name((table.alias,)), span=here())
        return self._bound(ast.Select((ast.SelectItem(star),), source, span=here()))

    def aggregate(self, func: Any) -> AggregatedTable:
        """What an aggregate function makes of all rows; ``select`` follows."""
        return self.group_by().aggregate(func)

    def flat_aggregate(self, func: Any) -> FlatAggregateTable:
        """The rows that a table aggregate function makes of all rows; ``select`` follows."""
        return self.group_by().flat_aggregate(func)

    def _called(self, method: str, func: Any) -> Expression:
        """A call, or a function to be called with the whole row."""
        if isinstance(func, Expression):
            return func
        if not isinstance(func, UserDefinedFunctionWrapper):
            raise ProgramError(f"{method} takes a function or a call of one, got {func!r}.")
        return self.call_with_row(func)

    # --- results

    def execute(self) -> TableResult:
        """Run the query; the result gives its rows as they come."""
        return self._environment.execute_table(self)

    def execute_insert(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TableResult:
        """Run the query and write its rows into a table."""
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(
        self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False
    ) -> TablePipeline:
        """The query with the table that its rows go to, to be executed alone or in a set."""
        from scurry.table.table_pipeline import TablePipeline

        target = self._environment.insert_target(table_path_or_descriptor)
        sql = None
        if self.sql is not None and isinstance(table_path_or_descriptor, str):
            sql = f"INSERT INTO {target.as_serializable_string()} {self.sql}"
        return TablePipeline(self._environment, self, target, overwrite, sql)

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the query would be run."""
        return self._environment.explain_table(self, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Write :meth:`explain` to standard output."""
        print(self.explain(*extra_details))

    def to_pandas(self) -> pd.DataFrame:
        """Run the query to its end; the table that its changes amount to."""
        return self._environment.collect_pandas(self)

    # --- helpers

    def _items(self, fields: Iterable[Expression]) -> list[ast.SelectItem]:
        found = []
        for field in fields:
            for one in expanded(given_expression("select", field), self.row_type, self._type_of):
                found.append(select_item(one))
        return self._named(found)

    def _named(self, items: Sequence[ast.SelectItem]) -> list[ast.SelectItem]:
        """The items of a select list, each with its name."""
        return named_items(items, self._environment.session_catalog.find_function)

    def _type_of(self, node: ast.Expression) -> DataType:
        item = ast.SelectItem(node, ast.Identifier("x"), span=here())
        query = ast.Query(ast.Select((item,), self.reference(), span=here()), span=here())
        return self._environment.bind(query).columns[0].type

    def _selecting(self, items: Sequence[ast.SelectItem]) -> Table:
        if not items:
            raise ProgramError("select needs at least one expression.")
        return self._bound(ast.Select(tuple(items), self.reference(), span=here()))

    def _column_name(self, method: str, expression: Expression) -> str:
        node = expression.node
        if not isinstance(node, ast.Name) or len(node.parts) != 1:
            raise ProgramError(f"{method} takes columns such as col('a'), got {expression!r}.")
        name = str(node)
        if name not in self.row_type.field_names():
            raise ProgramError(
                f"{method}: there is no column {name!r}. "
                + nearest(name, self.row_type.field_names())
            )
        return name

    def _check_unique(self, method: str, items: Sequence[ast.SelectItem]) -> None:
        seen: set[str] = set()
        for item in items:
            for name in names_in(item):
                if name in seen:
                    raise ProgramError(
                        f"{method}: there is a column {name!r} already; give the new one another "
                        "name with alias, or call add_or_replace_columns."
                    )
                seen.add(name)


def _count(method: str, number: Any) -> ast.Expression:
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ProgramError(f"{method} takes a number of rows from 0 on, got {number!r}.")
    return ast.NumberLiteral(str(number), span=here())


#: What grouping and windows make of a table; PyFlink has these classes here.
_GROUPED = (
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "WindowGroupedTable",
)


def __getattr__(name: str) -> Any:
    """The classes of grouped tables can be imported from here, too, as in PyFlink."""
    if name in _GROUPED:
        from scurry.table import grouped_tables

        return getattr(grouped_tables, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
