"""DataFrames without Spark: types, columns, the landing, and its source in the local engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import types as spark
from pyspark.sql.pandas.types import to_arrow_schema

from scurry.common import Instant, Row, Types
from scurry.common.errors import ProgramError, StateError, TypeMismatchError
from scurry.connectors.data_frames import feed
from scurry.connectors.data_frames.landing import Landing, PieceWriter
from scurry.connectors.data_frames.source import DataFrameSource, _Streaming
from scurry.connectors.data_frames.types import columns_of_schema, schema_of_type, type_of_schema
from scurry.connectors.data_frames.values import FrameColumns
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing.local import collect_local

WALL = datetime.fromisoformat("2020-01-02T03:00:00")
EVERYTHING = spark.StructType(
    [
        spark.StructField("b", spark.BooleanType()),
        spark.StructField("tiny", spark.ByteType()),
        spark.StructField("small", spark.ShortType()),
        spark.StructField("i", spark.IntegerType()),
        spark.StructField("l", spark.LongType()),
        spark.StructField("f", spark.FloatType()),
        spark.StructField("d", spark.DoubleType()),
        spark.StructField("s", spark.StringType()),
        spark.StructField("bin", spark.BinaryType()),
        spark.StructField("dec", spark.DecimalType(10, 2)),
        spark.StructField("day", spark.DateType()),
        spark.StructField("clock", spark.TimeType()),
        spark.StructField("at", spark.TimestampType()),
        spark.StructField("wall", spark.TimestampNTZType()),
        spark.StructField("tags", spark.ArrayType(spark.StringType())),
        spark.StructField("m", spark.MapType(spark.StringType(), spark.DecimalType(5, 1))),
        spark.StructField(
            "st", spark.StructType([spark.StructField("when", spark.TimestampType())])
        ),
    ]
)


def test_schemas_and_types_both_ways() -> None:
    info = type_of_schema(EVERYTHING)
    assert schema_of_type(info) == EVERYTHING
    held = to_arrow_schema(EVERYTHING, timezone="UTC")
    exact = held.set(11, pa.field("clock", pa.time64("us")))
    assert columns_of_schema(EVERYTHING) == exact
    assert info.field_types()[9] == Types.DECIMAL(10, 2)
    assert info.field_types()[12] == Types.TIMESTAMP_LTZ()
    assert info.field_types()[16] == Types.ROW_NAMED(["when"], [Types.TIMESTAMP_LTZ()])


def test_types_that_spark_has_wider_ones_for() -> None:
    assert schema_of_type(Types.LONG()) == spark.StructType(
        [spark.StructField("value", spark.LongType())]
    )
    wide = schema_of_type(Types.TUPLE([Types.BIG_DEC(), Types.BIG_INT(), Types.INSTANT()]))
    assert wide.simpleString() == "struct<f0:decimal(38,18),f1:decimal(38,0),f2:timestamp>"


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (spark.VariantType(), "variant"),
        (spark.YearMonthIntervalType(), "interval year to month"),
        (spark.ArrayType(spark.CalendarIntervalType()), "interval"),
    ],
)
def test_a_type_that_no_stream_can_hold(kind: spark.DataType, named: str) -> None:
    schema = spark.StructType([spark.StructField("odd", kind)])
    with pytest.raises(ProgramError, match=f"'odd.*{named}.*cast it in the DataFrame"):
        type_of_schema(schema)


def test_schemas_that_cannot_be() -> None:
    twice = spark.StructType([spark.StructField("a", spark.LongType())] * 2)
    with pytest.raises(ProgramError, match=r"two columns called 'a': rename one"):
        type_of_schema(twice)
    with pytest.raises(ProgramError, match=r"'f0' .*PICKLED_BYTE_ARRAY.*give the schema"):
        schema_of_type(Types.TUPLE([Types.PICKLED_BYTE_ARRAY()]))


def test_decimals_and_times_as_types() -> None:
    price = Types.DECIMAL(5, 2)
    for good in ("123.45", "-0.1", "999.990", "1E2", "0"):
        assert price.check(Decimal(good)) is None
    for bad in ("1234", "0.001", "1E3", "NaN"):
        assert "expected DECIMAL" in str(price.check(Decimal(bad)))
    assert "expected DECIMAL" in str(price.check(1.5))
    with pytest.raises(TypeMismatchError, match=r"DECIMAL\(39, 0\)"):
        Types.DECIMAL(39, 0)
    assert Types.TIMESTAMP_LTZ().check(datetime(2020, 1, 1, tzinfo=UTC)) is None
    assert "no time zone" in str(Types.TIMESTAMP_LTZ().check(WALL))


@dataclass
class Reading:
    sensor: str
    value: Any


SENSORS = FrameColumns(pa.schema([("sensor", pa.string()), ("value", pa.float64())]))


@pytest.mark.parametrize(
    "element",
    [("a", 1.5), Row("a", 1.5), Row(value=1.5, sensor="a"), Reading("a", 1.5), ["a", 1.5]],
)
def test_elements_of_any_kind_become_columns(element: Any) -> None:
    assert SENSORS.columns([element], None).to_pylist() == [{"sensor": "a", "value": 1.5}]


def test_elements_that_do_not_fit_are_named() -> None:
    with pytest.raises(TypeMismatchError, match=r"column 'value' .* is double, and 'high' does"):
        SENSORS.columns([("a", 1.0), ("b", "high")], None)
    with pytest.raises(TypeMismatchError, match=r"7 is no record with the fields"):
        SENSORS.columns([7], None)


def column(kind: pa.DataType, value: Any) -> Any:
    made = FrameColumns(pa.schema([("value", kind)])).columns([value], None)
    return made.column(0)[0].as_py()


def test_times_with_and_without_zones_are_kept_apart() -> None:
    zoned, bare = pa.timestamp("us", "UTC"), pa.timestamp("us")
    in_berlin = datetime(2020, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    assert column(zoned, in_berlin) == datetime(2020, 1, 1, tzinfo=UTC)
    assert column(zoned, Instant(1, 5000)) == datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)
    assert column(bare, WALL) == WALL
    with pytest.raises(TypeMismatchError, match=r"it has no time zone: give it one"):
        column(zoned, WALL)
    with pytest.raises(TypeMismatchError, match=r"it has a time zone: make the column"):
        column(bare, in_berlin)


def test_nested_values() -> None:
    inner = pa.struct([("x", pa.int32()), ("when", pa.timestamp("us", "UTC"))])
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    whole = pa.struct([("many", pa.list_(inner)), ("named", pa.map_(pa.string(), inner))])
    found = column(whole, Row([Row(1, moment), None], {"k": (2, moment)}))
    assert found["many"] == [{"x": 1, "when": moment}, None]
    assert found["named"] == [("k", {"x": 2, "when": moment})]


class FakeFrame:
    """As much of a DataFrame as a source needs: partitions of batches."""

    isStreaming = False

    def __init__(self, schema: spark.StructType, partitions: list[list[pa.RecordBatch]]) -> None:
        self.schema = schema
        self.partitions = partitions
        self.evaluated = 0
        self.current = 0

    def mapInArrow(self, function: Callable[..., Any], told: str) -> FakeFrame:
        self.function = function
        return self

    def collect(self) -> list[Any]:
        self.evaluated += 1
        told: list[Any] = []
        # tasks end in any order
        for number in reversed(range(len(self.partitions))):
            self.current = number
            for batch in self.function(iter(self.partitions[number])):
                told += [tuple(row.values()) for row in batch.to_pylist()]
        return told


NUMBERS = spark.StructType(
    [spark.StructField("n", spark.LongType()), spark.StructField("at", spark.TimestampType())]
)


def numbers(start: int, end: int) -> pa.RecordBatch:
    moments = pa.array([n * 1_000_000 for n in range(start, end)], pa.timestamp("us", "Asia/Tokyo"))
    return pa.RecordBatch.from_arrays([pa.array(range(start, end)), moments], names=["n", "at"])


@pytest.fixture
def frame(monkeypatch: pytest.MonkeyPatch) -> FakeFrame:
    chunks = [[numbers(0, 3), numbers(3, 7)], [], [numbers(7, 8)], [numbers(8, 8), numbers(8, 20)]]
    made = FakeFrame(NUMBERS, chunks)
    monkeypatch.setattr(feed, "_partition", lambda: made.current)
    return made


@pytest.mark.parametrize("cuts", [None, 1, 5])
@pytest.mark.parametrize("crash", [(), (0,), (0, 1, 2)])
def test_a_static_frame_is_read_once_in_its_order(frame: Any, cuts: Any, crash: Any) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_source(DataFrameSource(frame), None, "frame")
    found = collect_local(stream.map(lambda row: row), cuts=cuts, crash=crash)
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    assert found == [Row(n=n, at=moment + timedelta(seconds=n)) for n in range(20)]
    assert frame.evaluated == 1


@pytest.mark.parametrize("partitions", [2, 3, 7])
@pytest.mark.parametrize("cuts", [None, 1, 5])
@pytest.mark.parametrize("crash", [(), (0,), (0, 1, 2)])
def test_partitions_keep_those_of_spark_in_order(
    frame: Any, partitions: int, cuts: Any, crash: Any
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_source(DataFrameSource(frame, partitions=partitions), None, "frame")
    found = collect_local(stream.map(lambda row: row.n), cuts=cuts, crash=crash)
    assert sorted(found) == list(range(20))
    for first, end in ((0, 7), (7, 8), (8, 20)):
        assert [n for n in found if first <= n < end] == list(range(first, end))
    assert frame.evaluated == 1


def test_partitions_without_rows_do_not_hold_the_watermark_back(frame: Any, tmp_path: Path) -> None:
    source = DataFrameSource(frame, partitions=5)
    source.take_room(tmp_path)
    plans = source.enumerator(2)
    assert plans.partitions() == ["0", "1", "2", "3", "4"]
    first = plans.plan(plans.initial_position(), 5)
    assert (first.finished, first.ended) == (False, {"1", "2", "3", "4"})
    assert plans.gauges() == {"lag": 20 - 3 - 1 - 12}
    assert plans.plan(first.position, 100).finished
    assert plans.gauges() == {"lag": 0}


def test_a_position_from_before_there_were_partitions(frame: Any, tmp_path: Path) -> None:
    source = DataFrameSource(frame)
    source.take_room(tmp_path)
    plan = source.enumerator(1).plan([0, 0, 1], 100)
    batches = [batch for item in plan.ranges for batch in source.read(item.what)]
    columns = [batch.columns for batch in batches if batch.columns is not None]
    assert [n for each in columns for n in each["n"].to_pylist()] == list(range(3, 20))


class Ended:
    """A query that has landed all there is."""

    started = True

    def ended(self) -> bool:
        return True

    def reading(self, batch: int) -> None:
        """Nobody waits for it."""


def test_batches_of_a_streaming_frame_follow_each_other(frame: Any, tmp_path: Path) -> None:
    """A plan of several partitions has one batch, however small; one of one partition has more."""
    landing = Landing(tmp_path)
    for batch in range(3):
        feed.land(landing, batch, frame)
    query: Any = Ended()
    for partitions, expected in ((1, [{0, 1, 2}]), (2, [{0}, {1}, {2}])):
        plans = _Streaming(query, landing, partitions)
        position, found, finished = plans.initial_position(), [], False
        while not finished:
            plan = plans.plan(position, 1000)
            position, finished = json.loads(json.dumps(plan.position)), plan.finished
            found.append({item.what[0] for item in plan.ranges})
        assert found == expected


@pytest.mark.parametrize("wrong", [0, -1, 1.0, "2", True])
def test_partitions_that_are_no_number(frame: Any, wrong: Any) -> None:
    with pytest.raises(ProgramError, match=f"1 partition or more, got {wrong!r}"):
        DataFrameSource(frame, partitions=wrong)


def test_what_has_landed_is_not_written_over(frame: Any, tmp_path: Path) -> None:
    landing = Landing(tmp_path / "room")
    feed.land(landing, 4, frame)
    before = landing.pieces(4)
    feed.land(landing, 4, frame)
    assert landing.pieces(4) == before
    assert frame.evaluated == 1
    landing.remove_before(4)
    assert landing.has(4)
    landing.remove_before(5)
    assert not landing.has(4)


def test_two_drivers_land_the_same_batch(frame: Any, tmp_path: Path) -> None:
    landing = Landing(tmp_path)

    def outrun(directory: str) -> list[Any]:
        feed.land(landing, 0, frame)
        return []

    landing.land(0, outrun)
    assert len(landing.pieces(0)) == 3
    assert [place.name for place in tmp_path.iterdir()] == ["0"]


def test_what_a_driver_left_unfinished_does_not_count(frame: Any, tmp_path: Path) -> None:
    landing = Landing(tmp_path)

    def dies(directory: str) -> list[Any]:
        list(PieceWriter(directory, lambda: 0)(iter([numbers(0, 3)])))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        landing.land(0, dies)
    assert not landing.has(0)
    landing.sweep()
    assert list(tmp_path.iterdir()) == []


def test_a_landed_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=r"0/x.arrow is missing.*must be on a file system that"):
        list(Landing(tmp_path).read(0, "x.arrow", 0, 1))


def test_from_data_frame_of_something_else() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    wrong: Any = [(1, "a")]
    with pytest.raises(ProgramError) as caught:
        env.from_data_frame(wrong)
    text = str(caught.value)
    assert text.startswith("from_data_frame([(1, 'a')]) at ")
    assert f"{Path(__file__).name}:" in text
    assert "for other collections use from_collection(...)" in text


def test_available_now_of_a_static_frame(frame: Any) -> None:
    with pytest.raises(ProgramError, match="available_now is for streaming DataFrames"):
        DataFrameSource(frame, available_now=True)


def test_every_value_survives_the_way_through_elements() -> None:
    values = {
        "b": True, "tiny": 1, "small": 2, "i": 3, "l": 4, "f": 0.5, "d": 1.5, "s": "x",
        "bin": b"\x00", "dec": Decimal("1.25"), "day": date(2020, 1, 2), "clock": time(1, 2, 3),
        "at": datetime(2020, 1, 2, tzinfo=UTC), "wall": WALL,
        "tags": ["p", None], "m": {"k": Decimal("2.5"), "n": None},
        "st": Row(when=datetime(2021, 1, 1, tzinfo=UTC)),
    }  # fmt: skip
    full, empty = Row(**values), Row(**dict.fromkeys(values))
    made = FrameColumns(columns_of_schema(EVERYTHING)).columns([full, empty], None)
    assert list(elements(made)) == [full, empty]


def elements(batch: pa.RecordBatch) -> Iterator[Any]:
    from scurry.runtime.columns import ElementCodec

    codec = ElementCodec.of_type(type_of_schema(EVERYTHING))
    assert codec is not None
    yield from codec.to_rows(batch)
