"""What a statement gives: rows that are there already, or those of a job as they come."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any

from scurry.common.data_types import DataTypes
from scurry.common.errors import JobError, ProgramError
from scurry.common.job_client import JobClient
from scurry.common.types import Row
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.result_kind import ResultKind
from scurry.table.table_schema import TableSchema
from scurry.table.tableau import Tableau

__all__ = ["CloseableIterator", "TableResult"]


class CloseableIterator:
    """Rows one after the other; closing it ends the job that they come from."""

    def __init__(self, rows: Iterable[Row], close: Callable[[], None]) -> None:
        self._rows: Iterator[Row] = iter(rows)
        self._close = close

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Row:
        return next(self._rows)

    def next(self) -> Row:
        """The next row; raises StopIteration at the end."""
        return next(self)

    def close(self) -> None:
        """Take no more rows, and cancel the job."""
        self._close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class TableResult:
    """The result of a statement. Rows can be taken once: by ``collect`` or by ``print``."""

    def __init__(
        self,
        kind: ResultKind,
        schema: ResolvedSchema,
        rows: Iterable[Row],
        *,
        job: JobClient | None = None,
        tableau: Tableau | None = None,
        of_insert: bool = False,
        raw: bool = False,
    ) -> None:
        self._kind = kind
        self._schema = schema
        self._rows = rows
        self._job = job
        self._tableau = tableau or Tableau(schema, streaming=False)
        self._of_insert = of_insert
        self._raw = raw or of_insert
        self._first: list[Row] | None = None
        self._iterator: Iterator[Row] | None = None
        self._taken = False

    @staticmethod
    def ok() -> TableResult:
        """The result of a statement that has done what it says."""
        schema = ResolvedSchema.physical(["result"], [DataTypes.STRING()])
        return TableResult(ResultKind.SUCCESS, schema, [Row("OK")])

    @staticmethod
    def of_rows(schema: ResolvedSchema, rows: Iterable[Any], zone: str = "UTC") -> TableResult:
        """A result that is there already; times are printed as they are in ``zone``."""
        made = Row.from_tuples(None, [tuple(row) for row in rows])
        tableau = Tableau(schema, streaming=False, zone=zone)
        return TableResult(ResultKind.SUCCESS_WITH_CONTENT, schema, made, tableau=tableau)

    @staticmethod
    def of_text(text: str) -> TableResult:
        """A text that is shown as it is, such as an explanation."""
        schema = ResolvedSchema.physical(["result"], [DataTypes.STRING()])
        kind = ResultKind.SUCCESS_WITH_CONTENT
        return TableResult(kind, schema, [Row(text)], raw=True)

    def get_job_client(self) -> JobClient | None:
        """The job behind the result; None for statements that need none."""
        return self._job

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until a query has given its first row, or an INSERT has ended; other statements
        are done already. Raises a JobError if that takes longer than ``timeout_ms``."""
        if self._job is None:
            return
        if self._of_insert:
            self._wait_for_end(timeout_ms)
        elif self._first is None:
            row = next(self._stream(), None)
            self._first = [] if row is None else [row]

    def _wait_for_end(self, timeout_ms: int | None) -> None:
        assert self._job is not None
        import concurrent.futures

        future = self._job.get_job_execution_result()
        try:
            future.result(None if timeout_ms is None else timeout_ms / 1000)
        except (TimeoutError, concurrent.futures.TimeoutError):
            raise JobError(f"The job has not ended within {timeout_ms} ms.") from None

    def get_table_schema(self) -> TableSchema:
        """The schema of the result, in its older form."""
        return TableSchema(self._schema.get_column_names(), self._schema.get_column_data_types())

    def get_resolved_schema(self) -> ResolvedSchema:
        """The schema of the result."""
        return self._schema

    def get_result_kind(self) -> ResultKind:
        """Whether there is more to it than OK."""
        return self._kind

    def collect(self) -> CloseableIterator:
        """The rows, each with its kind."""
        return CloseableIterator(self._take(), self._close)

    def print(self) -> None:
        """Write the result to standard output as a table, row by row as they come."""
        for line in self.lines():
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    def lines(self) -> Iterator[str]:
        """What :meth:`print` writes."""
        if self._kind is ResultKind.SUCCESS:
            yield "OK"
            return
        if self._raw:
            for row in self._take():
                yield ", ".join(map(str, row))
            return
        yield from self._tableau.lines(self._take())

    def _take(self) -> Iterator[Row]:
        if self._taken and self._job is not None:
            raise ProgramError("The rows of this result were taken already: execute it again.")
        self._taken = True
        return self._ahead()

    def _ahead(self) -> Iterator[Row]:
        yield from self._first or ()
        yield from self._stream()

    def _stream(self) -> Iterator[Row]:
        if self._job is None:
            return iter(self._rows)
        if self._iterator is None:
            self._iterator = iter(self._rows)
        return self._iterator

    def _close(self) -> None:
        if self._job is None or self._of_insert:
            return
        from scurry.common.job_status import JobStatus

        if self._job.get_job_status().result() in (JobStatus.RUNNING, JobStatus.CREATED):
            self._job.cancel().result()
