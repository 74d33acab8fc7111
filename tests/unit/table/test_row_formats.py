"""Formats of tables: columns of many messages, and what becomes of malformed ones."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from scurry.common.data_types import DataType, DataTypes, RowType
from scurry.common.types import RowKind
from scurry.connectors.row_formats import DecodingFormat, RowFormatError
from scurry.connectors.row_formats.avro import AvroDecoding, AvroEncoding
from scurry.connectors.row_formats.canal import CanalDecoding, CanalEncoding
from scurry.connectors.row_formats.csv import CsvDecoding, CsvEncoding, CsvSigns
from scurry.connectors.row_formats.debezium import DebeziumDecoding, DebeziumEncoding
from scurry.connectors.row_formats.json import JsonDecoding, JsonEncoding
from scurry.connectors.row_formats.maxwell import MaxwellDecoding, MaxwellEncoding
from scurry.connectors.row_formats.ogg import OggDecoding, OggEncoding
from scurry.connectors.row_formats.raw import RawDecoding, RawEncoding

PAIR = RowType.of(["a", "b"], [DataTypes.INT(), DataTypes.STRING()])
RICH = RowType.of(
    ["i", "d", "t", "z", "day", "at", "raw", "list", "map", "row", "f"],
    [
        DataTypes.BIGINT(),
        DataTypes.DECIMAL(5, 2),
        DataTypes.TIMESTAMP(3),
        DataTypes.TIMESTAMP_LTZ(6),
        DataTypes.DATE(),
        DataTypes.TIME(),
        DataTypes.BYTES(),
        DataTypes.ARRAY(DataTypes.STRING()),
        DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
        DataTypes.ROW([DataTypes.FIELD("x", DataTypes.DOUBLE())]),
        DataTypes.BOOLEAN(),
    ],
)
RICH_JSON = (
    b'{"i":"7","d":1.005,"t":"2024-01-31 12:00:00.5","z":"2024-01-31 12:00:00.000001Z",'
    b'"day":"2024-01-31","at":"12:30:00","raw":"AQI=","list":["x",null,3],"map":{"k":1},'
    b'"row":{"x":"1.5","y":2},"f":"true","other":[]}'
)
RICH_ROW = {
    "i": 7,
    "d": Decimal("1.01"),
    "t": datetime(2024, 1, 31, 12, 0, 0, 500_000),  # noqa: DTZ001
    "z": datetime(2024, 1, 31, 12, 0, 0, 1, tzinfo=UTC),
    "day": date(2024, 1, 31),
    "at": time(12, 30),
    "raw": b"\x01\x02",
    "list": ["x", None, "3"],
    "map": [("k", 1)],
    "row": {"x": 1.5},
    "f": True,
}


def test_json_reads_plain_objects_in_one_go() -> None:
    decoded = JsonDecoding(PAIR).decode([b'{"a": 1, "b": "x"}', b'{"b": null, "c": 2}'])
    assert decoded.columns.to_pylist() == [{"a": 1, "b": "x"}, {"a": None, "b": None}]
    assert decoded.columns.schema == PAIR.arrow_schema()
    assert decoded.kinds is None
    assert decoded.origin is None


def test_json_takes_what_flink_takes_for_other_types() -> None:
    (row,) = JsonDecoding(RICH).decode([RICH_JSON]).columns.to_pylist()
    assert row == RICH_ROW


def test_json_gives_back_what_it_was_given() -> None:
    columns = JsonDecoding(RICH).decode([RICH_JSON]).columns
    (written,) = JsonEncoding(RICH).encode(columns, None)
    assert JsonDecoding(RICH).decode([written]).columns == columns
    assert json.loads(written)["t"] == "2024-01-31 12:00:00.5"
    assert json.loads(written)["z"] == "2024-01-31 12:00:00.000001Z"


def test_json_timestamps_in_iso_form() -> None:
    kind = RowType.of(["t"], [DataTypes.TIMESTAMP(3)])
    decoded = JsonDecoding(kind, timestamps="ISO-8601").decode([b'{"t":"2024-01-31T00:00:00"}'])
    assert JsonEncoding(kind, "ISO-8601").encode(decoded.columns, None) == [
        b'{"t":"2024-01-31T00:00:00"}'
    ]
    with pytest.raises(RowFormatError, match="is no TIMESTAMP"):
        JsonDecoding(kind).decode([b'{"t":"2024-01-31T00:00:00"}'])


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (b'{"a": 1', "not JSON"),
        (b"[1]", "expected an object"),
        (b"", "not JSON"),
        (b'{"a": "x"}', "'x' is no INT"),
        (b'{"a": 3000000000}', "3000000000 is no INT"),
    ],
)
def test_json_names_the_malformed_message(message: bytes, complaint: str) -> None:
    with pytest.raises(RowFormatError, match=complaint) as failure:
        JsonDecoding(PAIR).decode([b'{"a": 1}', message])
    assert failure.value.place == 1


def test_json_passes_over_malformed_messages_and_fields_if_told_so() -> None:
    messages = [b'{"a": 1}', b'{"a": "x", "b": "kept"}', b"nonsense", b'{"a": 2}']
    decoded = JsonDecoding(PAIR, ignore_parse_errors=True).decode(messages)
    assert decoded.columns.to_pylist() == [
        {"a": 1, "b": None},
        {"a": None, "b": "kept"},
        {"a": 2, "b": None},
    ]
    assert decoded.origin is not None
    assert decoded.origin.tolist() == [0, 1, 3]


def test_json_may_insist_on_every_field() -> None:
    with pytest.raises(RowFormatError, match="there is no field 'b'"):
        JsonDecoding(PAIR, fail_on_missing_field=True).decode([b'{"a": 1}'])


def test_json_may_leave_out_nulls() -> None:
    columns = JsonDecoding(PAIR).decode([b'{"a": 1}']).columns
    assert JsonEncoding(PAIR).encode(columns, None) == [b'{"a":1,"b":null}']
    assert JsonEncoding(PAIR, ignore_null_fields=True).encode(columns, None) == [b'{"a":1}']


def test_csv_reads_and_writes_lines() -> None:
    form = CsvDecoding(PAIR, CsvSigns(null="-"))
    columns = form.decode([b'1,"x, y"', b"2,-", b'3,"say ""hi"""']).columns
    assert columns.to_pylist() == [
        {"a": 1, "b": "x, y"},
        {"a": 2, "b": None},
        {"a": 3, "b": 'say "hi"'},
    ]
    lines = CsvEncoding(PAIR, CsvSigns(null="-")).encode(columns, None)
    assert lines == [b'1,"x, y"', b"2,-", b'3,"say ""hi"""']
    assert form.decode(lines).columns == columns


