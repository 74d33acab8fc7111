"""CSV, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.connectors.formats.csv import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)

__all__ = [
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
]
