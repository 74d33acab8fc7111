"""Statements about models: CREATE, ALTER, DROP, SHOW and DESCRIBE. Catalogs keep models, and no
query can call one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scurry.common.data_types import DataTypes
from scurry.common.errors import ProgramError
from scurry.common.spans import located
from scurry.planner.bind.data_types import bind_type
from scurry.sql import ast
from scurry.sql.parser import parse_type
from scurry.table.catalog.models import CatalogModel
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.schema import Schema, UnresolvedPhysicalColumn
from scurry.table.statements.results import declared_type, listing, literal, of_text
from scurry.table.statements.tables import column_of, options_of
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["alter_model", "create_model", "describe_model", "drop_model", "show_create_model"]


def create_model(environment: TableEnvironment, statement: ast.CreateModel) -> TableResult:
    """CREATE MODEL."""
    if statement.query is not None:
        raise ProgramError(
            located(
                "A model cannot be trained by a query",
                statement.query.span,
                "Declare it with INPUT, OUTPUT and WITH ('provider' = '...').",
            )
        )
    model = CatalogModel(
        _schema(statement.inputs),
        _schema(statement.outputs),
        options_of(statement.options),
        statement.comment,
    )
    identifier = environment.catalogs.qualify(statement.name.names)
    environment.keep_model(identifier, model, statement.temporary, statement.if_not_exists)
    return TableResult.ok()


def _schema(columns: Sequence[ast.Column]) -> Schema | None:
    for column in columns:
        if not isinstance(column, ast.PhysicalColumn):
            raise ProgramError(located("The columns of a model have types only", column.span))
        bind_type(column.type)
    return Schema(tuple(map(column_of, columns))) if columns else None


def drop_model(environment: TableEnvironment, statement: ast.Drop) -> None:
    """DROP MODEL."""
    identifier = environment.catalogs.qualify(statement.name.names)
    environment.forget_model(identifier, statement.temporary, statement.if_exists)


def alter_model(environment: TableEnvironment, statement: ast.Alter) -> None:
    """ALTER MODEL: SET, RESET or RENAME TO."""
    identifier = environment.catalogs.qualify(statement.name.names)
    if environment.find_model(identifier) is None and statement.if_exists:
        return
    model, _ = _found(environment, statement.name, identifier)
    catalog = environment.catalogs.catalog(identifier.catalog_name)
    path, change = identifier.to_object_path(), statement.change
    if isinstance(change, ast.RenameTo):
        catalog.rename_model(path, change.name.names[-1], False)
        return
    options = dict(model.options)
    if isinstance(change, ast.SetOptions):
        options |= options_of(change.options)
    elif isinstance(change, ast.ResetOptions):
        for key in change.keys:
            options.pop(key.value, None)
    catalog.alter_model(path, replace(model, options=options), False)


def show_create_model(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    """SHOW CREATE MODEL."""
    assert statement.name is not None
    identifier = environment.catalogs.qualify(statement.name.names)
    model, temporary = _found(environment, statement.name, identifier)
    kind = "TEMPORARY MODEL" if temporary else "MODEL"
    lines = [f"CREATE {kind} {identifier.as_serializable_string()}"]
    for what, schema in (("INPUT", model.input_schema), ("OUTPUT", model.output_schema)):
        if schema is not None:
            lines.append(f"{what} ({', '.join(map(_declared, schema.columns))})")
    if model.comment is not None:
        lines.append(f"COMMENT {literal(model.comment)}")
    pairs = [f"{literal(key)} = {literal(value)}" for key, value in sorted(model.options.items())]
    if pairs:
        lines.append("WITH (\n  " + ",\n  ".join(pairs) + "\n)")
    return of_text("\n".join(lines) + "\n")


def _declared(column: Any) -> str:
    comment = "" if column.comment is None else f" COMMENT {literal(column.comment)}"
    return f"`{column.name}` {declared_type(column.data_type)}{comment}"


def describe_model(environment: TableEnvironment, statement: ast.Describe) -> TableResult:
    """DESCRIBE MODEL: a row for each column, and whether the model is given it."""
    identifier = environment.catalogs.qualify(statement.name.names)
    model, _ = _found(environment, statement.name, identifier)
    rows: list[list[Any]] = []
    for schema, given in ((model.input_schema, True), (model.output_schema, False)):
        for column in () if schema is None else schema.columns:
            assert isinstance(column, UnresolvedPhysicalColumn)
            kind = column.data_type
            kind = bind_type(parse_type(kind)) if isinstance(kind, str) else kind
            rows.append([column.name, kind.describe(), kind.is_nullable, given, column.comment])
    names = ["name", "type", "null", "is input", "comment"]
    text, flag = DataTypes.STRING(), DataTypes.BOOLEAN()
    types = [text, text, flag, flag, text]
    if all(row[-1] is None for row in rows):
        names, types, rows = names[:-1], types[:-1], [row[:-1] for row in rows]
    return listing(names, rows, types)


def _found(
    environment: TableEnvironment, name: ast.Name, identifier: ObjectIdentifier
) -> tuple[CatalogModel, bool]:
    """A model, and whether it is temporary; one that there is not is refused by the catalog."""
    temporary = environment.find_model(identifier, temporary=True)
    if temporary is not None:
        return temporary, True
    catalog = environment.catalogs.catalog(identifier.catalog_name)
    return catalog.get_model(identifier.to_object_path()), False
