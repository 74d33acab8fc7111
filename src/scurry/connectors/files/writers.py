"""How records become files: what a file sink needs to know of a format.

A writer makes *segments*: complete files of the format that hold what one task got of one bucket in
one micro-batch. Several segments can be joined into one file, which becomes a part file.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.serialization import BulkWriterFactory, Encoder, SegmentWriter
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row
from scurry.connectors.files.avro_format import AvroSchema, fastavro
from scurry.connectors.files.csv_schema import CsvSchema
from scurry.connectors.records import values_of


class EncoderFactory(BulkWriterFactory):
    """One record after the other, as an :class:`Encoder` writes them."""

    def __init__(self, encoder: Encoder) -> None:
        if not isinstance(encoder, Encoder):
            raise ProgramError(
                f"for_row_format needs an Encoder such as Encoder.simple_string_encoder(), got "
                f"{encoder!r}."
            )
        self._encoder = encoder

    def for_type(self, declared: TypeInformation | None) -> EncoderFactory:
        typed = copy.copy(self)
        typed._encoder = self._encoder.for_type(declared)
        return typed

    def create(self, path: str) -> SegmentWriter:
        return _Encoded(path, self._encoder)


class _Encoded(SegmentWriter):
    def __init__(self, path: str, encoder: Encoder) -> None:
        self._file: IO[bytes] = Path(path).open("wb")  # noqa: SIM115
        self._encode = encoder.encode

    def write(self, rows: list[Any], columns: pa.RecordBatch | None) -> None:
        self._file.write(b"".join([self._encode(row) for row in rows]))

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

    def measure(self, segment: Path) -> int:
        with segment.open("rb") as file:
            return sum(block.num_records for block in fastavro().block_reader(file))

    def cut(self, joined: Path, end: int, target: Path) -> None:
        avro = fastavro()
        with target.open("wb") as file, joined.open("rb") as whole:
            writer = avro.write.Writer(file, self._schema.parsed, codec="deflate")
            for block in avro.block_reader(whole):
                # blocks were copied whole, so each is of one segment
                if end > 0:
                    writer.write_block(block)
                end -= block.num_records
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
