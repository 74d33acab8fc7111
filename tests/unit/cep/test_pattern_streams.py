"""Patterns in streams: event time, keys, late and timed-out events, and what survives what."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    PatternSelectFunction,
    TimedOutPartialMatchHandler,
    WithinType,
)
from scurry.common import Duration, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import OutputTag, StreamExecutionEnvironment
from scurry.datastream.functions import DEAD_LETTERS
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob, run_local

#: How the input is cut, where drivers crash or restart, and to how many slots the job is rescaled.
RUNS: list[dict[str, Any]] = [
    {},
    {"cuts": 1},
    {"cuts": 3, "crash": [1, 4], "restart": [2]},
    {"cuts": 2, "rescale": {1: 3, 4: 1}},
]
LATE, OVER = OutputTag("late"), OutputTag("over")


def events(values: Iterable[tuple[str, int, int]], disorder: int = 0) -> Any:
    """Events of a user, with a number and a time in milliseconds."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(disorder)
    ).with_timestamp_assigner(lambda event, _: event[2])
    return env.from_collection(list(values)).assign_timestamps_and_watermarks(strategy)


def by_user(stream: Any) -> Any:
    return stream.key_by(lambda event: event[0])


def growing() -> Pattern:
    """Numbers that grow, one right behind the other, up to one above 100."""
    return (
        Pattern.begin("low", AfterMatchSkipStrategy.skip_past_last_event())
        .where(lambda event: event[1] < 100)
        .one_or_more()
        .greedy()
        .consecutive()
        .next("high")
        .where(lambda event, ctx: event[1] >= 100 and last(ctx, "low")[1] * 2 < event[1])
    )


def last(ctx: Any, name: str) -> Any:
    return list(ctx.get_events_for_pattern(name))[-1]


def numbers(match: dict[str, list[Any]]) -> Any:
    return {name: [event[1] for event in found] for name, found in match.items()}


READINGS = [
    ("a", 1, 10), ("b", 5, 11), ("a", 7, 30), ("a", 3, 20), ("b", 120, 14), ("a", 200, 40),
    ("b", 90, 50), ("b", 100, 60), ("a", 500, 70), ("b", 2, 80), ("b", 300, 90),
]  # fmt: skip


@pytest.mark.parametrize("how", RUNS, ids=repr)
def test_matches_of_each_key_in_event_time(how: dict[str, Any]) -> None:
    found = CEP.pattern(by_user(events(READINGS, disorder=20)), growing())
    chosen = found.select(lambda match: (match["high"][0][0], numbers(match)))
    assert sorted(collect_local(chosen, **how), key=repr) == [
        ("a", {"low": [1, 3, 7], "high": [200]}),
        ("b", {"low": [2], "high": [300]}),
        ("b", {"low": [5], "high": [120]}),
    ]


@pytest.mark.parametrize("how", RUNS, ids=repr)
def test_matches_without_keys(how: dict[str, Any]) -> None:
    pattern = (
        Pattern.begin("x")
        .where(lambda event: event[1] == 1)
        .followed_by("y")
        .where(lambda event: event[1] == 2)
    )
    stream = events([("a", 2, 5), ("b", 1, 1), ("c", 3, 2), ("d", 1, 9)], disorder=10)
    found = CEP.pattern(stream, pattern).select(
        lambda match: "".join(event[0] for steps in match.values() for event in steps)
    )
    assert collect_local(found, **how) == ["ba"]


