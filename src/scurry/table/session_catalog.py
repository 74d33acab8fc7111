"""What the planner is told of tables, views and functions.

The planner asks by name and gets a description: columns, watermark, primary key, and an object that
makes the plan nodes that read or write. Types and expressions that a schema has as texts are parsed
here, the first time a table is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scurry.common.configuration import Configuration
from scurry.common.data_types import DataType
from scurry.common.data_types.type_text import data_type_from_text
from scurry.common.errors import ProgramError, ScurryError
from scurry.common.options import tables
from scurry.planner.algebra import Node
from scurry.planner.catalog import Table, TableAccess, TableColumn, View, WatermarkDefinition
from scurry.sql import ast
from scurry.sql.parser import parse_expression, parse_query
from scurry.table.catalog.errors import nearest
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.catalog.objects import CatalogTable, CatalogView
from scurry.table.catalog.resolved_schema import (
    Column,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
)
from scurry.table.catalogs import Catalogs, FoundTable
from scurry.table.connector_access import ConnectorAccess
from scurry.table.expression_core import ExpressionCore
from scurry.table.factories import TableContext
from scurry.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedComputedColumn,
    UnresolvedMetadataColumn,
)

__all__ = ["InlineView", "SessionCatalog", "described_table"]


@dataclass(frozen=True)
class InlineView(CatalogView):
    """A temporary view of a query that is bound already: a Table of the program's."""

    node: Any = None


@dataclass(frozen=True)
class InlineTable(CatalogTable):
    """A temporary table that only this program can read: rows that it has, a stream of its own."""

    access: Any = None
    mode: Any = None
    bounded: bool = True


class SessionCatalog:
    """The catalogs of a table environment as the planner sees them."""

    def __init__(
        self, catalogs: Catalogs, configuration: Configuration, batch: bool = False
    ) -> None:
        self._catalogs = catalogs
        self._batch = batch
        self._configuration = configuration
        self._described: dict[ObjectIdentifier, tuple[FoundTable, bool, Table]] = {}

    @property
    def batch(self) -> bool:
        """Whether queries read their tables to the end and send final rows only."""
        return self._batch

    def find_table(self, names: tuple[str, ...]) -> Table | View | Node | None:
        """The table, view, or bound tree of that name."""
        found = self._catalogs.find_table(names) if len(names) <= 3 else None
        if found is None:
            return None
        if isinstance(found.table, InlineView):
            node: Node = found.table.node
            return node
        if isinstance(found.table, CatalogView):
            return self._view(found, found.table)
        return self.described(found)

    def described(self, found: FoundTable) -> Table:
        """A table as the planner wants it; the same object as before while nothing has changed, so
        that what two queries read of it is read once."""
        held = self._described.get(found.identifier)
        twice = tables.CDC_DUPLICATES.read(self._configuration)
        if held is None or held[:2] != (found, twice):
            held = (found, twice, described_table(found, self._configuration))
            self._described[found.identifier] = held
        return held[2]

    def _view(self, found: FoundTable, view: CatalogView) -> View:
        name = f"view {found.identifier.as_summary_string()}"
        columns = tuple(column.name for column in view.schema.columns)
        query = parse_query(view.expanded_query, name)
        return View(tuple(found.identifier.to_list()), query, columns)

    def table_names(self) -> Iterable[str]:
        """The tables and views that a name of one part finds."""
        catalog, database = self._catalogs.database_names(())
        return self._catalogs.list_tables(catalog, database)

    def find_function(self, names: tuple[str, ...]) -> Any | None:
        """The user's function of that name."""
        return self._catalogs.find_function(names) if len(names) <= 3 else None

    def function_names(self) -> Iterable[str]:
        """The user's functions that a name of one part finds."""
        return self._catalogs.user_functions()


@dataclass(frozen=True, eq=False)
class DescribedTable(Table):
    """A table of a connector, which can be had under other options."""

    found: FoundTable | None = None
    configuration: Configuration | None = None

    def with_options(self, options: Mapping[str, str]) -> Table:
        assert self.found is not None
        assert self.configuration is not None
        merged = {**self.found.table.options, **options}
        other = replace(self.found, table=replace(self.found.table, options=merged))
        return described_table(other, self.configuration)


