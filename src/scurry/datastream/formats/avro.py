"""Avro."""

from __future__ import annotations

from scurry.connectors.files.avro_format import AvroReaderFormat, AvroSchema

__all__ = ["AvroReaderFormat", "AvroSchema"]
