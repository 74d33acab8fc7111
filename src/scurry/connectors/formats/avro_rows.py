"""Rows as Avro writes and reads them: dicts by the names of the schema, at every depth.

A row whose fields have the names of the schema is taken by its names. Any other row of the right
length is taken by position, as Flink does: rows without names, tuples, and rows of a declared type
without names, whose fields are called ``f0``, ``f1`` and so on.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from scurry.common.errors import TypeMismatchError
from scurry.common.type_information import describe
from scurry.common.types import Row
from scurry.connectors.formats.conversions import naive

_Schemas = dict[str, Any]


class RowNaming:
    """Gives rows the names of one schema."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        #: records that the schema defines at one place and names at others
        self._known: _Schemas = {}
        _collect(schema, self._known)

    def named(self, element: Any) -> dict[str, Any]:
        """The dict that stands for an element of the schema, which is a record."""
        if not isinstance(element, (Row, dict, tuple)):
            raise TypeMismatchError(f"expected a row for Avro, got {describe(element)}")
        found: dict[str, Any] = self._fitted(self._schema, element)
        return found

    def _fitted(self, schema: Any, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(schema, list):
            return self._in_union(schema, value)
        if isinstance(schema, str):
            return self._fitted(self._known[schema], value) if schema in self._known else value
        kind = schema["type"]
        if kind == "record":
            return self._record(schema, value)
        if kind == "array" and isinstance(value, (list, tuple)):
            return [self._fitted(schema["items"], item) for item in value]
        if kind == "map" and isinstance(value, dict):
            return {key: self._fitted(schema["values"], item) for key, item in value.items()}
        return self._fitted(kind, value) if isinstance(kind, (dict, list)) else value

    def _in_union(self, branches: list[Any], value: Any) -> Any:
        held = [branch for branch in branches if branch != "null"]
        if len(held) == 1:
            return self._fitted(held[0], value)
        if isinstance(value, (Row, tuple)):
            records = [self._known.get(b, b) if isinstance(b, str) else b for b in held]
            for record in records:
                if isinstance(record, dict) and len(record.get("fields", ())) == len(value):
                    return self._record(record, value)
        return value

    def _record(self, schema: Any, value: Any) -> Any:
        fields = schema["fields"]
        names = [field["name"] for field in fields]
        if isinstance(value, Row) and value._names is not None:
            own, known = set(value._names), set(names)
            # what is left out may have a default
            if own <= known or known <= own:
                value = value.as_dict()
        if isinstance(value, dict):
            types = {field["name"]: field["type"] for field in fields}
            return {
                name: self._fitted(types[name], part) if name in types else part
                for name, part in value.items()
            }
        if not isinstance(value, (Row, tuple, list)):
            return value
        if len(value) != len(fields):
            raise TypeMismatchError(
                f"{describe(value)} has {len(value)} fields, and the Avro record "
                f"{schema.get('name', '')!r} has {len(fields)}: {', '.join(names)}"
            )
        parts = zip(fields, value, strict=True)
        return {field["name"]: self._fitted(field["type"], part) for field, part in parts}

    def row(self, found: dict[str, Any]) -> Row:
        """The row of a record that was read; records in it are rows too, maps are dicts."""
        row: Row = self._read(self._schema, found)
        return row

    def _read(self, schema: Any, value: Any) -> Any:
        if isinstance(value, datetime):
            return naive(value)
        if not isinstance(value, (dict, list)):
            return value
        if isinstance(schema, list):
            schema = self._branch_of(schema, value)
        if isinstance(schema, str):
            schema = self._known.get(schema, {"type": schema})
        kind = schema["type"]
        if kind == "record":
            types = [field["type"] for field in schema["fields"]]
            names = [field["name"] for field in schema["fields"]]
            row = Row(*(self._read(t, value[n]) for t, n in zip(types, names, strict=True)))
            row.set_field_names(names)
            return row
        if kind == "map" and isinstance(value, dict):
            return {key: self._read(schema["values"], part) for key, part in value.items()}
        if kind == "array":
            return [self._read(schema["items"], part) for part in value]
        return self._read(kind, value)

    def _branch_of(self, branches: list[Any], value: Any) -> Any:
        """The branch of a union that a dict or list was read as."""
        wanted = "array" if isinstance(value, list) else "map"
        kinds = [self._known.get(b, b) if isinstance(b, str) else b for b in branches]
        held = [kind for kind in kinds if isinstance(kind, dict)]
        for kind in held:
            names = {field["name"] for field in kind.get("fields", ())}
            if kind["type"] == "record" and isinstance(value, dict) and names == value.keys():
                return kind
        return next(kind for kind in held if kind["type"] == wanted)


def _collect(schema: Any, known: _Schemas) -> None:
    """Find the records that a schema defines, under their names and their full names."""
    if isinstance(schema, list):
        for branch in schema:
            _collect(branch, known)
    elif isinstance(schema, dict):
        if schema.get("type") == "record":
            known[schema["name"]] = schema
            if schema.get("namespace"):
                known[f"{schema['namespace']}.{schema['name']}"] = schema
            for field in schema["fields"]:
                _collect(field["type"], known)
        for inner in ("type", "items", "values"):
            if isinstance(schema.get(inner), (dict, list)):
                _collect(schema[inner], known)
