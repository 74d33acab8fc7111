"""Avro."""

from __future__ import annotations

from scurry.connectors.files.avro_format import AvroReaderFormat, AvroSchema
from scurry.connectors.files.writers import AvroBulkWriters

__all__ = ["AvroBulkWriters", "AvroReaderFormat", "AvroSchema"]
