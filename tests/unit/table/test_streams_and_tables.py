"""DataStreams as tables, and tables as DataStreams."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from scurry.common.errors import ProgramError
from scurry.common.time import Duration, Instant
from scurry.common.typeinfo import Types
from scurry.common.types import Row, RowKind
from scurry.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from scurry.datastream import ProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from scurry.table import ChangelogMode, DataTypes, Schema, StreamTableEnvironment
from scurry.table.expressions import col, lit
from scurry.table.window import Tumble
from scurry.testing import collect_local
from scurry.testing.tables import changes_of_table

LTZ = "TIMESTAMP_LTZ(9)"
FIRST_SECOND = datetime(1970, 1, 1, 0, 0, 1, 5000, UTC)
PAIR = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


class FirstField(TimestampAssigner):
    """Seconds in the first field."""

    def extract_timestamp(self, value: Row, record_timestamp: int) -> int:
        """Milliseconds."""
        return int(value[0]) * 1000


@pytest.fixture
def stream_env() -> StreamExecutionEnvironment:
    """A stream environment."""
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)


@pytest.fixture
def tables(stream_env: StreamExecutionEnvironment) -> StreamTableEnvironment:
    """Tables on it."""
    return StreamTableEnvironment.create(stream_env)


def test_a_stream_is_a_table_that_grows(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    stream = stream_env.from_collection([Row(1, "x"), Row(2, "y")], PAIR)
    table = tables.from_data_stream(stream)
    assert table.get_schema().get_field_names() == ["id", "name"]
    assert changes_of_table(table.where(col("id") > 1)) == [("+I", 2, "y")]
    tables.create_temporary_view("t", stream, col("a"), col("b"))
    assert changes_of_table(tables.sql_query("SELECT MAX(a) FROM t"))[-1] == ("+U", 2)
    schema = Schema.new_builder().column("name", "STRING").column_by_expression("c", "1").build()
    assert changes_of_table(tables.from_data_stream(stream, schema))[0] == ("+I", "x", 1)


def test_tables_leave_a_stream_environment_in_batch_mode(
    stream_env: StreamExecutionEnvironment,
) -> None:
    stream_env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    StreamTableEnvironment.create(stream_env)
    words = stream_env.from_collection([("a", 1), ("a", 2)])
    assert collect_local(words.key_by(lambda pair: pair[0]).sum(1)) == [("a", 3)]


def test_a_stream_is_read_within_a_condition(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    some = stream_env.from_collection([Row(1, "x"), Row(2, "y")], PAIR)
    tables.create_temporary_view("t", some)
    tables.create_temporary_view("u", stream_env.from_collection([Row(2, "z")], PAIR))
    found = tables.sql_query("SELECT name FROM t WHERE id IN (SELECT id FROM u)")
    assert [row.name for row in collect_local(tables.to_changelog_stream(found))] == ["y"]


def test_a_stream_brings_its_time(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1))
    stream = stream_env.from_collection([Row(1, "x"), Row(2, "y"), Row(12, "z")], PAIR)
    timed = stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(FirstField()))
    schema = (
        Schema.new_builder()
        .column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    table = tables.from_data_stream(timed, schema)
    counted = (
        table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"))
        .select(col("id").count)
    )
    assert changes_of_table(counted, cuts=1) == [("+I", 2), ("+I", 1)]


def test_changes_go_in_and_out(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    changes = [
        Row.of_kind(RowKind.INSERT, 1, "x"),
        Row.of_kind(RowKind.UPDATE_BEFORE, 1, "x"),
        Row.of_kind(RowKind.UPDATE_AFTER, 1, "y"),
        Row.of_kind(RowKind.DELETE, 1, "y"),
    ]
    table = tables.from_changelog_stream(stream_env.from_collection(changes, PAIR))
    assert changes_of_table(table) == [
        ("+I", 1, "x"),
        ("-U", 1, "x"),
        ("+U", 1, "y"),
        ("-D", 1, "y"),
    ]
    counted = table.group_by(col("name")).select(col("name"), col("id").count.alias("n"))
    out = collect_local(tables.to_changelog_stream(counted))
    assert [(str(row.get_row_kind()), *row) for row in out] == [
        ("+I", "x", 1),
        ("-D", "x", 1),
        ("+I", "y", 1),
        ("-D", "y", 1),
    ]


def test_upserts_need_a_key(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    rows = [Row.of_kind(RowKind.UPDATE_AFTER, 1, "x"), Row.of_kind(RowKind.UPDATE_AFTER, 1, "y")]
    stream = stream_env.from_collection(rows, PAIR)
    with pytest.raises(ProgramError, match="primary_key"):
        tables.from_changelog_stream(stream, None, ChangelogMode.upsert())
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.INT(False))
        .column("name", "STRING")
        .primary_key("id")
        .build()
    )
    table = tables.from_changelog_stream(stream, schema, ChangelogMode.upsert())
    assert changes_of_table(table) == [("+I", 1, "x"), ("-U", 1, "x"), ("+U", 1, "y")]


def test_tables_go_on_as_streams(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    table = tables.from_elements([(1, "x"), (2, "y")], ["id", "name"])
    doubled = tables.to_data_stream(table).map(lambda row: row.id * 2)
    assert collect_local(doubled) == [2, 4]
    one_long = Types.ROW_NAMED(["total"], [Types.LONG()])
    signed = tables.to_retract_stream(table.select(col("id").sum), one_long)
    found = [(added, row.total) for added, row in collect_local(signed)]
    assert found == [(True, 1), (False, 1), (True, 3)]


@pytest.mark.parametrize(
    ("type_info", "element", "columns", "row"),
    [
        (Types.INSTANT(), Instant(1, 5_000_000), ["TIMESTAMP_LTZ(9)"], [FIRST_SECOND]),
        (Types.BIG_DEC(), Decimal("1.25"), ["DECIMAL(38, 18)"], [Decimal("1.25")]),
        (Types.BIG_DEC(), Decimal(10) ** 30, ["DECIMAL(38, 18)"], [None]),
        (Types.BIG_INT(), 2**70, ["RAW"], [2**70]),
        (Types.PICKLED_BYTE_ARRAY(), {"a": 1}, ["RAW"], [{"a": 1}]),
        (None, (1, "a"), ["RAW"], [(1, "a")]),
        (Types.SQL_TIME(), time(3, 4, 5, 678901), ["TIME(0)"], [time(3, 4, 5, 678000)]),
        (Types.ROW([Types.INSTANT(), Types.STRING()]), (None, "a"), [LTZ, "STRING"], [None, "a"]),
        (
            Types.ROW([Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), Types.LIST(Types.INSTANT())]),
            ([Row(1)], [Instant(1, 5_000_000)]),
            ["ARRAY<ROW<`f0` INT>>", "ARRAY<TIMESTAMP_LTZ(9)>"],
            [[Row(f0=1)], [FIRST_SECOND]],
        ),
        (
            Types.ROW([Types.MAP(Types.STRING(), Types.BIG_DEC())]),
            ({"a": Decimal(2)},),
            ["MAP<STRING, DECIMAL(38, 18)>"],
            [{"a": Decimal(2)}],
        ),
    ],
)
def test_elements_of_any_type_are_rows(
    stream_env: StreamExecutionEnvironment,
    tables: StreamTableEnvironment,
    type_info: Any,
    element: Any,
    columns: list[str],
    row: list[Any],
) -> None:
    """The types of the columns are Flink's, but for the classes that it names in RAW."""
    table = tables.from_data_stream(stream_env.from_collection([element], type_info))
    assert [field.data_type.describe() for field in table.row_type] == columns
    (found,) = collect_local(tables.to_data_stream(table))
    assert list(found) == row


