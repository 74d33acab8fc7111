"""What user code in windows fails on leaves by the dead letters, if the program says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from scurry.common import Configuration, Time, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream import aggregates as agg
from scurry.datastream.functions import DEAD_LETTERS, DeadLetter
from scurry.datastream.window import (
    CountEvictor,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TriggerResult,
    TumblingEventTimeWindows,
)
from scurry.testing import ListSink, OperatorHarness, run_local

ms = Time.milliseconds
TEN = TumblingEventTimeWindows.of(ms(10))
ASSIGNERS = {
    "tumbling": TEN,
    "sliding": SlidingEventTimeWindows.of(ms(10), ms(5)),
    "sessions": EventTimeSessionWindows.with_gap(ms(5)),
    "own gaps": EventTimeSessionWindows.with_dynamic_gap(lambda event: 5 // event[2]),
    "count": CountTumblingWindowAssigner.of(2),
}
#: key, time, number: what is divided by
EVENTS = [("a", 1, 2), ("b", 2, 4), ("a", 3, 0), ("a", 4, 1), ("b", 12, 0), ("b", 13, 1)]
EVENTS += [("a", 16, 5), ("a", 30, 1), ("b", 31, 0), ("b", 32, 2)]
GOOD = [event for event in EVENTS if event[2]]
POISON = [event for event in EVENTS if not event[2]]


def add(a: Any, b: Any) -> Any:
    return (*a[:2], a[2] + (100 if 60 // b[2] else 0))


class Divide(AggregateFunction):
    mergeable = True

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        return [*accumulator, 60 // value[2]]

    def get_result(self, accumulator: list[int]) -> list[int]:
        return accumulator

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class DivideWhole(Divide):
    """Keeps a value per window: it cannot merge."""

    mergeable = False

    def merge(self, acc_a: list[int], acc_b: list[int]) -> Any:
        raise AssertionError


def run(
    windows: Callable[[Any], Any], events: list[Any] = EVENTS, cuts: Any = None
) -> tuple[list[Any], list[DeadLetter]]:
    """What the windows of a program give, and its dead letters."""
    configuration = Configuration.of({"scurry.on-error": "dead-letter"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    stream = env.set_parallelism(1).from_collection(events)
    timed = stream.assign_timestamps_and_watermarks(strategy)
    results, letters = ListSink(), ListSink()
    windows(timed.key_by(lambda event: event[0])).uid("w").sink_to(results)
    env.dead_letters().sink_to(letters)
    run_local(env, cuts=cuts)
    return results.values, letters.values


@pytest.mark.parametrize("cuts", [None, 1])
@pytest.mark.parametrize("lateness", [0, 100])
@pytest.mark.parametrize("function", [Divide, DivideWhole])
@pytest.mark.parametrize("name", ASSIGNERS)
def test_an_element_that_cannot_be_added(
    name: str, function: Any, lateness: int, cuts: int | None
) -> None:
    def windows(keyed: Any) -> Any:
        windowed = keyed.window(ASSIGNERS[name]).allowed_lateness(lateness)
        return windowed.aggregate(function())

    results, letters = run(windows, cuts=cuts)
    if name != "count":
        assert (results, []) == run(windows, GOOD, cuts)
    assert sorted({letter.element for letter in letters}) == sorted(POISON)
    assert {letter.uid for letter in letters} == {"w"}
    assert all("ZeroDivisionError" in letter.error for letter in letters)
    assert all(letter.timestamp == letter.element[1] for letter in letters)


def test_a_reduce_that_fails_leaves_what_it_had() -> None:
    results, letters = run(lambda keyed: keyed.window(TEN).reduce(add))
    # the first element of a window is not reduced with anything
    wanted = [("a", 1, 102), ("a", 16, 5), ("a", 30, 1), ("b", 2, 4), ("b", 12, 100)]
    assert sorted(results) == [*wanted, ("b", 31, 100)]
    assert [letter.element for letter in letters] == [("a", 3, 0)]


class Check(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        context.output(OutputTag("tried"), key)
        found = [60 // element[2] for element in elements]
        yield key, context.window().start, found


@pytest.mark.parametrize("cuts", [None, 1])
@pytest.mark.parametrize("name", ["tumbling", "sessions"])
def test_a_window_that_fails_when_it_fires(name: str, cuts: int | None) -> None:
    results, letters = run(lambda keyed: keyed.window(ASSIGNERS[name]).process(Check()), cuts=cuts)
    spans = {"tumbling": [(0, 10), (10, 20), (30, 40)], "sessions": [(1, 9), (12, 18), (31, 37)]}
    wanted = [TimeWindow(*span) for span in spans[name]]
    assert [letter.window for letter in letters] == wanted
    assert [letter.key for letter in letters] == ["a", "b", "b"]
    assert letters[0].element == [("a", 1, 2), ("a", 3, 0), ("a", 4, 1)]
    assert letters[0].timestamp == wanted[0].max_timestamp()
    assert "ZeroDivisionError" in letters[0].error
    first = 2 if name == "sessions" else 0
    assert [row for row in results if row[1] < 10] == [("b", first, [15])]


class Fails(Divide):
    def get_result(self, accumulator: list[int]) -> list[int]:
        return [60 // (value - 15) for value in accumulator]


@pytest.mark.parametrize("lateness", [0, 100])
def test_a_result_that_fails(lateness: int) -> None:
    events = [("a", 1, 2), ("b", 2, 4)]
    windows = lambda keyed: keyed.window(TEN).allowed_lateness(lateness).aggregate(Fails())  # noqa: E731
    results, (letter,) = run(windows, events)
    assert results == [[4]]
    assert (letter.key, letter.window, letter.element) == ("b", TimeWindow(0, 10), [15])


def test_a_window_that_failed_is_emptied() -> None:
    events = [("a", 1, 0), ("a", 20, 1), ("a", 2, 3), ("a", 3, 0), ("a", 4, 6)]
    windows = lambda keyed: keyed.window(TEN).allowed_lateness(100).process(Check())  # noqa: E731
    results, letters = run(windows, events)
    assert results == [("a", 0, [20]), ("a", 0, [10]), ("a", 20, [60])]
    assert [letter.element for letter in letters] == [
        [("a", 1, 0)],
        [("a", 2, 3), ("a", 3, 0)],
    ]


class FailsOnElement(EventTimeTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        assert element[2]
        return super().on_element(element, timestamp, window, ctx)


class FailsOnTimer(EventTimeTrigger):
    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        raise ValueError("no time")


@pytest.mark.parametrize("name", ["tumbling", "sliding", "sessions"])
def test_a_trigger_that_fails_on_an_element(name: str) -> None:
    windows = lambda keyed: (  # noqa: E731
        keyed.window(ASSIGNERS[name]).trigger(FailsOnElement()).process(Count())
    )
    _, letters = run(windows)
    assert [letter.element for letter in letters] == POISON


class Count(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, len(list(elements))


@pytest.mark.parametrize("name", ["tumbling", "sessions"])
def test_a_trigger_that_fails_at_a_timer(name: str) -> None:
    windows = lambda keyed: (  # noqa: E731
        keyed.window(ASSIGNERS[name]).trigger(FailsOnTimer()).process(Count())
    )
    results, letters = run(windows, [("a", 1, 1), ("a", 2, 2), ("a", 50, 1)])
    assert results == []
    assert [letter.element for letter in letters] == [
        [("a", 1, 1), ("a", 2, 2)],
        [("a", 50, 1)],
    ]


class FailsToEvict(CountEvictor):
    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> Any:
        assert all(element.value[2] for element in elements)
        return super().evict_before(elements, size, window, ctx)


def test_an_evictor_that_fails() -> None:
    windows = lambda keyed: (  # noqa: E731
        keyed.window(GlobalWindows.create())
        .trigger(CountTrigger.of(2))
        .evictor(FailsToEvict(9))
        .process(Count())
    )
    events = [("a", 1, 1), ("a", 2, 0), ("a", 3, 1), ("a", 4, 1)]
    results, (letter,) = run(windows, events)
    assert results == [("a", 2)]
    assert letter.element == [("a", 1, 1), ("a", 2, 0)]


@pytest.mark.parametrize("name", ["tumbling", "sessions"])
def test_elements_without_a_timestamp(name: str) -> None:
    configuration = Configuration.of({"scurry.on-error": "dead-letter"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(1)
    keyed = env.from_collection([("a", 1)]).key_by(lambda event: event[0])
    results, letters = ListSink(), ListSink()
    keyed.window(ASSIGNERS[name]).process(Count()).sink_to(results)
    env.dead_letters().sink_to(letters)
    run_local(env)
    assert results.values == []
    assert [letter.element for letter in letters.values] == [("a", 1)]
    assert "has no timestamp" in letters.values[0].error


def test_letters_are_counted() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection([]).key_by(lambda event: event[0])
    windowed = keyed.window(CountTumblingWindowAssigner.of(1)).process(Halve())
    with OperatorHarness.of(windowed.on_error("dead-letter")) as harness:
        harness.process_element(("a", 0))
        harness.process_element(("a", 2))
        assert harness.output == [[0.5]]
        (letter,) = harness.side_output(DEAD_LETTERS)
        assert (letter.key, letter.element) == ("a", [("a", 0)])
        assert harness.counter("dead-letters") == 1


def test_a_letter_does_not_grow_with_the_window() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection([]).key_by(lambda event: event[0])
    windowed = keyed.window(TEN).process(Halve())
    with OperatorHarness.of(windowed.on_error("dead-letter")) as harness:
        for _ in range(1000):
            harness.process_element(("a", 0), 1)
        harness.process_watermark(9)
        (letter,) = harness.side_output(DEAD_LETTERS)
        assert letter.element == [("a", 0)] * 100


class Halve(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield [1 / element[1] for element in elements]


def test_without_the_setting_the_job_fails() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_collection([("a", 0)]).key_by(lambda event: event[0])
    stream.window(CountTumblingWindowAssigner.of(1)).process(Halve()).print()
    with pytest.raises(FunctionError, match="division by zero"):
        run_local(env)


def test_built_in_aggregates_make_no_letters() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([("a", 0)]).key_by(lambda event: event[0])
    stream.window(TEN).aggregate(agg.sum(1)).on_error("dead-letter").print()
    with pytest.raises(ProgramError, match="windows whose function is your own"):
        run_local(env)
