"""Windows that fail when they fire, and fire again for late elements, however they are stored.

The operators that keep windows in slices, or sessions in a table, are compared with the general
one, which keeps every window by itself and empties it. A subclass of the default trigger makes the
engine choose that one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Configuration, Time, WatermarkStrategy
from scurry.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import DEAD_LETTERS
from scurry.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.testing import ListSink, LocalJob, run_local

ms = Time.milliseconds
ASSIGNERS = {
    "tumbling": TumblingEventTimeWindows.of(ms(10)),
    "sliding": SlidingEventTimeWindows.of(ms(12), ms(4)),
    "sessions": EventTimeSessionWindows.with_gap(ms(4)),
}


class ByWindow(EventTimeTrigger):
    """The default, for which the engine cannot know that it is."""


class Shown(ProcessWindowFunction):
    """Fails where an element, or the sum of all, ends in 0."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        numbers = [element[2] for element in elements]
        assert all(number % 10 for number in numbers)
        yield key, context.window().start, context.window().end, numbers, context.pane().index


class Joined(AggregateFunction):
    mergeable = True

    def create_accumulator(self) -> list[int]:
        return []

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        return [*accumulator, value[2]]

    def get_result(self, accumulator: list[int]) -> tuple[int, ...]:
        assert accumulator[-1] % 10
        return tuple(accumulator)

    def merge(self, acc_a: list[int], acc_b: list[int]) -> list[int]:
        return acc_a + acc_b


class JoinedByWindow(Joined):
    mergeable = False


def add(a: Any, b: Any) -> Any:
    return (*a[:2], a[2] + b[2])


WAYS = {
    "process": lambda windowed: windowed.process(Shown()),
    "reduce": lambda windowed: windowed.reduce(add, Shown()),
    "aggregate": lambda windowed: windowed.aggregate(Joined()),
    "aggregate by window": lambda windowed: windowed.aggregate(JoinedByWindow()),
}


def environment(
    events: list[Any], name: str, way: str, trigger: Any, out: list[ListSink], on_error: str
) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.of({"state.backend": "memory"})
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    timed = env.set_parallelism(1).from_collection(events).uid("events")
    timed = timed.assign_timestamps_and_watermarks(strategy)
    windowed = timed.key_by(lambda event: event[0]).window(ASSIGNERS[name]).allowed_lateness(15)
    if trigger is not None:
        windowed = windowed.trigger(trigger)
    results = WAYS[way](windowed).on_error(on_error).uid("windows")
    results.sink_to(out[0])
    if on_error == "dead-letter":
        letters = results.get_side_output(DEAD_LETTERS)
        letters.map(lambda letter: (letter.key, letter.element)).sink_to(out[1])
    return env


def outcome(events: list[Any], name: str, way: str, trigger: Any, **how: Any) -> list[Any]:
    out = [ListSink(), ListSink()]
    run_local(environment(events, name, way, trigger, out, "dead-letter"), **how)
    return [Counter(map(repr, sink.values)) for sink in out]


late_events = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(-12, 6), st.integers(1, 20)), max_size=25
)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ASSIGNERS)
@settings(max_examples=15)
@given(steps=late_events, cut=st.integers(1, 9))
def test_a_window_that_failed_is_emptied_in_every_layout(
    name: str, way: str, steps: list[Any], cut: int
) -> None:
    time, events = 20, []
    for key, step, number in steps:
        events.append((key, max(0, time + step), number))
        time = max(time, time + step)
    wanted = outcome(events, name, way, ByWindow())
    assert outcome(events, name, way, None) == wanted
    assert outcome(events, name, way, None, cuts=cut, restart=range(1, 30, 2)) == wanted


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ASSIGNERS)
def test_dead_letters_do_not_change_the_layout(name: str, way: str) -> None:
    """A job with a window that has failed goes on without dead letters: the window fires again for
    late elements, and does not hold what it failed on."""
    events = [("a", 1, 970), ("a", 15, 1), ("a", 2, 3), ("a", 3, 4), ("a", 17, 5)]
    sink = ListSink()

    def program(on_error: str) -> Any:
        return environment(events, name, way, None, [sink, ListSink()], on_error)._compile(None)

    before, after = (program(on_error) for on_error in ("dead-letter", "fail"))
    assert before.spec.inventory["windows"].layout == after.spec.inventory["windows"].layout
    with LocalJob(before) as job:
        job.step(2)
        assert sink.values == []
        job.continue_as(after)
        while job.step(1):
            pass
    shown = list(map(repr, sink.values))
    assert len(shown) >= 3
    assert not [text for text in shown if "970" in text or "973" in text]
