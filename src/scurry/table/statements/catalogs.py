"""Statements about catalogs: CREATE, ALTER, SHOW CREATE and DESCRIBE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scurry.common.errors import NotSupportedError
from scurry.common.spans import located
from scurry.sql import ast
from scurry.table.catalog.descriptor import make_catalog
from scurry.table.catalog.in_memory import GenericInMemoryCatalog
from scurry.table.catalog.names import quoted
from scurry.table.statements.results import listing, literal, of_text
from scurry.table.statements.tables import options_of
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["alter_catalog", "create_catalog", "describe_catalog", "show_create_catalog"]


def create_catalog(environment: TableEnvironment, statement: ast.CreateCatalog) -> TableResult:
    """CREATE CATALOG."""
    name, options = statement.name.names[-1], options_of(statement.options)
    if statement.if_not_exists and environment.catalogs.find_catalog(name) is not None:
        return TableResult.ok()
    made = make_catalog(name, options)
    environment.catalogs.register(name, made, options, statement.comment)
    return TableResult.ok()


def alter_catalog(environment: TableEnvironment, statement: ast.Alter) -> None:
    """ALTER CATALOG: it is opened anew with its changed options. What a catalog in memory holds
    stays."""
    catalogs, name, change = environment.catalogs, statement.name.names[-1], statement.change
    held, options = catalogs.catalog(name), catalogs.catalog_options(name)
    if isinstance(change, ast.SetComment):
        catalogs.set_catalog(name, held, options, change.comment)
        return
    if isinstance(change, ast.SetOptions):
        options |= options_of(change.options)
    elif isinstance(change, ast.ResetOptions):
        gone = {key.value for key in change.keys}
        options = {key: value for key, value in options.items() if key not in gone}
    else:
        raise NotSupportedError(
            located("Only SET, RESET and COMMENT are known for catalogs", statement.span)
        )
    made = make_catalog(name, options)
    if isinstance(held, GenericInMemoryCatalog) and isinstance(made, GenericInMemoryCatalog):
        made = held
    catalogs.set_catalog(name, made, options, catalogs.catalog_comment(name))


def show_create_catalog(environment: TableEnvironment, statement: ast.Show) -> TableResult:
    """SHOW CREATE CATALOG."""
    assert statement.name is not None
    name = statement.name.names[-1]
    pairs = ",\n  ".join(
        f"{literal(key)} = {literal(value)}" for key, value in sorted(_options(environment, name))
    )
    comment = environment.catalogs.catalog_comment(name)
    said = f"COMMENT {literal(comment)}\n" if comment else ""
    return of_text(f"CREATE CATALOG {quoted(name)}\n{said}WITH (\n  {pairs}\n)\n")


def describe_catalog(environment: TableEnvironment, statement: ast.Describe) -> TableResult:
    """DESCRIBE CATALOG."""
    name = statement.name.names[-1]
    options = dict(_options(environment, name))
    comment = environment.catalogs.catalog_comment(name) or ""
    rows = [("name", name), ("type", options.pop("type", "")), ("comment", comment)]
    if statement.extended:
        rows += [(f"option:{key}", value) for key, value in options.items()]
    return listing(["info name", "info value"], rows)


def _options(environment: TableEnvironment, name: str) -> list[tuple[str, str]]:
    found = environment.catalogs.catalog_options(name) or {"type": "generic_in_memory"}
    return list(found.items())
