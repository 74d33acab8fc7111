"""Avro records in Parquet files, and Avro files as bounded input."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pytest

from scurry.common import Row
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource
from scurry.datastream.formats.avro import (
    AvroInputFormat,
    AvroSchema,
    GenericRecordAvroTypeInfo,
)
from scurry.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from scurry.testing import collect_local, run_local

DECLARED = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "lines", "type": {"type": "array", "items": {
            "type": "record", "name": "Line",
            "fields": [{"name": "what", "type": "string"}, {"name": "count", "type": "int"}],
        }}},
        {"name": "extra", "type": {"type": "map", "values": {"type": "array", "items": "double"}}},
        {"name": "first", "type": ["null", "Line"]},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "sum", "type": {
            "type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2,
        }},
    ],
}  # fmt: skip
SCHEMA = AvroSchema.parse_string(json.dumps(DECLARED))
ORDERS: list[dict[str, Any]] = [
    {
        "id": number,
        "note": None if number % 2 else "as a gift",
        "lines": [{"what": "tea", "count": number}],
        "extra": {"weights": [0.5, number], "none": []} if number else {},
        "first": {"what": "tea", "count": number} if number % 3 else None,
        "state": "NEW",
        "at": datetime(2026, 1, 1, 12, 0, number, tzinfo=UTC),
        "sum": Decimal("12.50") + number,
    }
    for number in range(7)
]


def test_records_come_back_from_parquet_as_they_were(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = FileSink.for_bulk_format(str(tmp_path), AvroParquetWriters.for_generic_record(SCHEMA))
    sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    orders = env.from_collection(ORDERS)
    orders.map(lambda o: o, output_type=GenericRecordAvroTypeInfo(SCHEMA)).sink_to(sink.build())
    run_local(env, cuts=3)
    form = AvroParquetReaders.for_generic_record(SCHEMA)
    source = FileSource.for_record_stream_format(form, str(tmp_path)).build()
    found = collect_local(env.from_source(source, None, "orders"))
    assert sorted(found, key=lambda order: int(order["id"])) == ORDERS


def test_rows_are_written_by_their_names(tmp_path: Path) -> None:
    schema = AvroSchema.parse_string(
        '{"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}'
    )
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = FileSink.for_bulk_format(str(tmp_path), AvroParquetWriters.for_generic_record(schema))
    env.from_collection([Row(x=1), Row(x=2)]).sink_to(sink.build())
    run_local(env)
    form = AvroParquetReaders.for_generic_record(schema)
    source = FileSource.for_record_stream_format(form, str(tmp_path)).build()
    assert collect_local(env.from_source(source, None, "points")) == [{"x": 1}, {"x": 2}]


def test_a_record_of_another_schema_is_shown(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = FileSink.for_bulk_format(str(tmp_path), AvroParquetWriters.for_generic_record(SCHEMA))
    env.from_collection([{**ORDERS[0], "id": "seven"}]).sink_to(sink.build())
    with pytest.raises(FunctionError, match=r"not of the Avro schema.*seven"):
        run_local(env)


@pytest.mark.parametrize(
    ("declared", "complaint"),
    [
        ('"long"', "of type 'record'"),
        (
            '{"type": "record", "name": "R", "fields": [{"name": "u", "type": ["int", "string"]}]}',
            "has several",
        ),
        (
            '{"type": "record", "name": "Tree", "fields": '
            '[{"name": "next", "type": ["null", "Tree"]}]}',
            "contains itself",
        ),
    ],
)
def test_schemas_without_columns_are_refused(declared: str, complaint: str) -> None:
    with pytest.raises(ProgramError, match=complaint):
        AvroParquetWriters.for_generic_record(AvroSchema.parse_string(declared))


def test_avro_files_as_bounded_input(tmp_path: Path) -> None:
    path = tmp_path / "orders.avro"
    with path.open("wb") as file:
        fastavro.writer(file, SCHEMA.parsed, ORDERS)
    env = StreamExecutionEnvironment.get_execution_environment()
    form = AvroInputFormat(str(path), SCHEMA)
    orders = env.create_input(form)
    assert orders.get_type() == GenericRecordAvroTypeInfo(SCHEMA)
    assert collect_local(orders) == ORDERS
    with pytest.raises(ProgramError, match="create_input needs an InputFormat"):
        env.create_input("orders.avro")  # type: ignore[arg-type]
