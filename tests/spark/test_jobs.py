"""Programs on Spark: what the harness promises holds on the real thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

from scurry.common import Duration, Row, Types, WatermarkStrategy
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import (
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import ListSink
from scurry.testing.spark import collect_on_spark

EVENTS = [(f"k{i % 7}", (i * 37) % 101) for i in range(120)]
BOUND = 25
LATE = OutputTag("late")


class Alarm(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield LATE, value
            return
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        yield ("seen", *value, self.count.value())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ("timer", ctx.get_current_key(), timestamp, self.count.value())


def brute_force() -> tuple[dict[str, list[Any]], list[Any]]:
    highest: int | None = None
    counts: dict[str, int] = defaultdict(int)
    timers: set[tuple[int, str]] = set()
    out: dict[str, list[Any]] = defaultdict(list)
    late = []

    def fire(watermark: float) -> None:
        for time, key in sorted(t for t in timers if t[0] <= watermark):
            timers.discard((time, key))
            out[key].append(("timer", key, time, counts[key]))

    for key, time in EVENTS:
        watermark = float("-inf") if highest is None else highest - BOUND - 1
        fire(watermark)
        if time <= watermark:
            late.append((key, time))
        else:
            counts[key] += 1
            timers.add((time + 10, key))
            out[key].append(("seen", key, time, counts[key]))
        highest = time if highest is None else max(highest, time)
    fire(float("inf"))
    return dict(out), sorted(late)


@pytest.mark.parametrize("max_records", [11, 50, 1000])
def test_timers_state_and_late_events_do_not_depend_on_batch_cuts(max_records: int) -> None:
    late = ListSink()

    def build(env: StreamExecutionEnvironment) -> Any:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(BOUND)
        ).with_timestamp_assigner(lambda event, _: event[1])
        stream = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
        result = stream.key_by(lambda e: e[0]).process(Alarm()).uid("alarm")
        result.get_side_output(LATE).sink_to(late)
        return result

    by_key: dict[str, list[Any]] = defaultdict(list)
    for row in collect_on_spark(build, max_records):
        by_key[row[1]].append(row)
    expected, expected_late = brute_force()
    assert dict(by_key) == expected
    assert sorted(late.values) == expected_late
    assert expected_late, "the example must have late events"


def test_several_sources_levels_and_sinks_in_one_query(session: SparkSession) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = env.from_source(NumberSequenceSource(1, 1000), None, "numbers")
    words = env.from_collection(["a", "b", "a"])
    parity = numbers.key_by(lambda n: n % 2).reduce(lambda a, b: a + b)
    longest = parity.key_by(lambda n: 0).reduce(max)
    lengths = words.map(len).union(numbers.filter(lambda n: n <= 3))
    top, plain, counted = ListSink(), ListSink(), ListSink()
    longest.sink_to(top)
    lengths.sink_to(plain)
    words.key_by(lambda w: w).map(lambda w: w.upper()).sink_to(counted)
    result = env.execute("several")
    assert max(top.values) == sum(range(2, 1001, 2))
    assert len(top.values) == 1000
    assert sorted(plain.values) == [1, 1, 1, 1, 2, 3]
    assert sorted(counted.values) == ["A", "A", "B"]
    # each record of each source is read once, however many streams it feeds
    read = {
        name: count
        for name, count in result.get_all_accumulator_results().items()
        if name.startswith("read:")
    }
    assert sorted(read.values()) == [3, 1000]
    assert not session.streams.active


@dataclass
class Trade:
    symbol: str
    price: float
    size: int


def parse(line: str) -> Trade:
    symbol, price, size = line.split(",")
    return Trade(symbol, float(price), int(size))


def value_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    total = pc.multiply(batch["price"], pc.cast(batch["size"], pa.float64()))
    return pa.RecordBatch.from_arrays([batch["symbol"], total], names=["symbol", "total"])


def test_dataclasses_and_functions_over_arrow_batches() -> None:
    lines = [f"S{i % 3},{i}.5,{i}" for i in range(30)]

    def build(env: StreamExecutionEnvironment) -> Any:
        totals = env.from_collection(lines).map(parse).map_batches(value_of)
        return totals.key_by("symbol").reduce(
            lambda a, b: Row(symbol=a.symbol, total=a.total + b.total)
        )

    last = {row.symbol: row.total for row in collect_on_spark(build, 7)}
    expected: dict[str, float] = defaultdict(float)
    for i in range(30):
        expected[f"S{i % 3}"] += (i + 0.5) * i
    assert last == pytest.approx(dict(expected))


def test_process_batches_may_change_the_number_of_rows() -> None:
    def even(batch: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        yield batch.filter(pc.equal(pc.bit_wise_and(batch["value"], 1), 0))

    def build(env: StreamExecutionEnvironment) -> Any:
        source = NumberSequenceSource(1, 100)
        return env.from_source(source, None, "n").process_batches(even).map(lambda n: n * 10)

    assert sorted(collect_on_spark(build, 30)) == [n * 10 for n in range(2, 101, 2)]


def test_declared_types_make_rows_of_tuples() -> None:
    kind = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])

    def build(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection([("a", 1), ("b", 2)], type_info=kind)
        return stream.map(lambda row: (row.name + "!", row.n + 1), output_type=kind)

    rows = collect_on_spark(build)
    assert [(row.name, row.n) for row in rows] == [("a!", 2), ("b!", 3)]


class Where(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.place = (
            runtime_context.get_index_of_this_subtask(),
            runtime_context.get_number_of_parallel_subtasks(),
        )

    def map(self, value: Any) -> Any:
        return (*self.place, value)


def test_parallelism_one_is_exactly_one_instance() -> None:
    class Number(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = 0

        def map(self, value: Any) -> int:
            self.seen += 1
            return self.seen

    def build(env: StreamExecutionEnvironment) -> Any:
        source = env.from_source(NumberSequenceSource(1, 50), None, "n")
        return source.map(Number()).set_parallelism(1)

    assert sorted(collect_on_spark(build)) == list(range(1, 51))


def test_rebalance_reaches_all_slots() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        return env.from_collection(range(40)).rebalance().map(Where())

    rows = collect_on_spark(build, 13)
    assert sorted(value for *_, value in rows) == list(range(40))
    assert {(index, total) for index, total, _ in rows} == {(0, 2), (1, 2)}
    per_slot = [sum(1 for row in rows if row[0] == slot) for slot in (0, 1)]
    assert per_slot == [20, 20]


def test_broadcast_and_custom_partitioning() -> None:
    def everywhere(env: StreamExecutionEnvironment) -> Any:
        return env.from_collection(["x", "y"]).broadcast().map(Where())

    assert sorted(collect_on_spark(everywhere)) == [
        (slot, 2, letter) for slot in (0, 1) for letter in "xy"
    ]

    def chosen(env: StreamExecutionEnvironment) -> Any:
        stream = env.from_collection(range(6))
        return stream.partition_custom(lambda key, slots: key, lambda n: n % 2).map(Where())

    assert sorted(collect_on_spark(chosen)) == sorted((n % 2, 2, n) for n in range(6))


def test_process_function_sees_time_and_side_outputs() -> None:
    odd = OutputTag("odd", Types.LONG())
    sink = ListSink()

    class Split(ProcessFunction):
        def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterable[Any]:
            if value % 2:
                ctx.output(odd, value)
            else:
                yield value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def build(env: StreamExecutionEnvironment) -> Any:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda value, _: value * 100
        )
        source = NumberSequenceSource(1, 6)
        stream = env.from_source(source, strategy, "n").set_parallelism(1)
        result = stream.process(Split())
        result.get_side_output(odd).sink_to(sink)
        return result

    rows = collect_on_spark(build, 4, parallelism=1)
    assert rows == [(2, 200, 99), (4, 400, 299), (6, 600, 499)]
    assert sink.values == [1, 3, 5]


def test_execute_and_collect_streams_results_and_limits() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(range(5)).map(lambda n: n * n)
    assert list(stream.execute_and_collect()) == [0, 1, 4, 9, 16]
    assert stream.execute_and_collect(limit=2) == [0, 1]
    with stream.execute_and_collect() as results:
        assert next(results) == 0


def test_print_goes_to_the_driver_with_subtask_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.from_collection(["a", "b"]).print()
    env.execute()
    assert capsys.readouterr().out == "a\nb\n"
    env.from_collection(range(20)).rebalance().map(lambda n: n).print("out")
    env.execute()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 20
    assert {line.split("> ")[0] for line in lines} == {"out:1", "out:2"}


def test_an_empty_stream_ends_at_once() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        return env.from_collection([]).key_by(lambda e: e).reduce(max)

    assert collect_on_spark(build) == []
