"""Examples from talks about stream processing: what the slides show is what comes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from scurry.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from scurry.testing import ListSink, OperatorHarness, collect_local, run_local

LATE = OutputTag("late")
CUTS = pytest.mark.parametrize("cuts", [None, 1, 2])


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, context.window().start, context.window().end, list(elements)


def timed(env: StreamExecutionEnvironment, events: list[Any], slack: int) -> Any:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(slack)
    ).with_timestamp_assigner(lambda event, _: event[1])
    return env.from_collection(events).assign_timestamps_and_watermarks(strategy)


@CUTS
def test_the_watermark_walk_through(cuts: int | None) -> None:
    """Windows of 5 s, a slack of 3 s: the event of second 14 is the first after which no event of
    the windows up to second 10 is expected (W(11)); one that still comes is late."""
    seconds = [1, 4, 7, 3, 9, 6, 14, 8, 12]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    events = [("k", second * 1000) for second in seconds]
    result = (
        timed(env, events, 3)
        .key_by(lambda event: event[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .side_output_late_data(LATE)
        .process(Elements())
    )
    main, late = ListSink(), ListSink()
    result.sink_to(main)
    result.get_side_output(LATE).sink_to(late)
    run_local(env, cuts=cuts)
    windows = [(start // 1000, [t // 1000 for _, t in found]) for _, start, _, found in main.values]
    assert windows == [(0, [1, 4, 3]), (5, [7, 9, 6]), (10, [14, 12])]
    assert late.values == [("k", 8000)]


def test_the_game_contest() -> None:
    """Alice presses first, Bob's press arrives first: who wins depends on whose clock counts."""
    presses = [("Bob", 2), ("Alice", 1)]

    def first(a: Any, b: Any) -> Any:
        return min(a, b, key=lambda press: press[1])

    env = StreamExecutionEnvironment.get_execution_environment()
    contest = timed(env, presses, 1).window_all(TumblingEventTimeWindows.of(Time.seconds(5)))
    assert collect_local(contest.reduce(first)) == [("Alice", 1)]
    by_arrival = (
        env.from_collection(presses)
        .window_all(TumblingProcessingTimeWindows.of(Time.seconds(5)))
        .reduce(lambda a, b: a)
    )
    with OperatorHarness.of(by_arrival) as harness:
        harness.process_element(presses[0])
        harness.process_element(presses[1])
        harness.set_processing_time(5000)
        assert harness.output == [("Bob", 2)]


@CUTS
def test_window_word_count(cuts: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    lines = [("to be or", 1000), ("not to be", 4000), ("be", 6000)]
    counts = (
        timed(env, lines, 1)
        .flat_map(lambda line: [(word, 1) for word in line[0].split()])
        .key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.seconds(5)))
        .sum(1)
    )
    found = collect_local(counts, cuts=cuts)
    assert sorted(found) == [("be", 1), ("be", 2), ("not", 1), ("or", 1), ("to", 2)]


@CUTS
def test_sessions_of_users(cuts: int | None) -> None:
    """User 4 arrives while others are active; user 1 falls silent and the session times out."""
    minute = 60_000
    activity = [(1, 0), (2, 1), (1, 3), (3, 4), (4, 9), (2, 10), (4, 12), (3, 13), (1, 30)]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    sessions = (
        timed(env, [(user, at * minute) for user, at in activity], 0)
        .key_by(lambda event: event[0])
        .window(EventTimeSessionWindows.with_gap(Time.minutes(10)))
        .process(Elements())
    )
    found = collect_local(sessions, cuts=cuts)
    assert sorted((user, s // minute, e // minute, len(seen)) for user, s, e, seen in found) == [
        (1, 0, 13, 2),
        (1, 30, 40, 1),
        (2, 1, 20, 2),
        (3, 4, 23, 2),
        (4, 9, 22, 2),
    ]


@CUTS
def test_the_temperature_of_the_last_minute_every_twenty_seconds(cuts: int | None) -> None:
    readings = [("attic", second * 1000, second) for second in range(0, 120, 10)]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    windows = SlidingEventTimeWindows.of(Time.seconds(60), Time.seconds(20))
    hottest = timed(env, readings, 0).key_by(lambda r: r[0]).window(windows).max_by(2)
    last_readings = [10, 30, 50, 70, 90, 110, 110, 110]
    assert [reading[2] for reading in collect_local(hottest, cuts=cuts)] == last_readings
