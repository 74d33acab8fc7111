"""Sinks that end in Spark: a function that is called with the DataFrame of each micro-batch, and
one that keeps all records for a DataFrame.

Writers make one Parquet file of what they get in a micro-batch. On the driver, Spark reads the
files of a micro-batch as one DataFrame.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from scurry.common.any_paths import AnyPath, ObjectPath, remove_files, remove_tree
from scurry.common.errors import JobError, ProgramError
from scurry.common.hadoop_paths import hadoop_pattern
from scurry.connectors.data_frames.types import check_for_files, columns_of_schema
from scurry.connectors.data_frames.values import FrameColumns
from scurry.connectors.seen import SeenBatches
from scurry.functions.sink import (
    AT_LEAST_ONCE,
    CommitterContext,
    Records,
    Sink,
    SinkWriter,
    WriterContext,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

#: Called with the DataFrame of a micro-batch, and with the number of the micro-batch.
BatchFunction = Callable[["DataFrame", int], object]


class _FrameSink(Sink):
    """What both have in common: a schema, and writers of Parquet files."""

    columnar = True
    insertions_only = True
    known_by_uid = False

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        check_for_files(session, schema)
        self._session: SparkSession | None = session
        self._schema: StructType | None = schema
        self._columns = FrameColumns(columns_of_schema(schema))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None, "_schema": None}

    def directory(self) -> AnyPath:
        """Where writers put their files."""
        raise NotImplementedError

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ParquetWriter(self.directory(), self._columns, context.index)

    def frame(self, names: list[str]) -> DataFrame:
        """The DataFrame of some files."""
        assert self._session is not None
        assert self._schema is not None
        if not names:
            return self._session.createDataFrame([], self._schema)
        place = self.directory()
        if isinstance(place, ObjectPath):
            # Spark reaches object stores by other means than Scurry, if at all
            listed = self._session.createDataFrame([(name,) for name in names], "name string")
            parts = listed.repartition(len(names), "name")
            return parts.mapInArrow(_Fetch(place, self._columns.schema), self._schema)
        paths = [hadoop_pattern(place / name) for name in names]
        return self._session.read.schema(self._schema).parquet(*paths)


class ForeachBatchSink(_FrameSink):
    """Calls a function with each micro-batch.

    As with Spark's own ``foreachBatch``, the function may be called again for the same micro-batch
    after a crash, with the same records and the same number: it is exactly once if what the
    function does is, or if the function leaves out numbers that it has seen.
    """

    guarantee = AT_LEAST_ONCE
    room_anywhere = True

    def __init__(self, session: SparkSession, schema: StructType, function: BatchFunction) -> None:
        super().__init__(session, schema)
        self._function: BatchFunction | None = function
        self._room: AnyPath | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_function": None}

    @property
    def needs_slot(self) -> bool:
        return True

    def take_room(self, room: AnyPath) -> None:
        self._room = room

    def directory(self) -> AnyPath:
        assert self._room is not None, "the engine gives a room before anything is written"
        return self._room

    def start(self, context: CommitterContext) -> None:
        # whatever is left of micro-batches that were not committed is written again
        remove_tree(self.directory())
        self.directory().mkdir(parents=True)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        assert self._function is not None
        names = [name for _, name in sorted(messages)]
        if not names:
            return
        try:
            self._function(self.frame(names), batch_id)
        except Exception as failure:
            raise JobError(
                f"The function of foreach_batch failed on micro-batch {batch_id}: "
                f"{type(failure).__name__}: {str(failure).strip().splitlines()[0]}"
            ) from failure
        remove_files(self.directory() / name for name in names)


class KeptFrameSink(_FrameSink):
    """Keeps all records of a job that ends, for a DataFrame of them."""

    def __init__(self, session: SparkSession, schema: StructType) -> None:
        super().__init__(session, schema)
        self._kept = tempfile.mkdtemp(prefix="scurry-frame-")
        atexit.register(shutil.rmtree, self._kept, ignore_errors=True)
        self._names: list[str] = []
        self._seen = SeenBatches()

    def directory(self) -> Path:
        return Path(self._kept)

    def start(self, context: CommitterContext) -> None:
        self._seen.start(context)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        if self._seen.is_new(batch_id):
            self._names += [name for _, name in sorted(messages)]

    def result(self) -> DataFrame:
        """All records, once the job has ended."""
        return self.frame(self._names)


class _ParquetWriter(SinkWriter):
    """Writes what comes in a micro-batch to one file."""

    def __init__(self, directory: AnyPath, columns: FrameColumns, index: int) -> None:
        self._directory = directory
        self._columns = columns
        self._index = index
        self._name = ""
        self._open: pq.ParquetWriter | None = None
        #: what becomes an object of a store
        self._content: pa.BufferOutputStream | None = None

    def write(self, rows: list[Any]) -> None:
        raise AssertionError("this writer is given records with their columns: write_records")

    def write_records(self, records: Records, now: int) -> None:
        held = records.columns
        rows = [] if held is not None and self._columns.fits(held.schema) else records.rows
        self._writer().write_batch(self._columns.columns(rows, held))

    def _writer(self) -> pq.ParquetWriter:
        if self._open is None:
            self._name = f"{uuid.uuid4().hex}.parquet"
            if isinstance(self._directory, ObjectPath):
                self._content = pa.BufferOutputStream()
                self._open = pq.ParquetWriter(self._content, self._columns.schema)
                return self._open
            if not self._directory.exists():
                raise ProgramError(
                    f"The directory {str(self._directory)!r}, which the driver has made for a "
                    "DataFrame, is not there. The checkpoint, and TMPDIR, must be on a file system "
                    "that driver and workers share."
                )
            path = self._directory / self._name
            self._open = pq.ParquetWriter(path, self._columns.schema)
        return self._open

    def prepare(self) -> Any:
        if self._open is None:
            return None
        self._open.close()
        self._open = None
        if self._content is not None:
            (self._directory / self._name).write_bytes(self._content.getvalue().to_pybytes())
            self._content = None
        return self._index, self._name


class _Fetch:
    """What Spark's tasks run: reads the files that are named to it out of an object store."""

    def __init__(self, place: ObjectPath, schema: pa.Schema) -> None:
        self._place = place
        self._schema = schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for name in batch.column(0).to_pylist():
                content = pa.BufferReader((self._place / name).read_bytes())
                yield from pq.read_table(content).cast(self._schema).to_batches()
