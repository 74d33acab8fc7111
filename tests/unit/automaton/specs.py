"""Patterns as plain data, for tests that need to look into them, and a run of the automaton.

Events are texts like ``b3#5``: a letter, a number, and what tells events apart. Conditions are
texts, too: the letters that fit (``*`` for all of them), then perhaps ``>name``, which asks for a
number greater than that of the last event of the step ``name``, if it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scurry.automaton.automaton import Automaton, Match
from scurry.automaton.compiler import compile_pattern
from scurry.automaton.pattern import Pattern
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy

#: What the steps of a match have so far, by name.
Matched = Mapping[str, list[str]]


@dataclass(frozen=True)
class Step:
    """A step or a group of steps. ``how`` is the method that adds it, ``most`` None without bound,
    ``inner`` what lies between its events: "relaxed", "consecutive" or "combinations"."""

    name: str
    how: str = "begin"
    fits: str = "*"
    least: int = 1
    most: int | None = 1
    inner: str = "relaxed"
    optional: bool = False
    greedy: bool = False
    until: str | None = None
    group: tuple[Step, ...] = ()

    @property
    def denies(self) -> bool:
        return self.how.startswith("not_")

    @property
    def repeats(self) -> bool:
        return (self.least, self.most) != (1, 1)


@dataclass(frozen=True)
class Spec:
    """A pattern: its steps, milliseconds, and the method and step of its skip strategy."""

    steps: tuple[Step, ...]
    within: int | None = None
    skip: tuple[str, ...] = ("no_skip",)


Event = tuple[str, int]


def fits(condition: str, event: str, matched: Matched) -> bool:
    """Whether an event satisfies a condition, given what a match has so far."""
    letters, _, name = condition.partition(">")
    if letters != "*" and event[0] not in letters:
        return False
    before = matched.get(name, [])
    return not before or number(event) > number(before[-1])


def number(event: str) -> int:
    return int(event[1:].partition("#")[0])


# --- the automaton's side


def pattern_of(spec: Spec, written: Callable[[str, str], Any] | None = None) -> Pattern:
    """The pattern that a user would write; ``written`` makes a condition of its text, and of the
    name of its step."""
    kind, *name = spec.skip
    strategy = getattr(AfterMatchSkipStrategy, kind)(*name)
    pattern = _chain(spec.steps, strategy, written or (lambda text, step: condition_of(text)))
    return pattern if spec.within is None else pattern.within(spec.within)


def _chain(
    steps: Iterable[Step], skip: AfterMatchSkipStrategy | None, written: Callable[[str, str], Any]
) -> Pattern:
    pattern: Pattern | None = None
    for step in steps:
        inner: Any = _chain(step.group, None, written) if step.group else step.name
        if pattern is None:
            pattern = Pattern.begin(inner, skip)
        else:
            pattern = getattr(pattern, step.how)(inner)
        _describe(pattern, step, written)
    assert pattern is not None
    return pattern


def _describe(pattern: Pattern, step: Step, written: Callable[[str, str], Any]) -> None:
    if not step.group:
        pattern.where(written(step.fits, step.name))
    if step.repeats:
        if step.most is None:
            pattern.times_or_more(step.least)
        else:
            pattern.times(step.least, step.most)
        if step.inner == "consecutive":
            pattern.consecutive()
        if step.inner == "combinations":
            pattern.allow_combinations()
    if step.optional:
        pattern.optional()
    if step.greedy:
        pattern.greedy()
    if step.until is not None:
        pattern.until(written(step.until, ""))


def condition_of(text: str) -> Callable[..., bool]:
    """The function for a condition's text."""
    _, _, name = text.partition(">")
    if not name:
        return lambda event: fits(text, event, {})

    def filter(event: str, ctx: Any) -> bool:
        return fits(text, event, {name: list(ctx.get_events_for_pattern(name))})

    return filter


def matches_by_event(
    pattern: Pattern, events: Iterable[Event], end: int | None = None
) -> list[list[Match]]:
    """What comes out with each event, and as a last list when time ``end`` has come. Before an
    event, time advances to its timestamp."""
    automaton = Automaton(compile_pattern(pattern))
    state = automaton.begin()
    found: list[list[Match]] = []
    for value, timestamp in events:
        step = automaton.advance(state, timestamp)
        matches = step.matches
        step = automaton.process(step.state, value, timestamp, lambda: 0)
        state = step.state
        found.append(matches + step.matches)
    found.append([] if end is None else automaton.advance(state, end).matches)
    return found
