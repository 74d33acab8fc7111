"""Patterns that cannot be are refused, when they are written or when they are compiled."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from scurry.automaton.automaton import Automaton
from scurry.automaton.compiler import compile_pattern
from scurry.automaton.errors import MalformedPatternError
from scurry.automaton.pattern import Pattern, WithinType
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy
from scurry.common import Duration
from scurry.common.errors import ProgramError
from scurry.common.time import Time

Writing = Callable[[], Any]


def _a() -> Pattern:
    return Pattern.begin("a")


def _group() -> Pattern:
    return Pattern.begin(Pattern.begin("a").next("b"))


WRITTEN: dict[str, tuple[Writing, str]] = {
    "no name": (lambda: Pattern.begin(""), "needs a name, got ''"),
    "a name that is no text": (lambda: _a().next(3), "needs a name, got 3"),  # type: ignore[arg-type]
    "not_next behind optional": (lambda: _a().optional().not_next("x"), "'x' must not occur"),
    "not_followed_by behind optional": (
        lambda: _a().times(0, 2).not_followed_by("x"),
        "behind 'a', which is optional",
    ),
    "two untils": (
        lambda: _a().one_or_more().until(bool).until(bool),
        "Only one until condition",
    ),
    "until without a loop": (lambda: _a().until(bool), "only applicable to looping"),
    "until behind times": (lambda: _a().times(2).until(bool), "only applicable to looping"),
    "optional behind greedy": (
        lambda: _a().one_or_more().greedy().next("b").optional(),
        "cannot be preceded by greedy",
    ),
    "optional twice": (lambda: _a().optional().optional(), "Optional already applied"),
    "optional not": (lambda: _a().not_next("x").optional(), "not applicable to NOT"),
    "quantified not": (lambda: _a().not_followed_by("x").one_or_more(), "not applicable to NOT"),
    "greedy not": (lambda: _a().not_followed_by("x").greedy(), "not applicable to NOT"),
    "loop of times": (lambda: _a().times(2).one_or_more(), "Already applied quantifier"),
    "times of a loop": (lambda: _a().one_or_more().times(2), "Already applied quantifier"),
    "times twice": (lambda: _a().times(2).times_or_more(3), "'a' occurs times"),
    "no times": (lambda: _a().times(0), "positive number greater than 0, got 0"),
    "times less than none": (lambda: _a().times_or_more(-1), "greater than 0, got -1"),
    "times that are no number": (lambda: _a().times("2"), "got '2'"),  # type: ignore[arg-type]
    "true times": (lambda: _a().times(True), "got True"),
    "from more to less": (lambda: _a().times(3, 2), "greater than or equal to from: 3, got 2"),
    "from none to none": (lambda: _a().times(0, 0), "greater than or equal to from: 1, got 0"),
    "a greedy group": (lambda: _group().one_or_more().greedy(), "not applicable to group"),
    "greedy combinations": (
        lambda: _a().one_or_more().allow_combinations().greedy(),
        "not applicable to FollowedByAny",
    ),
    "greedy once": (lambda: _a().greedy(), "not applicable to singleton"),
    "consecutive once": (lambda: _a().consecutive(), "'a', which occurs once"),
    "combinations of one": (lambda: _a().allow_combinations(), "'a', which occurs once"),
    "consecutive twice": (
        lambda: _a().one_or_more().consecutive().consecutive(),
        "Strict continuity already applied",
    ),
    "combinations twice": (
        lambda: _a().times(2).allow_combinations().allow_combinations(),
        "Combinations already applied",
    ),
    "consecutive combinations": (
        lambda: _a().times(2).consecutive().allow_combinations(),
        "either combinations or consecutive",
    ),
    "where of a group": (lambda: _group().where(bool), "does not support where"),
    "or_where of a group": (lambda: _group().or_where(bool), "does not support or"),
    "subtype of a group": (lambda: _group().subtype(int), "does not support subtype"),
    "a time that is none": (lambda: _a().within("5 s"), "got '5 s'"),
    "a negative time": (lambda: _a().within(-5), "cannot be negative, got -5 ms"),
    "a true time": (lambda: _a().within(True), "got True"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_is_refused_when_written(name: str) -> None:
    write, message = WRITTEN[name]
    with pytest.raises(MalformedPatternError) as refused:
        write()
    assert message in str(refused.value)


def test_a_condition_is_a_function() -> None:
    with pytest.raises(ProgramError, match=r"where needs a condition.*got 3"):
        _a().where(3)  # type: ignore[arg-type]


def test_a_condition_is_a_function_of_the_event_and_a_context() -> None:
    with pytest.raises(ProgramError, match=r"where needs a function of the event.*3 arguments"):
        _a().where(lambda event, ctx, more: True)


def _gap(pattern: Pattern, milliseconds: int) -> Pattern:
    return pattern.within(milliseconds, WithinType.PREVIOUS_AND_CURRENT)


COMPILED: dict[str, tuple[Writing, str]] = {
    "a name twice": (lambda: _a().next("b").next("a"), "Duplicate pattern name: a"),
    "a name inside a group and outside": (lambda: _group().next("b"), "Duplicate pattern name: b"),
    "the name of a not twice": (lambda: _a().not_next("a").next("b"), "Duplicate pattern name"),
    "a strategy for a step that is not there": (
        lambda: Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("z")).next("b"),
        "'z' is none of a, b",
    ),
    "not_followed_by at the end without time": (
        lambda: _a().not_followed_by("x"),
        "NotFollowedBy is not supported without windowTime",
    ),
    "a gap longer than the whole": (
        lambda: _gap(_a().next("b"), 6).within(5),
        "6 ms are more than 5 ms",
    ),
    "a gap between times longer than the whole": (
        lambda: _a().times(2, window_time=6).next("b").within(5),
        "cannot be larger than the window length between the first and last",
    ),
    "a loop of what may be missing": (
        lambda: Pattern.begin(_a().optional().next("b").optional()).one_or_more(),
        "needs a step that is not optional",
    ),
    "a loop of a group that may be missing": (
        lambda: Pattern.begin(Pattern.begin(_a().optional())).one_or_more(),
        "needs a step that is not optional",
    ),
}


@pytest.mark.parametrize("name", COMPILED)
def test_is_refused_when_compiled(name: str) -> None:
    write, message = COMPILED[name]
    pattern = write()
    with pytest.raises(MalformedPatternError) as refused:
        compile_pattern(pattern)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "length",
    [1500, Duration.of_millis(1500), Time.milliseconds(1500), datetime.timedelta(seconds=1.5)],
)
def test_times_are_given_in_many_ways(length: Any) -> None:
    assert _a().within(length).get_window_size() == 1500


def test_not_followed_by_may_be_last_with_any_time() -> None:
    compile_pattern(_a().not_followed_by("x").within(5))
    compile_pattern(_a().within(5).not_followed_by("x"))
    compile_pattern(_gap(_a().not_followed_by("x"), 5))


def _run(pattern: Pattern, events: str) -> None:
    automaton = Automaton(compile_pattern(pattern))
    state = automaton.begin()
    for number, letter in enumerate(events):
        state = automaton.process(state, letter, number, lambda: 0).state


def test_a_strict_strategy_fails_on_a_match_without_the_step() -> None:
    skip = AfterMatchSkipStrategy.skip_to_first("b").throw_exception_on_miss()
    pattern = Pattern.begin("a", skip).where(lambda e: e == "a")
    pattern = pattern.next("b").where(lambda e: e == "b").optional()
    pattern = pattern.next("c").where(lambda e: e == "c")
    with pytest.raises(ProgramError, match="Could not skip to 'b': the match found has no event"):
        _run(pattern, "ac")


def test_a_strict_strategy_fails_on_a_match_that_begins_there() -> None:
    skip = AfterMatchSkipStrategy.skip_to_last("a").throw_exception_on_miss()
    pattern = Pattern.begin("a", skip).where(lambda e: e == "a").next("b")
    with pytest.raises(ProgramError, match="Could not skip to 'a': it is the first event"):
        _run(pattern, "ab")
