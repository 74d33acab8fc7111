"""Windows queried before they fire, in every way of keeping them: a pane holds what came for it.

After each micro-batch the panes of a key are the windows that are not over at the watermark of the
answer, with what plain Python computes of the events that are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.contract._views import Viewed, environment, viewed

from scurry.common import Time, WatermarkStrategy
from scurry.datastream import ProcessWindowFunction
from scurry.datastream import aggregates as agg
from scurry.datastream.functions import AggregateFunction
from scurry.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.queryable.errors import QueryError
from scurry.testing import ListSink

ms = Time.milliseconds
SIZE, SLIDE, GAP = 100, 40, 36
#: User, time, amount; times rise, with gaps.
EVENTS = [(f"user {n % 5}", 7 * n + 40 * (n // 9), n) for n in range(60)]
USERS = sorted({user for user, _, _ in EVENTS})
#: By start and end of a window: the events in it.
Panes = dict[tuple[int, int], list[Any]]


class Whole(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield key, len(list(elements))


class Amounts(AggregateFunction):
    """Adds amounts up in a list, so that accumulator and result differ."""

    def __init__(self, mergeable: bool) -> None:
        self.mergeable = mergeable

    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: Any, accumulator: list[int]) -> list[int]:
        return [accumulator[0] + value[2]]

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, a: list[int], b: list[int]) -> list[int]:
        return [a[0] + b[0]]


def added(one: Any, other: Any) -> Any:
    return one[0], other[1], one[2] + other[2]


def aligned(events: list[Any], size: int, slide: int) -> Panes:
    found: Panes = {}
    for event in events:
        start = event[1] // slide * slide
        while start > event[1] - size:
            found.setdefault((start, start + size), []).append(event)
            start -= slide
    return found


def sessions(events: list[Any]) -> Panes:
    found: Panes = {}
    for event in events:
        last = max(found, default=None)
        if last is not None and last[1] >= event[1]:
            found[last[0], event[1] + GAP] = [*found.pop(last), event]
        else:
            found[event[1], event[1] + GAP] = [event]
    return found


def tumbling(events: list[Any]) -> Panes:
    return aligned(events, SIZE, SIZE)


def sliding(events: list[Any]) -> Panes:
    return aligned(events, SIZE, SLIDE)


TUMBLING = TumblingEventTimeWindows.of(ms(SIZE))
SLIDING = SlidingEventTimeWindows.of(ms(SIZE), ms(SLIDE))
SESSIONS = EventTimeSessionWindows.with_gap(ms(GAP))
#: Never fires, and has windows kept one by one.
MANY = CountTrigger.of(10**6)


def total(events: list[Any]) -> int:
    return sum(event[2] for event in events)


def as_elements(events: list[Any]) -> dict[str, Any]:
    return {"elements": [list(event) for event in events]}


def as_reduced(events: list[Any]) -> dict[str, Any]:
    return {"value": [events[0][0], events[-1][1], total(events)]}


def as_total(events: list[Any]) -> dict[str, Any]:
    return {"value": total(events)}


def as_aggregates(events: list[Any]) -> dict[str, Any]:
    return {"value": [len(events), total(events), max(event[2] for event in events)]}


BUILT_IN = (agg.count(), agg.sum(2), agg.max(2))
COMPUTING: dict[str, tuple[Callable[[Any], Any], Callable[[list[Any]], dict[str, Any]]]] = {
    "elements": (lambda windows: windows.process(Whole()), as_elements),
    "reduce": (lambda windows: windows.reduce(added), as_reduced),
    "aggregate": (lambda windows: windows.aggregate(Amounts(False)), as_total),
    "mergeable": (lambda windows: windows.aggregate(Amounts(True)), as_total),
    "built-in": (lambda windows: windows.aggregate(*BUILT_IN), as_aggregates),
}
WINDOWS: dict[str, tuple[Callable[[Any], Any], Callable[[list[Any]], Panes], int]] = {
    "tumbling": (lambda keyed: keyed.window(TUMBLING), tumbling, 0),
    "sliding": (lambda keyed: keyed.window(SLIDING), sliding, 0),
    "sessions": (lambda keyed: keyed.window(SESSIONS), sessions, 0),
    "late": (lambda keyed: keyed.window(SLIDING).allowed_lateness(60), sliding, 60),
    "tumbling by trigger": (lambda keyed: keyed.window(TUMBLING).trigger(MANY), tumbling, 0),
    "sessions by trigger": (lambda keyed: keyed.window(SESSIONS).trigger(MANY), sessions, 0),
}


def program(build: Callable[[Any], Any], parallelism: int) -> Any:
    env = environment(parallelism)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    stream = env.from_collection(EVENTS).uid("events").assign_timestamps_and_watermarks(strategy)
    build(stream.key_by(lambda event: event[0])).uid("windows").sink_to(ListSink()).uid("sink")
    return env


def panes_of(view: Viewed, user: str) -> tuple[int, list[dict[str, Any]]]:
    try:
        told = view.queries.get("panes", user)
    except QueryError as refused:
        if refused.code != "no_such_key":
            raise
        return refused.more["watermark"], []
    return told["watermark"], told["panes"]


@pytest.mark.parametrize("computing", COMPUTING)
@pytest.mark.parametrize("kind", WINDOWS)
def test_panes_hold_what_is_committed(kind: str, computing: str, tmp_path: Path) -> None:
    make, expected, lateness = WINDOWS[kind]
    compute, shown = COMPUTING[computing]
    with viewed(
        program(lambda keyed: compute(make(keyed).set_queryable("panes")), 2), tmp_path
    ) as view:
        for seen in (17, 34, 51):
            assert view.compute_only(17)
            view.job.recover()
            assert view.job.step(17)
            open_panes = {}
            for user in USERS:
                mine = [event for event in EVENTS[:seen] if event[0] == user]
                watermark, panes = panes_of(view, user)
                assert panes == [
                    {"window": {"start": start, "end": end}, **shown(events)}
                    for (start, end), events in sorted(expected(mine).items())
                    if end - 1 + lateness > watermark
                ]
                open_panes[user] = panes
            check_scans(view, [(user, panes) for user, panes in open_panes.items() if panes])


def check_scans(view: Viewed, expected: list[tuple[str, Any]]) -> None:
    """Keys are scanned in order, whole, by prefix, between bounds and in pages."""

    def rows(*given: Any) -> list[tuple[str, Any]]:
        told = view.queries.scan("panes", *given)
        assert told["next"] is None
        return [(row["key"], row["panes"]) for row in told["rows"]]

    assert rows() == rows("user ") == expected
    assert rows("user 3") == [row for row in expected if row[0] == "user 3"]
    assert rows(None, "user 1", "user 4") == [r for r in expected if "user 1" <= r[0] < "user 4"]
    assert rows("nobody") == rows(None, 0, 9) == []
    paged, after = [], None
    while True:
        told = view.queries.scan("panes", None, None, None, 2, after)
        paged += [(row["key"], row["panes"]) for row in told["rows"]]
        after = told["next"]
        if after is None:
            break
    assert paged == expected


def test_windows_of_counts_and_of_evictors_can_be_asked_for(tmp_path: Path) -> None:
    counted = program(
        lambda keyed: keyed.count_window(1000).set_queryable("panes").reduce(added), 2
    )
    with viewed(counted, tmp_path / "counted") as view:
        assert view.job.step(30)
        (pane,) = view.queries.get("panes", "user 1")["panes"]
        mine = [event for event in EVENTS[:30] if event[0] == "user 1"]
        assert pane["value"] == as_reduced(mine)["value"]
        assert "name" in pane["window"]

    def evicting(keyed: Any) -> Any:
        windows = keyed.window(TUMBLING).evictor(CountEvictor.of(3)).set_queryable("panes")
        return windows.process(Whole())

    with viewed(program(evicting, 2), tmp_path / "evicting") as view:
        assert view.job.step(3)
        (pane,) = view.queries.get("panes", "user 1")["panes"]
        assert pane["elements"] == [{"value": ["user 1", 7, 1], "timestamp": 7}]
        rows = view.queries.scan("panes")["rows"]
        assert [row["key"] for row in rows] == USERS[:3]
        assert rows[1]["panes"] == [pane]


ODD: list[Any] = ["b", 7, None, ("a", 1), "x" * 350, "y" * 900, -3, b"\x00", True]


@pytest.mark.parametrize("computing", COMPUTING)
def test_windows_of_odd_keys_are_scanned_once_each(computing: str, tmp_path: Path) -> None:
    """Keys of any type, also such as are too long to stand in an address."""
    env = environment(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event[1]
    )
    events = [(key, at, n) for at in (1, 45) for n, key in enumerate(ODD)]
    # one that is not read yet: windows would fire at the end of the input
    given = [*events, ("b", 46, 0)]
    stream = env.from_collection(given).uid("events").assign_timestamps_and_watermarks(strategy)
    keyed = stream.key_by(lambda event: event[0]).window(SLIDING).set_queryable("panes")
    COMPUTING[computing][0](keyed).uid("windows").sink_to(ListSink()).uid("sink")
    with viewed(env, tmp_path) as view:
        assert view.job.step(len(events))
        rows = view.queries.scan("panes")["rows"]
        told = [repr(row["key"]) for row in rows]
        assert len(told) == len(set(told)) == len(ODD)
        numbers = [row["key"] for row in view.queries.scan("panes", None, -10, 100)["rows"]]
        assert numbers == [-3, True, 7]
        assert view.queries.scan("panes", "x")["rows"][0]["panes"]
