"""Clocks that are set: processing time follows, and nothing waits for a time that was wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tests.unit.connectors.test_file_sink as file_tests
from tests.contract._slots import ClockedSlot
from tests.unit.runtime.test_event_time import ascending, scripted

from scurry.common import Time
from scurry.connectors.files.rolling import RollingPolicy
from scurry.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import StateTtlConfig, ValueStateDescriptor
from scurry.datastream.window import (
    AfterProcessingTime,
    ContinuousProcessingTimeTrigger,
    GlobalWindows,
    TumblingProcessingTimeWindows,
)
from scurry.testing import ListSink, LocalJob

YEARS = 10**12


class Alarm(KeyedProcessFunction):
    """Tells the time, and again ten milliseconds later."""

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 10)
        yield now

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "alarm", timestamp


def started(stream_of: Any, count: int = 20) -> tuple[LocalJob, ListSink]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    sink = ListSink()
    stream_of(env.from_collection(list(range(count))).key_by(lambda value: 0)).sink_to(sink)
    return LocalJob(env._compile(None)), sink


def run(job: LocalJob, clocks: Iterable[int]) -> None:
    for job.clock in clocks:
        assert job.step(1)


def test_time_follows_a_clock_that_was_far_ahead(caplog: pytest.LogCaptureFixture) -> None:
    job, sink = started(lambda keyed: keyed.process(Alarm()))
    with job, caplog.at_level(logging.WARNING, "scurry"):
        run(job, [1000, YEARS, 2000, 2005, 2010])
        assert sink.values == [
            1000,
            *(("alarm", 1010), YEARS),
            2000,
            2005,
            *(("alarm", 2010), 2010),
        ]
        assert caplog.text.count("the clock was set back by 999999998 s") == 1
        run(job, [YEARS + 10])
    assert sink.values[7:] == [
        *(("alarm", 2015), ("alarm", 2020), ("alarm", YEARS + 10)),
        YEARS + 10,
    ]


def test_a_job_that_starts_again_gets_over_it_too() -> None:
    job, sink = started(lambda keyed: keyed.process(Alarm()))
    with job:
        run(job, [YEARS])
        job.recover()
        run(job, [2000, 2010])
    assert sink.values == [YEARS, 2000, ("alarm", 2010), 2010]


def test_small_corrections_do_not_take_time_back(caplog: pytest.LogCaptureFixture) -> None:
    job, sink = started(lambda keyed: keyed.process(Alarm()))
    with job, caplog.at_level(logging.WARNING, "scurry"):
        run(job, [100_000, 99_000, 40_000, 100_005])
        assert sink.values == [100_000, 100_000, 100_000, 100_005]
        assert not caplog.text
        job.clock = 50_000
        assert job.crash_step(1), "a batch that is run again sees the same time"
    assert sink.values[4:] == [100_005]


def test_idleness_counts_by_the_clock_as_it_is() -> None:
    strategy = ascending().with_idleness("500 ms")
    job, sink = scripted([{"a": [10, 20], "b": [5]}, {"a": [30], "b": [6]}], strategy)
    with job:
        assert job.step()
        job.clock = YEARS
        assert job.step()
        assert sink.values[-1] == (30, 5), "b holds the others back"
        job.clock = 2000
        assert job.step(), "asked again although nothing has come"
        assert not job.step()
        job.clock = 2500
        assert job.step()
    assert sink.values[-3:] == [("timer", 6), ("timer", 10), ("timer", 20)]


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield list(elements)


def test_windows_of_processing_time_close_again() -> None:
    windows = TumblingProcessingTimeWindows.of(Time.milliseconds(100))
    job, sink = started(lambda keyed: keyed.window(windows).process(Elements()))
    with job:
        run(job, [1000, YEARS, 2000, 2050, 2100])
    assert sink.values == [[0], [2, 3]]


@pytest.mark.parametrize(
    "trigger",
    [ContinuousProcessingTimeTrigger.of(Time.milliseconds(100)), AfterProcessingTime(100)],
    ids=["continuous", "composed"],
)
def test_triggers_set_while_the_clock_was_ahead_fire_again(trigger: Any) -> None:
    job, sink = started(
        lambda keyed: keyed.window(GlobalWindows.create()).trigger(trigger).process(Elements())
    )
    with job:
        run(job, [YEARS, 2000, 2100])
    assert sink.values[0] == [0, 1]


def test_entries_without_a_time_count_by_the_clock_as_it_is(tmp_path: Path) -> None:
    slot = ClockedSlot(tmp_path / "s")
    slot.open("get_state", ValueStateDescriptor("s")).update("x")
    slot.commit()
    slot.restart()
    descriptor = ValueStateDescriptor("s")
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(100)).build())
    slot.now = YEARS
    assert slot.open("get_state", descriptor).value() == "x"
    slot.now = 1000
    assert slot.open("get_state", descriptor).value() == "x"
    slot.now = 1100
    assert slot.open("get_state", descriptor).value() is None


def test_part_files_of_a_clock_that_was_ahead_are_finished(tmp_path: Path) -> None:
    sink = file_tests.started(
        file_tests.rows_sink(tmp_path, RollingPolicy.default_rolling_policy(1000, 10, 10))
    )
    committer = sink._committer
    assert committer is not None
    committer._clock = lambda: YEARS / 1000
    sink.commit(0, [file_tests.written(file_tests.worker(sink), "x")])
    for moment in (2.0, 3.0):
        committer._clock = partial(float, moment)
        committer.roll()
    assert file_tests.lines(tmp_path) == ["x"]
    sink.close()
