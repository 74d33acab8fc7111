"""Avro under the names that programs use for typed records and bounded input."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from scurry.common.io import InputFormat
from scurry.common.type_information import TypeInformation
from scurry.connectors.files.avro_format import AvroReaderFormat, AvroSchema
from scurry.connectors.files.source import FileSource


class GenericRecordAvroTypeInfo(TypeInformation):
    """A record of an Avro schema: a dict. It travels pickled."""

    __slots__ = ("_schema",)

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    @property
    def label(self) -> str:
        return "AVRO"

    def arrow_type(self) -> pa.DataType | None:
        return None

    def _check(self, value: object) -> str | None:
        return None if isinstance(value, dict) else self._mismatch(value)

    def _args(self) -> tuple[Any, ...]:
        return (self._schema,)


class AvroInputFormat(InputFormat):
    """The records of Avro files, for ``create_input``."""

    def __init__(self, path: str, schema: AvroSchema) -> None:
        self._path = path
        self._schema = schema

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        """The type of the records."""
        return GenericRecordAvroTypeInfo(self._schema)

    def source(self) -> FileSource:
        return FileSource.for_bulk_file_format(AvroReaderFormat(self._schema), self._path).build()
