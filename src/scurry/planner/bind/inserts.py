"""INSERT: the columns of a query as those of a table."""

from __future__ import annotations

from scurry.common.data_types import DataType, NullType, supports_implicit_cast
from scurry.common.spans import Span
from scurry.functions.expressions import Expression, InputRef, Literal
from scurry.planner.algebra import Node, Project
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.queries import QueryBinder
from scurry.planner.bind.scope import Scope
from scurry.planner.bind.values import as_type
from scurry.planner.catalog import Catalog, Table, TableColumn
from scurry.planner.errors import SqlValidationError, unknown
from scurry.planner.gaps import refuse
from scurry.planner.time_attributes import plain
from scurry.sql import ast


def bind_insert(insert: ast.Insert, table: Table, catalog: Catalog) -> Node:
    """The rows that an INSERT writes, with the columns that the table persists, in their order."""
    query = QueryBinder(catalog).query(insert.query)
    fixed = _fixed(insert, table, catalog)
    names = [column.names[-1] for column in insert.columns]
    persisted = [column for column in table.columns if column.persisted]
    known = [column.name for column in persisted]
    for column in insert.columns:
        if column.names[-1] not in known:
            raise unknown("column", str(column), known, column.span)
        if names.count(column.names[-1]) > 1:
            raise SqlValidationError(f"The column {column} is written twice", column.span)
    given = names or [name for name in known if name not in fixed]
    if len(given) != query.width:
        message = f"The query has {query.width} columns, but {len(given)} are written"
        raise SqlValidationError(message, insert.query.span, f"They are {', '.join(given)}.")
    return written(query, table, given, fixed, insert.query.span)


def written(
    query: Node,
    table: Table,
    given: list[str],
    fixed: dict[str, Expression],
    span: Span,
) -> Node:
    """The rows of ``query``, whose columns go to the columns ``given``, as rows of the table."""
    expressions = []
    persisted = [column for column in table.columns if column.persisted]
    for column in persisted:
        assert column.type is not None
        if column.name in fixed:
            value = fixed[column.name]
        elif column.name in given:
            at = given.index(column.name)
            value = InputRef(at, query.type_of(at))
        else:
            value = Literal(None, NullType())
        expressions.append(_fitting(value, column, table, span))
    names = tuple(column.name for column in persisted)
    return Project(query, tuple(expressions), names, span=span)


def _fitting(value: Expression, column: TableColumn, table: Table, span: Span) -> Expression:
    wanted: DataType | None = column.type
    assert wanted is not None
    if isinstance(value, Literal) and value.value is None and not wanted.is_nullable:
        what = f"A table without a value for {column.name}, which is NOT NULL,"
        raise refuse("partial-columns", span, what)
    source = plain(value.type)
    if not supports_implicit_cast(source, plain(wanted)):
        raise SqlValidationError(
            f"The column {column.name} of {table.name} is {wanted.describe()}, but the query gives "
            f"{source.describe()}",
            span,
            f"Write CAST(... AS {wanted.describe()}).",
        )
    return as_type(value, wanted.with_nullability(value.type.is_nullable))


def _fixed(insert: ast.Insert, table: Table, catalog: Catalog) -> dict[str, Expression]:
    """The values of PARTITION (column = value)."""
    binder = ExpressionBinder(Scope(), catalog, clause="PARTITION")
    known = [column.name for column in table.columns]
    found = {}
    for value in insert.partition:
        if value.column.name not in known:
            raise unknown("column", value.column.name, known, value.column.span)
        assert value.value is not None
        found[value.column.name] = binder.bind(value.value)
    return found
