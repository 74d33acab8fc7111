"""Parquet."""

from __future__ import annotations

from scurry.connectors.files.parquet_format import ParquetColumnarRowInputFormat
from scurry.connectors.files.writers import ParquetBulkWriters

__all__ = ["ParquetBulkWriters", "ParquetColumnarRowInputFormat"]
