"""Avro schemas as columns, for Avro records in Parquet files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scurry.common.errors import ProgramError
from scurry.connectors.files.avro_format import AvroSchema

_PRIMITIVE = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    "date": pa.date32(),
    "time-millis": pa.time32("ms"),
    "time-micros": pa.time64("us"),
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"),
    "local-timestamp-micros": pa.timestamp("us"),
    "uuid": pa.string(),
}


def arrow_schema(schema: AvroSchema) -> pa.Schema:
    """The columns of a record schema."""
    declared = schema.parsed
    if not isinstance(declared, dict) or declared.get("type") != "record":
        raise ProgramError(f"Columns need an Avro schema of type 'record', got {schema}.")
    return pa.schema(list(_arrow(declared, {})))


def records(columns: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as dicts, maps among their fields as dicts too."""
    read = _reader(pa.struct(list(columns.schema)))
    return columns.to_pylist() if read is None else list(map(read, columns.to_pylist()))


def _reader(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """What is to be done to a value as pyarrow gives it, which holds maps as pairs."""
    if pa.types.is_map(kind):
        inner = _reader(kind.item_type) or _same
        return lambda pairs: None if pairs is None else {k: inner(v) for k, v in pairs}
    if pa.types.is_list(kind):
        inner = _reader(kind.value_type) or _same
        return None if inner is _same else lambda items: items and list(map(inner, items))
    if pa.types.is_struct(kind):
        fields = {field.name: _reader(field.type) or _same for field in kind}
        if all(read is _same for read in fields.values()):
            return None
        return lambda row: row and {name: fields[name](value) for name, value in row.items()}
    return None


def _same(value: Any) -> Any:
    return value


def _arrow(declared: Any, named: dict[str, pa.DataType]) -> pa.DataType:
    if isinstance(declared, list):
        return _union(declared, named)
    if isinstance(declared, str):
        found = _PRIMITIVE.get(declared) or named.get(declared)
        if found is None:
            raise ProgramError(f"The Avro type {declared!r} contains itself, so it has no columns.")
        return found
    kind = declared["type"]
    if declared.get("logicalType") == "decimal":
        return pa.decimal128(declared["precision"], declared.get("scale", 0))
    if declared.get("logicalType") in _LOGICAL:
        return _LOGICAL[declared["logicalType"]]
    if kind == "array":
        return pa.list_(_arrow(declared["items"], named))
    if kind == "map":
        return pa.map_(pa.string(), _arrow(declared["values"], named))
    if kind == "enum":
        named[declared["name"]] = pa.string()
        return pa.string()
    if kind == "fixed":
        named[declared["name"]] = pa.binary(declared["size"])
        return named[declared["name"]]
    if kind in ("record", "error"):
        fields = [_field(field, named) for field in declared["fields"]]
        named[declared["name"]] = pa.struct(fields)
        return named[declared["name"]]
    return _arrow(kind, named)


def _field(field: dict[str, Any], named: dict[str, pa.DataType]) -> pa.Field:
    declared = field["type"]
    nullable = isinstance(declared, list) and "null" in declared
    return pa.field(field["name"], _arrow(declared, named), nullable=nullable)


def _union(members: list[Any], named: dict[str, pa.DataType]) -> pa.DataType:
    others = [member for member in members if member != "null"]
    if len(others) != 1:
        raise ProgramError(
            f"A column holds values of one type, or none: the Avro union {members!r} has several."
        )
    return _arrow(others[0], named)
