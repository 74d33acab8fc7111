"""Parquet, read straight into Arrow columns. The unit of reading is the row group."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from scurry.common.errors import ProgramError, ScurryError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.common.types import Row
from scurry.connectors.files.formats import BulkFormat, MalformedFileError, cannot_read
from scurry.connectors.files.read_filter import Bounds, ReadFilter
from scurry.functions.source import SourceBatch

_READ_ROWS = 65_536


class ParquetColumnarRowInputFormat(BulkFormat):
    """The rows of Parquet files, as Rows unless ``row_type`` says otherwise.

    ``row_type`` selects and orders columns: a row type or dataclass, or just their names.
    ``hadoop_config``, ``is_utc_timestamp`` and ``is_case_sensitive`` are taken for the sake of
    programs that give them; they change nothing here.
    """

    columnar = True

    def __init__(
        self,
        row_type: CompositeTypeInfo | type | Sequence[str] | None = None,
        hadoop_config: Any = None,
        batch_size: int = _READ_ROWS,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ) -> None:
        self._batch_size = batch_size
        self._columns: list[str] | None = None
        self._type: TypeInformation | None = None
        self._unwanted: ReadFilter | None = None
        self.as_tuples = row_type is tuple
        if dataclasses.is_dataclass(row_type):
            row_type = Types.DATACLASS(row_type)
        if isinstance(row_type, CompositeTypeInfo):
            self._type = row_type
            self._columns = list(row_type.field_names())
        elif row_type is not None and row_type not in (Row, tuple):
            if isinstance(row_type, (str, type, TypeInformation)):
                raise ProgramError(
                    "Parquet rows become Rows, tuples or dataclasses: give a row type, a dataclass "
                    f"or a list of column names, not {row_type!r}."
                )
            self._columns = list(row_type)

    def selecting(self, columns: list[str] | None) -> ParquetColumnarRowInputFormat:
        """The same with only these columns, unless the row type has said which."""
        if self._type is None and columns is not None:
            self._columns = list(columns)
        return self

    def skipping(self, unwanted: ReadFilter) -> Self:
        """The same without row groups that have no row that is wanted."""
        self._unwanted = unwanted
        return self

    @property
    def type_info(self) -> TypeInformation | None:
        return self._type

    def extent(self, path: str, complete: bool) -> int | None:
        try:
            with open(path, "rb") as file:
                file.seek(0, 2)
                if file.tell() >= 12:
                    file.seek(-4, 2)
                    if file.read(4) == b"PAR1":
                        return int(_open(path).metadata.num_row_groups)
        except (OSError, pa.ArrowInvalid) as failure:
            raise _not_opened(path, failure) from failure
        if complete:
            raise MalformedFileError(
                f"{path!r} is not a complete Parquet file: its end is missing. Remove it, or write "
                "it again."
            )
        return None

    def splits(self, path: str, extent: int, size: int) -> list[int]:
        return list(range(extent + 1))

    def cut(self, path: str, start: int, end: int, records: int, complete: bool) -> tuple[int, int]:
        metadata = _open(path).metadata
        place, rows = start, 0
        while place < end and rows < records:
            rows += metadata.row_group(place).num_rows
            place += 1
        return place, rows

    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        try:
            reader = _open(path)
        except (OSError, pa.ArrowInvalid) as failure:
            raise _not_opened(path, failure) from failure
        self._check_columns(path, reader)
        for batch in reader.iter_batches(
            batch_size=self._batch_size,
            row_groups=self._wanted(reader, start, end),
            columns=self._columns,
        ):
            if self._columns is not None:
                batch = batch.select(self._columns)
            yield SourceBatch(columns=batch)

    def _wanted(self, reader: pq.ParquetFile, start: int, end: int) -> list[int]:
        groups = range(start, end)
        if self._unwanted is None:
            return list(groups)
        known = (_bounds(reader.metadata.row_group(at)) for at in groups)
        pairs = zip(groups, known, strict=True)
        return [at for at, bounds in pairs if not self._unwanted.excludes(bounds)]

    def _check_columns(self, path: str, reader: pq.ParquetFile) -> None:
        names = reader.schema_arrow.names
        missing = [name for name in self._columns or () if name not in names]
        if missing:
            raise MalformedFileError(
                f"{path!r} has no column {missing[0]!r}: it has {names}. Ask the source for "
                "columns that all of its files have, or write the file again."
            )


def _bounds(group: pq.RowGroupMetaData) -> dict[str, Bounds]:
    """What the end of the file says of the columns of a row group."""
    found = {}
    for at in range(group.num_columns):
        column = group.column(at)
        told = column.statistics
        if told is None or not told.has_null_count:
            continue
        rows = group.num_rows
        if told.null_count == rows:
            found[column.path_in_schema] = Bounds(None, None, values=False)
        elif told.has_min_max:
            nulls = told.null_count > 0
            found[column.path_in_schema] = Bounds(told.min, told.max, nulls)
    return found


def _not_opened(path: str, failure: Exception) -> ScurryError:
    """The error for a file that cannot be opened. Arrow raises an ``OSError`` without a number for
    content that it cannot read; one with a number comes from the operating system."""
    if isinstance(failure, OSError) and failure.errno is not None:
        return cannot_read(path, failure)
    return MalformedFileError(
        f"{path!r} is a damaged Parquet file: {str(failure).strip().rstrip('.')}. Remove it, or "
        "write it again, and restart the job."
    )


def _open(path: str) -> pq.ParquetFile:
    state = os.stat(path)
    return _open_version(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _open_version(path: str, changed: int, size: int) -> pq.ParquetFile:
    return pq.ParquetFile(path)
