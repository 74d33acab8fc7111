"""Watermarks of several partitions: idle ones, generators of one's own, alignment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from scurry.common import Duration, WatermarkStrategy
from scurry.common.errors import FunctionError
from scurry.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from scurry.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from scurry.datastream.functions import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator
from scurry.testing import ListSink, LocalJob, collect_local

Step = dict[str, list[int]]
START = -(1 << 63)


class Scripted(Source):
    """Brings in each micro-batch what the script says, by partition; an empty step is a quiet
    moment; unbounded."""

    bounded = False

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = list(steps)
        self.names = sorted({name for step in steps for name in step})

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Script(self)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        yield SourceBatch(rows=what)


class _Script(SourceEnumerator):
    def __init__(self, source: Scripted) -> None:
        self.source = source

    def initial_position(self) -> int:
        return 0

    def partitions(self) -> list[str]:
        return self.source.names

    def plan(self, position: int, max_records: int) -> ReadPlan:
        if position >= len(self.source.steps):
            return ReadPlan(position)
        step = self.source.steps[position]
        return ReadPlan(position + 1, [ReadRange(name, rows) for name, rows in step.items()])


class ShowWatermark(KeyedProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(value)
        yield value, ctx.timer_service().current_watermark()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", timestamp


def scripted(steps: Sequence[Step], strategy: WatermarkStrategy) -> tuple[LocalJob, ListSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    sink = ListSink()
    source = env.from_source(Scripted(steps), strategy, "scripted")
    source.key_by(lambda v: 0).process(ShowWatermark()).sink_to(sink)
    return LocalJob(env._compile(None), clock=1000), sink


def ascending() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)


def test_a_silent_partition_holds_the_watermark_back() -> None:
    job, sink = scripted([{"a": [10, 20], "b": [5]}, {"a": [30]}, {"a": [40]}], ascending())
    with job:
        for job.clock in (1000, 9000, 90_000):
            assert job.step()
    assert ("timer", 5) not in sink.values
    assert sink.values[-1] == (40, 4)


def test_an_idle_partition_is_left_out_and_counts_again_when_it_wakes() -> None:
    steps: list[Step] = [{"a": [10, 20], "b": [5]}, {"a": [30]}, {"a": [40]}, {"a": [50], "b": [6]}]
    job, sink = scripted(steps, ascending().with_idleness(Duration.of_millis(500)))
    with job:
        assert job.step()
        assert sink.values == [(10, START), (5, START), (20, 4)]
        job.clock = 1400
        assert job.step()
        assert sink.values[3:] == [(30, 4)]
        job.clock = 1500  # b has been silent for 500 ms
        assert job.step()
        fired = [("timer", 5), ("timer", 10), ("timer", 20)]
        assert sink.values[4:] == [*fired, (40, 29), ("timer", 30)]
        job.clock = 1600
        assert job.step()
    # what b brings is behind the others now, and does not hold them back
    assert sink.values[9:] == [(6, 39), (50, 39), ("timer", 6), ("timer", 40)]


def test_time_alone_makes_a_partition_idle() -> None:
    job, sink = scripted([{"a": [10, 20], "b": [5]}], ascending().with_idleness("500 ms"))
    with job:
        assert job.step()
        assert not job.step(), "nothing to do yet"
        job.clock = 1500
        assert job.step(), "a batch starts although nothing arrived"
        assert not job.step()
    assert sink.values[3:] == [("timer", 5), ("timer", 10)], "all idle: the furthest counts"


class EveryTenth(WatermarkGenerator):
    """Punctuated: multiples of ten are watermarks."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if event % 10 == 0:
            output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


