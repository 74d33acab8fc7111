"""Statements that are understood and not executed, with the reason and what to do instead."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.errors import NotSupportedError
from scurry.common.spans import located
from scurry.sql import ast

__all__ = ["GAPS", "Gap", "refuse"]


@dataclass(frozen=True)
class Gap:
    """``status`` is ``notimpl`` for what may come, ``never`` for what will not."""

    statement: str
    status: str
    advice: str


GAPS: dict[type[ast.Statement], Gap] = {
    ast.Delete: Gap(
        "DELETE",
        "never",
        "A sink takes changes from a query: write one whose rows go away, or change the rows in "
        "the system that holds them.",
    ),
    ast.Update: Gap(
        "UPDATE",
        "never",
        "A sink takes changes from a query: write one whose rows change, or change the rows in "
        "the system that holds them.",
    ),
    ast.Truncate: Gap("TRUNCATE TABLE", "never", "Empty the table in the system that holds it."),
    ast.AnalyzeTable: Gap(
        "ANALYZE TABLE", "never", "The planner has no cost model: statistics would change nothing."
    ),
    ast.Call: Gap("CALL", "notimpl", "There are no procedures: run Python code instead."),
    ast.CreateMaterializedTable: Gap(
        "CREATE MATERIALIZED TABLE",
        "notimpl",
        "CREATE TABLE with a connector, and INSERT INTO it from the query.",
    ),
    ast.Jar: Gap(
        "ADD JAR",
        "never",
        "Scurry runs no Java code of yours, and its connectors need no archive: leave it out.",
    ),
}


def refuse(statement: ast.Statement, gap: Gap) -> NotSupportedError:
    """The error for a statement of the table."""
    return NotSupportedError(
        located(f"{gap.statement} is not executed", statement.span, gap.advice)
    )