def test_csv_holds_other_types() -> None:
    kind = RowType.of(
        ["t", "d", "list", "f"],
        [
            DataTypes.TIMESTAMP(3),
            DataTypes.DECIMAL(6, 2),
            DataTypes.ARRAY(DataTypes.INT()),
            DataTypes.BOOLEAN(),
        ],
    )
    columns = CsvDecoding(kind, CsvSigns()).decode([b"2024-01-31 12:00:00,1.5,1;2,true"]).columns
    assert columns.to_pylist() == [
        {
            "t": datetime(2024, 1, 31, 12),  # noqa: DTZ001
            "d": Decimal("1.50"),
            "list": [1, 2],
            "f": True,
        }
    ]
    assert CsvEncoding(kind, CsvSigns()).encode(columns, None) == [
        b"2024-01-31 12:00:00,1.50,1;2,true"
    ]


ODD = ["2024-01-31 12:00:00", "2024-01-31 12:00:00.1234", "2024-01-31T12:00:00", "2024-01-31"]
ODD += ["2024-02-30 12:00:00", "2024-01-31 12:00:00Z", " 2024-01-31 12:00:00", "", "-", "1", "1.5"]
ODD += ["1.555", "12345678.9", "1e2", "true", "True", "tRuE", "t", " 7", "+7", '"7"', "0x1F", "nan"]
COLUMNS = [DataTypes.TIMESTAMP(3), DataTypes.DATE(), DataTypes.DECIMAL(6, 2), DataTypes.BOOLEAN()]
COLUMNS += [DataTypes.INT(), DataTypes.DOUBLE(), DataTypes.STRING()]


