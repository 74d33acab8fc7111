"""CSV."""

from __future__ import annotations

from scurry.connectors.files.csv_format import CsvReaderFormat
from scurry.connectors.files.csv_schema import CsvSchema, CsvSchemaBuilder

__all__ = ["CsvReaderFormat", "CsvSchema", "CsvSchemaBuilder"]
