"""Tables of Postgres: read once, or written as they change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import RowType
from scurry.common.errors import TypeMismatchError
from scurry.common.types import RowKind
from scurry.connectors.postgres.sink import PostgresSink
from scurry.connectors.postgres.source import PostgresSource
from scurry.functions.sink import SinkWriter, WriterContext
from scurry.functions.source import Json, SourceBatch

__all__ = ["PostgresRowSink", "PostgresRows"]


class PostgresRowSink(PostgresSink):
    """A table that is updated by its key. The old row of an update deletes, as in Flink: its new
    row, which comes next, may have been filtered out, or have another key."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Changes(super().create_writer(context))


class _Changes(SinkWriter):
    def __init__(self, inner: SinkWriter) -> None:
        self._inner = inner

    def write(self, rows: list[Any]) -> None:
        for row in rows:
            if row.get_row_kind() is RowKind.UPDATE_BEFORE:
                row.set_row_kind(RowKind.DELETE)
        self._inner.write(rows)

    def prepare(self) -> Any:
        return self._inner.prepare()

    def close(self) -> None:
        self._inner.close()


class PostgresRows(PostgresSource):
    """A :class:`PostgresSource` whose records are the columns of a table."""

    columnar = True
    changelog = ChangelogMode.INSERT_ONLY

    def __init__(self, source: PostgresSource, row_type: RowType) -> None:
        self.__dict__.update(source.__dict__)
        self._row_type = row_type
        self.relation = row_type.arrow_schema()

    @property
    def position_form(self) -> str:
        return PostgresSource.__name__

    def read(self, what: Json) -> Iterator[SourceBatch]:
        for batch in super().read(what):
            lists = list(zip(*(batch.rows or ()), strict=True)) or [()] * len(self._row_type)
            arrays = []
            for values, field in zip(lists, self._row_type, strict=True):
                try:
                    arrays.append(pa.array(values, field.data_type.arrow_type()))
                except (pa.ArrowException, TypeError, OverflowError) as failure:
                    raise TypeMismatchError(
                        f"the column {field.name!r} of the table in Postgres holds what is no "
                        f"{field.data_type}: {failure}. Declare it with the type that it has there"
                    ) from None
            yield SourceBatch(columns=pa.RecordBatch.from_arrays(arrays, schema=self.relation))
