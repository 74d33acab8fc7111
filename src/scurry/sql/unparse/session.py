"""SHOW, DESCRIBE, EXPLAIN, SET, USE and the like."""

from __future__ import annotations

from scurry.sql.ast import statements as ast
from scurry.sql.unparse.writer import commas, optional, string, unparse, when, words, writes


@writes(ast.LikeFilter)
def _like(node: ast.LikeFilter) -> str:
    return words(when(node.negated, "NOT"), node.operator, string(node.pattern))


@writes(ast.Show)
def _show(node: ast.Show) -> str:
    name = "" if node.name is None else unparse(node.name)
    return words(
        f"SHOW {node.subject}",
        f"FROM {name}" if node.subject == "COLUMNS" else name,
        optional("FROM", node.scope),
        when(node.partition, f"PARTITION ({commas(node.partition)})"),
        "" if node.like is None else unparse(node.like),
    )


@writes(ast.Describe)
def _describe(node: ast.Describe) -> str:
    if node.kind == "JOB":
        return f"DESCRIBE JOB {string(str(node.name))}"
    kind = "" if node.kind == "TABLE" else node.kind
    return words("DESCRIBE", kind, when(node.extended, "EXTENDED"), unparse(node.name))


@writes(ast.Explain)
def _explain(node: ast.Explain) -> str:
    return words("EXPLAIN", ", ".join(node.details), unparse(node.statement))


@writes(ast.SetOption)
def _set(node: ast.SetOption) -> str:
    if node.key is None or node.value is None:
        return "SET"
    return f"SET {string(node.key)} = {string(node.value)}"


@writes(ast.ResetOption)
def _reset(node: ast.ResetOption) -> str:
    return "RESET" if node.key is None else f"RESET {string(node.key)}"


@writes(ast.UseDatabase)
def _use(node: ast.UseDatabase) -> str:
    return f"USE {unparse(node.name)}"


@writes(ast.UseCatalog)
def _use_catalog(node: ast.UseCatalog) -> str:
    return f"USE CATALOG {unparse(node.name)}"


@writes(ast.UseModules)
def _use_modules(node: ast.UseModules) -> str:
    return f"USE MODULES {commas(node.names)}"


@writes(ast.Jar)
def _jar(node: ast.Jar) -> str:
    return f"{node.verb} JAR {string(node.path)}"


@writes(ast.StopJob)
def _stop(node: ast.StopJob) -> str:
    savepoint = when(node.savepoint, "WITH SAVEPOINT")
    return words("STOP JOB", unparse(node.job), savepoint, when(node.drain, "WITH DRAIN"))
