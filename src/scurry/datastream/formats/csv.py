"""CSV, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.connectors.files.csv_format import CsvReaderFormat
from scurry.connectors.files.csv_schema import CsvSchema, CsvSchemaBuilder
from scurry.connectors.files.writers import CsvBulkWriters
from scurry.connectors.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
