"""Parquet."""

from __future__ import annotations

from scurry.connectors.files.avro_parquet import AvroParquetReaders
from scurry.connectors.files.columnar_writers import AvroParquetWriters, ParquetBulkWriters
from scurry.connectors.files.parquet_format import ParquetColumnarRowInputFormat

__all__ = [
    "AvroParquetReaders",
    "AvroParquetWriters",
    "ParquetBulkWriters",
    "ParquetColumnarRowInputFormat",
]
