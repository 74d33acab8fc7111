"""Avro, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.connectors.files.avro_format import AvroReaderFormat, AvroSchema
from scurry.connectors.files.avro_input import AvroInputFormat, GenericRecordAvroTypeInfo
from scurry.connectors.files.writers import AvroBulkWriters
from scurry.connectors.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroReaderFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "GenericRecordAvroTypeInfo",
]
