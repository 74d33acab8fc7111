"""Avro records as rows; the schema is that of the table, as Flink derives it.

A column that may be NULL is a union with null. Timestamps are milliseconds or microseconds, dates
days, decimals bytes with their scale.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    BigIntType,
    BinaryStringType,
    BooleanType,
    CharacterStringType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from scurry.common.errors import ProgramError
from scurry.connectors.files.avro_format import fastavro
from scurry.connectors.row_formats.contract import (
    DecodedRows,
    DecodingFormat,
    EncodingFormat,
    Kinds,
    columns_of,
    each_message,
)

__all__ = ["AvroDecoding", "AvroEncoding", "avro_schema"]

_NAME = "org.apache.flink.avro.generated.record"


def avro_schema(row_type: RowType) -> dict[str, Any]:
    """The Avro schema of a table."""
    return {"type": "record", "name": _NAME, "fields": _fields(row_type, _NAME)}


def _fields(row_type: RowType, name: str) -> list[dict[str, Any]]:
    fields = []
    for field in row_type:
        made: dict[str, Any] = {
            "name": field.name,
            "type": _schema(field.data_type, f"{name}_{field.name}"),
        }
        if field.data_type.is_nullable:
            made["default"] = None
        fields.append(made)
    return fields


def _schema(data_type: DataType, name: str) -> Any:
    made = _bare(data_type, name)
    return ["null", made] if data_type.is_nullable else made


def _bare(data_type: DataType, name: str) -> Any:
    for kind, text in _SIMPLE:
        if isinstance(data_type, kind):
            return text
    if isinstance(data_type, DateType):
        return {"type": "int", "logicalType": "date"}
    if isinstance(data_type, TimeType):
        return {"type": "int", "logicalType": "time-millis"}
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return {"type": "long", "logicalType": _stamp(data_type)}
    if isinstance(data_type, DecimalType):
        digits = {"precision": data_type.precision, "scale": data_type.scale}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if isinstance(data_type, ArrayType):
        return {"type": "array", "items": _schema(data_type.element_type, name)}
    if isinstance(data_type, MapType) and isinstance(data_type.key_type, CharacterStringType):
        return {"type": "map", "values": _schema(data_type.value_type, name)}
    if isinstance(data_type, MultisetType) and isinstance(
        data_type.element_type, CharacterStringType
    ):
        return {"type": "map", "values": "int"}
    if isinstance(data_type, RowType):
        return {"type": "record", "name": name, "fields": _fields(data_type, name)}
    raise ProgramError(f"Avro cannot hold values of type {data_type}.")


_SIMPLE: tuple[tuple[type[DataType], str], ...] = (
    (BooleanType, "boolean"),
    (BigIntType, "long"),
    (IntegralType, "int"),
    (FloatType, "float"),
    (DoubleType, "double"),
    (CharacterStringType, "string"),
    (BinaryStringType, "bytes"),
)


def _stamp(data_type: TimestampType | LocalZonedTimestampType) -> str:
    """Timestamps without a zone are local ones, as in Flink without its legacy mapping."""
    if data_type.precision > 6:
        raise ProgramError(
            f"Avro has six digits behind the second at most, and the column is {data_type}."
        )
    unit = "millis" if data_type.precision <= 3 else "micros"
    local = "local-" if isinstance(data_type, TimestampType) else ""
    return f"{local}timestamp-{unit}"


class _Records:
    """Reads and writes single records of a table's schema; made anew in each process."""

    def __init__(self, row_type: RowType) -> None:
        self._text = json.dumps(avro_schema(row_type))

    def __getstate__(self) -> dict[str, Any]:
        return {"_text": self._text}

    @cached_property
    def parsed(self) -> Any:
        return fastavro().parse_schema(json.loads(self._text))

    def read(self, message: bytes) -> Any:
        try:
            return fastavro().schemaless_reader(io.BytesIO(message), self.parsed, None)
        except Exception as failure:
            raise ValueError(f"not a record of the schema ({failure!r})") from None

    def write(self, row: dict[str, Any]) -> bytes:
        out = io.BytesIO()
        fastavro().schemaless_writer(out, self.parsed, row)
        return out.getvalue()


class AvroDecoding(DecodingFormat):
    """Reads each message as the body of one record."""

    def __init__(self, row_type: RowType, ignore_parse_errors: bool = False) -> None:
        super().__init__(row_type, ignore_parse_errors)
        self._records = _Records(row_type)

    def decode(self, messages: Sequence[bytes]) -> DecodedRows:
        rows, places = each_message(messages, self._records.read, self.ignore)
        origin = None if len(places) == len(messages) else np.array(places, dtype=np.int64)
        return DecodedRows(avro_columns(self.row_type, rows), None, origin)


def avro_columns(row_type: RowType, rows: Sequence[dict[str, Any]]) -> pa.RecordBatch:
    """Columns of records as fastavro reads them."""
    lists = [
        [_from_avro(row.get(field.name), field.data_type) for row in rows] for field in row_type
    ]
    return columns_of(row_type, lists)


def _from_avro(value: Any, data_type: DataType) -> Any:
    if value is None:
        return None
    if isinstance(data_type, MapType | MultisetType):
        inner = data_type.children[-1]
        plain = isinstance(data_type, MultisetType)
        return [(k, v if plain else _from_avro(v, inner)) for k, v in value.items()]
    if isinstance(data_type, ArrayType):
        return [_from_avro(one, data_type.element_type) for one in value]
    if isinstance(data_type, RowType):
        return {f.name: _from_avro(value.get(f.name), f.data_type) for f in data_type}
    return value


class AvroEncoding(EncodingFormat):
    """Writes each row as the body of one record."""

    def __init__(self, row_type: RowType) -> None:
        super().__init__(row_type)
        self._records = _Records(row_type)

    def encode(self, columns: pa.RecordBatch, kinds: Kinds | None) -> list[bytes]:
        return list(map(self._records.write, avro_rows(self.row_type, columns)))


def avro_rows(row_type: RowType, columns: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as fastavro takes them."""
    lists = [
        [_to_avro(value, field.data_type) for value in column.to_pylist()]
        for column, field in zip(columns.columns, row_type, strict=True)
    ]
    names = row_type.field_names()
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]


def _to_avro(value: Any, data_type: DataType) -> Any:
    if value is None:
        return None
    if isinstance(data_type, MapType | MultisetType):
        inner = data_type.children[-1]
        plain = isinstance(data_type, MultisetType)
        return {k: v if plain else _to_avro(v, inner) for k, v in value}
    if isinstance(data_type, ArrayType):
        return [_to_avro(one, data_type.element_type) for one in value]
    if isinstance(data_type, RowType):
        return {f.name: _to_avro(value[f.name], f.data_type) for f in data_type}
    return value
