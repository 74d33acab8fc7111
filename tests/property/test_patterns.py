"""The automaton finds what the definition of a pattern says, each match once and when it is due.

The patterns are such that Flink's behaviour follows from the definition. Left out are a few
corners in which its automaton, and so ours, does something that no definition would say; they are
among the transcripts of ``tests/unit/automaton``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.automaton.definition import Found, all_matches, dropped
from tests.unit.automaton.specs import Event, Spec, Step, matches_by_event, pattern_of

_COUNTS = [(1, None), (1, None), (2, None), (2, 2), (1, 2), (2, 3)]
_FITS = ["a", "b", "c", "a", "b", "ab", "bc", "*"]


@st.composite
def streams(draw: st.DrawFn) -> list[Event]:
    """Events of three letters and three numbers, some of them at the same time."""
    kinds = draw(
        st.lists(
            st.tuples(st.sampled_from("abc"), st.integers(1, 3), st.sampled_from([0, 1, 1, 2])),
            max_size=9,
        )
    )
    time, found = 0, []
    for number, (letter, value, later) in enumerate(kinds):
        time += later
        found.append((f"{letter}{value}#{number}", time))
    return found


class _Drawing:
    """Draws the steps of a pattern, which have names in their order."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.names: list[str] = []

    def one(self, choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def condition(self) -> str:
        letters: str = self.one(_FITS)
        if self.names and self.one([False] * 5 + [True]):
            return f"{letters}>{self.one(self.names)}"
        return letters

    def steps(self, most: int, grouped: bool = False) -> list[Step]:
        found: list[Step] = []
        for _ in range(self.draw(st.integers(1, most))):
            before = found[-1] if found else None
            found.append(self.step(before, grouped))
        while grouped and found[-1].denies:
            found.pop()
        if any(step.denies for step in found):
            # what is denied before steps that may all be missing is looked at too early
            found[-1] = replace(found[-1], optional=False)
        return found

    def step(self, before: Step | None, grouped: bool) -> Step:
        how = "begin" if before is None else self.one(self._links(before, grouped))
        if how.startswith("not_"):
            return Step(self._name(), how, self.condition())
        if not grouped and self.one([True] + [False] * 5):
            return self._group(how, before)
        kinds: dict[str, Any] = {}
        if not (grouped and before is None):
            kinds = self._quantified(how, before, grouped)
        name = self._name()
        return Step(name, how, self.condition(), **kinds)

    def _links(self, before: Step, grouped: bool) -> list[str]:
        links = ["next", "followed_by", "followed_by", "followed_by_any"]
        ranges = before.repeats and before.least != before.most
        if before.optional or before.greedy or before.how == "not_next":
            return links
        if before.group and (
            before.repeats or before.group[-1].repeats or before.group[-1].optional
        ):
            return links
        if before.denies:
            return [*links, "not_followed_by"]
        return [*links, "not_next", *([] if ranges and before.most else ["not_followed_by"])]

    def _group(self, how: str, before: Step | None) -> Step:
        steps = self.steps(3, grouped=True)
        kinds = self._quantified(how, before, grouped=True)
        kinds.pop("until", None)
        if kinds.get("least", 1) != kinds.get("most", 1):
            kinds["inner"] = "consecutive"
        return Step(f"G{len(self.names)}", how, group=tuple(steps), **kinds)

    def _quantified(self, how: str, before: Step | None, grouped: bool) -> dict[str, Any]:
        kinds: dict[str, Any] = {}
        if self.one([True, False]):
            kinds["least"], kinds["most"] = self.one(_COUNTS)
            kinds["inner"] = self.one(["relaxed", "relaxed", "consecutive", "combinations"])
            bound = kinds["most"] is not None
            if not bound and self.one([True] + [False] * 3):
                kinds["until"] = self.one("abc")
            elif not grouped and kinds["inner"] != "combinations":
                kinds["greedy"] = self.one([True, False, False])
        if not (before is not None and before.greedy):
            kinds["optional"] = self.one([True] + [False] * 4)
        return kinds

    def _name(self) -> str:
        self.names.append(f"S{len(self.names)}")
        return self.names[-1]


@st.composite
def patterns(draw: st.DrawFn, skips: bool = False) -> Spec:
    """One to four steps. With ``skips`` it has a strategy, and a time after which all is clear."""
    drawing = _Drawing(draw)
    steps = drawing.steps(4)
    while steps[-1].how == "not_followed_by" and not _may_end(steps):
        steps.pop()
    timed = skips or steps[-1].how == "not_followed_by"
    within = drawing.one([3, 5, 8] if timed else [None, None, 3, 5, 8])
    kinds: list[tuple[str, ...]] = [("no_skip",)]
    if skips:
        named = [("skip_to_first", name) for name in drawing.names]
        named += [("skip_to_last", name) for name in drawing.names]
        kinds = [("skip_to_next",), ("skip_past_last_event",), *named]
        kinds = [kind for kind in kinds if len(kind) == 1 or _has(steps, kind[1])]
    return Spec(tuple(steps), within, drawing.one(kinds))


def _may_end(steps: list[Step]) -> bool:
    """Whether the last step may deny: exactly one step that does, behind one without range."""
    before = steps[-2]
    return not before.denies and before.least == before.most


def _has(steps: list[Step] | tuple[Step, ...], name: str) -> bool:
    return any(step.name == name or _has(step.group, name) for step in steps)


def _read(match: dict[str, list[str]]) -> tuple[tuple[str, int], ...]:
    """The numbers of a match's events by step, in the order of the events."""
    pairs = [(int(e.partition("#")[2]), name) for name, found in match.items() for e in found]
    return tuple((name, number) for number, name in sorted(pairs))


def _end(events: list[Event]) -> int:
    return (events[-1][1] if events else 0) + 100


@settings(max_examples=100)
@given(patterns(), streams())
def test_all_matches_are_found_when_they_are_complete(spec: Spec, events: list[Event]) -> None:
    expected: list[list[Found]] = [[] for _ in range(len(events) + 1)]
    for match in all_matches(spec, events):
        expected[match.completed].append(match)
    found = matches_by_event(pattern_of(spec), events, _end(events))
    for now, wanted in zip(found, expected, strict=True):
        read = [_read(match) for match in now]
        assert sorted(read) == sorted(match.events for match in wanted)


@settings(max_examples=100)
@given(patterns(skips=True), streams())
def test_strategies_keep_what_no_earlier_match_drops(spec: Spec, events: list[Event]) -> None:
    left = all_matches(spec, events)
    found = matches_by_event(pattern_of(spec), events, _end(events))
    for at, now in enumerate(found):
        for match in map(_read, now):
            # of matches that began alike, any one may be the first
            begun = min((one.start for one in left), default=None)
            same = [one for one in left if one.events == match]
            assert same, f"{match} is none of the matches left"
            assert same[0].start == begun
            assert same[0].completed <= at
            left.remove(same[0])
            for one in dropped(spec, same[0], left):
                left.remove(one)
    assert not left