@pytest.mark.parametrize("kind", COLUMNS, ids=str)
def test_csv_reads_whole_texts_as_it_reads_each_line(kind: DataType) -> None:
    whole = RowType.of(["x", "k"], [kind, DataTypes.STRING()])
    # comments are looked for in each line, so that Arrow does not read them
    slow = CsvDecoding(whole, CsvSigns(null="-"), allow_comments=True)
    for text in ODD:
        data = f"{text},k\n".encode()
        fast = CsvDecoding(whole, CsvSigns(null="-")).decode_lines(data)
        if fast is not None:
            one_by_one = slow.decode([data.strip(b"\n")]).columns
            assert str(one_by_one.to_pylist()) == str(fast.columns.to_pylist()), text


def test_csv_reads_columns_that_are_wanted_and_does_not_look_at_others() -> None:
    kind = RowType.of(["a", "b", "c"], [DataTypes.INT(), DataTypes.TIMESTAMP(3), DataTypes.INT()])
    form = CsvDecoding(kind, CsvSigns()).projected(["c", "a"])
    data = b"1,never,3\n4,,6\n"
    fast = form.decode_lines(data)
    assert fast is not None
    assert fast.columns.to_pylist() == [{"c": 3, "a": 1}, {"c": 6, "a": 4}]
    assert form.decode(data.split()).columns.equals(fast.columns)
    with pytest.raises(RowFormatError, match="expected 3 fields, got 2"):
        form.decode([b"1,2"])


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"1", "expected 2 fields, got 1"),
        (b"x,y", "'x' is no INT"),
        (b"", "the line is empty"),
        (b'1,"y', 'a field begins with " and has no end'),
    ],
)
def test_csv_names_the_malformed_line(line: bytes, complaint: str) -> None:
    with pytest.raises(RowFormatError, match=complaint):
        CsvDecoding(PAIR, CsvSigns()).decode([line])


def test_csv_does_not_take_the_end_of_a_line_for_that_of_a_field() -> None:
    form, lines = CsvDecoding(PAIR, CsvSigns()), [b'1,"x', b'2,y"']
    assert form.decode_lines(b"\n".join(lines)) is None
    with pytest.raises(RowFormatError, match="has no end"):
        form.decode(lines)
    whole = form.decode([b'1,5" wide', b'2,"a ""b"""', b'3,"of two\nlines"'])
    assert whole.columns.column("b").to_pylist() == ['5" wide', 'a "b"', "of two\nlines"]


def test_csv_has_large_fields() -> None:
    form, text = CsvDecoding(PAIR, CsvSigns(escape="\\")), "x" * 200_000
    assert form.decode([b"1," + text.encode()]).columns.column("b").to_pylist() == [text]


def test_csv_passes_over_malformed_lines_and_comments() -> None:
    form = CsvDecoding(PAIR, CsvSigns(), ignore_parse_errors=True, allow_comments=True)
    decoded = form.decode([b"#1,x", b"1", b"x,y", b"1,2,3"])
    assert decoded.columns.to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "y"}]
    assert decoded.origin is not None
    assert decoded.origin.tolist() == [1, 2]


def test_avro_gives_back_what_it_was_given() -> None:
    kind = RowType(field for field in RICH if field.name != "at")
    columns = JsonDecoding(kind).decode([RICH_JSON, b"{}"]).columns
    messages = AvroEncoding(kind).encode(columns, None)
    assert AvroDecoding(kind).decode(messages).columns == columns


