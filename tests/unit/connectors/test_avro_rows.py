"""Rows become Avro records by name or by position, at every depth, and come back as rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scurry.common import Row
from scurry.common.errors import TypeMismatchError
from scurry.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema

INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "x", "type": "string"}, {"name": "y", "type": ["null", "int"]}],
}
OTHER = {"type": "record", "name": "Other", "fields": [{"name": "only", "type": "long"}]}
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Outer",
        "fields": [
            {"name": "a", "type": "long"},
            {"name": "inner", "type": INNER},
            {"name": "many", "type": {"type": "array", "items": "Inner"}},
            {"name": "map", "type": {"type": "map", "values": "Inner"}},
            {"name": "either", "type": ["null", OTHER, "Inner", {"type": "map", "values": "int"}]},
        ],
    }
)
WRITER = AvroRowSerializationSchema(avro_schema_string=SCHEMA)
READER = AvroRowDeserializationSchema(avro_schema_string=SCHEMA)


def expected(either: Any = None) -> Row:
    p, q, z = Row(x="p", y=2), Row(x="q", y=None), Row(x="z", y=1)
    return Row(a=1, inner=p, many=[q], map={"k": z}, either=either)


@pytest.mark.parametrize(
    "element",
    [
        Row(1, Row("p", 2), [Row("q", None)], {"k": Row("z", 1)}, None),
        (1, ("p", 2), [("q", None)], {"k": ("z", 1)}, None),
        # as rows of a declared type without names are named
        Row(f0=1, f1=Row(f0="p", f1=2), f2=[("q", None)], f3={"k": ("z", 1)}, f4=None),
        Row(either=None, a=1, inner=Row(y=2, x="p"), many=[Row("q", None)], map={"k": ("z", 1)}),
        {"a": 1, "inner": ("p", 2), "many": [("q", None)], "map": {"k": {"x": "z", "y": 1}}},
    ],
)
def test_rows_by_position_and_by_name(element: Any) -> None:
    assert READER.deserialize(WRITER.serialize(element)) == expected()


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (Row(7), Row(only=7)),
        (Row("u", 3), Row(x="u", y=3)),
        ({"m": 4}, {"m": 4}),
    ],
)
def test_branches_of_a_union(given: Any, read: Any) -> None:
    element = (1, ("p", 2), [("q", None)], {"k": ("z", 1)}, given)
    assert READER.deserialize(WRITER.serialize(element)) == expected(read)


def test_a_row_of_another_length() -> None:
    with pytest.raises(TypeMismatchError, match=r"3 fields, and .* 'Inner' has 2: x, y"):
        WRITER.serialize((1, ("p", 2, 3), [], {}, None))
    with pytest.raises(TypeMismatchError, match=r"expected a row for Avro, got 7 \(int\)"):
        WRITER.serialize(7)
