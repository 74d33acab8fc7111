"""Several INSERTs as one job, so that what they share is read and computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.common.errors import ProgramError
from scurry.table.explain_detail import ExplainDetail
from scurry.table.table import Table
from scurry.table.table_descriptor import TableDescriptor
from scurry.table.table_pipeline import TablePipeline
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.compiled_plan import CompiledPlan
    from scurry.table.table_environment import TableEnvironment

__all__ = ["StatementSet"]


class StatementSet:
    """Gathers INSERTs and executes them together."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment
        self._pipelines: list[TablePipeline] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add a query with its target."""
        if not isinstance(table_pipeline, TablePipeline):
            raise ProgramError(f"add takes a TablePipeline, got {table_pipeline!r}.")
        self._pipelines.append(table_pipeline)
        return self

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT INTO statement."""
        self._pipelines.append(self._environment.pipeline_of_sql(stmt))
        return self

    def add_insert(
        self,
        target_path_or_descriptor: str | TableDescriptor,
        table: Table,
        overwrite: bool = False,
    ) -> StatementSet:
        """Add a query whose rows go to a table."""
        if not isinstance(table, Table):
            raise ProgramError(f"add_insert takes a Table, got {table!r}.")
        return self.add(table.insert_into(target_path_or_descriptor, overwrite))

    def attach_as_datastream(self) -> None:
        """Let the INSERTs run with the stream environment's next ``execute``."""
        self._environment.attach_pipelines(self._taken())

    def compile_plan(self) -> CompiledPlan:
        """The plan of the job, which can be kept and executed later; the set is then empty."""
        from scurry.table.compiled_plan import compile_pipelines

        return compile_pipelines(self._environment, self._taken())

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the job would be run."""
        return self._environment.explain_pipelines(self._pipelines, extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Write :meth:`explain` to standard output."""
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Start one job for all INSERTs; the set is then empty."""
        return self._environment.execute_pipelines(self._taken())

    def _taken(self) -> list[Any]:
        if not self._pipelines:
            raise ProgramError("The statement set is empty: add INSERTs to it first.")
        pipelines, self._pipelines = self._pipelines, []
        return pipelines
