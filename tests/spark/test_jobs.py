"""Programs on Spark: what the harness promises holds on the real thing."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
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
from scurry.datastream.functions import (
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
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


def test_timers_state_and_late_events_do_not_depend_on_batch_cuts(collect_cut: Any) -> None:
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
    for row in collect_cut(build):
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


def test_a_program_that_holds_megabytes_of_data() -> None:
    table = random.Random(4).randbytes(3 << 20)

    def build(env: StreamExecutionEnvironment) -> Any:
        numbers = env.from_collection([5, 7, 1 << 20]).key_by(lambda number: number % 3)
        return numbers.map(lambda number: (number, table[number]))

    assert sorted(collect_on_spark(build)) == [(at, table[at]) for at in (5, 7, 1 << 20)]


def test_a_session_that_has_broadcast_variables(session: SparkSession) -> None:
    names = session.sparkContext.broadcast({1: "one"})
    numbers = session.sparkContext.parallelize([1] * 4, 4)
    for _ in range(2):
        assert numbers.map(lambda number: names.value[number]).collect() == ["one"] * 4
        pairs = collect_on_spark(lambda env: env.from_collection([1, 2]).key_by(id_of).map(id_of))
        assert sorted(pairs) == [1, 2]
    names.unpersist()


def id_of(value: Any) -> Any:
    return value


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


def test_records_for_later_stages_pass_through(collect_cut: Any) -> None:
    """The second keyed level is fed by the first one and, past it, by a source directly."""

    def build(env: StreamExecutionEnvironment) -> Any:
        sums = env.from_collection(range(1, 31)).key_by(lambda n: n % 3).reduce(lambda a, b: a + b)
        direct = env.from_collection([1000, 2000]).map(lambda n: n)
        return sums.union(direct).key_by(lambda n: "all").reduce(max)

    assert max(collect_cut(build)) == 2000
    assert len(collect_cut(build)) == 32


class Hesitant(Source):
    """Has nothing to read the first times it is asked."""

    max_tasks = 1

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _HesitantEnumerator()

    def read(self, what: Any) -> Iterable[SourceBatch]:
        yield SourceBatch(rows=[what, what + 1])


class _HesitantEnumerator(SourceEnumerator):
    def __init__(self) -> None:
        self.asked = 0

    def initial_position(self) -> Any:
        return 0

    def plan(self, position: Any, max_records: int) -> ReadPlan:
        self.asked += 1
        if self.asked % 10:
            return ReadPlan(position)
        return ReadPlan(position + 2, [ReadRange("0", position)], finished=position == 4)


def test_a_source_that_is_empty_for_a_while() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        return env.from_source(Hesitant(), None, "hesitant").key_by(lambda n: n % 2).reduce(max)

    assert sorted(collect_on_spark(build)) == [0, 1, 2, 3, 4, 5]


class Quiet(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        return None


def test_a_function_that_yields_nothing() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        return env.from_collection(range(10)).key_by(lambda n: n).process(Quiet())

    assert collect_on_spark(build) == []


def test_spark_sees_one_kind_of_row_whatever_the_program() -> None:
    """One StatefulProcessor in the code base, and one schema between all stages."""
    from pathlib import Path

    import scurry

    sources = Path(scurry.__file__).parent.rglob("*.py")
    pattern = re.compile(r"^class .*\(StatefulProcessor\)", re.M)
    found = [path.name for path in sources if pattern.search(path.read_text())]
    assert found == ["stage_host.py"]


class Visits(KeyedProcessFunction):
    """Uses every kind of state at once."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))
        self.trail = runtime_context.get_list_state(ListStateDescriptor("trail"))
        self.pages = runtime_context.get_map_state(MapStateDescriptor("pages"))
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b)
        )

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        user, page = value
        self.trail.add(page)
        self.pages.put(page, (self.pages.get(page) or 0) + 1)
        self.total.add(1)
        yield (
            user,
            self.last.value(),
            list(self.trail.get()),
            dict(self.pages.items()),
            self.total.get(),
        )
        self.last.update(page)


def test_every_kind_of_state_on_spark(collect_cut: Any) -> None:
    events = [(f"u{i % 3}", f"p{i * i % 5}") for i in range(60)]

    def build(env: StreamExecutionEnvironment) -> Any:
        return env.from_collection(events).key_by(lambda e: e[0]).process(Visits()).uid("visits")

    found: dict[str, list[Any]] = defaultdict(list)
    for user, *row in collect_cut(build):
        found[user].append(row)
    expected: dict[str, list[Any]] = defaultdict(list)
    trails: dict[str, list[str]] = defaultdict(list)
    for user, page in events:
        before = trails[user][-1] if trails[user] else None
        trails[user].append(page)
        trail = list(trails[user])
        expected[user].append([before, trail, dict(Counter(trail)), len(trail)])
    assert found == expected