class Lagging(WatermarkGenerator):
    """Periodic: three behind the third highest event; it remembers."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        self.seen = sorted([*self.seen, timestamp])[-3:]

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if len(self.seen) == 3:
            output.emit_watermark(self.seen[0] - 3)


def generated(factory: Any, values: list[int], **how: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_generator(factory).with_timestamp_assigner(lambda v: v)
    stream = env.from_collection(values).assign_timestamps_and_watermarks(strategy)
    return collect_local(stream.key_by(lambda v: 0).process(ShowWatermark()), **how)


@pytest.mark.parametrize("how", [{}, {"cuts": 1}, {"cuts": [2, 1], "crash": [1], "restart": [2]}])
def test_a_punctuated_generator(how: dict[str, Any]) -> None:
    assert generated(EveryTenth, [3, 10, 4, 20, 21], **how) == [
        (3, START),
        (10, START),
        ("timer", 3),
        ("timer", 10),
        (4, 10),
        (20, 10),
        ("timer", 4),
        ("timer", 20),
        (21, 20),
        ("timer", 21),
    ]


@pytest.mark.parametrize("how", [{"cuts": 1}, {"cuts": [2, 1], "crash": [1], "restart": [2]}])
def test_a_generator_does_not_notice_cuts_and_restarts(how: dict[str, Any]) -> None:
    values = [5, 9, 1, 14, 13, 30, 22, 7, 41]
    assert generated(Lagging, values, **how) == generated(Lagging, values)


def test_the_watermark_before_each_record_is_what_the_generator_said() -> None:
    found = generated(Lagging, [5, 9, 1, 14, 13, 30])
    shown = [row for row in found if row[0] != "timer"]
    assert shown == [(5, START), (9, START), (1, START), (14, -2), (13, 2), (30, 6)]


class Broken(EveryTenth):
    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        raise ValueError("no idea what time it is")


def test_a_generator_that_raises_names_the_element() -> None:
    with pytest.raises(FunctionError, match="no idea what time it is") as caught:
        generated(Broken, [77])
    assert "77" in str(caught.value)


def test_alignment_holds_back_the_source_that_runs_ahead() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    sink = ListSink()
    strategy = ascending().with_watermark_alignment("g", Duration.of_millis(100))
    fast = env.from_source(Scripted([{"0": [t]} for t in range(0, 2000, 200)]), strategy, "fast")
    slow = env.from_source(Scripted([{"0": [t]} for t in range(0, 500, 50)]), strategy, "slow")
    fast.map(lambda v: ("fast", v)).union(slow.map(lambda v: ("slow", v))).sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        while job.step():
            reached = {name: [v for n, v in sink.values if n == name] for name in ("fast", "slow")}
            ahead = max(reached["fast"]) - max(reached["slow"])
            assert ahead <= 100 + 200, "one step beyond the drift at most"
    assert max(reached["slow"]) == 450
    assert max(reached["fast"]) == 600


def test_seconds_taken_for_milliseconds_are_pointed_out() -> None:
    job, _ = scripted([{"a": [1_800_000_000, 1_800_000_060]}], ascending())
    with job, pytest.warns(RuntimeWarning, match=r"look like seconds.*multiply by 1000"):
        job.step()


def test_an_event_from_the_far_future_goes_aside_and_leaves_the_watermark_alone() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    tag = OutputTag("future")
    strategy = ascending().with_future_bound(Duration.of_seconds(60), tag)
    source = env.from_source(Scripted([{"a": [500, 9_000_000, 700]}]), strategy, "scripted")
    near, far = ListSink(), ListSink()
    source.key_by(lambda v: 0).process(ShowWatermark()).sink_to(near)
    source.get_side_output(tag).sink_to(far)
    with LocalJob(env._compile(None), clock=1000) as job:
        job.step()
    assert near.values == [(500, START), (700, 499), ("timer", 500)]
    assert far.values == [9_000_000]


def test_a_timestamp_beyond_64_bits_names_its_element() -> None:
    job, _ = scripted([{"a": [1, 1 << 70, 3]}], ascending())
    with job, pytest.raises(FunctionError, match="which no 64 bits can hold") as caught:
        job.step()
    assert str(1 << 70) in str(caught.value)
    assert "on element 3" not in str(caught.value)