class Told(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Both kinds of matches, with the times that contexts tell."""

    def open(self, runtime_context: Any) -> None:
        self.opened = True

    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterable[Any]:
        assert self.opened
        yield "match", numbers(match), ctx.timestamp()

    def process_timed_out_match(self, match: dict[str, list[Any]], ctx: Any) -> None:
        ctx.output(OVER, ("over", numbers(match), ctx.timestamp()))


def pair(window: int, kind: WithinType = WithinType.FIRST_AND_LAST) -> Pattern:
    return (
        Pattern.begin("x")
        .where(lambda event: event[1] % 2 == 0)
        .followed_by("y")
        .where(lambda event: event[1] % 2 == 1)
        .within(window, kind)
    )


@pytest.mark.parametrize("how", RUNS, ids=repr)
def test_what_is_not_complete_in_time_goes_aside(how: dict[str, Any]) -> None:
    stream = events([("a", 2, 10), ("a", 3, 19), ("a", 4, 30), ("a", 5, 40), ("b", 6, 100)])
    found = CEP.pattern(by_user(stream), pair(10)).process(Told())
    sink, over = ListSink(), ListSink()
    found.sink_to(sink)
    found.get_side_output(OVER).sink_to(over)
    run_local(stream.get_execution_environment(), **how)
    assert sink.values == [("match", {"x": [2], "y": [3]}, 19)]
    # 5 comes when the 10 ms of 4 are over, and not within them
    assert sorted(over.values, key=repr) == [
        ("over", {"x": [4]}, 40),
        ("over", {"x": [6]}, 110),
    ]


def test_select_has_a_side_output_for_what_is_over() -> None:
    stream = events([("a", 2, 10), ("a", 3, 30)])
    found = CEP.pattern(by_user(stream), pair(10)).select(
        numbers, timed_out_tag=OVER, timeout_function=lambda match, at: (numbers(match), at)
    )
    sink, over = ListSink(), ListSink()
    found.sink_to(sink)
    found.get_side_output(OVER).sink_to(over)
    run_local(stream.get_execution_environment())
    assert (sink.values, over.values) == ([], [({"x": [2]}, 20)])


@pytest.mark.parametrize("how", RUNS, ids=repr)
def test_a_last_step_that_must_not_come_in_time(how: dict[str, Any]) -> None:
    """An order that is not paid within 20 ms."""
    pattern = (
        Pattern.begin("order")
        .where(lambda event: event[1] == 1)
        .not_followed_by("payment")
        .where(lambda event: event[1] == 2)
        .within(20)
    )
    orders = [("a", 1, 0), ("b", 1, 5), ("a", 2, 10), ("b", 2, 25), ("c", 1, 50)]
    unpaid = CEP.pattern(by_user(events(orders)), pattern).select(lambda m: m["order"][0][0])
    assert sorted(collect_local(unpaid, **how)) == ["b", "c"]


def test_time_between_neighbours() -> None:
    pattern = (
        Pattern.begin("x")
        .where(lambda event: event[1] == 1)
        .followed_by("y")
        .where(lambda event: event[1] == 2)
        .within(10, WithinType.PREVIOUS_AND_CURRENT)
        .followed_by("z")
        .where(lambda event: event[1] == 3)
    )
    rows = [("a", 1, 0), ("a", 2, 5), ("a", 3, 100), ("b", 1, 0), ("b", 2, 10), ("b", 3, 11)]
    found = CEP.pattern(by_user(events(rows, 100)), pattern).select(lambda m: m["x"][0][0])
    assert collect_local(found) == ["a"]


def test_late_events_go_aside_or_are_counted() -> None:
    stream = events([("a", 2, 50), ("a", 4, 10), ("a", 3, 60), ("a", 9, 100)])
    found = CEP.pattern(by_user(stream), pair(1000)).side_output_late_data(LATE).select(numbers)
    sink, late = ListSink(), ListSink()
    found.sink_to(sink)
    found.get_side_output(LATE).sink_to(late)
    run_local(stream.get_execution_environment(), cuts=1)
    assert sink.values == [{"x": [2], "y": [3]}]
    assert late.values == [("a", 4, 10)]


def test_a_comparator_orders_events_of_one_time() -> None:
    rows = [("a", 3, 10), ("a", 2, 10)]
    for comparator in (lambda event: event[1], lambda one, other: one[1] - other[1]):
        stream = by_user(events(rows))
        found = CEP.pattern(stream, pair(100), comparator).select(numbers)
        assert collect_local(found) == [{"x": [2], "y": [3]}]
    assert collect_local(CEP.pattern(by_user(events(rows)), pair(100)).select(numbers)) == []


def test_processing_time() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection([("a", n, 0) for n in (2, 3, 4, 5)])
    found = CEP.pattern(by_user(stream), pair(100)).in_processing_time().process(Told())
    sink, over = ListSink(), ListSink()
    found.sink_to(sink)
    found.get_side_output(OVER).sink_to(over)
    with LocalJob(env._compile(None)) as job:
        for clock in (0, 99, 200, 300):
            job.clock = clock
            job.step(1)
    assert sink.values == [("match", {"x": [2], "y": [3]}, None)]
    assert over.values == [("over", {"x": [4]}, 300)]


class Changing(PatternSelectFunction):
    """Changes the events that it is given."""

    def select(self, match: dict[str, list[Any]]) -> Any:
        match["x"][0].append("seen")
        return len(match["x"][0])


def test_functions_get_events_of_their_own() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([["x"], ["y"], ["y"]])
    pattern = (
        Pattern.begin("x")
        .where(lambda event: event[0] == "x")
        .followed_by_any("y")
        .where(lambda event: event[0] == "y")
    )
    found = CEP.pattern(stream, pattern).in_processing_time().select(Changing())
    assert collect_local(found) == [2, 2]


@pytest.mark.parametrize("how", RUNS, ids=repr)
def test_an_event_that_fails_goes_aside_alone(how: dict[str, Any]) -> None:
    stream = by_user(events([("a", 1, 1), ("a", "x", 2), ("a", 2, 2), ("a", 3, 3)]))  # type: ignore[list-item]
    pattern = Pattern.begin("x").where(lambda event: event[1] < 5)
    found = CEP.pattern(stream, pattern).select(numbers).on_error("dead-letter")
    sink, letters = ListSink(), ListSink()
    found.sink_to(sink)
    found.get_side_output(DEAD_LETTERS).sink_to(letters)
    run_local(stream.get_execution_environment(), **how)
    assert sink.values == [{"x": [1]}, {"x": [2]}, {"x": [3]}]
    (letter,) = letters.values
    assert letter.element == ("a", "x", 2)
    assert "'<' not supported" in letter.error


def test_what_cannot_be_is_said() -> None:
    stream = events([("a", 1, 1)])
    with pytest.raises(ProgramError, match=r"begins with Pattern\.begin\(name\)"):
        CEP.pattern(stream, lambda event: True)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs a condition"):
        Pattern.begin("x").where(5)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"looked for in a stream, got \[1, 2\] \(list\)"):
        CEP.pattern([1, 2], pair(5))  # type: ignore[arg-type]
    found = CEP.pattern(stream, pair(5))
    with pytest.raises(ProgramError, match="there are select and flat_select"):
        found.process(numbers)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="belong together"):
        found.select(numbers, timed_out_tag=OVER)
    env = StreamExecutionEnvironment.get_execution_environment()
    untimed = CEP.pattern(env.from_collection([("a", 1, 1)]), pair(5)).select(numbers)
    with pytest.raises(FunctionError, match=r"need timestamps: call\s+assign_timestamps"):
        collect_local(untimed)


def program(pattern: Pattern, drop: bool = False) -> tuple[Any, ListSink]:
    stream = events([("a", 2, 10), ("a", 8, 11), ("a", 3, 20), ("a", 4, 30), ("a", 5, 40)])
    found = CEP.pattern(by_user(stream), pattern)
    if drop:
        found.drop_changed_matches()
    sink = ListSink()
    found.select(numbers).uid("pairs").sink_to(sink).uid("sink")
    return stream.get_execution_environment()._compile(None), sink


def test_partial_matches_of_a_changed_pattern() -> None:
    three = pair(100).followed_by("z").where(lambda event: event[1] == 5)
    for changed, drop in ((three, False), (three, True), (pair(50), False)):
        before, _ = program(pair(100))
        after, sink = program(changed, drop)
        with LocalJob(before) as job:
            job.step(2)
            job.continue_as(after)
            if changed is three and not drop:
                with pytest.raises(FunctionError, match="partial matches of another pattern"):
                    job.step()
                continue
            job.step()
        if changed is three:
            # 8 had waited for the watermark, and begins a match of the new pattern
            assert sink.values == [{"x": [8], "y": [3], "z": [5]}]
        else:
            # the same steps with another time: partial matches go on
            assert {"x": [2], "y": [3]} in sink.values
