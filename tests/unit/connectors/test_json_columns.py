"""JSON read as columns gives what is read message by message, and written in bulk the same text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Row, Types
from scurry.common.errors import TypeMismatchError
from scurry.connectors.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from scurry.connectors.formats.json_columns import FEW
from scurry.runtime.columns import ElementCodec

ROWS = Types.ROW_NAMED(
    ["n", "small", "name", "ok", "x"],
    [Types.LONG(), Types.SHORT(), Types.STRING(), Types.BOOLEAN(), Types.DOUBLE()],
)
READER = JsonRowDeserializationSchema.builder().type_info(ROWS).build()
WRITER = JsonRowSerializationSchema.builder().with_type_info(ROWS).build()

MANY = [b'{"n":1}'] * FEW

longs = st.integers(-(1 << 63), (1 << 63) - 1)
shorts = st.integers(-(1 << 15), (1 << 15) - 1)
doubles = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=("Cs",)))
objects = st.fixed_dictionaries(
    {},
    optional={
        "n": st.none() | longs,
        "small": st.none() | shorts,
        "name": st.none() | texts,
        "ok": st.none() | st.booleans(),
        "x": st.none() | doubles | st.integers(-1000, 1000),
        "other": st.recursive(longs | texts, lambda inner: st.lists(inner, max_size=2)),
    },
)


def by_columns(messages: list[bytes]) -> list[Any] | None:
    columns = READER.deserialize_columns(messages)
    codec = ElementCodec.of_type(ROWS)
    assert codec is not None
    return None if columns is None else codec.to_rows(columns)


@given(st.lists(objects, min_size=1, max_size=8), st.sampled_from([None, 1]), st.booleans())
def test_columns_hold_what_rows_hold(
    held: list[dict[str, Any]], indent: int | None, escaped: bool
) -> None:
    messages = [json.dumps(one, indent=indent, ensure_ascii=escaped).encode() for one in held]
    found = by_columns(messages)
    assert found is not None
    # many messages are read by another reader than few
    assert by_columns(MANY + messages) == [*READER.deserialize_batch(MANY), *found]
    expected = [Row(*(one.get(name) for name in ROWS.field_names())) for one in held]
    assert [list(row) for row in found] == [list(row) for row in expected]
    assert found == READER.deserialize_batch(messages)
    assert all(type(row["x"]) in (float, type(None)) for row in found)


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"not JSON",
        b"[1]",
        b' {"n":1}',
        b'{"n":1}{"n":2}',
        b'{"n":1}\n{"n":2}',
        b'{"n":',
        b'{"n":"5"}',
        b'{"n":1.5}',
        b'{"n":9223372036854775808}',
        b'{"small":40000}',
        b'{"name":5}',
        b'{"name":"\xff"}',
        b'{"ok":1}',
        b'{"x":"1"}',
        b'{"n":1,"n":2}',
    ],
)
def test_what_does_not_fit_exactly_is_left_to_rows(odd: bytes) -> None:
    plain = b'{"n":1}'
    for messages in ([odd], [plain, odd], [odd, plain], [plain, odd, plain]):
        assert by_columns([*messages, *MANY]) is None
        try:
            expected = READER.deserialize_batch(messages)
        except (TypeMismatchError, UnicodeError):
            expected = None
        assert by_columns(messages) in (None, expected)


def test_two_messages_with_one_object_between_them() -> None:
    for more in ([], MANY):
        assert by_columns([b'{"n":1}\n{"n":2}', b'{"n":', b"3}", *more]) is None
        assert by_columns([b'{"n":1}{"n":2}', b'{"n":', b"3}", *more]) is None


def test_types_that_arrow_reads_otherwise_have_no_columns() -> None:
    for field in (Types.FLOAT(), Types.BIG_DEC(), Types.SQL_DATE(), Types.LIST(Types.LONG())):
        declared = Types.ROW_NAMED(["a"], [field])
        schema = JsonRowDeserializationSchema.builder().type_info(declared).build()
        assert schema.columns_schema() is None
        assert schema.deserialize_columns([b'{"a":null}']) is None
    strict = JsonRowDeserializationSchema.builder().type_info(ROWS).fail_on_missing_field().build()
    assert strict.columns_schema() is None


values = st.tuples(
    *(st.none() | kind for kind in (longs, shorts, texts, st.booleans(), doubles | longs))
)


@given(st.lists(values, max_size=8), st.booleans())
def test_rows_are_written_as_they_are_one_by_one(held: list[Any], named: bool) -> None:
    rows = [Row(*one) for one in held]
    if named:
        rows = [Row(**dict(zip(ROWS.field_names(), one, strict=True))) for one in held]
    written = WRITER.serialize_batch(rows)
    assert written == list(map(WRITER.serialize, rows))
    fields = [dict(zip(ROWS.field_names(), one, strict=True)) for one in held]
    assert [json.loads(one or b"") for one in written] == fields


def test_names_of_fields_may_have_any_sign() -> None:
    declared = Types.ROW_NAMED(['%d "a"', "%"], [Types.LONG(), Types.STRING()])
    writer = JsonRowSerializationSchema.builder().with_type_info(declared).build()
    assert writer.serialize_batch([Row(1, "%d")]) == [b'{"%d \\"a\\"":1,"%":"%d"}']


def test_rows_of_another_form_are_named() -> None:
    for wrong in (Row(1), Row(1, 2, "a", True, 0.5, 6)):
        with pytest.raises(TypeMismatchError, match="expected a row with the fields"):
            WRITER.serialize_batch([wrong])
    # fields in another order, and elements that are no Rows, are written by name and by place
    turned = Row(x=0.5, ok=True, name="a", small=2, n=1)
    expected = b'{"n":1,"small":2,"name":"a","ok":true,"x":0.5}'
    assert WRITER.serialize_batch([turned]) == [expected]
    assert WRITER.serialize_batch([(1, 2, "a", True, 0.5), Row(1, 2, "a", True, 0.5)]) == [
        expected,
        expected,
    ]
