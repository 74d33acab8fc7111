"""Events that are not kept because they change nothing; and those that are kept nevertheless."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.automaton.automaton import Automaton
from scurry.automaton.compiler import compile_pattern
from scurry.cep import Pattern


def is_(letter: str) -> Any:
    return lambda event: event == letter


def a() -> Pattern:
    return Pattern.begin("a").where(is_("a"))


PATTERNS: dict[str, tuple[Pattern, bool]] = {
    "relaxed": (a().followed_by("b").where(is_("b")), True),
    "any": (a().followed_by_any("b").where(is_("b")).or_where(is_("c")), True),
    "not between": (
        a().not_followed_by("n").where(is_("n")).followed_by("b").where(is_("b")),
        True,
    ),
    "not at the end": (a().not_followed_by("n").where(is_("n")).within(5), True),
    "times": (a().followed_by("b").where(is_("b")).times(2), True),
    # the next event ends a match if it does not fit
    "strict": (a().next("b").where(is_("b")), False),
    "not next": (a().not_next("n").where(is_("n")).followed_by("b").where(is_("b")), False),
    # everything fits
    "no condition": (a().followed_by("b"), False),
    # whether it fits depends on the match
    "iterative": (a().followed_by("b").where(lambda event, ctx: True), False),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_whether_events_can_be_passed_over(name: str) -> None:
    pattern, expected = PATTERNS[name]
    automaton = Automaton(compile_pattern(pattern))
    assert automaton.is_indifferent("x") is expected
    assert not automaton.is_indifferent("a")


@given(st.sampled_from(sorted(PATTERNS)), st.text("abcnx", max_size=9))
def test_without_them_everything_is_as_with_them(name: str, events: str) -> None:
    automaton = Automaton(compile_pattern(PATTERNS[name][0]))

    def found(keep_all: bool) -> list[Any]:
        state, out = automaton.begin(), []
        for time, event in enumerate(events):
            if keep_all or not automaton.is_indifferent(event):
                step = automaton.advance(state, time)
                out += step.matches
                step = automaton.process(step.state, event, time, lambda: 0)
                out += step.matches
                state = step.state
        return out + automaton.advance(state, 100).matches

    assert found(keep_all=False) == found(keep_all=True)


def test_conditions_that_fail_on_other_events_are_not_asked_of_them() -> None:
    guarded = Pattern.begin("a").subtype(str).where(lambda event: event.startswith("a"))
    automaton = Automaton(compile_pattern(guarded.followed_by("b").where(is_("b"))))
    assert automaton.is_indifferent(5)
    bare = Pattern.begin("a").where(lambda event: event.startswith("a"))
    automaton = Automaton(compile_pattern(bare.followed_by("b").where(is_("b"))))
    assert not automaton.is_indifferent(5)
