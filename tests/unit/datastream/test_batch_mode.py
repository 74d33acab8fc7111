"""Batch execution: final results only, nothing late, everything fires at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common import Configuration, Duration, WatermarkStrategy
from scurry.common.errors import ConfigurationError, ProgramError
from scurry.datastream import (
    KeyedProcessFunction,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from scurry.testing import collect_local

CUTS: list[dict[str, Any]] = [{}, {"cuts": 2}, {"cuts": 1, "crash": [1], "restart": [3]}]


def environment(mode: RuntimeExecutionMode = RuntimeExecutionMode.BATCH) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.set_runtime_mode(mode)
    return env


@pytest.mark.parametrize("how", CUTS)
@pytest.mark.parametrize("mode", [RuntimeExecutionMode.BATCH, RuntimeExecutionMode.AUTOMATIC])
def test_word_count_gives_each_word_once(mode: RuntimeExecutionMode, how: dict[str, Any]) -> None:
    words = environment(mode).from_collection(["to", "be", "or", "not", "to", "be"])
    counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    assert sorted(collect_local(counts, **how)) == [("be", 2), ("not", 1), ("or", 1), ("to", 2)]


def test_streaming_gives_every_step() -> None:
    words = environment(RuntimeExecutionMode.STREAMING).from_collection(["a", "a"])
    counts = words.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).sum(1)
    assert collect_local(counts) == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("how", CUTS)
def test_nothing_is_late_in_windows(how: dict[str, Any]) -> None:
    late = OutputTag("late")
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    env = environment()
    stream = env.from_collection([5, 95, 7, 42]).assign_timestamps_and_watermarks(strategy)
    windowed = stream.key_by(lambda v: 0).window(
        TumblingEventTimeWindows.of(Duration.of_millis(10))
    )
    sums = windowed.side_output_late_data(late).reduce(lambda a, b: a + b)
    assert sorted(collect_local(sums, **how)) == [12, 42, 95]


class AtTheEnd(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        timers.register_event_time_timer(value)
        timers.register_processing_time_timer(timers.current_processing_time() + 60_000)
        yield "element", timers.current_watermark() == -(1 << 63)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.time_domain().name, ctx.get_current_key()
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 1000)


@pytest.mark.parametrize("how", CUTS)
def test_timers_of_both_kinds_fire_at_the_end(how: dict[str, Any]) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    env = environment().set_parallelism(1)
    stream = env.from_collection([50, 10]).assign_timestamps_and_watermarks(strategy)
    found = collect_local(stream.key_by(lambda v: v).process(AtTheEnd()), **how)
    assert found[:2] == [("element", True)] * 2
    assert [row for row in found if row[0] == "EVENT_TIME"] == [
        ("EVENT_TIME", 10),
        ("EVENT_TIME", 50),
    ]
    processing = {row for row in found if row[0] == "PROCESSING_TIME"}
    assert processing == {("PROCESSING_TIME", 10), ("PROCESSING_TIME", 50)}


def test_windows_of_processing_time_close_at_the_end() -> None:
    env = environment()
    windows = TumblingProcessingTimeWindows.of(Duration.of_seconds(3600))
    sums = env.from_collection([1, 2, 3]).key_by(lambda v: 0).window(windows)
    assert collect_local(sums.reduce(lambda a, b: a + b)) == [6]


class Stamped(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, ctx.timestamp()


def test_reduced_values_have_the_end_of_time() -> None:
    """As in PyFlink, where a timer at the end of all time emits the values."""
    sums = (
        environment().from_collection([1, 2, 3]).key_by(lambda v: v % 2).reduce(lambda a, b: a + b)
    )
    stamped = sums.key_by(lambda v: v).process(Stamped())
    assert sorted(collect_local(stamped)) == [(2, (1 << 63) - 1), (4, (1 << 63) - 1)]


class Endless(NumberSequenceSource):
    bounded = False


def test_endless_sources_are_refused() -> None:
    env = environment()
    env.from_source(Endless(1, 5), None, "numbers").print()
    with pytest.raises(ProgramError, match="needs bounded sources, and 'Source: numbers'"):
        env.explain()


def test_a_mode_that_does_not_exist() -> None:
    configuration = Configuration()
    configuration.set_string("execution.runtime-mode", "sometimes")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="one of STREAMING, BATCH, AUTOMATIC"):
        env.explain()