def described_table(found: FoundTable, configuration: Configuration) -> Table:
    """A table as the planner wants it."""
    table = found.table
    path = tuple(found.identifier.to_list())
    schema = table.schema
    try:
        columns = tuple(_column(column) for column in schema.columns)
        watermark = _watermark(schema)
        _check(columns, schema)
        _check_partitions(columns, getattr(table, "partition_keys", ()))
    except ScurryError as failure:
        raise ProgramError(
            f"The table {found.identifier.as_summary_string()}: {failure}"
        ) from failure
    key = () if schema.primary_key is None else schema.primary_key.columns
    columns = tuple(
        replace(one, type=one.type.not_null()) if one.name in key and one.type else one
        for one in columns
    )
    if isinstance(table, InlineTable):
        access: TableAccess = table.access
        return Table(path, columns, access, key, watermark, table.mode, bounded=table.bounded)
    context = TableContext(
        found.identifier,
        declared_schema(columns, key),
        dict(table.options),
        table.partition_keys if isinstance(table, CatalogTable) else (),
        configuration,
    )
    connector = ConnectorAccess(context)
    return DescribedTable(
        path,
        columns,
        connector,
        key,
        watermark,
        connector.scan_mode(),
        connector.sink_mode(),
        dict(table.options),
        connector.bounded(),
        found,
        configuration,
    )


def declared_schema(columns: Iterable[TableColumn], key: tuple[str, ...]) -> ResolvedSchema:
    """The columns that a connector has to do with: all but computed ones."""
    made: list[Column] = []
    for column in columns:
        if column.computed:
            continue
        assert column.type is not None
        if column.metadata is None:
            made.append(PhysicalColumn(column.name, column.type))
        else:
            key_name = None if column.metadata == column.name else column.metadata
            made.append(MetadataColumn(column.name, column.type, None, key_name, column.virtual))
    primary = UniqueConstraint.primary_key("PK_" + "_".join(key), key) if key else None
    return ResolvedSchema(tuple(made), (), primary)


def _column(column: UnresolvedColumn) -> TableColumn:
    if isinstance(column, UnresolvedComputedColumn):
        expression = _expression(column.expression, f"column {column.name}")
        return TableColumn(column.name, expression=expression)
    kind = as_type(column.data_type)
    if isinstance(column, UnresolvedMetadataColumn):
        return TableColumn(
            column.name, kind, metadata=column.key or column.name, virtual=column.virtual
        )
    return TableColumn(column.name, kind)


def as_type(data_type: DataType | str) -> DataType:
    """A type, or the type that a text says."""
    return data_type_from_text(data_type) if isinstance(data_type, str) else data_type


def _watermark(schema: Schema) -> WatermarkDefinition | None:
    if not schema.watermarks:
        return None
    if len(schema.watermarks) > 1:
        raise ProgramError("a table has one watermark, and this one declares several")
    mark = schema.watermarks[0]
    expression = _expression(mark.expression, f"watermark for {mark.column}")
    names: tuple[str, ...] = (mark.column,)
    if mark.column not in [column.name for column in schema.columns]:
        names = tuple(mark.column.split("."))
    return WatermarkDefinition(names, expression)


def _expression(written: Any, name: str) -> ast.Expression:
    if isinstance(written, ExpressionCore):
        return written.node
    return parse_expression(written, name)


def _check_partitions(columns: tuple[TableColumn, ...], keys: Sequence[str]) -> None:
    physical = [one.name for one in columns if not one.computed and one.metadata is None]
    for key in keys:
        if key not in physical:
            raise ProgramError(
                f"the table is partitioned by {key!r}, which is no physical column of it. "
                + nearest(key, physical)
            )


def _check(columns: tuple[TableColumn, ...], schema: Schema) -> None:
    names = [column.name for column in columns]
    for name in names:
        if names.count(name) > 1:
            raise ProgramError(f"the column {name!r} is declared twice")
    known = {column.name: column for column in columns}
    for mark in schema.watermarks:
        first = mark.column if mark.column in known else mark.column.split(".")[0]
        if first not in known:
            raise ProgramError(
                f"the watermark is for a column {mark.column!r}, which there is not. "
                + nearest(mark.column, names)
            )
    if schema.primary_key is None:
        return
    for name in schema.primary_key.columns:
        if name not in known:
            raise ProgramError(
                f"the primary key has a column {name!r}, which there is not. {nearest(name, names)}"
            )
        if known[name].computed or known[name].metadata is not None:
            raise ProgramError(
                f"the primary key has the column {name!r}, which is not physical: a key is made of "
                "physical columns"
            )
