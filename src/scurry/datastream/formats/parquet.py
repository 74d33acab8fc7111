"""Parquet."""

from __future__ import annotations

from scurry.connectors.files.parquet_format import ParquetColumnarRowInputFormat

__all__ = ["ParquetColumnarRowInputFormat"]