def test_avro_names_the_malformed_message() -> None:
    with pytest.raises(RowFormatError, match="not a record of the schema"):
        AvroDecoding(PAIR).decode([b"\x02"])


def event(op: str, before: Any, after: Any) -> bytes:
    return json.dumps({"op": op, "before": before, "after": after}).encode()


def test_debezium_reads_changes() -> None:
    one, two = {"a": 1, "b": "x"}, {"a": 1, "b": "y"}
    messages = [event("c", None, one), event("u", one, two), event("d", two, None)]
    decoded = DebeziumDecoding(PAIR).decode(messages)
    assert decoded.columns.to_pylist() == [one, one, two, two]
    assert decoded.kinds is not None
    assert [RowKind(kind) for kind in decoded.kinds.tolist()] == [
        RowKind.INSERT,
        RowKind.UPDATE_BEFORE,
        RowKind.UPDATE_AFTER,
        RowKind.DELETE,
    ]
    assert decoded.origin is not None
    assert decoded.origin.tolist() == [0, 1, 1, 2]
    written = DebeziumEncoding(PAIR).encode(decoded.columns, decoded.kinds)
    assert [json.loads(one)["op"] for one in written] == ["c", "d", "c", "d"]
    assert json.loads(written[1]) == {"before": one, "after": None, "op": "d"}


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        (event("x", None, {}), "op c, r, u or d, got 'x'"),
        (event("u", None, {"a": 1}), "REPLICA IDENTITY"),
        (b"{}", "there is no 'op'"),
        (b"nonsense", "not JSON"),
    ],
)
def test_debezium_names_the_malformed_event(message: bytes, complaint: str) -> None:
    with pytest.raises(RowFormatError, match=complaint):
        DebeziumDecoding(PAIR).decode([message])
    assert DebeziumDecoding(PAIR, ignore_parse_errors=True).decode([message]).columns.num_rows == 0


def changes_in(form: DecodingFormat, *events: Any) -> list[str]:
    """Kind, ``a`` and ``b`` of each row of the events, which are given as values of JSON."""
    decoded = form.decode([json.dumps(one).encode() for one in events])
    assert decoded.kinds is not None
    kinds = [str(RowKind(kind)) for kind in decoded.kinds.tolist()]
    rows = decoded.columns.to_pylist()
    return [f"{k} {row['a']} {row['b']}" for k, row in zip(kinds, rows, strict=True)]


def test_canal_reads_changes() -> None:
    events = [
        {"type": "INSERT", "data": [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}], "old": None},
        {"type": "UPDATE", "data": [{"a": "1", "b": "z"}], "old": [{"b": "x"}]},
        {"type": "UPDATE", "data": [{"a": "1", "b": "z"}], "old": [{"b": None}]},
        {"type": "CREATE", "data": None, "isDdl": True},
        {"type": "DELETE", "data": [{"a": "2", "b": "y"}]},
    ]
    expected = ["+I 1 x", "+I 2 y", "-U 1 x", "+U 1 z", "-U 1 None", "+U 1 z", "-D 2 y"]
    assert changes_in(CanalDecoding(PAIR), *events) == expected
    one, two = {**events[0], "table": "t1"}, {**events[4], "table": "t22"}
    chosen = CanalDecoding(PAIR, table=re.compile("t2+"))
    assert changes_in(chosen, one, two) == ["-D 2 y"]


def test_maxwell_reads_changes() -> None:
    events = [
        {"type": "insert", "data": {"a": 1, "b": "x"}},
        {"type": "update", "data": {"a": 1, "b": "y"}, "old": {"b": "x"}},
        {"type": "delete", "data": {"a": 1, "b": "y"}},
    ]
    expected = ["+I 1 x", "-U 1 x", "+U 1 y", "-D 1 y"]
    assert changes_in(MaxwellDecoding(PAIR), *events) == expected


