"""INSERT INTO: a query, the table it goes to, and which columns of it are meant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.spans import located
from scurry.planner.bind.inserts import bind_insert
from scurry.sql import ast
from scurry.sql.unparse import unparse
from scurry.table.catalog.errors import nearest
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.table import Table
from scurry.table.table_pipeline import TablePipeline
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["insert", "pipeline_of", "statement_set"]


def insert(environment: TableEnvironment, statement: ast.Insert) -> TableResult:
    """Start the job of one INSERT."""
    return environment.execute_pipelines([pipeline_of(environment, statement)])


def statement_set(environment: TableEnvironment, statement: ast.StatementSet) -> TableResult:
    """Start one job for several INSERTs."""
    pipelines = []
    for one in statement.statements:
        if not isinstance(one, ast.Insert):
            raise ProgramError(located("A statement set holds INSERTs only", one.span))
        pipelines.append(pipeline_of(environment, one))
    if not pipelines:
        raise ProgramError(located("The statement set is empty", statement.span))
    return environment.execute_pipelines(pipelines)


def pipeline_of(environment: TableEnvironment, statement: ast.Insert) -> TablePipeline:
    """The query of an INSERT, with a value for each column of the table."""
    found = environment.catalogs.find_table(statement.table.names)
    if found is None:
        known = environment.catalogs.known_tables(statement.table.names)
        raise ProgramError(
            located(
                f"There is no table {statement.table}",
                statement.table.span,
                nearest(statement.table.names[-1], known),
            )
        )
    identifier = found.identifier
    for hint in statement.hints:
        if hint.name.name.upper() != "OPTIONS":
            raise NotSupportedError(
                located(f"The hint {hint.name.name} has no meaning for a sink", hint.span)
            )
        identifier = _with_options(environment, identifier, hint)
    if found.table.kind == "VIEW":
        raise ProgramError(
            located(f"{statement.table} is a view, which cannot be written to", statement.span)
        )
    target = environment.session_catalog.described(environment.catalogs.table(identifier.to_list()))
    node = bind_insert(statement, target, environment.session_catalog)
    keys = getattr(found.table, "partition_keys", ())
    for value in statement.partition:
        if value.column.name not in keys:
            raise ProgramError(
                located(
                    f"{statement.table} is not partitioned by {value.column.name!r}",
                    value.column.span,
                    nearest(value.column.name, keys),
                )
            )
    table = Table(environment, node)
    return TablePipeline(
        environment, table, identifier, statement.overwrite, sql=unparse(statement)
    )


def _with_options(
    environment: TableEnvironment, identifier: ObjectIdentifier, hint: ast.Hint
) -> ObjectIdentifier:
    """The same table under other options, as a temporary one without a name."""
    found = environment.catalogs.table(identifier.to_list())
    pairs = zip(hint.keys, hint.values, strict=True)
    more = dict(_texts(key, value) for key, value in pairs)
    table = replace(found.table, options={**found.table.options, **more})
    return environment.add_unnamed(table)


def _texts(key: ast.Expression, value: ast.Expression) -> tuple[str, str]:
    if isinstance(key, ast.StringLiteral) and isinstance(value, ast.StringLiteral):
        return key.value, value.value
    raise ProgramError(located("The hint OPTIONS takes 'key' = 'value'", key.span))
