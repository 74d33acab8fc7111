"""Rows that end in the program itself: collected, printed, or thrown away.

Writers keep the columns of a micro-batch as they are and hand them to the driver, which makes rows
of them once they are committed.
"""

from __future__ import annotations

import queue
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import pyarrow as pa

from scurry.common.data_types import RowType
from scurry.common.types import Row
from scurry.connectors.memory import DiscardingSink, DriverSink
from scurry.connectors.tables.external_values import external_rows, java_text
from scurry.functions.sink import Records, SinkWriter, WriterContext

__all__ = ["BlackholeRows", "CollectRows", "PrintRows"]

_END = object()


class _Columns(SinkWriter):
    """Keeps the columns of a micro-batch, with their kinds."""

    def __init__(self, context: WriterContext) -> None:
        self._place = (context.index, context.parallelism)
        self._parts: list[Any] = []

    def write(self, rows: list[Any]) -> None:
        raise AssertionError("this writer is given columns: write_records")

    def write_records(self, records: Records, now: int) -> None:
        columns = records.columns
        assert columns is not None, "a relation is held as columns"
        if columns.num_rows:
            self._parts.append((columns, records.kinds))

    def prepare(self) -> Any:
        parts, self._parts = self._parts, []
        return (self._place, parts) if parts else None


class _DriverRows(DriverSink):
    columnar = True
    #: whether the fields of rows have names
    named = True

    def __init__(self, row_type: RowType) -> None:
        super().__init__()
        self._row_type = row_type

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Columns(context)

    def _rows(self, parts: list[Any]) -> list[Row]:
        kind, named = self._row_type, self.named
        return [
            row for columns, kinds in parts for row in external_rows(columns, kinds, kind, named)
        ]


class CollectRows(_DriverRows):
    """Hands every row to an iterator in the program."""

    named = False

    def __init__(self, row_type: RowType) -> None:
        super().__init__(row_type)
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_queue": None, "_seen": None}

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        self._queue.put(rows)

    def close(self) -> None:
        self._queue.put(_END)

    def batches(self) -> Iterator[tuple[pa.RecordBatch, Any]]:
        """Columns with their kinds as they arrive, until the job has ended."""
        while (parts := self._queue.get()) is not _END:
            yield from parts

    def rows(self) -> Iterator[Row]:
        """Rows as they arrive, until the job has ended."""
        for part in self.batches():
            yield from self._rows([part])


class PrintRows(_DriverRows):
    """Prints each row as ``+I[1, a]``, with an identifier and the number of the subtask in front,
    if there are several."""

    def __init__(self, row_type: RowType, identifier: str = "", standard_error: bool = False):
        super().__init__(row_type)
        self._identifier = identifier
        self._standard_error = standard_error

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_seen": None}

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        prefix = self._identifier
        if parallelism > 1:
            prefix += f"{':' if prefix else ''}{index + 1}"
        prefix += "> " if prefix else ""
        stream: TextIO = sys.stderr if self._standard_error else sys.stdout
        stream.write("".join(f"{prefix}{self._text(row)}\n" for row in self._rows(rows)))
        stream.flush()

    def _text(self, row: Row) -> str:
        values = map(java_text, row, self._row_type.children)
        return f"{row.get_row_kind()}[{', '.join(values)}]"


class BlackholeRows(DiscardingSink):
    """Takes every row and keeps none."""

    columnar = True
