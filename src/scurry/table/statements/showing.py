"""SHOW and DESCRIBE."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from scurry.common.data_types import DataType, DataTypes
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.spans import located
from scurry.planner.time_attributes import is_rowtime, plain
from scurry.sql import ast
from scurry.table.catalog.names import quoted
from scurry.table.catalog.objects import CatalogTable, CatalogView
from scurry.table.catalogs import FoundTable
from scurry.table.declared_schemas import declared_text
from scurry.table.jobs import StartedJob
from scurry.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedComputedColumn,
    UnresolvedPhysicalColumn,
)
from scurry.table.session_catalog import InlineView
from scurry.table.statements.alterations import partition_spec
from scurry.table.statements.catalogs import describe_catalog, show_create_catalog
from scurry.table.statements.models import describe_model, show_create_model
from scurry.table.statements.results import declared_type, filtered, listing, literal, of_text
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["SHOWN", "describe", "show"]

Shows = Callable[["TableEnvironment", ast.Show], TableResult]


def show(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    """SHOW of anything."""
    shows = _SHOWS.get(statement.subject)
    if shows is None:
        raise NotSupportedError(
            located(
                f"SHOW {statement.subject} is not executed",
                statement.span,
                f"What can be shown: {', '.join(_SHOWS)}.",
            )
        )
    return shows(environment, statement)


def _names(column: str, statement: ast.Show, names: Any) -> TableResult:
    return listing([column], [[name] for name in filtered(names, statement.like)])


def _place(environment: TableEnvironment, statement: ast.Show) -> tuple[str, str]:
    scope = () if statement.scope is None else statement.scope.names
    return environment.catalogs.database_names(scope)


def _tables(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    found = environment.catalogs.list_tables(*_place(environment, statement))
    return _names("table name", statement, found)


def _views(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    found = environment.catalogs.list_views(*_place(environment, statement))
    return _names("view name", statement, found)


def _models(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    found = environment.models_of(*_place(environment, statement))
    return _names("model name", statement, found)


def _databases(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    catalogs = environment.catalogs
    scope = None if statement.scope is None else statement.scope.names[-1]
    catalog = catalogs.catalog(scope or catalogs.database_names(())[0])
    return _names("database name", statement, sorted(catalog.list_databases()))


def _catalogs(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    return _names("catalog name", statement, environment.list_catalogs())


def _functions(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    found = environment.catalogs.all_functions(_place(environment, statement))
    return _names("function name", statement, found)


def _user_functions(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    found = environment.catalogs.user_functions(_place(environment, statement))
    return _names("function name", statement, found)


def _modules(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    return _names("module name", statement, environment.list_modules())


def _full_modules(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    rows = [(entry.name(), entry.used()) for entry in environment.list_full_modules()]
    types = [DataTypes.STRING(), DataTypes.BOOLEAN()]
    return listing(["module name", "used"], rows, types)


def _current_catalog(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    return listing(["current catalog name"], [[environment.get_current_catalog()]])


def _current_database(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    return listing(["current database name"], [[environment.get_current_database()]])


def _columns(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    assert statement.name is not None
    rows = column_rows(environment, _found(environment, statement.name))
    kept = set(filtered([row[0] for row in rows], statement.like))
    return _described(rows, kept)


def _partitions(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    assert statement.name is not None
    found = _found(environment, statement.name)
    catalog = environment.catalogs.catalog(found.identifier.catalog_name)
    spec = partition_spec(statement.partition) if statement.partition else None
    parts = catalog.list_partitions(found.identifier.to_object_path(), spec)
    texts = ["/".join(f"{k}={v}" for k, v in one.get_partition_spec().items()) for one in parts]
    return listing(["partition name"], [[text] for text in texts])


def _create_table(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    assert statement.name is not None
    found = _found(environment, statement.name)
    if not isinstance(found.table, CatalogTable):
        raise ProgramError(
            located(f"{statement.name} is a view", statement.span, "Write SHOW CREATE VIEW.")
        )
    return of_text(create_table_text(found))


def create_table_text(found: FoundTable) -> str:
    """The statement that makes a table."""
    table = found.table
    assert isinstance(table, CatalogTable)
    temporary = "TEMPORARY " if found.temporary else ""
    comment = "" if table.comment is None else f"COMMENT {literal(table.comment)}\n"
    keys = ", ".join(map(quoted, table.partition_keys))
    partitioned = f"PARTITIONED BY ({keys})\n" if keys else ""
    pairs = sorted(table.options.items())
    options = ",\n  ".join(f"{literal(k)} = {literal(v)}" for k, v in pairs)
    given = f"WITH (\n  {options}\n)\n" if pairs else ""
    lines = ",\n  ".join(_declaration(table.schema))
    return (
        f"CREATE {temporary}TABLE {found.identifier.as_serializable_string()} (\n  {lines}\n)\n"
        f"{comment}{partitioned}{given}"
    )


def _declaration(schema: Schema) -> Iterator[str]:
    """The columns, watermarks and the key of a table, as they are declared."""
    key = () if schema.primary_key is None else schema.primary_key.columns
    for column in schema.columns:
        text = f"`{column.name}`"
        if not isinstance(column, UnresolvedComputedColumn):
            kind = declared_type(column.data_type)
            absent = column.name in key and not kind.endswith("NOT NULL")
            text += f" {kind}{' NOT NULL' if absent else ''}"
        if not isinstance(column, UnresolvedPhysicalColumn):
            text += f" {_extras(column)}"
        yield text if column.comment is None else f"{text} COMMENT {literal(column.comment)}"
    for mark in schema.watermarks:
        yield f"WATERMARK FOR `{mark.column}` AS {declared_text(mark.expression)}"
    if schema.primary_key is not None:
        yield str(schema.primary_key)


def _create_view(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    assert statement.name is not None
    found = _found(environment, statement.name)
    view = found.table
    if not isinstance(view, CatalogView):
        raise ProgramError(
            located(f"{statement.name} is a table", statement.span, "Write SHOW CREATE TABLE.")
        )
    if isinstance(view, InlineView):
        raise ProgramError(
            located(f"The view {statement.name} was made by a program", statement.span)
        )
    temporary = "TEMPORARY " if found.temporary else ""
    names = ",\n  ".join(quoted(column.name) for column in view.schema.columns)
    name = found.identifier.as_serializable_string()
    comment = f"COMMENT {literal(view.comment)}\n" if view.comment else ""
    text = f"CREATE {temporary}VIEW {name} (\n  {names}\n)\n{comment}AS {view.expanded_query}\n"
    return of_text(text)


def _jobs(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    return _job_rows(environment, environment.jobs.started)


def _job_rows(environment: TableEnvironment, jobs: Iterable[StartedJob]) -> TableResult:
    rows = [
        (
            str(job.client.get_job_id()),
            job.name,
            job.client.get_job_status().result().name,
            datetime.fromtimestamp(job.started_ms / 1000, UTC),
        )
        for job in jobs
    ]
    types = [*[DataTypes.STRING()] * 3, DataTypes.TIMESTAMP_LTZ(3)]
    zone = environment.get_config().get_local_timezone()
    return listing(["job id", "job name", "status", "start time"], rows, types, zone)


def _nothing(column: str) -> Shows:
    return lambda environment, statement: listing([column], [])


_SHOWS: dict[str, Shows] = {
    "TABLES": _tables,
    "VIEWS": _views,
    "DATABASES": _databases,
    "CATALOGS": _catalogs,
    "FUNCTIONS": _functions,
    "USER FUNCTIONS": _user_functions,
    "MODULES": _modules,
    "FULL MODULES": _full_modules,
    "CURRENT CATALOG": _current_catalog,
    "CURRENT DATABASE": _current_database,
    "COLUMNS": _columns,
    "PARTITIONS": _partitions,
    "CREATE TABLE": _create_table,
    "CREATE VIEW": _create_view,
    "CREATE CATALOG": show_create_catalog,
    "CREATE MODEL": show_create_model,
    "JOBS": _jobs,
    "JARS": _nothing("jars"),
    "PROCEDURES": _nothing("procedure name"),
    "MODELS": _models,
    "MATERIALIZED TABLES": _nothing("materialized table"),
}


#: what SHOW shows
SHOWN = tuple(_SHOWS)


def describe(environment: TableEnvironment, statement: ast.Describe) -> TableResult:
    """DESCRIBE of a table, a database, a catalog, a model, a function or a job."""
    catalogs = environment.catalogs
    if statement.kind == "TABLE":
        return _described(column_rows(environment, _found(environment, statement.name)))
    if statement.kind == "DATABASE":
        catalog, name = catalogs.database_names(statement.name.names)
        database = catalogs.catalog(catalog).get_database(name)
        rows = [("name", name), ("comment", database.get_comment())]
        if statement.extended:
            rows.append(("properties", str(database.get_properties())))
        return listing(["info name", "info value"], rows)
    if statement.kind == "CATALOG":
        return describe_catalog(environment, statement)
    if statement.kind == "MODEL":
        return describe_model(environment, statement)
    if statement.kind == "FUNCTION":
        return _describe_function(environment, statement)
    if statement.kind == "JOB":
        return _describe_job(environment, statement)
    raise NotSupportedError(located(f"DESCRIBE {statement.kind} is not executed", statement.span))


def _describe_function(environment: TableEnvironment, statement: ast.Describe) -> TableResult:
    from scurry.functions.builtin import find

    names = statement.name.names
    found = environment.catalogs.find_function(names)
    built_in = find(names[-1]) if found is None and len(names) == 1 else None
    if found is None and built_in is None:
        raise ProgramError(located(f"There is no function {statement.name}", statement.span))
    rows = [
        ("is system function", str(found is None).lower()),
        ("name", names[-1]),
        ("language", "PYTHON"),
    ]
    if found is not None:
        rows.append(("kind", str(getattr(found, "kind", "scalar")).upper()))
    return listing(["info name", "info value"], rows)


def _describe_job(environment: TableEnvironment, statement: ast.Describe) -> TableResult:
    wanted = statement.name.names[-1]
    for job in environment.jobs.started:
        if str(job.client.get_job_id()) == wanted:
            return _job_rows(environment, [job])
    raise ProgramError(located(f"There is no job {wanted!r}", statement.span, "SHOW JOBS."))


def _found(environment: TableEnvironment, name: ast.Name) -> FoundTable:
    return environment.catalogs.table(name.names)


def _described(rows: list[list[Any]], kept: Container[str] | None = None) -> TableResult:
    """The rows, or those of the columns that are ``kept``; comments if any column has one."""
    names = ["name", "type", "null", "key", "extras", "watermark"]
    text = DataTypes.STRING()
    types: list[DataType] = [text, text, DataTypes.BOOLEAN(), text, text, text]
    if any(row[6] is not None for row in rows):
        names, types = [*names, "comment"], [*types, text]
    shown = [row[: len(names)] for row in rows if kept is None or row[0] in kept]
    return listing(names, shown, types)


def column_rows(environment: TableEnvironment, found: FoundTable) -> list[list[Any]]:
    """What DESCRIBE says of each column: name, type, whether it may be NULL, key, extras,
    watermark, comment; what there is not is None."""
    node = environment.from_path(found.identifier.as_serializable_string()).relation
    schema = found.table.schema
    declared: dict[str, UnresolvedColumn] = {one.name: one for one in schema.columns}
    key = () if schema.primary_key is None else schema.primary_key.columns
    marks = {mark.column: declared_text(mark.expression) for mark in schema.watermarks}
    rows = []
    for column in node.columns:
        own = declared.get(column.name)
        extras = None
        if own is not None and not isinstance(own, UnresolvedPhysicalColumn):
            extras = _extras(own)
        rows.append(
            [
                column.name,
                _shown(environment, column.type).describe(),
                column.type.is_nullable,
                f"PRI({', '.join(key)})" if column.name in key else None,
                extras,
                marks.get(column.name),
                None if own is None else own.comment,
            ]
        )
    return rows


def _shown(environment: TableEnvironment, kind: DataType) -> DataType:
    """A type as it is shown: in batch mode there is no event time."""
    return plain(kind) if is_rowtime(kind) and not environment.streaming else kind


def _extras(column: Any) -> str:
    if hasattr(column, "expression"):
        return f"AS {declared_text(column.expression)}"
    source = "" if column.key is None else f" FROM '{column.key}'"
    return f"METADATA{source}{' VIRTUAL' if column.virtual else ''}"
