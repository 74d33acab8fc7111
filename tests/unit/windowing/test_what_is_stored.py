"""What windows keep of an element: once, however many windows it is in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common import Time
from scurry.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.window import ContinuousEventTimeTrigger as Continuous
from scurry.datastream.window import (
    ContinuousProcessingTimeTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.testing import OperatorHarness

ms = Time.milliseconds
MINUTE = SlidingEventTimeWindows.of(ms(60), ms(10))
CALLS: list[Any] = []


class Elements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().start, [element[1] for element in elements]


class Numbers(AggregateFunction):
    """Changes accumulators in place, as it may."""

    mergeable = True

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        CALLS.append(value)
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator: list[int]) -> list[int]:
        return list(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        acc_a.extend(acc_b)
        return acc_a


class NoMerge(Numbers):
    mergeable = False

    def merge(self, acc_a: list[int], acc_b: list[int]) -> Any:
        """Windows that do not merge never ask for it."""


class OneMerge(Numbers):
    mergeable = False

    def merge(self, acc_a: list[int], acc_b: list[int]) -> Any:
        return acc_a


def add(a: Any, b: Any) -> Any:
    CALLS.append(b)
    return a[0], a[1] + b[1]


WAYS = {
    "process": lambda windowed: windowed.process(Elements()),
    "reduce": lambda windowed: windowed.reduce(add),
    "aggregate": lambda windowed: windowed.aggregate(Numbers()),
}


def harness_of(assigner: Any, way: Any, trigger: Any = None) -> OperatorHarness:
    env = StreamExecutionEnvironment.get_execution_environment()
    windowed = env.from_collection([]).key_by(lambda event: event[0]).window(assigner)
    if trigger is not None:
        windowed = windowed.trigger(trigger)
    return OperatorHarness.of(way(windowed))


@pytest.mark.parametrize("way", WAYS)
def test_an_element_of_six_windows_is_stored_once(way: str) -> None:
    with harness_of(MINUTE, WAYS[way]) as harness:
        harness.process_element(("a", 1), 100)
        harness.checkpoint()
        assert harness._store.entries == 1
        harness.process_watermark(10**6)
        assert len(harness.output) == 6
        harness.checkpoint()
        assert harness._store.entries == 0


@pytest.mark.parametrize("way", ["reduce", "aggregate"])
def test_an_element_of_six_windows_is_combined_once(way: str) -> None:
    CALLS.clear()
    with harness_of(MINUTE, WAYS[way]) as harness:
        for number in range(100):
            harness.process_element(("a", number), 100)
        assert len(CALLS) <= 100


def test_windows_combine_in_the_order_elements_came() -> None:
    with harness_of(MINUTE, lambda w: w.aggregate(Numbers(), WithStart())) as harness:
        for number, time in enumerate([100, 112, 101, 125, 113]):
            harness.process_element(("a", number), time)
        harness.process_watermark(10**6)
        assert harness.output == [
            (50, [0, 2]),
            (60, [0, 1, 2, 4]),
            (70, [0, 1, 2, 3, 4]),
            (80, [0, 1, 2, 3, 4]),
            (90, [0, 1, 2, 3, 4]),
            (100, [0, 1, 2, 3, 4]),
            (110, [1, 3, 4]),
            (120, [3]),
        ]


class WithStart(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield context.window().start, *elements


@pytest.mark.parametrize("function", [NoMerge, OneMerge])
def test_a_merge_that_is_left_empty_is_not_called(function: Any) -> None:
    with harness_of(MINUTE, lambda w: w.aggregate(function())) as harness:
        harness.process_element(("a", 1), 100)
        harness.process_element(("a", 2), 111)
        harness.process_watermark(10**6)
        assert harness.output == [[1], *([[1, 2]] * 5), [2]]


def test_a_session_that_grows_stores_only_what_is_new() -> None:
    sessions = EventTimeSessionWindows.with_gap(ms(10))
    with harness_of(sessions, WAYS["process"]) as harness:
        sizes = []
        for number in range(200):
            harness.process_element(("a", number), number)
            before = harness._journal.head()
            harness.checkpoint()
            after = harness._journal.head()
            assert after is not None
            sizes.append(after.log_bytes - (0 if before is None else before.log_bytes))
        assert max(sizes) < sizes[0] + 50
        harness.restart(lose_local_state=True)
        harness.process_watermark(10**6)
        assert harness.output == [(0, list(range(200)))]
        harness.checkpoint()
        assert harness._store.entries == 0


def test_a_continuous_trigger_ends_with_its_window() -> None:
    """The clock is past the window's end already: it fires once, and again for new elements."""
    tumbling = TumblingEventTimeWindows.of(ms(10))
    trigger = ContinuousProcessingTimeTrigger.of(ms(5))
    with harness_of(tumbling, WAYS["process"], trigger) as harness:
        harness.set_processing_time(1000)
        harness.process_element(("a", 1), 3)
        harness.set_processing_time(1001)
        harness.process_element(("a", 2), 4)
        harness.set_processing_time(1002)
        assert harness.output == [(0, [1]), (0, [1, 2])]


def test_a_continuous_trigger_ends_with_the_input() -> None:
    with harness_of(
        GlobalWindows.create(), lambda w: w.reduce(add), Continuous.of(ms(5))
    ) as harness:
        harness.process_element(("a", 1), 3)
        harness.process_watermark((1 << 63) - 1)
        assert harness.output == [("a", 1), ("a", 1)]
