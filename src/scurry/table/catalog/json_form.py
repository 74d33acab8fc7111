"""The objects of catalogs as JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from scurry.table.catalog.errors import CatalogException
from scurry.table.catalog.models import CatalogModel
from scurry.table.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogTable,
    CatalogView,
)
from scurry.table.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics
from scurry.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedComputedColumn,
    UnresolvedMetadataColumn,
    UnresolvedPhysicalColumn,
    UnresolvedPrimaryKey,
    UnresolvedWatermark,
)


def to_json(value: Any) -> Any:
    """The JSON of an object."""
    if isinstance(value, CatalogModel):
        schemas = (value.input_schema, value.output_schema)
        kept = [None if one is None else _schema(one) for one in schemas]
        return {"schemas": kept, "options": dict(value.options), "comment": value.comment}
    if not isinstance(value, CatalogBaseTable):
        return {
            key: dict(held) if isinstance(held, dict) else held
            for key, held in asdict(value).items()
        }
    content: dict[str, Any] = {
        "kind": value.kind,
        "schema": _schema(value.schema),
        "options": dict(value.options),
        "comment": value.comment,
    }
    if isinstance(value, CatalogView):
        content |= {"original": value.original_query, "expanded": value.expanded_query}
    elif isinstance(value, CatalogTable):
        content["partition_keys"] = list(value.partition_keys)
    return content


def from_json(kind: str, content: Any) -> Any:
    """The object of a kind that has that JSON."""
    return _READERS[kind](content)


def _table(content: Any) -> CatalogBaseTable:
    shared = (_read_schema(content["schema"]), content["options"], content["comment"])
    if content["kind"] == "VIEW":
        return CatalogView(*shared, content["original"], content["expanded"])
    return CatalogTable(*shared, tuple(content["partition_keys"]))


def _model(content: Any) -> CatalogModel:
    inputs, outputs = (None if one is None else _read_schema(one) for one in content["schemas"])
    return CatalogModel(inputs, outputs, content["options"], content["comment"])


_READERS: dict[str, Callable[[Any], Any]] = {
    "database": lambda content: CatalogDatabase(**content),
    "table": _table,
    "model": _model,
    "function": lambda content: CatalogFunction(**content),
    "partition": lambda content: CatalogPartition(**content),
    "statistics": lambda content: CatalogTableStatistics(**content),
    "column-statistics": lambda content: CatalogColumnStatistics(**content),
}


def _schema(schema: Schema) -> Any:
    key = schema.primary_key
    return {
        "columns": [_column(column) for column in schema.columns],
        "watermarks": [
            [mark.column, _text(mark.column, mark.expression)] for mark in schema.watermarks
        ],
        "primary_key": None if key is None else [key.name, list(key.columns)],
    }


def _column(column: UnresolvedColumn) -> Any:
    if isinstance(column, UnresolvedComputedColumn):
        content: dict[str, Any] = {"as": _text(column.name, column.expression)}
    elif isinstance(column, UnresolvedMetadataColumn):
        content = {"type": str(column.data_type), "metadata": True, "key": column.key}
        content["virtual"] = column.virtual
    else:
        content = {"type": str(column.data_type)}
    return {"name": column.name, "comment": column.comment, **content}


def _read_schema(content: Any) -> Schema:
    key = content["primary_key"]
    return Schema(
        tuple(map(_read_column, content["columns"])),
        tuple(UnresolvedWatermark(*mark) for mark in content["watermarks"]),
        None if key is None else UnresolvedPrimaryKey(key[0], tuple(key[1])),
    )


def _read_column(content: Any) -> UnresolvedColumn:
    name, comment = content["name"], content["comment"]
    if "as" in content:
        return UnresolvedComputedColumn(name, content["as"], comment)
    if content.get("metadata"):
        kind, key, virtual = content["type"], content["key"], content["virtual"]
        return UnresolvedMetadataColumn(name, kind, key, virtual, comment)
    return UnresolvedPhysicalColumn(name, content["type"], comment)


def _text(column: str, expression: Any) -> str:
    if not isinstance(expression, str):
        raise CatalogException(
            f"The column {column!r} is computed by an expression of the Table API, which a catalog "
            f"cannot keep: write it in SQL, as a text. It is {expression!r}."
        )
    return expression
