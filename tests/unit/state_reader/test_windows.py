"""Open windows read out of journals, in every way of keeping them: what they hold is computed from
the events that came before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from scurry.common import Time, WatermarkStrategy
from scurry.common.errors import StateError
from scurry.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.state.stored_tables import StoredJournal
from scurry.state_reader.contents import read_windows
from scurry.testing import ListSink
from scurry.testing.local import LocalJob

ms = Time.milliseconds
#: User, time, amount; the times rise, with gaps, and most windows are over at the end.
EVENTS = [(f"user {n % 5}", 7 * n + 40 * (n // 9), n) for n in range(60)]
#: So many events are processed; their last time is how far event time has come.
COUNT = 50
SEEN = EVENTS[:COUNT]
NOW = SEEN[-1][1] - 1
SIZE, SLIDE, GAP = 100, 40, 36
UID = "windows"
Open = dict[tuple[str, int, int], list[int]]


class Whole(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, len(list(elements))


def added(one: Any, other: Any) -> Any:
    return one[0], other[1], one[2] + other[2]


def aligned(size: int) -> Open:
    """The amounts in spans of ``size`` that are not over."""
    found: Open = {}
    for user, time, amount in SEEN:
        start = time // size * size
        found.setdefault((user, start, start + size), []).append(amount)
    return {window: amounts for window, amounts in found.items() if window[2] - 1 > NOW}


def slices() -> Open:
    """The amounts in the parts that sliding windows share, of which a window is not over."""
    step = 20  # divides size and slide
    found: Open = {}
    for user, time, amount in SEEN:
        start = time // step * step
        found.setdefault((user, start, start + step), []).append(amount)
    last = {w: w[1] // SLIDE * SLIDE + SIZE for w in found}
    return {window: amounts for window, amounts in found.items() if last[window] - 1 > NOW}


def sessions() -> Open:
    """The amounts in sessions that are not over."""
    found: list[tuple[str, int, int, list[int]]] = []
    for user, time, amount in SEEN:
        mine = [at for at, each in enumerate(found) if each[0] == user and each[2] >= time]
        if mine:
            _, start, _, amounts = found[mine[-1]]
            found[mine[-1]] = (user, start, time + GAP, [*amounts, amount])
        else:
            found.append((user, time, time + GAP, [amount]))
    return {(u, start, end): amounts for u, start, end, amounts in found if end - 1 > NOW}


TUMBLING = TumblingEventTimeWindows.of(ms(SIZE))
SLIDING = SlidingEventTimeWindows.of(ms(SIZE), ms(SLIDE))
SESSIONS = EventTimeSessionWindows.with_gap(ms(GAP))
MANY = CountTrigger.of(10**6)
#: What is told of a row of each form.
OF_VALUE: Callable[[Any], Any] = lambda row: row["value"]["f2"]  # noqa: E731
OF_LIST: Callable[[Any], Any] = lambda row: sum(each["f2"] for each in row["elements"])  # noqa: E731
OF_SUM: Callable[[Any], Any] = lambda row: row["value"]["sum_2"]  # noqa: E731
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[], Open], Callable[[Any], Any]]] = {
    "values by start of window": (
        lambda keyed: keyed.window(TUMBLING).reduce(added),
        lambda: aligned(SIZE),
        OF_VALUE,
    ),
    "elements by slice of time": (
        lambda keyed: keyed.window(TUMBLING).process(Whole()),
        lambda: aligned(SIZE),
        OF_LIST,
    ),
    "columns by slice of time": (
        lambda keyed: keyed.window(TUMBLING).aggregate(agg.count(), agg.sum(2), agg.max(2)),
        lambda: aligned(SIZE),
        OF_SUM,
    ),
    "values by slice of time": (
        lambda keyed: keyed.window(SLIDING).reduce(added),
        slices,
        OF_LIST,
    ),
    "elements of slices that windows share": (
        lambda keyed: keyed.window(SLIDING).process(Whole()),
        slices,
        OF_LIST,
    ),
    "sessions with a value each": (
        lambda keyed: keyed.window(SESSIONS).reduce(added),
        sessions,
        OF_VALUE,
    ),
    "sessions with their elements": (
        lambda keyed: keyed.window(SESSIONS).process(Whole()),
        sessions,
        OF_LIST,
    ),
    "sessions in columns": (
        lambda keyed: keyed.window(SESSIONS).aggregate(agg.sum(2)),
        sessions,
        OF_SUM,
    ),
}


def windows_after(build: Callable[[Any], Any], parallelism: int, layout: str = "") -> Any:
    """The windows of a job that has been through the first events, as a table."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    stream = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    build(stream.key_by(lambda event: event[0])).uid(UID).sink_to(ListSink())
    compiled = env._compile(None)
    with LocalJob(compiled) as job:
        for _ in range(5):
            job.step(COUNT // 5)
        record = job.epoch().inventory[UID]
        journals = {
            place: stored
            for place, journal in job.checkpoint.journals.items()
            if (stored := StoredJournal.of(journal)) is not None
        }
        assert not isinstance(record.layout, str)
        assert not layout or record.layout.kind == layout
        groups = compiled.spec.max_parallelism
        return read_windows(journals, UID, record.layout, groups, "json")


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_open_windows_hold_what_came(case: str, parallelism: int) -> None:
    build, expected, told = CASES[case]
    layout = "" if "share" in case else case
    found = windows_after(build, parallelism, layout).to_pylist()
    assert {
        (row["key"], row["window"]["start"], row["window"]["end"]): told(row) for row in found
    } == {window: sum(amounts) for window, amounts in expected().items()}
    assert len(found) == len(expected())


def test_windows_of_a_trigger_are_kept_until_it_purges_them() -> None:
    for build, told in (
        (lambda keyed: keyed.window(TUMBLING).trigger(MANY).reduce(added), OF_VALUE),
        (lambda keyed: keyed.window(TUMBLING).trigger(MANY).process(Whole()), OF_LIST),
        (lambda keyed: keyed.window(SESSIONS).trigger(MANY).reduce(added), OF_VALUE),
    ):
        found = windows_after(build, 2).to_pylist()
        assert sum(told(row) for row in found) == sum(amount for _, _, amount in _open(found))


def _open(found: list[Any]) -> list[Any]:
    """The events that lie in windows that were found, each of which is not over."""
    spans = [(row["key"], row["window"]["start"], row["window"]["end"]) for row in found]
    assert spans
    assert all(end - 1 > NOW for _, _, end in spans)
    return [
        event
        for event in SEEN
        if any(user == event[0] and start <= event[1] < end for user, start, end in spans)
    ]


def test_windows_that_are_counted_have_a_name() -> None:
    found = windows_after(lambda keyed: keyed.count_window(10**6).reduce(added), 2).to_pylist()
    assert {row["key"]: row["value"]["f2"] for row in found} == {
        f"user {n}": sum(amount for user, _, amount in SEEN if user == f"user {n}")
        for n in range(5)
    }
    assert all(row["window"]["name"] and row["window"]["start"] is None for row in found)


def test_an_operator_without_windows_says_so() -> None:
    with pytest.raises(StateError, match="has no windows"):
        windows_after(lambda keyed: keyed.reduce(added), 1)
