"""`DeltaSink`: records into a Delta Lake table, exactly once.

The log of a Delta table can hold, for each application, the number of its last transaction. The
sink writes the mark of a micro-batch there, in the same commit as the data, and recognises by it a
batch that is committed again (see :mod:`scurry.connectors.delta_commits`). Workers turn records
into Arrow columns; the driver writes the files and the log with the package ``deltalake``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from scurry.common.errors import JobError, ProgramError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.connectors.delta_commits import DeltaCommits, package
from scurry.functions.history import History, Mark, NumbersOnly
from scurry.functions.sink import CommitterContext, Records, Sink, SinkWriter, WriterContext
from scurry.runtime.columns import ElementCodec, infer_columns


class DeltaSink(Sink):
    """Appends records to the table at ``path``, which is made if there is none.

    ``row_type`` fixes the columns; without it they are those of the first records. ``partition_by``
    names the columns a new table is divided by; ``storage_options`` go to ``deltalake``.
    """

    columnar = True

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
        self._commits: DeltaCommits | None = None
        self._history: History = NumbersOnly()

    def __getstate__(self) -> dict[str, Any]:
        # writers never reach the storage, so its keys stay on the driver
        return {**self.__dict__, "_storage": None, "_commits": None}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ColumnWriter(self._type)

    def start(self, context: CommitterContext) -> None:
        self._history = context.history
        self._commits = DeltaCommits(self._path, self._storage, context)

    def committed_mark(self) -> Mark | None:
        assert self._commits is not None
        return self._commits.mark(self._commits.table())

    def why_not_truncate(self) -> str:
        from deltalake import transaction

        if hasattr(transaction, "RemoveAction"):
            return ""
        return (
            f"deltalake {package().__version__} cannot remove single files. Install a newer one, "
            "or restore the table to a version that fits the checkpoint and choose 'append'."
        )

    def truncate(self) -> None:
        assert self._commits is not None
        self._commits.truncate()

    def accept(self, mark: Mark) -> None:
        assert self._commits is not None
        self._commits.accept(mark)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        batches = [pa.ipc.open_stream(content).read_all() for content in messages]
        if not batches:
            return
        assert self._commits is not None
        delta = package()
        try:
            self._append(batch_id, pa.concat_tables(batches, promote_options="default"))
        except (delta.exceptions.DeltaError, pa.ArrowException) as failure:
            self._commits.check()
            raise JobError(
                f"DeltaSink could not write to {self._path!r}: {failure}. Check that the records' "
                "columns are those of the table."
            ) from failure

    def _append(self, batch_id: int, records: pa.Table) -> None:
        commits = self._commits
        assert commits is not None
        table = commits.table()
        if table is None:
            table = commits.create(records.schema, self._partition_by)
        commits.admit(table)
        seen = commits.mark(table)
        if self._history.repeats(batch_id, seen):
            return
        # on this very version of the table: if another driver has entered since, Delta refuses
        package().write_deltalake(
            table,
            records,
            mode="append",
            partition_by=self._partition_by,
            commit_properties=commits.properties(self._history.mark(batch_id), first=seen is None),
        )

    def recover(self, batch_id: int) -> None:
        assert self._commits is not None
        self._commits.enter()


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
