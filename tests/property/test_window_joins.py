"""Window joins and co-groups against their definition, however the input is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Duration, WatermarkStrategy
from scurry.common.errors import ProgramError
from scurry.datastream import (
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from scurry.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.testing import collect_local

Event = tuple[str, int, int]  # key, time, number
Windows = Callable[[list[Event], list[Event], str], list[tuple[list[Event], list[Event]]]]

moments = st.tuples(st.sampled_from("ab"), st.integers(-30, 60), st.integers(0, 9))
events = st.lists(moments, max_size=12)


def fixed(size: int, slide: int) -> Windows:
    def windows(lefts: list[Event], rights: list[Event], key: str) -> Any:
        starts = {
            start
            for _, time, _ in lefts + rights
            for start in range(time - size, time + 1)
            if start % slide == 0 and start <= time < start + size
        }
        for start in sorted(starts):
            inside = lambda event, start=start: start <= event[1] < start + size  # noqa: E731
            yield list(filter(inside, lefts)), list(filter(inside, rights))

    return windows


def sessions(gap: int) -> Windows:
    def windows(lefts: list[Event], rights: list[Event], key: str) -> Any:
        groups: list[list[int]] = []
        for time in sorted(event[1] for event in lefts + rights):
            if groups and time - groups[-1][-1] <= gap:
                groups[-1].append(time)
            else:
                groups.append([time])
        for times in groups:
            inside = lambda event, times=times: times[0] <= event[1] <= times[-1]  # noqa: E731
            yield list(filter(inside, lefts)), list(filter(inside, rights))

    return windows


ASSIGNERS = [
    (TumblingEventTimeWindows.of(Duration.of_millis(10)), fixed(10, 10)),
    (SlidingEventTimeWindows.of(Duration.of_millis(10), Duration.of_millis(5)), fixed(10, 5)),
    (EventTimeSessionWindows.with_gap(Duration.of_millis(4)), sessions(4)),
]


def streams(lefts: list[Event], rights: list[Event]) -> tuple[DataStream, DataStream]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(100)
    ).with_timestamp_assigner(lambda event: event[1])
    return tuple(  # type: ignore[return-value]
        env.from_collection(side).assign_timestamps_and_watermarks(strategy)
        for side in (lefts, rights)
    )


def pairs(lefts: list[Event], rights: list[Event], windows: Windows) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for key in "ab":
        mine = [[event for event in side if event[0] == key] for side in (lefts, rights)]
        for left, right in windows(mine[0], mine[1], key):
            found.update((one, two) for one in left for two in right)
    return found


@pytest.mark.parametrize(("assigner", "windows"), ASSIGNERS, ids=["tumbling", "sliding", "session"])
@given(lefts=events, rights=events, cuts=st.integers(1, 5), crash=st.sets(st.integers(0, 4)))
@settings(max_examples=25)
def test_a_join_gives_every_pair_of_a_window(
    assigner: Any, windows: Windows, lefts: Any, rights: Any, cuts: int, crash: set[int]
) -> None:
    for how in ({}, {"cuts": cuts, "crash": crash}):
        left, right = streams(lefts, rights)
        joined = left.join(right).where(lambda e: e[0]).equal_to(lambda e: e[0])
        found = collect_local(joined.window(assigner).apply(lambda a, b: (a, b)), **how)
        assert Counter(found) == pairs(lefts, rights, windows)


class Both(CoGroupFunction):
    def co_group(self, first: list[Event], second: list[Event]) -> Iterable[Any]:
        yield tuple(sorted(first)), tuple(sorted(second))


@pytest.mark.parametrize(("assigner", "windows"), ASSIGNERS, ids=["tumbling", "sliding", "session"])
@given(lefts=events, rights=events, cuts=st.integers(1, 5))
@settings(max_examples=15)
def test_a_co_group_sees_both_sides_even_if_one_is_empty(
    assigner: Any, windows: Windows, lefts: Any, rights: Any, cuts: int
) -> None:
    left, right = streams(lefts, rights)
    grouped = left.co_group(right).where(lambda e: e[0]).equal_to(lambda e: e[0])
    found = collect_local(grouped.window(assigner).apply(Both()), cuts=cuts)
    expected: Counter[Any] = Counter()
    for key in "ab":
        mine = [[event for event in side if event[0] == key] for side in (lefts, rights)]
        for one, two in windows(mine[0], mine[1], key):
            expected[tuple(sorted(one)), tuple(sorted(two))] += 1
    assert Counter(found) == expected


class Repeat(FlatJoinFunction):
    def join(self, first: Event, second: Event) -> Iterable[Any]:
        for _ in range(first[2]):
            yield second[2]


def test_a_flat_join_yields_any_number() -> None:
    left, right = streams([("a", 1, 2), ("a", 2, 0)], [("a", 3, 7)])
    joined = left.join(right).where(lambda e: e[0]).equal_to(lambda e: e[0])
    window = joined.window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    assert collect_local(window.apply(Repeat())) == [7, 7]


def test_late_elements_of_a_join_can_be_had_with_their_side() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event: event[1]
    )
    data = [("a", 1, 1), ("a", 25, 2), ("a", 3, 3)]
    one = env.from_collection(data).assign_timestamps_and_watermarks(strategy)
    late = OutputTag("late")
    joined = (
        one.join(one.map(lambda e: e))
        .where(lambda e: e[0])
        .equal_to(lambda e: e[0])
        .window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
        .side_output_late_data(late)
        .apply(lambda a, b: (a, b))
    )
    assert sorted(collect_local(joined.get_side_output(late))) == [
        (0, ("a", 3, 3)),
        (1, ("a", 3, 3)),
    ]


def test_wrong_functions_are_refused() -> None:
    left, right = streams([], [])
    joined = left.join(right).where(lambda e: e[0]).equal_to(lambda e: e[0])
    window = joined.window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    with pytest.raises(ProgramError, match="apply needs a JoinFunction"):
        window.apply(3)
    with pytest.raises(ProgramError, match="join takes streams, got 5"):
        left.join(5)  # type: ignore[arg-type]