def test_computed_columns_read_fields_that_are_no_columns(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    """As in PyFlink's examples of windows."""
    schema = Schema.new_builder().column_by_expression("x", "CAST(id AS BIGINT) * 10")
    stream = stream_env.from_collection([Row(1, "a")], PAIR)
    table = tables.from_data_stream(stream, schema.column("name", "STRING").build())
    assert table.get_schema().get_field_names() == ["x", "name"]
    assert changes_of_table(table) == [("+I", 10, "a")]


def test_a_stream_that_is_a_table_is_no_branch_without_a_sink(
    stream_env: StreamExecutionEnvironment,
    tables: StreamTableEnvironment,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_env, "start", lambda name: name)
    tables.from_data_stream(stream_env.from_collection([1, 2], Types.INT()))
    stream_env.from_collection([3]).print()
    with caplog.at_level(logging.WARNING, "scurry.program"):
        stream_env.execute_async()
    assert not caplog.messages


def test_columns_of_a_stream_of_unknown_type_cannot_be_named(
    stream_env: StreamExecutionEnvironment, tables: StreamTableEnvironment
) -> None:
    schema = Schema.new_builder().column("a", "INT").column("b", "INT").build()
    with pytest.raises(ProgramError, match=r"output_type=Types.ROW_NAMED"):
        tables.from_data_stream(stream_env.from_collection([object()]), schema)
    numbers = stream_env.from_collection([(1, 2, 3)], Types.TUPLE([Types.INT()] * 3))
    with pytest.raises(ProgramError, match="but the stream has f0, f1, f2"):
        tables.from_data_stream(numbers, schema)


class Stamped(ProcessFunction):
    """Elements with their timestamps."""

    def process_element(
        self, value: Row, ctx: ProcessFunction.Context
    ) -> Iterator[tuple[Any, Any]]:
        yield value[0], ctx.timestamp()


@pytest.mark.parametrize(("side", "stamps"), [("a", [2000, 2000]), ("b", [1000, 3000])])
def test_elements_have_the_time_that_their_row_says(
    stream_env: StreamExecutionEnvironment,
    tables: StreamTableEnvironment,
    side: str,
    stamps: list[int],
) -> None:
    """Whichever row of a join has completed a pair."""
    schema = Schema.new_builder().column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
    schema = schema.watermark("ts", "SOURCE_WATERMARK()")
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    strategy = strategy.with_timestamp_assigner(FirstField())
    for name, seconds in (("a", [2]), ("b", [1, 3])):
        rows = stream_env.from_collection([Row(at, "k") for at in seconds], PAIR)
        timed = rows.assign_timestamps_and_watermarks(strategy)
        tables.create_temporary_view(name, timed, schema.build())
    pairs = (
        "FROM a JOIN b ON a.name = b.name "
        "AND b.ts BETWEEN a.ts - INTERVAL '5' SECOND AND a.ts + INTERVAL '5' SECOND"
    )
    found = tables.to_data_stream(tables.sql_query(f"SELECT a.name, {side}.ts {pairs}"))
    assert sorted(collect_local(found.process(Stamped()))) == [("k", stamp) for stamp in stamps]
    with pytest.raises(ProgramError, match="ts, ts0 are all event time"):
        tables.to_data_stream(tables.sql_query(f"SELECT a.ts, b.ts {pairs}"))
