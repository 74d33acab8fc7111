"""Compiled plans: INSERTs as JSON that can be kept, loaded and executed again.

A plan holds its statements in SQL, with all names written out, and the tables of catalogs that they
read and write, as they were. Operators are known by what they compute (their uids), so the job of a
plan that was loaded goes on from the state of the job it was compiled from.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scurry import __version__
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.sql import ast
from scurry.sql.parser import parse_statement
from scurry.table.catalog.json_form import from_json, to_json
from scurry.table.explain_detail import ExplainDetail
from scurry.table.plan_reference import PlanReference
from scurry.table.table_pipeline import TablePipeline
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["CompiledPlan", "compile_pipelines", "load_plan"]

#: The version of the JSON, and that of Flink whose SQL it is.
_FORM, _FLINK = 1, "2.3"


class CompiledPlan:
    """INSERTs that were compiled; made with ``compile_plan`` or ``compile_plan_sql``."""

    def __init__(self, environment: TableEnvironment, content: dict[str, Any]) -> None:
        self._environment = environment
        self._content = content

    def as_json_string(self) -> str:
        """The plan as JSON."""
        return json.dumps(self._content, indent=2)

    def as_smile_bytes(self) -> bytes:
        """The plan as bytes: its JSON in UTF-8."""
        return self.as_json_string().encode()

    def write_to_file(self, file: str | Path, ignore_if_exists: bool = False) -> None:
        """Keep the plan in a file. If there is one, it is left alone, or the call refused."""
        try:
            with Path(file).open("x", encoding="utf-8") as target:
                target.write(self.as_json_string())
        except FileExistsError:
            if not ignore_if_exists:
                raise ProgramError(
                    f"There is a file {file} already: write the plan elsewhere, or say "
                    "ignore_if_exists."
                ) from None

    def get_flink_version(self) -> str:
        """The version of Flink whose SQL the plan is written in."""
        return str(self._content["flinkVersion"])

    def print_json_string(self) -> None:
        """Write :meth:`as_json_string` to standard output."""
        print(self.as_json_string())

    def execute(self) -> TableResult:
        """Start the job."""
        return self._environment.execute_pipelines(self._pipelines())

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the job would be run."""
        return self._environment.explain_pipelines(self._pipelines(), extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Write :meth:`explain` to standard output."""
        print(self.explain(*extra_details))

    def __str__(self) -> str:
        return self.as_json_string()

    def _pipelines(self) -> list[TablePipeline]:
        self._restore_tables()
        return [self._environment.pipeline_of_sql(one) for one in self._content["statements"]]

    def _restore_tables(self) -> None:
        """Make the tables that are not there, for as long as the environment lives."""
        catalogs = self._environment.catalogs
        for one in self._content["tables"]:
            if catalogs.find_table(one["path"]) is None:
                table = from_json("table", one["table"])
                catalogs.create_table(catalogs.qualify(one["path"]), table, temporary=True)


def compile_pipelines(
    environment: TableEnvironment, pipelines: Sequence[TablePipeline]
) -> CompiledPlan:
    """The plan of INSERTs that become one job."""
    statements = [_sql(one) for one in pipelines]
    environment.explain_pipelines(pipelines, ())
    tables: dict[tuple[str, ...], Any] = {}
    for text in statements:
        for names in _tables(parse_statement(text)):
            found = environment.catalogs.find_table(names)
            if found is not None and not found.temporary:
                tables[tuple(found.identifier.to_list())] = to_json(found.table)
    content = {
        "form": _FORM,
        "scurryVersion": __version__,
        "flinkVersion": _FLINK,
        "statements": statements,
        "tables": [{"path": list(path), "table": table} for path, table in tables.items()],
    }
    return CompiledPlan(environment, content)


def load_plan(environment: TableEnvironment, reference: PlanReference) -> CompiledPlan:
    """A plan that was kept."""
    if not isinstance(reference, PlanReference):
        raise ProgramError(
            f"load_plan takes PlanReference.from_file(...) and the like, got {reference!r}."
        )
    text = reference.text()
    try:
        content = json.loads(text)
        known = content["form"] <= _FORM and {"statements", "tables"} <= content.keys()
    except (ValueError, KeyError, TypeError, AttributeError):
        known = False
    if not known:
        raise ProgramError(
            "This is no plan that this version of Scurry has compiled: compile the statement again."
        )
    return CompiledPlan(environment, content)


def _sql(pipeline: TablePipeline) -> str:
    if pipeline.sql is None:
        raise NotSupportedError(
            f"The query for {pipeline.target.as_summary_string()} was built with the Table API, "
            "which has no form that a plan can keep: write it in SQL, with sql_query(...)."
            "insert_into(...) or compile_plan_sql(...)."
        )
    return pipeline.sql


def _tables(node: ast.Node) -> Iterator[tuple[str, ...]]:
    """The tables that a statement names."""
    if isinstance(node, ast.Insert):
        yield node.table.names
    if isinstance(node, ast.TableRef):
        yield node.name.names
    for child in node.children():
        yield from _tables(child)
