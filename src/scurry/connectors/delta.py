"""`DeltaSink`: records into a Delta Lake table, exactly once.

Delta's log can hold, for an application, the number of the last transaction; we write the batch's
number there, in the same commit as the data. A repeated batch is recognised by it. Workers turn
records into Arrow columns, the driver writes the files and the log with the package ``deltalake``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from scurry.common.errors import JobError, ProgramError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.functions.sink import CommitterContext, Records, Sink, SinkWriter, WriterContext
from scurry.runtime.columns import ElementCodec, infer_columns


def package() -> Any:
    """The package deltalake."""
    try:
        import deltalake
    except ImportError:
        raise ProgramError(
            "Delta Lake needs the package deltalake. Run: python -m pip install 'scurry[delta]'"
        ) from None
    return deltalake


class DeltaSink(Sink):
    """Appends records to the table at ``path``, which is made if there is none.

    ``row_type`` fixes the columns; without it they are those of the first records. ``partition_by``
    names the columns a new table is divided by; ``storage_options`` go to ``deltalake``.
    """

    def __init__(
        self,
        path: str,
        row_type: TypeInformation | type | None = None,
        partition_by: list[str] | None = None,
        storage_options: dict[str, str] | None = None,
    ) -> None:
        package()
        if row_type is not None and not isinstance(row_type, TypeInformation):
            row_type = Types.of(row_type)
        if row_type is not None and (
            not isinstance(row_type, CompositeTypeInfo) or row_type.arrow_type() is None
        ):
            raise ProgramError(
                f"DeltaSink needs a row type whose fields all have columns, got {row_type!r}."
            )
        self._path = str(path)
        self._type = row_type
        self._partition_by = partition_by
        self._storage = storage_options
        self._app = ""

    def __getstate__(self) -> dict[str, Any]:
        # writers never reach the storage, so its keys stay on the driver
        return {**self.__dict__, "_storage": None}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ColumnWriter(self._type)

    def start(self, context: CommitterContext) -> None:
        self._app = f"scurry/{context.checkpoint_id}/{context.uid}"

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        batches = [pa.ipc.open_stream(content).read_all() for content in messages]
        if not batches:
            return
        delta = package()
        try:
            if delta.DeltaTable.is_deltatable(self._path, self._storage):
                table = delta.DeltaTable(self._path, storage_options=self._storage)
                seen = table.transaction_version(self._app)
                if seen is not None and seen >= batch_id:
                    return
            delta.write_deltalake(
                self._path,
                pa.concat_tables(batches, promote_options="default"),
                mode="append",
                partition_by=self._partition_by,
                storage_options=self._storage,
                commit_properties=delta.CommitProperties(
                    app_transactions=[delta.Transaction(app_id=self._app, version=batch_id)]
                ),
            )
        except (delta.exceptions.DeltaError, pa.ArrowException) as failure:
            raise JobError(
                f"DeltaSink could not write to {self._path!r}: {failure}. Check that the records' "
                "columns are those of the table."
            ) from failure


class _ColumnWriter(SinkWriter):
    """Gathers the records of a micro-batch as Arrow columns."""

    def __init__(self, row_type: TypeInformation | None) -> None:
        self._codec = None if row_type is None else ElementCodec.of_type(row_type)
        self._batches: list[pa.RecordBatch] = []

    def write(self, rows: list[Any]) -> None:
        if rows:
            make = infer_columns if self._codec is None else self._codec.to_columns
            self._batches.append(make(rows))

    def write_records(self, records: Records, now: int) -> None:
        if self._codec is None and records.columns is not None:
            self._batches.append(records.columns)
        else:
            self.write(records.rows)

    def prepare(self) -> Any:
        batches, self._batches = self._batches, []
        if not batches:
            return None
        table = pa.concat_tables(
            [pa.Table.from_batches([batch]) for batch in batches], promote_options="default"
        )
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_stream(buffer, table.schema) as writer:
            writer.write_table(table)
        return buffer.getvalue().to_pybytes()
