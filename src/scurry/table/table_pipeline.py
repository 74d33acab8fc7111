"""A query with the table that its rows go to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.explain_detail import ExplainDetail
from scurry.table.table import Table
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.compiled_plan import CompiledPlan
    from scurry.table.table_environment import TableEnvironment

__all__ = ["TablePipeline"]


class TablePipeline:
    """From sources to a sink; made by ``Table.insert_into``."""

    def __init__(
        self,
        environment: TableEnvironment,
        table: Table,
        target: ObjectIdentifier,
        overwrite: bool = False,
        sql: str | None = None,
    ) -> None:
        self._environment = environment
        #: the INSERT in SQL, None if the query has no such form
        self.sql = sql
        self.table = table
        self.target = target
        self.overwrite = overwrite

    def execute(self) -> TableResult:
        """Start the job that writes the rows."""
        return self._environment.execute_pipelines([self])

    def compile_plan(self) -> CompiledPlan:
        """The plan of the job, which can be kept and executed later."""
        from scurry.table.compiled_plan import compile_pipelines

        return compile_pipelines(self._environment, [self])

    def explain(self, *extra_details: ExplainDetail) -> str:
        """How the job would be run."""
        return self._environment.explain_pipelines([self], extra_details)

    def print_explain(self, *extra_details: ExplainDetail) -> None:
        """Write :meth:`explain` to standard output."""
        print(self.explain(*extra_details))

    def __repr__(self) -> str:
        return f"TablePipeline(into {self.target})"

    def get_sink_identifier(self) -> ObjectIdentifier:
        """The table that the rows go to."""
        return self.target
