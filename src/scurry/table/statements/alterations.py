"""ALTER of tables, views, databases, catalogs and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.spans import located
from scurry.sql import ast
from scurry.table.catalog.errors import nearest
from scurry.table.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogPartition,
    CatalogPartitionSpec,
    CatalogTable,
)
from scurry.table.catalogs import FoundTable
from scurry.table.schema import Schema, UnresolvedColumn
from scurry.table.statements.catalogs import alter_catalog
from scurry.table.statements.models import alter_model
from scurry.table.statements.tables import (
    column_of,
    options_of,
    primary_key_of,
    view_of,
    watermark_of,
)
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["ALTERED", "alter"]

#: which changes each kind of thing knows
ALTERED: dict[str, tuple[type[ast.Alteration], ...]] = {
    "TABLE": (
        ast.RenameTo, ast.RenameColumn, ast.ChangeSchema, ast.DropColumns, ast.DropFeature,
        ast.SetOptions, ast.ResetOptions, ast.AddPartitions, ast.DropPartitions,
    ),
    "VIEW": (ast.RenameTo, ast.SetQuery),
    "DATABASE": (ast.SetOptions,),
    "CATALOG": (ast.SetOptions, ast.ResetOptions, ast.SetComment),
    "MODEL": (ast.RenameTo, ast.SetOptions, ast.ResetOptions),
}  # fmt: skip


def alter(environment: TableEnvironment, statement: ast.Alter) -> TableResult:
    """ALTER of anything."""
    if not isinstance(statement.change, ALTERED.get(statement.kind, ())):
        raise NotSupportedError(
            located(f"This change of a {statement.kind} is not executed", statement.span)
        )
    if statement.kind in ("TABLE", "VIEW"):
        _alter_table(environment, statement)
    elif statement.kind == "DATABASE":
        _alter_database(environment, statement)
    elif statement.kind == "CATALOG":
        alter_catalog(environment, statement)
    else:
        alter_model(environment, statement)
    return TableResult.ok()


def _alter_database(environment: TableEnvironment, statement: ast.Alter) -> None:
    catalog_name, name = environment.catalogs.database_names(statement.name.names)
    catalog = environment.catalogs.catalog(catalog_name)
    if not isinstance(statement.change, ast.SetOptions):
        raise NotSupportedError(located("Only SET is known for databases", statement.span))
    held = catalog.get_database(name)
    properties = {**held.properties, **options_of(statement.change.options)}
    catalog.alter_database(name, CatalogDatabase(properties, held.comment), False)


def _alter_table(environment: TableEnvironment, statement: ast.Alter) -> None:
    catalogs = environment.catalogs
    found = catalogs.find_table(statement.name.names)
    if found is None and statement.if_exists:
        return
    found = catalogs.table(statement.name.names)
    if found.table.kind != statement.kind:
        raise ProgramError(
            located(
                f"{statement.name} is a {found.table.kind.lower()}",
                statement.name.span,
                f"Write ALTER {found.table.kind}.",
            )
        )
    change = statement.change
    if isinstance(change, ast.RenameTo):
        catalogs.rename_table(found.identifier, change.name.names[-1])
    elif isinstance(change, ast.AddPartitions | ast.DropPartitions):
        _partitions(environment, found, change)
    else:
        _replace(environment, found, _changed(environment, found.table, change))


def _replace(environment: TableEnvironment, found: FoundTable, table: CatalogBaseTable) -> None:
    """Put a changed table in place, unless its columns no longer mean anything."""
    catalogs = environment.catalogs
    catalogs.alter_table(found.identifier, table)
    try:
        environment.from_path(found.identifier.as_serializable_string())
    except Exception:
        catalogs.alter_table(found.identifier, found.table)
        raise


def _changed(
    environment: TableEnvironment, table: CatalogBaseTable, change: ast.Alteration
) -> CatalogBaseTable:
    if isinstance(change, ast.SetOptions):
        return replace(table, options={**table.options, **options_of(change.options)})
    if isinstance(change, ast.ResetOptions):
        gone = {key.value for key in change.keys}
        if not gone:
            raise ProgramError(located("RESET names no option", change.span))
        if "connector" in gone:
            raise ProgramError(located("The option 'connector' cannot be reset", change.span))
        return replace(table, options={k: v for k, v in table.options.items() if k not in gone})
    if isinstance(change, ast.SetComment):
        return replace(table, comment=change.comment)
    if isinstance(change, ast.SetQuery):
        return view_of(environment, change.query, (), table.comment)
    for kind, apply in _SCHEMA_CHANGES.items():
        if isinstance(change, kind):
            return replace(table, schema=apply(table.schema, change))
    raise NotSupportedError(located("This change of a table is not executed", change.span))


def _rename_column(schema: Schema, change: ast.RenameColumn) -> Schema:
    old, new = _known(schema, change.old), change.new.name
    if any(column.name == new for column in schema.columns):
        raise ProgramError(located(f"There is a column {new!r} already", change.new.span))
    columns = tuple(replace(one, name=new) if one.name == old else one for one in schema.columns)
    key = schema.primary_key
    if key is not None:
        key = replace(key, columns=tuple(new if one == old else one for one in key.columns))
    marks = tuple(
        replace(mark, column=new) if mark.column == old else mark for mark in schema.watermarks
    )
    return Schema(columns, marks, key)


def _drop_columns(schema: Schema, change: ast.DropColumns) -> Schema:
    gone = {_known(schema, name) for name in change.columns}
    key = () if schema.primary_key is None else schema.primary_key.columns
    for name in gone:
        if name in key:
            raise ProgramError(
                located(f"The column {name!r} is part of the primary key", change.span)
            )
        if any(mark.column == name for mark in schema.watermarks):
            raise ProgramError(located(f"The column {name!r} has a watermark", change.span))
    return replace(schema, columns=tuple(one for one in schema.columns if one.name not in gone))


def _drop_feature(schema: Schema, change: ast.DropFeature) -> Schema:
    if change.feature == "WATERMARK":
        if not schema.watermarks:
            raise ProgramError(located("The table has no watermark", change.span))
        return replace(schema, watermarks=())
    if change.feature in ("PRIMARY KEY", "CONSTRAINT"):
        key = schema.primary_key
        if key is None or (change.name is not None and change.name.name != key.name):
            raise ProgramError(located("The table has no such constraint", change.span))
        return replace(schema, primary_key=None)
    raise NotSupportedError(located(f"DROP {change.feature} is not executed", change.span))


def _change_schema(schema: Schema, change: ast.ChangeSchema) -> Schema:
    if change.distribution is not None:
        raise NotSupportedError(located("Distributions are not executed", change.span))
    modify = change.verb == "MODIFY"
    columns = list(schema.columns)
    for position in change.columns:
        column = column_of(position.column)
        _place(columns, column, position, modify)
    marks, key = schema.watermarks, schema.primary_key
    if change.watermark is not None:
        _exists("watermark", bool(marks), modify, change)
        marks = (watermark_of(change.watermark),)
    if change.primary_key is not None:
        _exists("primary key", key is not None, modify, change)
        key = primary_key_of(change.primary_key)
    return Schema(tuple(columns), marks, key)


def _exists(what: str, there: bool, modify: bool, change: ast.ChangeSchema) -> None:
    if there and not modify:
        raise ProgramError(located(f"The table has a {what}", change.span, "Write MODIFY."))
    if not there and modify:
        raise ProgramError(located(f"The table has no {what}", change.span, "Write ADD."))


def _place(
    columns: list[UnresolvedColumn],
    column: UnresolvedColumn,
    position: ast.ColumnPosition,
    modify: bool,
) -> None:
    names = [one.name for one in columns]
    if not modify and column.name in names:
        raise ProgramError(located(f"There is a column {column.name!r} already", position.span))
    if modify and column.name not in names:
        raise _unknown(column.name, names, position)
    at = names.index(column.name) if modify else len(columns)
    if modify:
        del columns[at]
        names.remove(column.name)
    if position.first:
        at = 0
    elif position.after is not None:
        if position.after.name not in names:
            raise _unknown(position.after.name, names, position.after)
        at = names.index(position.after.name) + 1
    columns.insert(at, column)


def _known(schema: Schema, name: ast.Name) -> str:
    names = [column.name for column in schema.columns]
    if len(name.names) != 1 or name.names[0] not in names:
        raise _unknown(str(name), names, name)
    return name.names[0]


def _unknown(name: str, names: Sequence[str], node: ast.Node) -> ProgramError:
    return ProgramError(located(f"There is no column {name!r}", node.span, nearest(name, names)))


_SCHEMA_CHANGES: dict[type[ast.Alteration], Callable[[Schema, Any], Schema]] = {
    ast.RenameColumn: _rename_column,
    ast.DropColumns: _drop_columns,
    ast.DropFeature: _drop_feature,
    ast.ChangeSchema: _change_schema,
}


def _partitions(
    environment: TableEnvironment,
    found: FoundTable,
    change: ast.AddPartitions | ast.DropPartitions,
) -> None:
    if found.temporary or not isinstance(found.table, CatalogTable):
        raise ProgramError(located("A temporary table has no partitions", change.span))
    catalog = environment.catalogs.catalog(found.identifier.catalog_name)
    path = found.identifier.to_object_path()
    for one in change.partitions:
        spec = partition_spec(one.values)
        if isinstance(change, ast.AddPartitions):
            made = CatalogPartition(options_of(one.options))
            catalog.create_partition(path, spec, made, change.if_not_exists)
        else:
            catalog.drop_partition(path, spec, change.if_exists)


def partition_spec(values: Sequence[ast.PartitionValue]) -> CatalogPartitionSpec:
    """Which partition: values as texts."""
    found: dict[str, str] = {}
    for one in values:
        if isinstance(one.value, ast.StringLiteral):
            found[one.column.name] = one.value.value
        elif isinstance(one.value, ast.NumberLiteral):
            found[one.column.name] = one.value.text
        else:
            raise ProgramError(located("The value of a partition is a text or a number", one.span))
    return CatalogPartitionSpec(found)
