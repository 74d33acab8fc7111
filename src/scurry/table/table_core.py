"""What all tables of the Table API share: the query behind them, and how others refer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.common.data_types import RowType
from scurry.common.errors import ProgramError
from scurry.functions.udfs import UserDefinedFunctionWrapper
from scurry.sql import ast
from scurry.sql.parser import parse_name
from scurry.table.expression import Expression
from scurry.table.expression_core import here
from scurry.table.expressions import call_function, col
from scurry.table.relations import row_type_of
from scurry.table.schema import Schema

if TYPE_CHECKING:
    from scurry.planner.algebra import Node
    from scurry.table.table import Table
    from scurry.table.table_environment import TableEnvironment

__all__ = ["STAR", "TableCore", "given_expression"]

STAR = ast.SelectItem(ast.Star())


class TableCore:
    """A query that has a schema."""

    def __init__(
        self,
        environment: TableEnvironment,
        relation: Node | None = None,
        query: ast.Query | None = None,
    ) -> None:
        """Either bound already, or a query that is bound when it is first needed."""
        self._environment = environment
        self._relation = relation
        self._query = query
        self._name: str | None = None
        #: the query in SQL, if it was written so
        self.sql: str | None = None
        #: what a table of a catalog, read as it is, declares
        self.declared: Schema | None = None

    # --- what it is

    @property
    def relation(self) -> Node:
        """The bound query."""
        if self._relation is None:
            assert self._query is not None
            self._relation = self._environment.bind(self._query)
        return self._relation

    @property
    def row_type(self) -> RowType:
        """Names and types of the columns."""
        return row_type_of(self.relation)

    def reference(self) -> ast.TableRef:
        """The table as it stands after FROM."""
        return ast.TableRef(parse_name(str(self)), span=here())

    def as_query(self) -> ast.Query:
        """The table as a query of its own."""
        select = ast.Select((STAR,), self.reference(), span=here())
        return ast.Query(select, span=here())

    def call_with_row(self, func: UserDefinedFunctionWrapper) -> Expression:
        """A call of a function with the whole row as its one argument."""
        names = self.row_type.field_names()
        return call_function(func.taking_row(names), *map(col, names))

    def _bound(self, body: ast.QueryNode) -> Table:
        query = ast.Query(body, span=here())
        from scurry.table.table import Table

        return Table(self._environment, self._environment.bind(query))

    def _same_environment(self, method: str, right: Any) -> Table:
        from scurry.table.table import Table

        if not isinstance(right, Table):
            raise ProgramError(f"{method} takes a Table, got {right!r}.")
        if right._environment is not self._environment:
            raise ProgramError(f"{method}: the two tables are of different table environments.")
        return right


def given_expression(method: str, value: Any) -> Expression:
    """``value``, if it is an expression."""
    if not isinstance(value, Expression):
        raise ProgramError(f"{method} takes expressions such as col('a'), got {value!r}.")
    return value
