"""How records become files: what a file sink needs to know of a format.

A writer makes *segments*: complete files of the format that hold what one task got of one bucket in
one micro-batch. Several segments can be joined into one file, which becomes a part file.
"""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.serialization import Encoder
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.common.types import Row
from scurry.connectors.files.avro_format import AvroSchema, fastavro
from scurry.connectors.files.csv_schema import CsvSchema
from scurry.connectors.records import values_of
from scurry.runtime.columns import ElementCodec, infer_columns

_COPY = 4 << 20


class SegmentWriter(ABC):
    """Writes one segment."""

    @abstractmethod
    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        """Append records; ``columns``, if given, are the same ones."""

    @abstractmethod
    def close(self) -> None:
        """Finish the segment."""


class BulkWriterFactory(ABC):
    """Makes segments of one format, and joins them."""

    #: how the names of such files end, unless the program says otherwise
    suffix: str = ""
    #: whether :meth:`SegmentWriter.write` has a use for columns
    columnar: bool = False

    @abstractmethod
    def create(self, path: str) -> SegmentWriter:
        """Begin a segment."""

    def join(self, segments: Sequence[Path], target: Path) -> None:
        """Make one file of several segments; here, by putting one behind the other."""
        with target.open("wb") as file:
            for segment in segments:
                with segment.open("rb") as part:
                    shutil.copyfileobj(part, file, _COPY)


class EncoderFactory(BulkWriterFactory):
    """One record after the other, as an :class:`Encoder` writes them."""

    def __init__(self, encoder: Encoder) -> None:
        if not isinstance(encoder, Encoder):
            raise ProgramError(
                f"for_row_format needs an Encoder such as Encoder.simple_string_encoder(), got "
                f"{encoder!r}."
            )
        self._encoder = encoder

    def create(self, path: str) -> SegmentWriter:
        return _Encoded(path, self._encoder)


class _Encoded(SegmentWriter):
    def __init__(self, path: str, encoder: Encoder) -> None:
        self._file: IO[bytes] = Path(path).open("wb")  # noqa: SIM115
        self._encode = encoder.encode

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        self._file.write(b"".join(map(self._encode, rows)))

    def close(self) -> None:
        self._file.close()


class CsvBulkWriters:
    """Writes CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        """Records are Rows, tuples or dicts with the columns of ``schema``."""
        return EncoderFactory(CsvEncoder(schema))


class CsvEncoder(Encoder):
    """One line of CSV for each record."""

    def __init__(self, schema: CsvSchema) -> None:
        self._schema = schema

    def encode(self, value: Any) -> bytes:
        schema = self._schema
        fields = values_of(value, schema.names)
        cells = [self._cell(name, item) for name, item in zip(schema.names, fields, strict=True)]
        return (schema.column_separator.join(cells) + schema.line_separator).encode()

    def _cell(self, name: str, value: Any) -> str:
        schema = self._schema
        if value is None:
            return schema.null_value or ""
        if isinstance(value, (list, tuple)):
            value = schema.separator_of(name).join(map(str, value))
        text = str(value).lower() if isinstance(value, bool) else str(value)
        quote = schema.quote_char
        special = (schema.column_separator, "\n", "\r", *([quote] if quote else []))
        if not any(sign in text for sign in special) and text != schema.null_value:
            return text
        if quote is None:
            raise TypeMismatchError(
                f"the column {name!r} holds a separator, and this CSV has no quotes: {text!r}. "
                "Leave out disable_quote_char()."
            )
        return f"{quote}{text.replace(quote, quote * 2)}{quote}"


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
        if row_type is not None and not isinstance(row_type, TypeInformation):
            row_type = Types.of(row_type)
        return _ParquetFactory(row_type, compression)


class _ParquetFactory(BulkWriterFactory):
    suffix = ".parquet"
    columnar = True

    def __init__(self, row_type: TypeInformation | None, compression: str) -> None:
        if row_type is not None and (
            not isinstance(row_type, CompositeTypeInfo) or row_type.arrow_type() is None
        ):
            raise ProgramError(
                f"ParquetBulkWriters needs a row type whose fields all have columns, got "
                f"{row_type!r}."
            )
        self._type = row_type
        self._compression = compression

    def create(self, path: str) -> SegmentWriter:
        codec = None if self._type is None else ElementCodec.of_type(self._type)
        return _Parquet(path, codec, self._compression)

    def join(self, segments: Sequence[Path], target: Path) -> None:
        first = pq.read_schema(segments[0])
        with pq.ParquetWriter(target, first, compression=self._compression) as writer:
            for segment in segments:
                with pq.ParquetFile(segment) as part:
                    for batch in part.iter_batches():
                        writer.write_batch(batch.cast(first))


class _Parquet(SegmentWriter):
    def __init__(self, path: str, codec: ElementCodec | None, compression: str) -> None:
        self._path = path
        self._codec = codec
        self._compression = compression
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        if columns is None or (self._codec is not None and not self._fits(columns)):
            columns = infer_columns(rows) if self._codec is None else self._codec.to_columns(rows)
        elif self._codec is not None:
            columns = columns.select(list(self._codec.names))
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path, columns.schema, compression=self._compression
            )
        self._writer.write_batch(columns.cast(self._writer.schema))

    def _fits(self, columns: pa.RecordBatch) -> bool:
        assert self._codec is not None
        assert self._codec.type_info is not None
        held = {field.name: field.type for field in columns.schema}
        wanted: Any = self._codec.type_info.arrow_type()
        return all(held.get(field.name) == field.type for field in wanted)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class AvroBulkWriters:
    """Writes Avro files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory:
        """Records are dicts, or Rows with the names of the schema."""
        return _AvroFactory(schema)


class _AvroFactory(BulkWriterFactory):
    suffix = ".avro"

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    def create(self, path: str) -> SegmentWriter:
        return _Avro(path, self._schema.parsed)

    def join(self, segments: Sequence[Path], target: Path) -> None:
        avro = fastavro()
        with target.open("wb") as file:
            writer = avro.write.Writer(file, self._schema.parsed, codec="deflate")
            for segment in segments:
                with segment.open("rb") as part:
                    for block in avro.block_reader(part):
                        writer.write_block(block)
            writer.flush()


class _Avro(SegmentWriter):
    def __init__(self, path: str, schema: Any) -> None:
        self._file = Path(path).open("wb")  # noqa: SIM115
        self._writer = fastavro().write.Writer(self._file, schema, codec="deflate")

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        for row in rows:
            try:
                self._writer.write(row.as_dict(recursive=True) if isinstance(row, Row) else row)
            except (ValueError, TypeError, KeyError, AttributeError) as failure:
                raise TypeMismatchError(f"{row!r} is not of the Avro schema: {failure}") from None

    def close(self) -> None:
        self._writer.flush()
        self._file.close()
