"""What happens when nothing arrives, and when something fails: timers fire, jobs start again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Configuration, RestartStrategies
from scurry.common.errors import FunctionError
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.functions import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing.sinks import ListSink


class OnceThenQuiet(Source):
    """Three elements at once, and then nothing for ever."""

    bounded = False
    max_tasks = 1

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Once()

    def read(self, what: Any) -> Iterator[SourceBatch]:
        yield SourceBatch(rows=["a", "b", "a"])


class _Once(SourceEnumerator):
    def initial_position(self) -> int:
        return 0

    def plan(self, position: int, max_records: int) -> ReadPlan:
        return ReadPlan(1, [] if position else [ReadRange("0", 0)])


class Alarm(KeyedProcessFunction):
    """Sets one timer per key, a little into the future, and a second one when it rings."""

    def open(self, runtime_context: Any) -> None:
        self.set = runtime_context.get_state(ValueStateDescriptor("set"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if self.set.value() is None:
            self.set.update(1)
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 200)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        assert timers.current_processing_time() >= timestamp
        yield ctx.get_current_key(), self.set.value()
        if self.set.value() < 2:
            self.set.update(2)
            timers.register_processing_time_timer(timers.current_processing_time() + 200)


def build(directory: Path, sink: ListSink) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(directory))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    stream = env.from_source(OnceThenQuiet(), None, "once")
    stream.key_by(lambda v: v).process(Alarm()).uid("alarm").sink_to(sink)
    return env


def wait_for(sink: ListSink, size: int) -> None:
    deadline = time.monotonic() + 60
    while len(sink.values) < size and time.monotonic() < deadline:
        time.sleep(0.02)


def test_timers_fire_on_an_idle_stream_and_once_across_a_restart(tmp_path: Path) -> None:
    sink = ListSink()
    client = build(tmp_path, sink).execute_async()
    wait_for(sink, 2)
    client.cancel().result()
    assert sorted(sink.values)[:2] == [("a", 1), ("b", 1)]
    client = build(tmp_path, sink).execute_async()
    wait_for(sink, 4)
    time.sleep(0.5)
    client.cancel().result()
    assert sorted(sink.values) == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


class FailsOnce(KeyedProcessFunction):
    """Counts, and fails at one element unless it has failed before."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        if value == 50 and not self.marker.exists():
            self.marker.touch()
            raise ValueError("not today")
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def failing(tmp_path: Path, sink: ListSink) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("scurry.batch.max-records", "20")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(100)))
    numbers.key_by(lambda v: v % 5).process(FailsOnce(tmp_path / "failed")).sink_to(sink)
    return env


def test_a_restart_strategy_lets_the_job_go_on(tmp_path: Path) -> None:
    sink = ListSink()
    env = failing(tmp_path, sink)
    seen: list[Any] = []
    env.on_progress(seen.append)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1, 10))
    env.execute()
    assert sorted(sink.values) == [(key, n) for key in range(5) for n in range(1, 21)]
    assert seen[-1].restarts == 1
    assert "not today" in seen[-1].last_failure


def test_without_a_strategy_the_failure_ends_the_job(tmp_path: Path) -> None:
    with pytest.raises(FunctionError, match="not today"):
        failing(tmp_path, ListSink()).execute()
