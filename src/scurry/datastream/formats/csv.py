"""CSV."""

from __future__ import annotations

from scurry.connectors.files.csv_format import CsvReaderFormat
from scurry.connectors.files.csv_schema import CsvSchema, CsvSchemaBuilder
from scurry.connectors.files.writers import CsvBulkWriters

__all__ = ["CsvBulkWriters", "CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]