def test_goldengate_reads_changes() -> None:
    one, two = {"a": 1, "b": "x"}, {"a": 1, "b": "y"}
    events = [
        {"op_type": "I", "before": None, "after": one},
        {"op_type": "U", "before": one, "after": two},
        {"op_type": "D", "before": two, "after": None},
    ]
    expected = ["+I 1 x", "-U 1 x", "+U 1 y", "-D 1 y"]
    assert changes_in(OggDecoding(PAIR), *events) == expected


@pytest.mark.parametrize(
    ("form", "message", "complaint"),
    [
        (CanalDecoding, {"type": "ALTER", "data": []}, "INSERT, UPDATE, DELETE or CREATE"),
        (CanalDecoding, {"type": "INSERT"}, "there is no 'data'"),
        (CanalDecoding, {"type": "INSERT", "data": [5]}, "a row of a change event is an object"),
        (CanalDecoding, {"type": "UPDATE", "data": [{}], "old": None}, "not .*iter"),
        (MaxwellDecoding, {"type": "bootstrap", "data": {}}, "insert, update or delete"),
        (MaxwellDecoding, {"type": "update", "data": {}, "old": None}, "is an object"),
        (OggDecoding, {"op_type": "T"}, "I, U or D, got 'T'"),
        (OggDecoding, {"op_type": "U", "after": {}}, "write the whole rows"),
        (DebeziumDecoding, {"op": "c", "after": 5}, "a row of a change event is an object"),
        (DebeziumDecoding, [1], "it is no object"),
    ],
)
def test_a_malformed_change_event_is_named(form: Any, message: Any, complaint: str) -> None:
    text = json.dumps(message).encode()
    with pytest.raises(RowFormatError, match=complaint):
        form(PAIR).decode([text])
    assert form(PAIR, ignore_parse_errors=True).decode([text]).columns.num_rows == 0


@pytest.mark.parametrize(
    ("form", "new", "old"),
    [
        (CanalEncoding, '{"data":[ROW],"type":"INSERT"}', '{"data":[ROW],"type":"DELETE"}'),
        (MaxwellEncoding, '{"data":ROW,"type":"insert"}', '{"data":ROW,"type":"delete"}'),
        (
            OggEncoding,
            '{"before":null,"after":ROW,"op_type":"I"}',
            '{"before":ROW,"after":null,"op_type":"D"}',
        ),
        (
            DebeziumEncoding,
            '{"before":null,"after":ROW,"op":"c"}',
            '{"before":ROW,"after":null,"op":"d"}',
        ),
    ],
)
def test_each_row_is_written_as_an_event(form: Any, new: str, old: str) -> None:
    columns = JsonDecoding(PAIR).decode([b'{"a": 1, "b": null}'] * 4).columns
    row = '{"a":1,"b":null}'
    written = [new, old, new, old]
    kinds = np.array([0, 1, 2, 3], dtype=np.int8)
    assert form(PAIR).encode(columns, kinds) == [t.replace("ROW", row).encode() for t in written]
    short = [re.sub('"(before|after)":null,', "", t.replace("ROW", '{"a":1}')) for t in written]
    short = [re.sub(',"(before|after)":null', "", t) for t in short]
    assert form(PAIR, ignore_nulls=True).encode(columns, kinds) == [t.encode() for t in short]


def test_raw_messages_are_one_column() -> None:
    text = RowType.of(["s"], [DataTypes.STRING()])
    columns = RawDecoding(text).decode(["grün".encode()]).columns
    assert columns.to_pylist() == [{"s": "grün"}]
    assert RawEncoding(text).encode(columns, None) == ["grün".encode()]
    number = RowType.of(["n"], [DataTypes.INT()])
    assert RawDecoding(number).decode([b"\0\0\1\0"]).columns.to_pylist() == [{"n": 256}]
    assert RawDecoding(number, big_endian=False).decode([b"\0\1\0\0"]).columns.to_pylist() == [
        {"n": 256}
    ]
    with pytest.raises(RowFormatError, match="1 bytes are no INT"):
        RawDecoding(number).decode([b"\1"])
