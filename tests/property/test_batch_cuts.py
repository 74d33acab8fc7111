"""The law of the engine: neither batch cuts, crashes, restarts nor parallelism change results.

Each program runs over random input as one batch, and again cut, crashed and restarted at random;
the results are compared with each other and with a plain-Python computation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Duration, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import ListSink, collect_local, run_local

LATE = OutputTag("late")

events = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 60)), min_size=1, max_size=40)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)
moves = st.dictionaries(st.integers(0, 8), st.integers(1, 5), min_size=1, max_size=3)


class Alarm(KeyedProcessFunction):
    """Counts events per key; a timer 10 ms after each event reports the count it then sees."""

    def open(self, runtime_context: Any) -> None:
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


def strategy(bound: int) -> WatermarkStrategy:
    return WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(bound)
    ).with_timestamp_assigner(lambda event, _: event[1])


def run(
    data: list[Any], bound: int, parallelism: int, **how: Any
) -> tuple[dict[Any, list[Any]], list[Any]]:
    """Results per key in order, and the late events."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    stream = env.from_collection(data).assign_timestamps_and_watermarks(strategy(bound))
    result = stream.key_by(lambda e: e[0]).process(Alarm())
    main, late = ListSink(), ListSink()
    result.sink_to(main)
    result.get_side_output(LATE).sink_to(late)
    run_local(env, **how)
    by_key: dict[Any, list[Any]] = defaultdict(list)
    for row in main.values:
        by_key[row[1]].append(row)
    return dict(by_key), sorted(late.values)


def brute_force(data: list[Any], bound: int) -> tuple[dict[Any, list[Any]], list[Any]]:
    """The same by definition: the watermark before each event, timers in order as it passes."""
    highest: int | None = None
    counts: dict[str, int] = defaultdict(int)
    timers: set[tuple[int, str]] = set()
    out: dict[str, list[Any]] = defaultdict(list)
    late = []

    def fire(watermark: float) -> None:
        for time, key in sorted(t for t in timers if t[0] <= watermark):
            timers.discard((time, key))
            out[key].append(("timer", key, time, counts[key]))

    for key, time in data:
        watermark = float("-inf") if highest is None else highest - bound - 1
        fire(watermark)
        if time <= watermark:
            late.append((key, time))
        else:
            counts[key] += 1
            timers.add((time + 10, key))
            out[key].append(("seen", key, time, counts[key]))
        highest = time if highest is None else max(highest, time)
    fire(float("inf"))
    return {key: rows for key, rows in out.items() if rows}, sorted(late)


@given(events, st.integers(0, 20), cuts, troubles, troubles, st.integers(1, 3))
def test_state_timers_and_late_events(
    data: list[Any],
    bound: int,
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    parallelism: int,
) -> None:
    expected = brute_force(data, bound)
    assert run(data, bound, parallelism) == expected
    assert run(data, bound, parallelism, cuts=sizes, crash=crash, restart=restart) == expected


@given(events, st.integers(0, 20), cuts, troubles, st.integers(1, 3), moves)
def test_another_parallelism_from_some_batch_on(
    data: list[Any],
    bound: int,
    sizes: list[int],
    crash: list[int],
    parallelism: int,
    rescale: dict[int, int],
) -> None:
    found = run(data, bound, parallelism, cuts=sizes, crash=crash, rescale=rescale)
    assert found == brute_force(data, bound)


class Tally(KeyedProcessFunction):
    """Second level: remembers the order in which results of the first level arrive."""

    def open(self, runtime_context: Any) -> None:
        self.history = runtime_context.get_state(ValueStateDescriptor("history"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        history = (self.history.value() or ()) + (value[:3],)
        self.history.update(history)
        yield history


@given(events, st.integers(0, 20), cuts, troubles, st.integers(1, 3))
def test_the_order_at_a_second_keyed_level(
    data: list[Any], bound: int, sizes: list[int], crash: list[int], parallelism: int
) -> None:
    def final(**how: Any) -> Any:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(parallelism)
        stream = env.from_collection(data).assign_timestamps_and_watermarks(strategy(bound))
        first = stream.key_by(lambda e: e[0]).process(Alarm())
        second = first.key_by(lambda row: len(row) % 2).process(Tally())
        return collect_local(second, **how)[-1:]

    assert final(cuts=sizes, crash=crash) == final()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), max_size=40), cuts, troubles)
def test_reduce_is_a_running_fold(data: list[Any], sizes: list[int], crash: list[int]) -> None:
    expected = []
    sums: dict[int, int] = defaultdict(int)
    for key, value in data:
        sums[key] += value
        expected.append((key, sums[key]))
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = (
        env.from_collection(data).key_by(lambda e: e[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    assert collect_local(stream, cuts=sizes, crash=crash) == expected


@pytest.mark.parametrize("parallelism", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 3, None])
def test_union_side_outputs_and_several_levels(parallelism: int, size: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    left = env.from_collection(range(10)).map(lambda n: ("l", n))
    right = env.from_collection(range(5)).map(lambda n: ("r", n))
    both = left.union(right)
    counts = both.key_by(lambda e: e[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    top = counts.key_by(lambda e: 0).reduce(lambda a, b: max(a, b, key=lambda e: e[1]))
    plain, best = ListSink(), ListSink()
    both.filter(lambda e: e[1] % 2 == 0).sink_to(plain)
    top.sink_to(best)
    run_local(env, cuts=size)
    assert sorted(plain.values) == [("l", n) for n in range(0, 10, 2)] + [
        ("r", n) for n in range(0, 5, 2)
    ]
    assert best.values[-1] == ("l", 45)
    assert len(best.values) == 15
