"""Files made of columns: Parquet and ORC.

Records that the stream holds as columns are written as they are; others become columns here, as
their declared type, an Avro schema or the first of them says.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.serialization import BulkWriterFactory, SegmentWriter
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.common.types import Row
from scurry.connectors.files.avro_columns import arrow_schema
from scurry.connectors.files.avro_format import AvroSchema
from scurry.runtime.columns import ElementCodec, infer_columns


class ParquetBulkWriters:
    """Writes Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: TypeInformation | type | None = None,
        hadoop_config: Any = None,
        utc_timestamp: bool = False,
        compression: str = "snappy",
    ) -> BulkWriterFactory:
        """Columns as ``row_type`` has them; without one, as the first records of a file have."""
        return _Parquet(_Shape.of_type("ParquetBulkWriters", row_type), compression)


def parquet_of(shape: Shape) -> BulkWriterFactory:
    """Writes Parquet files of the columns that ``shape`` makes."""
    return _Parquet(shape, "snappy")


class AvroParquetWriters:
    """Writes Parquet files whose columns are those of an Avro schema."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Records are dicts, or Rows with the names of the schema."""
        return _Parquet(_Shape(arrow_schema(schema), None), "snappy")


class OrcBulkWriters:
    """Writes ORC files."""

    @staticmethod
    def for_row_type(
        row_type: TypeInformation | type | None = None,
        writer_properties: Any = None,
        hadoop_config: Any = None,
        compression: str = "zlib",
    ) -> BulkWriterFactory:
        """Columns as ``row_type`` has them; without one, as the first records of a file have."""
        return _Orc(_Shape.of_type("OrcBulkWriters", row_type), compression)


class Shape(Protocol):
    """Makes the columns of a file."""

    def columns(self, rows: list[Any], columns: pa.RecordBatch | None) -> pa.RecordBatch:
        """The columns to write for records, ``columns`` if they fit."""


class _Shape:
    """What the columns of a file are, and how records become such columns."""

    def __init__(self, schema: pa.Schema | None, type_info: TypeInformation | None) -> None:
        self._schema = schema
        self._type = type_info

    @classmethod
    def of_type(cls, maker: str, row_type: TypeInformation | type | None) -> _Shape:
        """Columns for a declared type, or for whatever comes."""
        if row_type is None:
            return cls(None, None)
        if not isinstance(row_type, TypeInformation):
            row_type = Types.of(row_type)
        columns = row_type.arrow_type()
        if not isinstance(row_type, CompositeTypeInfo) or columns is None:
            raise ProgramError(
                f"{maker} needs a row type whose fields all have columns, got {row_type!r}."
            )
        return cls(pa.schema(list(columns)), row_type)

    def columns(self, rows: list[Any], columns: pa.RecordBatch | None) -> pa.RecordBatch:
        """The columns to write for records, ``columns`` if they fit."""
        if self._schema is None:
            return infer_columns(rows) if columns is None else columns
        if columns is not None:
            held = {field.name: field.type for field in columns.schema}
            if all(held.get(field.name) == field.type for field in self._schema):
                return columns.select(self._schema.names)
        return self._converted(rows)

    def _converted(self, rows: list[Any]) -> pa.RecordBatch:
        if self._type is not None:
            codec = ElementCodec.of_type(self._type)
            assert codec is not None
            return codec.to_columns(rows)
        fields = [row.as_dict(recursive=True) if isinstance(row, Row) else row for row in rows]
        try:
            return pa.RecordBatch.from_pylist(fields, schema=self._schema)
        except (pa.ArrowException, AttributeError, TypeError) as failure:
            raise TypeMismatchError(
                f"a record is not of the Avro schema: {failure}; the first of {len(rows)} is "
                f"{rows[0]!r}"
            ) from None


class _Writer(Protocol):
    """What the writers of Parquet and of ORC have in common."""

    def write(self, table: pa.Table) -> None:
        """Append rows."""

    def close(self) -> None:
        """Finish the file."""


class _ColumnFactory(BulkWriterFactory):
    """Segments of columns."""

    columnar = True

    def __init__(self, shape: Shape, compression: str) -> None:
        self._shape = shape
        self._compression = compression

    @abstractmethod
    def open(self, path: Path, schema: pa.Schema) -> AbstractContextManager[_Writer]:
        """Begin a file with the columns of ``schema``."""

    @abstractmethod
    def pieces(self, path: Path) -> Iterator[pa.Table]:
        """A file's rows, piece by piece."""

    def create(self, path: str) -> SegmentWriter:
        return _Columns(self, Path(path), self._shape)

    def join(self, segments: Sequence[Path], target: Path) -> None:
        pieces = (piece for segment in segments for piece in self.pieces(segment))
        first = next(pieces)
        with self.open(target, first.schema) as writer:
            writer.write(first)
            for piece in pieces:
                writer.write(piece.cast(first.schema))

    def measure(self, segment: Path) -> int:
        return sum(piece.num_rows for piece in self.pieces(segment))

    def cut(self, joined: Path, end: int, target: Path) -> None:
        pieces = self.pieces(joined)
        first = next(pieces)
        with self.open(target, first.schema) as writer:
            for piece in itertools.chain([first], pieces):
                if end > 0:
                    writer.write(piece.slice(0, end))
                end -= piece.num_rows


class _Parquet(_ColumnFactory):
    suffix = ".parquet"

    def open(self, path: Path, schema: pa.Schema) -> AbstractContextManager[_Writer]:
        writer: AbstractContextManager[_Writer] = pq.ParquetWriter(
            path, schema, compression=self._compression
        )
        return writer

    def pieces(self, path: Path) -> Iterator[pa.Table]:
        with pq.ParquetFile(path) as file:
            for group in range(file.metadata.num_row_groups):
                yield file.read_row_group(group)

    def measure(self, segment: Path) -> int:
        rows: int = pq.read_metadata(segment).num_rows
        return rows


class _Orc(_ColumnFactory):
    suffix = ".orc"

    def open(self, path: Path, schema: pa.Schema) -> AbstractContextManager[_Writer]:
        from pyarrow import orc

        writer: AbstractContextManager[_Writer] = orc.ORCWriter(
            str(path), compression=self._compression
        )
        return writer

    def pieces(self, path: Path) -> Iterator[pa.Table]:
        from pyarrow import orc

        file = orc.ORCFile(str(path))
        for stripe in range(file.nstripes):
            yield pa.Table.from_batches([file.read_stripe(stripe)])


class _Columns(SegmentWriter):
    """Writes one segment; its file is begun with the first records."""

    def __init__(self, factory: _ColumnFactory, path: Path, shape: Shape) -> None:
        self._factory = factory
        self._path = path
        self._shape = shape
        self._open: AbstractContextManager[_Writer] | None = None

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        table = pa.Table.from_batches([self._shape.columns(rows, columns)])
        if self._open is None:
            self._open = self._factory.open(self._path, table.schema)
            self._writer, self._schema = self._open.__enter__(), table.schema
        self._writer.write(table.cast(self._schema))

    def close(self) -> None:
        if self._open is not None:
            self._writer.close()
