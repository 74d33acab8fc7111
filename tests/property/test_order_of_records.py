"""What is promised about order, whatever the cuts and the parallelism."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Configuration, WatermarkStrategy
from scurry.common.keys import key_group, slot_of_group
from scurry.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from scurry.testing.local import collect_local

PARALLELISM = st.sampled_from([1, 3])
CUTS = st.sampled_from([None, 1, 3])


class Same(KeyedProcessFunction):
    """Hands elements on."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


def stream_of(values: list[Any], parallelism: int) -> Any:
    memory = Configuration.of({"state.backend.type": "memory"})
    env = StreamExecutionEnvironment.get_execution_environment(memory)
    return env.set_parallelism(parallelism).from_collection(values)


def to_one(stream: Any) -> Any:
    """Everything in one slot, in the order in which it arrives there."""
    return stream.key_by(lambda value: 0).process(Same())


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 50), max_size=40), CUTS, PARALLELISM)
def test_one_record_for_one_keeps_the_order_of_the_input(
    values: list[int], cuts: int | None, parallelism: int
) -> None:
    numbered = list(enumerate(values))
    stream = stream_of(numbered, parallelism)
    for modulus in (7, 3):
        stream = stream.key_by(lambda value, m=modulus: value[1] % m).process(Same())
    assert collect_local(to_one(stream), cuts=cuts) == numbered


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=20), CUTS, PARALLELISM)
def test_siblings_keep_their_order_over_one_hop_and_within_a_key(
    values: list[int], cuts: int | None, parallelism: int
) -> None:
    def siblings() -> Any:
        return stream_of(list(enumerate(values)), parallelism).flat_map(
            lambda value: [(value[0], at, at % 3) for at in range(value[1])]
        )

    expected = [(n, at, at % 3) for n, count in enumerate(values) for at in range(count)]
    assert collect_local(to_one(siblings()), cuts=cuts) == expected
    apart = siblings().key_by(lambda value: value[2]).process(Same())
    found = collect_local(to_one(apart), cuts=cuts)
    assert [value[0] for value in found] == [value[0] for value in expected], "families stay apart"
    for key in range(3):
        of_key = [value for value in expected if value[2] == key]
        assert [value for value in found if value[2] == key] == of_key


class AlarmAt(KeyedProcessFunction):
    """Sets a timer for the same moment for every key."""

    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1000)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key()


@pytest.mark.parametrize("cuts", [None, 7])
@pytest.mark.parametrize("parallelism", [1, 3, 12])
def test_timers_of_one_moment_come_by_key_group(parallelism: int, cuts: int | None) -> None:
    keys = list(range(60))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    timed = stream_of(keys, parallelism).assign_timestamps_and_watermarks(strategy)
    stream = to_one(timed.key_by(lambda value: value).process(AlarmAt()))
    expected = sorted(keys, key=lambda key: (key_group(key, 128), str(key)))
    assert collect_local(stream, cuts=cuts) == expected


class Watermarks(ProcessFunction):
    """Tells the watermark of the slot it is in."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 100)), max_size=40),
    CUTS,
    st.sampled_from([1, 3]),
)
def test_a_strategy_behind_key_by_does_not_see_the_cuts_of_one_partition(
    values: list[tuple[int, int]], cuts: int | None, parallelism: int
) -> None:
    spread = stream_of(values, parallelism).key_by(lambda value: value[0]).process(Same())
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value[1]
    )
    timed = spread.assign_timestamps_and_watermarks(strategy)
    found = collect_local(timed.process(Watermarks()), cuts=cuts)
    highest: dict[int, int] = {}
    expected: Counter[Any] = Counter()
    for value in values:
        slot = slot_of_group(key_group(value[0], 128), parallelism, 128)
        expected[value, highest[slot] - 1 if slot in highest else -(1 << 63)] += 1
        highest[slot] = max(highest.get(slot, value[1]), value[1])
    assert Counter(found) == expected
