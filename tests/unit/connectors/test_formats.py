"""Formats against what Flink's own give for the same bytes (noted down from a run of PyFlink 2.3),
and round trips."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Row, RowKind, Types
from scurry.common.errors import ConfigurationError, NotSupportedError, ProgramError
from scurry.common.errors import TypeMismatchError as Mismatch
from scurry.connectors.formats.registry import SchemaRegistry
from scurry.datastream.formats.avro import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
)
from scurry.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from scurry.datastream.formats.debezium import DebeziumJsonDeserializationSchema
from scurry.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema

MOMENT = datetime.fromisoformat("2020-01-02T03:04:05")
NESTED = Types.ROW_NAMED(["x"], [Types.INT()])
FIELDS = {
    "i": Types.INT(),
    "s": Types.STRING(),
    "d": Types.DOUBLE(),
    "b": Types.BOOLEAN(),
    "l": Types.OBJECT_ARRAY(Types.INT()),
    "m": Types.MAP(Types.STRING(), Types.INT()),
    "ts": Types.SQL_TIMESTAMP(),
    "dt": Types.SQL_DATE(),
    "tm": Types.SQL_TIME(),
    "dec": Types.BIG_DEC(),
    "by": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "r": NESTED,
}
WIDE = Types.ROW_NAMED(list(FIELDS), list(FIELDS.values()))


def reader(**calls: Any) -> JsonRowDeserializationSchema:
    builder = JsonRowDeserializationSchema.builder().type_info(WIDE)
    for call in calls:
        getattr(builder, call)()
    # the schema travels to the workers
    return pickle.loads(pickle.dumps(builder.build()))


FULL = (
    b'{"i":1,"s":"x","d":1.5,"b":true,"l":[1,2],"m":{"a":1},"ts":"2020-01-02T03:04:05Z",'
    b'"dt":"2020-01-02","tm":"03:04:05Z","dec":12.50,"by":"AQI=","r":{"x":3}}'
)


def test_json_fields_of_every_type() -> None:
    row = reader().deserialize(FULL)
    assert row == Row(
        i=1, s="x", d=1.5, b=True, l=[1, 2], m={"a": 1}, ts=MOMENT,
        dt=date(2020, 1, 2), tm=time(3, 4, 5), dec=Decimal("12.50"), by=b"\x01\x02", r=Row(x=3),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"{}", {}),
        (b'{"i":"12","s":5,"d":"1.5","b":"true"}', {"i": 12, "s": "5", "d": 1.5, "b": True}),
        (b'{"i":1.7}', {"i": 1}),
        (b'{"s":{"a":1}}', {"s": '{"a":1}'}),
        (b'{"s":null,"zzz":1}', {}),
        (b'{"b":1}', {"b": False}),
        (b'{"dec":"1.20"}', {"dec": Decimal("1.20")}),
        (b'{"l":[1,null]}', {"l": [1, None]}),
    ],
)
def test_json_takes_what_flink_takes(message: bytes, expected: dict[str, Any]) -> None:
    wanted = Row(**{**dict.fromkeys(FIELDS), **expected})
    assert reader().deserialize(message) == wanted
    assert reader().deserialize_batch([FULL, message])[1] == wanted


@pytest.mark.parametrize(
    "message",
    [
        b'{"i":"x"}', b"nope", b"", b"[1]", b"5", b'{"i":3000000000}', b'{"i":true}',
        b'{"ts":"yesterday"}',
    ],
)  # fmt: skip
def test_json_refuses_what_flink_refuses(message: bytes) -> None:
    with pytest.raises(Mismatch):
        reader().deserialize(message)
    with pytest.raises(Mismatch):
        reader().deserialize_batch([FULL, message, FULL])


def test_json_missing_fields_and_parse_errors() -> None:
    with pytest.raises(Mismatch, match="no field 's'"):
        reader(fail_on_missing_field=True).deserialize(b'{"i":1}')
    lenient = reader(ignore_parse_errors=True)
    assert lenient.deserialize(b'{"i":"x","s":"k"}') == Row(**{**dict.fromkeys(FIELDS), "s": "k"})
    assert lenient.deserialize_batch([b"nope", FULL])[0] is None
    with pytest.raises(ProgramError, match="contradict each other"):
        reader(fail_on_missing_field=True, ignore_parse_errors=True)
    with pytest.raises(ProgramError, match="needs a type with fields"):
        JsonRowDeserializationSchema.builder().type_info(Types.INT()).build()


def test_json_is_written_as_flink_writes_it() -> None:
    kind = Types.ROW_NAMED(
        ["i", "s", "d", "b"], [Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]
    )
    writer = JsonRowSerializationSchema.builder().with_type_info(kind).build()
    assert writer.serialize(Row(1, "x", 1.5, True)) == b'{"i":1,"s":"x","d":1.5,"b":true}'
    assert writer.serialize(Row(1, 'é"\n', 2.0, False)) == (
        b'{"i":1,"s":"\xc3\xa9\\"\\n","d":2.0,"b":false}'
    )
    nothing = b'{"i":null,"s":null,"d":null,"b":null}'
    assert writer.serialize(Row(None, None, None, None)) == nothing
    with pytest.raises(Mismatch, match="expected a row with the fields"):
        writer.serialize(Row(1))


def test_json_round_trip_of_every_type() -> None:
    writer = JsonRowSerializationSchema.builder().with_type_info(WIDE).build()
    row = reader().deserialize(FULL)
    written = pickle.loads(pickle.dumps(writer)).serialize(row)
    assert json.loads(written) == json.loads(FULL)
    assert reader().deserialize(written) == row


@given(st.text(), st.integers(-(1 << 63), (1 << 63) - 1), st.floats(allow_nan=False))
def test_json_round_trip_of_any_value(text: str, number: int, real: float) -> None:
    kind = Types.ROW_NAMED(["s", "a b", "f"], [Types.STRING(), Types.LONG(), Types.DOUBLE()])
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    if real in (float("inf"), float("-inf")):
        return
    row = kind.build([text, number, real])
    written = JsonRowSerializationSchema.builder().with_type_info(kind).build().serialize(row)
    assert (
        JsonRowDeserializationSchema.builder().type_info(kind).build().deserialize(written) == row
    )


def test_json_schema_gives_the_type() -> None:
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "t": {"type": "string", "format": "date-time"},
            "l": {"type": "array", "items": {"type": ["string", "null"]}},
        },
    }
    built = JsonRowDeserializationSchema.builder().json_schema(json.dumps(schema)).build()
    assert built.get_produced_type() == Types.ROW_NAMED(
        ["n", "t", "l"],
        [Types.BIG_INT(), Types.SQL_TIMESTAMP(), Types.OBJECT_ARRAY(Types.STRING())],
    )
    with pytest.raises(ProgramError, match="no known type"):
        JsonRowDeserializationSchema.builder().json_schema('{"type":"odd"}')


SMALL = Types.ROW_NAMED(
    ["i", "s", "d", "b"], [Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]
)


def small(*values: Any) -> Row:
    return SMALL.build(values)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"1,a,1.5,true", (1, "a", 1.5, True)),
        (b'1,"a, b",1.5,true', (1, "a, b", 1.5, True)),
        (b'1,"a""b",2,false', (1, 'a"b', 2.0, False)),
        (b"1, a ,2,false\n", (1, " a ", 2.0, False)),
        (b"1,a,2,yes", (1, "a", 2.0, False)),
        (b"1,a,2,true\n2,b,3,false", (1, "a", 2.0, True)),
    ],
)
def test_csv_takes_what_flink_takes(message: bytes, expected: tuple[Any, ...]) -> None:
    schema = pickle.loads(pickle.dumps(CsvRowDeserializationSchema.Builder(SMALL).build()))
    assert schema.deserialize(message) == small(*expected)


@pytest.mark.parametrize("message", [b"1,a", b"", b",,,", b"x,a,1,true", b"1,a,1.5,true,5"])
def test_csv_refuses_what_flink_refuses(message: bytes) -> None:
    with pytest.raises(Mismatch):
        CsvRowDeserializationSchema.Builder(SMALL).build().deserialize(message)


def test_csv_settings() -> None:
    builder = CsvRowDeserializationSchema.Builder(SMALL).set_null_literal("n/a")
    builder.set_field_delimiter(";").set_ignore_parse_errors(True).set_allow_comments(True)
    schema = builder.build()
    assert schema.deserialize(b"1;n/a;1.5;true") == small(1, None, 1.5, True)
    assert schema.deserialize(b"x;a;1;true") == small(None, "a", 1.0, True)
    assert schema.deserialize(b"1;a") == small(1, "a", None, None)
    assert schema.deserialize(b"# note") is None
    deep = Types.ROW_NAMED(
        ["i", "l", "r"],
        [
            Types.INT(),
            Types.OBJECT_ARRAY(Types.INT()),
            Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()]),
        ],
    )
    found = CsvRowDeserializationSchema.Builder(deep).build().deserialize(b"1,1;2;3,4;z")
    assert found == Row(i=1, l=[1, 2, 3], r=Row(x=4, y="z"))
    with pytest.raises(ProgramError, match="single characters"):
        CsvRowDeserializationSchema.Builder(SMALL).set_field_delimiter("ab")
    with pytest.raises(ProgramError, match="CSV needs a type with fields"):
        CsvRowSerializationSchema.Builder(Types.INT())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((1, "x", 1.5, True), b"1,x,1.5,true\n"),
        ((None, None, None, None), b",,,\n"),
        ((1, 'q"q', 2.0, True), b'1,"q""q",2.0,true\n'),
        ((1, " sp ", 2.0, True), b'1," sp ",2.0,true\n'),
        ((1, "l\nb", 2.0, True), b'1,"l\nb",2.0,true\n'),
        ((1, "", 2.0, True), b"1,,2.0,true\n"),
        ((1, "a#b", 1.0, False), b'1,"a#b",1.0,false\n'),
    ],
)
def test_csv_is_written_as_flink_writes_it(values: Any, expected: bytes) -> None:
    writer = CsvRowSerializationSchema.Builder(SMALL).build()
    assert writer.serialize(small(*values)) == expected


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(-9, 9))
def test_csv_round_trip(text: str, number: int) -> None:
    row = small(number, text, 0.5, True)
    written = CsvRowSerializationSchema.Builder(SMALL).build().serialize(row)
    if "\r" not in text and "\0" not in text:
        assert CsvRowDeserializationSchema.Builder(SMALL).build().deserialize(written) == row


TABLE = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def change(**event: Any) -> bytes:
    return json.dumps(event).encode()


def test_debezium_events_become_changelog_rows() -> None:
    schema = DebeziumJsonDeserializationSchema(TABLE)
    old, new = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}

    def kinds(message: bytes) -> list[str]:
        return [row.to_string() for row in schema.deserialize(message)]

    assert kinds(change(op="c", before=None, after=old)) == ["+I[1, a]"]
    assert kinds(change(op="r", after=old)) == ["+I[1, a]"]
    assert kinds(change(op="u", before=old, after=new, ts_ms=5)) == ["-U[1, a]", "+U[1, b]"]
    assert kinds(change(op="d", before=new, after=None)) == ["-D[1, b]"]
    assert schema.deserialize(change(op="d", before=new))[0].get_row_kind() is RowKind.DELETE
    wrapped = DebeziumJsonDeserializationSchema(TABLE, schema_include=True)
    message = change(schema={}, payload={"op": "c", "after": old})
    assert [row.to_string() for row in wrapped.deserialize(message)] == ["+I[1, a]"]


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (b"nope", "not a change event"),
        (change(op="x"), "op c, r, u or d, got 'x'"),
        (change(op="u", after={"id": 1}), "REPLICA IDENTITY"),
    ],
)
def test_debezium_refuses(message: bytes, complaint: str) -> None:
    with pytest.raises(Mismatch, match=complaint):
        DebeziumJsonDeserializationSchema(TABLE).deserialize(message)
    assert DebeziumJsonDeserializationSchema(TABLE, False, True).deserialize(message) == []


AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "who", "type": ["null", "string"], "default": None},
            {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "tags", "type": {"type": "array", "items": "string"}},
            {
                "name": "place",
                "type": {
                    "type": "record",
                    "name": "Place",
                    "fields": [{"name": "x", "type": "int"}],
                },
            },
        ],
    }
)
ORDER = Row(id=5, who="a", at=MOMENT, tags=["t"], place=Row(x=1))


def utc(row: Row) -> Row:
    return Row(**{**row.as_dict(), "at": row["at"].replace(tzinfo=UTC)})


def test_avro_round_trip() -> None:
    writer = pickle.loads(pickle.dumps(AvroRowSerializationSchema(avro_schema_string=AVRO)))
    reads = pickle.loads(pickle.dumps(AvroRowDeserializationSchema(avro_schema_string=AVRO)))
    assert reads.deserialize(writer.serialize(utc(ORDER))) == ORDER
    assert reads.get_produced_type().check(ORDER) is None
    with pytest.raises(Mismatch, match="not a record of the schema"):
        reads.deserialize(b"\x02")
    with pytest.raises(Mismatch, match="does not fit the Avro schema"):
        writer.serialize(Row(id="x"))
    with pytest.raises(NotSupportedError, match="names a Java class"):
        AvroRowDeserializationSchema(record_class="com.example.Order")
    with pytest.raises(ConfigurationError, match="must be a record"):
        AvroRowDeserializationSchema(avro_schema_string='"int"')


class Registry(BaseHTTPRequestHandler):
    """The part of the registry's REST interface that clients of this kind use."""

    schemas: list[str]
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        number = int(self.path.rsplit("/", 1)[1])
        if number > len(self.schemas):
            self.answer(404, {"error_code": 40403, "message": "Schema not found"})
        else:
            self.answer(200, {"schema": self.schemas[number - 1]})

    def do_POST(self) -> None:
        self.asked.append(self.path)
        if self.headers.get("Authorization") == "Basic eDp3cm9uZw==":
            self.answer(401, {"message": "no"})
            return
        schema = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["schema"]
        if schema not in self.schemas:
            self.schemas.append(schema)
        self.answer(200, {"id": self.schemas.index(schema) + 1})

    def answer(self, code: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[tuple[str, type[Registry]]]:
    handler = type("Handler", (Registry,), {"schemas": [], "asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    thread.join()
    server.server_close()


def test_avro_with_a_schema_registry(registry: tuple[str, type[Registry]]) -> None:
    url, handler = registry
    writer = ConfluentRegistryAvroSerializationSchema.for_generic("orders-value", AVRO, url)
    reads = ConfluentRegistryAvroDeserializationSchema.for_generic(AVRO, url)
    messages = [writer.serialize(utc(ORDER)) for _ in range(3)]
    assert messages[0][:5] == b"\0\0\0\0\1"
    assert reads.deserialize_batch(messages) == [ORDER] * 3
    assert handler.asked == ["/subjects/orders-value/versions", "/schemas/ids/1"]
    newer = json.loads(AVRO)
    newer["fields"] = [*newer["fields"][:2], {"name": "extra", "type": "int", "default": 7}]
    evolved = ConfluentRegistryAvroDeserializationSchema.for_generic(json.dumps(newer), url)
    assert evolved.deserialize(messages[0]) == Row(id=5, who="a", extra=7)
    with pytest.raises(Mismatch, match="does not begin as one"):
        reads.deserialize(b"xxxxxx")
    with pytest.raises(ConfigurationError, match="answered 404"):
        reads.deserialize(b"\0\0\0\0\7xx")


def test_a_registry_never_shows_its_password(registry: tuple[str, type[Registry]]) -> None:
    url, _ = registry
    secret = SchemaRegistry(url.replace("http://", "http://x:wrong@"))
    with pytest.raises(ConfigurationError, match="answered 401") as refused:
        secret.register("s", AVRO)
    assert "wrong" not in str(refused.value)
    away = SchemaRegistry("http://u:pw@127.0.0.1:1/")
    with pytest.raises(ConfigurationError, match="cannot be reached") as refused:
        away.schema(1)
    assert "pw" not in str(refused.value)
    with pytest.raises(ConfigurationError, match="named by a URL"):
        SchemaRegistry("registry:8081")
