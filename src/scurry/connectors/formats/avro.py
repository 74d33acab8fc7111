"""Avro records as rows, with a fixed schema or with schemas out of a registry.

A message read with a registry names the schema it was written with; if that is not the one the
program asks for, Avro's rules of schema resolution apply (new fields get their defaults and so on).
"""

from __future__ import annotations

import io
import json
from typing import Any

from scurry.common.errors import ConfigurationError, NotSupportedError, TypeMismatchError
from scurry.common.row_types import RowTypeInfo
from scurry.common.serialization import DeserializationSchema, SerializationSchema
from scurry.common.type_information import TypeInformation, describe
from scurry.common.typeinfo import Types
from scurry.common.types import Row
from scurry.connectors.formats.avro_rows import RowNaming
from scurry.connectors.formats.registry import SchemaRegistry, join_message, split_message

__all__ = [
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
]


class AvroRecords:
    """Encodes and decodes records of one schema; made anew in each process."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.content = _content(text)
        self._naming = RowNaming(self.content)
        self._parsed: dict[str, Any] = {}

    def __getstate__(self) -> str:
        return self.text

    def __setstate__(self, text: str) -> None:
        self.__init__(text)  # type: ignore[misc]

    def _parse(self, text: str) -> Any:
        if text not in self._parsed:
            import fastavro

            self._parsed[text] = fastavro.parse_schema(_content(text))
        return self._parsed[text]

    def decode(self, body: bytes, written_with: str | None = None) -> Row:
        """The row of a record, written with this schema or with another."""
        import fastavro

        mine = self._parse(self.text)
        theirs = mine if written_with is None else self._parse(written_with)
        try:
            found = fastavro.schemaless_reader(io.BytesIO(body), theirs, mine)
        except Exception as wrong:
            raise TypeMismatchError(
                f"not a record of the schema: {type(wrong).__name__}: {wrong}"
            ) from None
        return self._naming.row(found)

    def encode(self, element: Any) -> bytes:
        """The record for a row."""
        import fastavro

        named = self._naming.named(element)
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self._parse(self.text), named)
        except Exception as wrong:
            raise TypeMismatchError(
                f"{describe(element)} does not fit the Avro schema: {wrong}"
            ) from None
        return out.getvalue()


def _content(text: str) -> Any:
    try:
        content = json.loads(text)
    except ValueError as wrong:
        raise ConfigurationError(f"The Avro schema is no JSON: {wrong}") from None
    if not isinstance(content, dict) or content.get("type") != "record":
        raise ConfigurationError("The Avro schema of a row must be a record.")
    return content


def _schema_text(record_class: str | None, avro_schema_string: str | None) -> str:
    if record_class is not None:
        raise NotSupportedError(
            f"record_class {record_class!r} names a Java class; give avro_schema_string instead."
        )
    if avro_schema_string is None:
        raise ConfigurationError("Avro needs a schema: give avro_schema_string.")
    return avro_schema_string


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads each message as the body of one Avro record."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._records = AvroRecords(_schema_text(record_class, avro_schema_string))

    def get_produced_type(self) -> TypeInformation | None:
        return type_of_avro(self._records.content)

    def deserialize(self, message: bytes) -> Row:
        return self._records.decode(message)


class AvroRowSerializationSchema(SerializationSchema):
    """Writes each row as the body of one Avro record."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._records = AvroRecords(_schema_text(record_class, avro_schema_string))

    def serialize(self, value: Any) -> bytes:
        return self._records.encode(value)


class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema):
    """Reads messages whose schemas are in a Confluent schema registry."""

    def __init__(self, schema: str, url: str) -> None:
        self._records = AvroRecords(schema)
        self._registry = SchemaRegistry(url)

    @staticmethod
    def for_generic(schema: str, url: str) -> ConfluentRegistryAvroDeserializationSchema:
        """Rows of ``schema``, whatever compatible schema a message was written with."""
        return ConfluentRegistryAvroDeserializationSchema(schema, url)

    def get_produced_type(self) -> TypeInformation | None:
        return type_of_avro(self._records.content)

    def deserialize(self, message: bytes) -> Row:
        number, body = split_message(message)
        return self._records.decode(body, self._registry.schema(number))


class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Writes messages whose schema is in a Confluent schema registry."""

    def __init__(self, subject: str, schema: str, url: str) -> None:
        self._subject = subject
        self._records = AvroRecords(schema)
        self._registry = SchemaRegistry(url)

    @staticmethod
    def for_generic(
        subject: str, schema: str, schema_registry_url: str
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Rows of ``schema``, registered below ``subject`` when the first is written."""
        return ConfluentRegistryAvroSerializationSchema(subject, schema, schema_registry_url)

    def serialize(self, value: Any) -> bytes:
        number = self._registry.register(self._subject, self._records.text)
        return join_message(number, self._records.encode(value))


_SIMPLE = {
    "string": Types.STRING,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "boolean": Types.BOOLEAN,
    "enum": Types.STRING,
}
_LOGICAL = {
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
    "decimal": Types.BIG_DEC,
}


def type_of_avro(schema: Any) -> TypeInformation:
    """The type of values of an Avro schema."""
    if isinstance(schema, list):
        held = [branch for branch in schema if branch != "null"]
        return type_of_avro(held[0]) if len(held) == 1 else Types.PICKLED_BYTE_ARRAY()
    if isinstance(schema, str):
        schema = {"type": schema}
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return type_of_avro(kind)
    if schema.get("logicalType") in _LOGICAL:
        return _LOGICAL[schema["logicalType"]]()
    if kind == "record":
        fields = schema["fields"]
        types = [type_of_avro(field["type"]) for field in fields]
        return RowTypeInfo(types, [field["name"] for field in fields])
    if kind == "array":
        return Types.LIST(type_of_avro(schema["items"]))
    if kind == "map":
        return Types.MAP(Types.STRING(), type_of_avro(schema["values"]))
    if kind in ("bytes", "fixed"):
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    # a name defined elsewhere in the schema
    return _SIMPLE.get(kind, Types.PICKLED_BYTE_ARRAY)()
