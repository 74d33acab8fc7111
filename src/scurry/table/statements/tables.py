"""CREATE, ALTER and DROP of tables and views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.spans import located
from scurry.planner.bind.data_types import bind_type
from scurry.sql import ast
from scurry.sql.unparse import unparse, unparse_with_backticks
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.catalog.objects import CatalogBaseTable, CatalogTable, CatalogView
from scurry.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedComputedColumn,
    UnresolvedMetadataColumn,
    UnresolvedPhysicalColumn,
    UnresolvedPrimaryKey,
    UnresolvedWatermark,
)
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["create_checked", "create_table", "create_view", "drop"]

#: What a table takes over of another one that it is LIKE, and what SQL calls it.
_PHYSICAL = "physical columns"
_FEATURES = ("CONSTRAINTS", "GENERATED", "METADATA", "OPTIONS", "PARTITIONS", "WATERMARKS")


def create_table(environment: TableEnvironment, statement: ast.CreateTable) -> TableResult:
    """CREATE TABLE, and CREATE TABLE AS, which inserts as well."""
    catalogs = environment.catalogs
    identifier = catalogs.qualify(statement.name.names)
    if statement.distribution is not None:
        raise NotSupportedError(
            located(
                "DISTRIBUTED BY is not executed",
                statement.distribution.span,
                "Leave it out: no connector distributes rows into buckets.",
            )
        )
    table = _declared(statement)
    if statement.like is not None:
        table = _merged(environment, statement.like, table)
    query = statement.query
    names: list[str] = []
    if query is not None:
        names = [one.name for one in environment.bind(query).columns]
        table = _with_query_columns(environment, query, statement, table)
    make = _replacing if statement.or_replace else create_checked
    made = make(environment, identifier, table, statement.temporary, statement.if_not_exists)
    if query is None or not made:
        return TableResult.ok()
    from scurry.table.statements.inserts import pipeline_of

    columns = tuple(ast.Name((ast.Identifier(name),)) for name in names)
    insert = ast.Insert(_name(identifier), query, columns, span=statement.span)
    return environment.execute_pipelines([pipeline_of(environment, insert)])


def _replacing(
    environment: TableEnvironment,
    identifier: ObjectIdentifier,
    table: CatalogBaseTable,
    temporary: bool,
    ignore_if_exists: bool,
) -> bool:
    """Make a table in the place of one of that name, which stays if the new one means nothing.
    What the old one has written stays, too."""
    catalogs = environment.catalogs
    found = catalogs.find_table(identifier.to_list())
    if found is None or found.temporary != temporary:
        return create_checked(environment, identifier, table, temporary, ignore_if_exists)
    catalogs.alter_table(identifier, table)
    try:
        environment.bind(_all_of(identifier))
    except Exception:
        catalogs.alter_table(identifier, found.table)
        raise
    return True


def create_checked(
    environment: TableEnvironment,
    identifier: ObjectIdentifier,
    table: CatalogBaseTable,
    temporary: bool,
    ignore_if_exists: bool,
) -> bool:
    """Make a table, and find out whether its columns mean something; if not, it is not made."""
    catalogs = environment.catalogs
    made = catalogs.create_table(identifier, table, temporary, ignore_if_exists)
    if not made:
        return False
    try:
        environment.bind(_all_of(identifier))
    except Exception:
        if temporary:
            catalogs.drop_temporary(identifier.to_list(), table.kind)
        else:
            catalogs.drop_table(identifier.to_list(), table.kind, False)
        raise
    return True


def _all_of(identifier: ObjectIdentifier) -> ast.Query:
    source = ast.TableRef(_name(identifier))
    return ast.Query(ast.Select((ast.SelectItem(ast.Star()),), source))


def _name(identifier: ObjectIdentifier) -> ast.Name:
    return ast.Name(tuple(map(ast.Identifier, identifier.to_list())))


def _declared(statement: ast.CreateTable) -> CatalogTable:
    columns = [column_of(one) for one in statement.columns if not _named(one)]
    watermark = statement.watermark
    marks = () if watermark is None else (watermark_of(watermark),)
    schema = Schema(tuple(columns), marks, _primary_key(statement))
    keys = tuple(one.name for one in statement.partitioned_by)
    options = options_of(statement.options)
    return CatalogTable(schema, options, statement.comment, keys)


def _named(column: ast.Column) -> bool:
    return isinstance(column, ast.NamedColumn)


def column_of(column: ast.Column) -> UnresolvedColumn:
    """A column as schemas have it."""
    name = column.name.name
    if isinstance(column, ast.ComputedColumn):
        text = unparse_with_backticks(column.expression)
        return UnresolvedComputedColumn(name, text, column.comment)
    if isinstance(column, ast.MetadataColumn):
        kind = bind_type(column.type)
        return UnresolvedMetadataColumn(name, kind, column.key, column.virtual, column.comment)
    assert isinstance(column, ast.PhysicalColumn)
    return UnresolvedPhysicalColumn(name, bind_type(column.type), column.comment)


def watermark_of(watermark: ast.Watermark) -> UnresolvedWatermark:
    """A watermark as schemas have it."""
    text = unparse_with_backticks(watermark.expression)
    return UnresolvedWatermark(".".join(watermark.column.names), text)


def _primary_key(statement: ast.CreateTable) -> UnresolvedPrimaryKey | None:
    found = [] if statement.primary_key is None else [statement.primary_key]
    for column in statement.columns:
        if isinstance(column, ast.PhysicalColumn) and column.primary_key is not None:
            found.append(replace(column.primary_key, columns=(column.name,)))
    if len(found) > 1:
        raise ProgramError(located("A table has one primary key", found[1].span))
    return primary_key_of(found[0]) if found else None


def primary_key_of(key: ast.PrimaryKey) -> UnresolvedPrimaryKey:
    """A primary key as schemas have it."""
    if key.unique:
        raise NotSupportedError(
            located("UNIQUE is not a constraint here", key.span, "Declare a PRIMARY KEY instead.")
        )
    if key.enforced is not False:
        raise ProgramError(
            located(
                "Nobody enforces a primary key",
                key.span,
                "Write PRIMARY KEY (...) NOT ENFORCED, and see to it that rows are unique.",
            )
        )
    columns = tuple(one.name for one in key.columns)
    name = "PK_" + "_".join(columns) if key.name is None else key.name.name
    return UnresolvedPrimaryKey(name, columns)


def options_of(options: Sequence[ast.Option]) -> dict[str, str]:
    """The options of a WITH clause; one that is given twice is refused."""
    found: dict[str, str] = {}
    for option in options:
        if option.key.value in found:
            raise ProgramError(
                located(f"The option {option.key.value!r} is given twice", option.key.span)
            )
        found[option.key.value] = option.value.value
    return found


def _merged(environment: TableEnvironment, like: ast.TableLike, own: CatalogTable) -> CatalogTable:
    """A table with what it takes over of another."""
    found = environment.catalogs.table(like.table.names).table
    if not isinstance(found, CatalogTable):
        raise ProgramError(located(f"{like.table} is a view, LIKE takes a table", like.table.span))
    how = _merging(like)
    columns = [one for one in found.schema.columns if how[_feature(one)] != "EXCLUDING"]
    names = [one.name for one in columns]
    for one in own.schema.columns:
        if one.name not in names:
            continue
        if how[_feature(one)] != "OVERWRITING":
            raise ProgramError(
                located(
                    f"There is a column {one.name!r} in {like.table} already",
                    like.span,
                    "Leave it out, or name another one; generated and metadata columns can be "
                    "OVERWRITING.",
                )
            )
        columns = [held for held in columns if held.name != one.name]
    marks = _pick(how["WATERMARKS"], found.schema.watermarks, own.schema.watermarks, "watermark")
    key = own.schema.primary_key
    if how["CONSTRAINTS"] != "EXCLUDING":
        _once(like, "a primary key", "CONSTRAINTS", found.schema.primary_key, key)
        key = key or found.schema.primary_key
    partitions = own.partition_keys
    if how["PARTITIONS"] != "EXCLUDING":
        _once(like, "partitions", "PARTITIONS", found.partition_keys, partitions)
        partitions = partitions or found.partition_keys
    options: Mapping[str, str] = own.options
    if how["OPTIONS"] != "EXCLUDING":
        twice = set(found.options) & set(own.options)
        if how["OPTIONS"] == "INCLUDING" and twice:
            raise ProgramError(
                located(
                    f"The option {sorted(twice)[0]!r} is there already",
                    like.span,
                    "Write OVERWRITING OPTIONS.",
                )
            )
        options = {**found.options, **own.options}
    schema = Schema((*columns, *own.schema.columns), marks, key)
    return CatalogTable(schema, dict(options), own.comment, partitions)


def _once(like: ast.TableLike, what: str, feature: str, theirs: object, own: object) -> None:
    if theirs and own:
        raise ProgramError(
            located(f"{like.table} has {what} already", like.span, f"Write EXCLUDING {feature}.")
        )


def _merging(like: ast.TableLike) -> dict[str, str]:
    how = dict.fromkeys(_FEATURES, "INCLUDING") | {"OPTIONS": "OVERWRITING"}
    how[_PHYSICAL] = "INCLUDING"
    for option in like.options:
        if option.feature == "ALL":
            how |= dict.fromkeys(_FEATURES, option.merging)
    for option in like.options:
        if option.feature != "ALL":
            how[option.feature] = option.merging
    return how


def _feature(column: UnresolvedColumn) -> str:
    if isinstance(column, UnresolvedComputedColumn):
        return "GENERATED"
    return "METADATA" if isinstance(column, UnresolvedMetadataColumn) else _PHYSICAL


def _pick(how: str, theirs: Any, own: Any, what: str) -> Any:
    if how == "EXCLUDING" or not theirs:
        return own
    if own and how == "INCLUDING":
        raise ProgramError(f"There is a {what} already: write OVERWRITING {what.upper()}S.")
    return own or theirs


def _with_query_columns(
    environment: TableEnvironment,
    query: ast.QueryNode,
    statement: ast.CreateTable,
    table: CatalogTable,
) -> CatalogTable:
    """The columns of a query, in the order that the statement wants them, and those it adds."""
    node = environment.bind(query)
    made = {one.name: UnresolvedPhysicalColumn(one.name, one.type) for one in node.columns}
    order = [one.name.name for one in statement.columns if isinstance(one, ast.NamedColumn)]
    if order and set(order) != set(made):
        raise ProgramError(
            located(f"The columns {order} are not those of the query, {list(made)}", statement.span)
        )
    declared = [one for one in table.schema.columns if one.name not in made]
    # a column that is declared as well has the type that is declared
    typed = {one.name: one for one in table.schema.columns if one.name in made}
    for name, one in typed.items():
        if not isinstance(one, UnresolvedPhysicalColumn):
            raise ProgramError(
                located(f"The column {name!r} is one of the query's, too", statement.span)
            )
    chosen = [typed.get(name, made[name]) for name in order or made]
    schema = replace(table.schema, columns=(*declared, *chosen))
    return replace(table, schema=schema)


def create_view(environment: TableEnvironment, statement: ast.CreateView) -> TableResult:
    """CREATE VIEW: the query is bound at once, and kept as text."""
    identifier = environment.catalogs.qualify(statement.name.names)
    view = view_of(environment, statement.query, statement.columns, statement.comment)
    create_checked(environment, identifier, view, statement.temporary, statement.if_not_exists)
    return TableResult.ok()


def view_of(
    environment: TableEnvironment,
    query: ast.QueryNode,
    columns: Sequence[ast.Identifier],
    comment: str | None,
) -> CatalogView:
    """A view with the names of its columns."""
    node = environment.bind(query)
    names = [one.name for one in columns] or [one.name for one in node.columns]
    if len(names) != len(node.columns):
        raise ProgramError(
            located(
                f"The view has {len(names)} names for {len(node.columns)} columns",
                columns[0].span,
            )
        )
    pairs = zip(names, node.columns, strict=True)
    schema = Schema(tuple(UnresolvedPhysicalColumn(name, one.type) for name, one in pairs))
    expanded = unparse_with_backticks(_qualified(environment, query))
    return CatalogView(schema, {}, comment, query.span.text or unparse(query), expanded)


def _qualified(environment: TableEnvironment, query: ast.QueryNode) -> ast.QueryNode:
    """The query with the whole names of the tables it reads, so that it means the same wherever it
    is read from; names of WITH are left alone."""
    local = {one.name.name for one in ast.walk(query) if isinstance(one, ast.CommonTable)}

    def change(node: Any) -> Any:
        if isinstance(node, ast.TableRef | ast.ExplicitTable):
            names = node.name.names
            if (len(names) == 1 and names[0] in local) or len(names) == 3:
                return node
            found = environment.catalogs.find_table(names)
            if found is None:
                return node
            return replace(node, name=replace(_name(found.identifier), span=node.name.span))
        return node

    changed: ast.QueryNode = _rewritten(query, change)
    return changed


def _rewritten(node: Any, change: Any) -> Any:
    from dataclasses import fields

    new = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, ast.Node):
            new[field.name] = _rewritten(value, change)
        elif isinstance(value, tuple) and any(isinstance(one, ast.Node) for one in value):
            new[field.name] = tuple(
                _rewritten(one, change) if isinstance(one, ast.Node) else one for one in value
            )
    return change(replace(node, **new) if new else node)


def drop(environment: TableEnvironment, statement: ast.Drop) -> TableResult:
    """DROP of anything."""
    catalogs, names = environment.catalogs, statement.name.names
    kind = statement.kind
    if kind in ("TABLE", "VIEW"):
        if not statement.temporary:
            catalogs.drop_table(names, kind, statement.if_exists)
        elif not catalogs.drop_temporary(names, kind) and not statement.if_exists:
            raise ProgramError(
                located(f"There is no temporary {kind.lower()} {statement.name}", statement.span)
            )
    elif kind == "DATABASE":
        _drop_database(environment, statement)
    elif kind == "CATALOG":
        catalogs.drop_catalog(names[-1], statement.if_exists)
    elif kind == "FUNCTION":
        _drop_function(environment, statement)
    elif kind == "MODEL":
        from scurry.table.statements.models import drop_model

        drop_model(environment, statement)
    else:
        raise NotSupportedError(located(f"DROP {kind} is not executed", statement.span))
    return TableResult.ok()


def _drop_database(environment: TableEnvironment, statement: ast.Drop) -> None:
    catalogs = environment.catalogs
    catalog, database = catalogs.database_names(statement.name.names)
    if (catalog, database) == (catalogs.current_catalog, catalogs.current_database):
        raise ProgramError(
            located(
                f"The database {database!r} is the current one",
                statement.span,
                "USE another first.",
            )
        )
    cascade = statement.behavior == "CASCADE"
    catalogs.catalog(catalog).drop_database(database, statement.if_exists, cascade)


def _drop_function(environment: TableEnvironment, statement: ast.Drop) -> None:
    catalogs, names = environment.catalogs, statement.name.names
    if statement.system:
        gone = catalogs.drop_system_function(names[-1])
    elif statement.temporary:
        gone = catalogs.drop_temporary_function(names)
    else:
        gone = catalogs.drop_function(names, statement.if_exists)
    if not gone and not statement.if_exists:
        raise ProgramError(
            located(f"There is no temporary function {statement.name}", statement.span)
        )
