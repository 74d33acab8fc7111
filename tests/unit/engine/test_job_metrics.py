"""The metrics that every job has, on the local engine; what they come to is counted by hand."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scurry.common import Duration, JobMetrics, Time, Types, WatermarkStrategy
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.connectors.files.source import FileSource
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import (
    CoMapFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from scurry.datastream.connectors.file_system import StreamFormat
from scurry.datastream.functions import ProcessFunction
from scurry.datastream.state import ValueStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.engine import operator_totals
from scurry.engine.operator_totals import OperatorTotals
from scurry.runtime.batch import MAX_WATERMARK
from scurry.testing import ListSink
from scurry.testing.local import LocalJob


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def environment(parallelism: int = 1) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def bounded(milliseconds: int) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(milliseconds))
    return strategy.with_timestamp_assigner(Second())


def steps(env: StreamExecutionEnvironment, size: int, clock: int = 0) -> Iterator[JobMetrics]:
    """The metrics after each micro-batch of ``size`` records."""
    with LocalJob(env._compile(None), clock) as job:
        while job.step(size):
            yield job.job_metrics


def last(env: StreamExecutionEnvironment, size: int = 1 << 40) -> JobMetrics:
    return list(steps(env, size))[-1]


class Halves(ProcessFunction):
    """Even numbers to the main output, odd ones to a side output, negative ones nowhere."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        if value >= 0:
            yield value if value % 2 == 0 else (OutputTag("odd", Types.LONG()), value)


@pytest.mark.parametrize("size", [7, 1000])
def test_records_in_and_out_of_every_operator_are_counted(size: int) -> None:
    env = environment(2)
    numbers = list(range(-20, 80))
    halves = env.from_collection(numbers).uid("source").process(Halves()).uid("halves")
    halves.get_side_output(OutputTag("odd", Types.LONG())).sink_to(ListSink()).uid("odd sink")
    keyed = halves.key_by(lambda n: n % 5).reduce(lambda a, b: a + b).uid("sums")
    keyed.filter(lambda n: n > 100).uid("large").sink_to(ListSink()).uid("sink")
    even = [n for n in numbers if n >= 0 and n % 2 == 0]
    sums: Counter[int] = Counter()
    large = 0
    for n in even:
        sums[n % 5] += n
        large += sums[n % 5] > 100
    metrics = last(env, size)
    flows = {each.uid: (each.num_records_in, each.num_records_out) for each in metrics.operators}
    assert flows == {
        "source": (100, 100),
        "halves": (100, 80),
        "odd sink": (40, 40),
        "sums": (40, 40),
        "large": (40, large),
        "sink": (large, large),
    }
    kinds = {each.uid: each.kind for each in metrics.operators}
    assert kinds["source"] == "source"
    assert kinds["sink"] == kinds["odd sink"] == "sink"
    assert kinds["sums"] == "operator"
    assert {each.uid: each.stage for each in metrics.operators}["sums"] == 1


def test_each_slot_counts_its_own_records() -> None:
    env = environment(3)
    records = [(n % 7, n) for n in range(70)]
    seen = ListSink()
    keyed = env.from_collection(records).key_by(lambda r: r[0])
    keyed.process(Instance()).uid("instances").sink_to(seen)
    slots = last(env, 20).operator("instances").slots
    assert {each.slot: each.num_records_in for each in slots} == {
        slot: seen.values.count(slot) for slot in range(3)
    }


