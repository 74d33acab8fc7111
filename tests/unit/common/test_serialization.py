"""Elements become bytes and come back."""

from __future__ import annotations

from io import BytesIO

import pytest

from scurry.common import ByteArraySchema, Encoder, Row, SimpleStringSchema, TypeSerializer
from scurry.common.errors import ConfigurationError, TypeMismatchError
from scurry.common.serialization import RowFieldExtractorSchema


def test_strings() -> None:
    schema = SimpleStringSchema()
    assert schema.serialize("grün") == "grün".encode()
    assert schema.deserialize("grün".encode()) == "grün"
    assert SimpleStringSchema("latin-1").serialize("ü") == b"\xfc"
    assert schema.serialize(Row(1, "a")) == b"+I[1, a]"
    assert schema.serialize(5) == b"5"
    with pytest.raises(ConfigurationError, match="unknown charset 'klingon'"):
        SimpleStringSchema("klingon")


def test_bytes() -> None:
    schema = ByteArraySchema()
    assert schema.serialize(bytearray(b"x")) == b"x"
    assert schema.deserialize(b"x") == b"x"
    with pytest.raises(TypeMismatchError, match=r"writes bytes, got 'x' \(str\)"):
        schema.serialize("x")


def test_fields_of_rows() -> None:
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row(b"k", b"v")) == b"v"
    assert schema.serialize((b"k", None)) is None
    with pytest.raises(TypeMismatchError, match=r"field 1 of the row must be bytes, got 5 \(int\)"):
        schema.serialize(Row(b"k", 5))
    with pytest.raises(TypeMismatchError, match="expected a row with a field 1"):
        schema.serialize(Row(b"k"))
    with pytest.raises(ConfigurationError, match="counts from 0, got -1"):
        RowFieldExtractorSchema(-1)


def test_lines() -> None:
    encoder = Encoder.simple_string_encoder()
    assert b"".join(map(encoder.encode, ["a", 1, Row(2, None)])) == b"a\n1\n+I[2, null]\n"
    with pytest.raises(ConfigurationError, match="unknown charset"):
        Encoder.simple_string_encoder("klingon")


class Letter(TypeSerializer[str]):
    def serialize(self, element: str, stream: BytesIO) -> None:
        stream.write(element.encode("ascii"))

    def deserialize(self, stream: BytesIO) -> str:
        return stream.read(1).decode("ascii")


def test_serializers_of_a_class_are_equal() -> None:
    stream = BytesIO()
    Letter().serialize("a", stream)
    stream.seek(0)
    assert Letter().deserialize(stream) == "a"
    assert Letter() == Letter()
    assert hash(Letter()) == hash(Letter())
    assert Letter() != 3
