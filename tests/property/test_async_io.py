"""Asynchronous functions obey the law: cuts, crashes and restarts do not change their results.

What they should give is what the same function gives without waiting, in a ``flat_map``.
"""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Duration, WatermarkStrategy
from scurry.common.time import Time
from scurry.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.testing import collect_local

events = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 60)), min_size=1, max_size=30)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)
LIMIT = Time.seconds(60)


def answer(event: Any) -> list[Any]:
    """None for some events, two for others."""
    return [(*event, number) for number in range(event[1] % 3)]


class Ask(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.0005 * (value[1] % 4))
        return answer(value)


def stream(data: list[Any], parallelism: int) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
    return env.from_collection(data).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event[1])
    )


def windows(answers: DataStream) -> DataStream:
    keyed = answers.map(lambda a: (a[0], a[1] + a[2])).key_by(lambda a: a[0])
    tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(7)))
    return tumbling.reduce(lambda a, b: (a[0], a[1] + b[1]))


@settings(deadline=None, max_examples=40)
@given(events, cuts, troubles, troubles)
def test_ordered_results_are_those_of_a_flat_map(
    data: list[Any], sizes: list[int], crash: list[int], restart: list[int]
) -> None:
    expected = collect_local(stream(data, 1).flat_map(answer))
    found = collect_local(
        AsyncDataStream.ordered_wait(stream(data, 1), Ask(), LIMIT, 4), sizes, crash, restart
    )
    assert found == expected


@settings(deadline=None, max_examples=40)
@given(events, cuts, troubles, troubles, st.integers(1, 3), st.booleans())
def test_windows_after_them_hold_the_same(
    data: list[Any],
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    parallelism: int,
    ordered: bool,
) -> None:
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    expected = collect_local(windows(stream(data, parallelism).flat_map(answer)))
    asked = wait(stream(data, parallelism), Ask(), LIMIT, 4)
    assert sorted(collect_local(windows(asked), sizes, crash, restart)) == sorted(expected)


@settings(deadline=None, max_examples=20)
@given(events, cuts, troubles, st.integers(1, 3))
def test_keyed_streams_keep_the_order_of_each_key(
    data: list[Any], sizes: list[int], crash: list[int], parallelism: int
) -> None:
    keyed = stream(data, parallelism).key_by(lambda event: event[0])
    found = collect_local(AsyncDataStream.ordered_wait(keyed, Ask(), LIMIT, 3), sizes, crash)
    for key in "abcd":
        expected = [a for event in data if event[0] == key for a in answer(event)]
        assert [a for a in found if a[0] == key] == expected