class Instance(KeyedProcessFunction):
    """Emits the number of the instance that handles a record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield self.index


def test_records_of_several_inputs_are_counted_once_each() -> None:
    env = environment(2)
    left = env.from_collection(list(range(10)))
    right = env.from_collection(list(range(5)))
    union = left.union(right).map(lambda n: n + 1).uid("both")
    joined = union.key_by(lambda n: n).connect(right.key_by(lambda n: n))
    joined.map(Two()).uid("two").sink_to(ListSink())
    metrics = last(env, 4)
    assert metrics.operator("both").num_records_in == 15
    assert metrics.operator("two").num_records_in == 20


class Two(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


def late_program(tagged: bool) -> StreamExecutionEnvironment:
    env = environment()
    records = [("a", 1000), ("a", 9000), ("a", 1500), ("a", 2500), ("a", 9500)]
    stream = env.from_collection(records).assign_timestamps_and_watermarks(bounded(0))
    windows = stream.key_by(lambda r: r[0]).window(TumblingEventTimeWindows.of(Time.seconds(1)))
    if tagged:
        windows = windows.side_output_late_data(OutputTag("late"))
    windows.reduce(lambda a, b: a).uid("windows").sink_to(ListSink())
    return env


def test_late_records_are_counted_as_dropped_unless_they_have_a_side_output() -> None:
    assert last(late_program(tagged=False)).operator("windows").num_late_records_dropped == 2
    assert last(late_program(tagged=True)).operator("windows").num_late_records_dropped == 0


def test_watermarks_before_and_behind_operators_and_their_lag() -> None:
    env = environment()
    records = [("a", 1000), ("a", 5000), ("a", 3000), ("a", 8000)]
    stream = env.from_collection(records).assign_timestamps_and_watermarks(bounded(500))
    stream.uid("times").map(lambda r: r).uid("map").key_by(lambda r: r[0]).process(Instance()).uid(
        "keyed"
    ).sink_to(ListSink()).uid("sink")
    found = steps(env, 2)
    metrics = next(found)
    now = time.time() * 1000
    # the highest timestamp so far is 5000, and Flink's watermark stays 500 + 1 ms behind it
    marks = {
        each.uid: (each.current_input_watermark, each.current_output_watermark)
        for each in metrics.operators
    }
    assert marks["times"] == (None, 4499)
    assert marks["map"] == marks["keyed"] == marks["sink"] == (4499, 4499)
    lag = metrics.operator("keyed").watermark_lag
    assert lag is not None
    assert abs(lag - (now - 4499)) < 10_000
    final = list(found)[-1].operator("keyed")
    assert final.current_input_watermark == MAX_WATERMARK
    assert final.watermark_lag == 0


def test_an_operator_has_the_least_watermark_of_its_slots() -> None:
    env = environment(2)
    low = env.from_collection([("a", 1000)] * 4).assign_timestamps_and_watermarks(bounded(0))
    high = env.from_collection([("b", 9000)] * 4).assign_timestamps_and_watermarks(bounded(0))
    both = low.union(high).key_by(lambda r: r[0]).process(Instance()).uid("keyed")
    both.sink_to(ListSink())
    metrics = next(steps(env, 2))
    assert metrics.operator("keyed").current_input_watermark == 999


def test_dead_letters_are_counted_where_the_function_failed() -> None:
    env = environment(2)
    divided = env.from_collection([1, 2, 0, 4, 0]).map(lambda n: 10 // n).uid("divide")
    divided.on_error("dead-letter").sink_to(ListSink()).uid("sink")
    env.dead_letters().sink_to(ListSink())
    metrics = last(env, 2)
    assert metrics.operator("divide").num_dead_letters == 2
    assert metrics.operator("sink").num_dead_letters == 0


class Last(KeyedProcessFunction):
    """Keeps the last value of each key; a negative one clears it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))
        runtime_context.get_metrics_group().counter("changes")

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value[1]:
            self.last.update(value[1])
        else:
            self.last.clear()
        yield value


@pytest.mark.parametrize("backend", ["rocksdb", "hashmap"])
def test_state_entries_and_bytes_of_each_operator(backend: str) -> None:
    env = environment(2)
    env.get_config()
    env._configuration.set_string("state.backend.type", backend)
    written = [(n % 40, "x" * 100) for n in range(200)]
    cleared = [(key, "") for key in range(10)]
    stream = env.from_collection(written + cleared).key_by(lambda r: r[0])
    stream.process(Last()).uid("last").key_by(lambda r: r[0] % 3).process(Last()).uid(
        "again"
    ).sink_to(ListSink())
    found = list(steps(env, 200))
    full, after = (each.operator("last") for each in found[:2])
    assert full.state_entries == 40
    assert sum(slot.state_entries for slot in full.slots) == 40
    # forty strings of a hundred letters, and a few bytes of key and framing for each
    assert 40 * 100 <= full.state_bytes <= 40 * 150
    assert after.state_entries == 30
    assert found[0].operator("again").state_entries == 3


def test_what_is_left_to_read_of_collections_and_numbers() -> None:
    env = environment(2)
    env.from_collection(list(range(100))).uid("collection").sink_to(ListSink())
    numbers = NumberSequenceSource(1, 40)
    strategy = WatermarkStrategy.no_watermarks()
    env.from_source(numbers, strategy, "numbers").uid("numbers").sink_to(ListSink())
    found = [
        (each.operator("collection").pending_records, each.operator("numbers").pending_records)
        for each in steps(env, 30)
    ]
    assert found == [(70, 10), (40, 0), (10, 0), (0, 0)]


