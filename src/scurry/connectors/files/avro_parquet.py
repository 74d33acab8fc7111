"""Parquet files whose rows are Avro records, read as dicts."""

from __future__ import annotations

from collections.abc import Iterator

from scurry.connectors.files.avro_columns import arrow_schema, records
from scurry.connectors.files.avro_format import AvroSchema
from scurry.connectors.files.formats import StreamFormat
from scurry.connectors.files.parquet_format import ParquetColumnarRowInputFormat
from scurry.functions.source import SourceBatch


class AvroParquetReaders:
    """Makes formats that read Avro records from Parquet files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Records are dicts with the fields of ``schema``."""
        return AvroParquetFormat(schema)


class AvroParquetFormat(ParquetColumnarRowInputFormat, StreamFormat):
    """The rows of Parquet files as dicts; PyFlink counts it among the stream formats."""

    columnar = False

    def __init__(self, schema: AvroSchema) -> None:
        super().__init__(arrow_schema(schema).names)

    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        for batch in super().read(path, start, end):
            assert batch.columns is not None
            yield SourceBatch(rows=records(batch.columns))