def test_files_left_to_read(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("one\ntwo\n")
    env = environment()
    source = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path)
    ).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "files").uid("files")
    stream.sink_to(ListSink())
    found = [each.operator("files").pending_files for each in steps(env, 2)]
    assert found[:3] == [2, 1, 0]
    assert last(env).operator("files").num_records_out == 6


class Slow(MapFunction):
    def map(self, value: Any) -> Any:
        time.sleep(0.02)
        return value


def test_time_belongs_to_the_operator_that_took_it() -> None:
    env = environment()
    stream = env.from_collection(list(range(10))).map(lambda n: n).uid("before")
    stream.map(Slow()).uid("slow").map(lambda n: n).uid("behind").sink_to(ListSink())
    metrics = last(env)
    shares = {each.uid: each.busy_time_ms_per_second for each in metrics.operators}
    assert shares["slow"] > 10 * shares["before"]
    assert shares["slow"] > 10 * shares["behind"]
    for each in (*metrics.tasks, *metrics.operators):
        times = (each.busy_time_ms_per_second, each.idle_time_ms_per_second)
        assert sum(times) + each.waiting_time_ms_per_second == pytest.approx(1000, abs=0.01)
    (task,) = [each for each in metrics.tasks if each.stage == 0]
    assert task.busy_time_ms_per_second >= shares["slow"]


def reported(records: int, busy: float = 0.0) -> list[dict[str, Any]]:
    readings = {"": [0, 0, 0.0], "op": [records, records, busy]}
    return [{"stage": 1, "index": 0, "readings": readings, "counters": {}, "sizes": None}]


def test_rates_are_those_of_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(operator_totals.time, "monotonic", lambda: now)
    totals = OperatorTotals()
    for _ in range(60):
        now += 10
        totals.take(reported(50, busy=5.0), idle_seconds=2.5)
    for _ in range(6):
        now += 10
        totals.take(reported(200, busy=1.0), idle_seconds=0.0)
    rates, idle = totals.rates()
    assert rates["op", 0].records_in == pytest.approx(20)
    assert rates["op", 0].busy == pytest.approx(0.1)
    assert rates[1, 0].busy == pytest.approx(0.1)
    assert idle == 0.0
    now += 20
    rates, idle = totals.rates(idle_so_far=20.0)
    assert idle == pytest.approx(20 / 80)


def test_the_job_itself_and_its_checkpoints() -> None:
    env = environment(2)
    stream = env.from_collection([(n % 3, "x") for n in range(30)]).key_by(lambda r: r[0])
    stream.process(Last()).uid("last").sink_to(ListSink())
    before = time.time()
    metrics = last(env, 10)
    assert metrics.number_of_completed_checkpoints == 3
    assert metrics.last_completed_checkpoint_id == 2
    assert metrics.num_restarts == 0
    assert metrics.parallelism == 2
    assert before - 1 <= metrics.started <= metrics.taken <= time.time()
    parts = metrics.checkpoint_parts
    assert parts.keys() == {"state", "sinks", "epoch"}
    assert metrics.last_checkpoint_duration == pytest.approx(sum(parts.values()), abs=0.01)
    assert 0 < metrics.last_checkpoint_duration <= metrics.last_micro_batch_duration
    assert metrics.last_checkpoint_size > 0


def test_what_functions_count_themselves_is_among_the_metrics() -> None:
    env = environment(2)
    stream = env.from_collection([(1, "x")]).key_by(lambda r: r[0])
    stream.process(Last()).uid("last").sink_to(ListSink())
    assert last(env).operator("last").user == {"changes": 0}


def test_a_snapshot_is_json_under_flinks_names_and_back() -> None:
    env = environment()
    env.from_collection([1, 2]).map(lambda n: n).uid("map").sink_to(ListSink())
    metrics = last(env)
    content = msgspec.json.encode(metrics)
    found = json.loads(content)
    (shown,) = [each for each in found["operators"] if each["uid"] == "map"]
    assert shown["numRecordsIn"] == shown["numRecordsOut"] == 2
    assert "currentOutputWatermark" in shown["slots"][0]
    assert "lastCheckpointDuration" in found
    assert msgspec.json.decode(content, type=JobMetrics) == metrics


def test_an_operator_is_found_by_uid_or_unique_name() -> None:
    env = environment()
    stream = env.from_collection([1]).map(lambda n: n).uid("first").name("twice")
    stream.map(lambda n: n).uid("second").name("twice").sink_to(ListSink()).name("once")
    metrics = last(env)
    assert metrics.operator("second").uid == "second"
    assert metrics.operator("once").kind == "sink"
    with pytest.raises(KeyError, match="'twice' is not the uid, or the unique name, of an op"):
        metrics.operator("twice")
