"""What the matches of a pattern are, by definition: try every way to put events into steps.

A pattern allows some sequences of *slots*, one slot for each event that a match has. Events of the
stream are put into the slots in every possible way, and what contradicts the pattern is sorted out:

- an event fits the step of its slot, given the events in the slots before;
- between two slots lies nothing (strict), nothing that fits (relaxed), or anything;
- a loop ends for good with an event of its ``until``;
- behind a greedy step no event fits that step until the next slot has its event;
- what is denied does not occur: with ``not_next`` directly behind the slot before, with
  ``not_followed_by`` up to the event of the next slot. That event itself may be one that is denied
  only if it completes the match, and while a step may go on that stands before the denied one, its
  further events may not be either: a match ends with what it denies, whatever else it could do.

Nothing is known here of states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tests.unit.automaton.specs import Event, Spec, Step, fits

_LINKS = {
    "begin": "strict",
    "next": "strict",
    "followed_by": "relaxed",
    "followed_by_any": "any",
    "consecutive": "strict",
    "relaxed": "relaxed",
    "combinations": "any",
}


@dataclass(frozen=True)
class Slot:
    """A place for one event. ``link`` says what may lie before it, ``again`` that the event before
    it is of the same step, ``denied`` and ``denied_next`` what must not, and ``outlasted`` is the
    greedy step that must be over."""

    step: Step
    link: str
    again: bool = False
    denied: tuple[Step, ...] = ()
    denied_next: tuple[Step, ...] = ()
    outlasted: Step | None = None


@dataclass(frozen=True)
class Found:
    """A match: the numbers of its events by step, and the number of the event that completes it,
    which is that behind the last one if time does."""

    events: tuple[tuple[str, int], ...]
    completed: int

    @property
    def start(self) -> int:
        return self.events[0][1]

    @property
    def last(self) -> int:
        return self.events[-1][1]

    @cached_property
    def by_step(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for name, number in self.events:
            found.setdefault(name, []).append(number)
        return found


def all_matches(spec: Spec, events: list[Event]) -> list[Found]:
    """Every match that there is, whatever the skip strategy."""
    found: set[Found] = set()
    for parts in _sequences(spec.steps, len(events)):
        *slots, end = _slots(parts)
        for match in _Filling(spec, events, slots, end).filled((), {}):
            assert match not in found, "two ways to read one match"
            found.add(match)
    return sorted(found, key=lambda match: (match.completed, match.start))


# --- sequences of slots

#: a slot, a step that is denied, or a greedy step that is over
_Part = Slot | Step


def _sequences(steps: tuple[Step, ...], most: int) -> Iterator[list[_Part]]:
    """The sequences of at most ``most`` slots that steps allow."""
    if not steps:
        yield []
        return
    behind = steps[1] if len(steps) > 1 else None
    for first in _of_step(steps[0], behind, most):
        for others in _sequences(steps[1:], most - _length(first)):
            yield first + others


def _length(parts: list[_Part]) -> int:
    return sum(isinstance(part, Slot) for part in parts)


def _of_step(step: Step, behind: Step | None, most: int) -> Iterator[list[_Part]]:
    if step.denies:
        yield [step]
        return
    over: list[_Part] = [step] if step.greedy and step.least != step.most else []
    if step.optional:
        yield over
    if step.group:
        yield from _rounds(step, 0, most)
        return
    for count in range(step.least, (most if step.most is None else min(step.most, most)) + 1):
        yield [*_occurrences(step, count, behind), *over]


def _occurrences(step: Step, count: int, behind: Step | None) -> list[_Part]:
    found: list[_Part] = [Slot(step, _LINKS[step.how])]
    for before in range(1, count):
        denied: tuple[Step, ...] = ()
        denied_next: tuple[Step, ...] = ()
        if behind is not None and behind.how == "not_followed_by":
            denied = (behind,)
        if behind is not None and behind.how == "not_next" and before >= step.least:
            denied_next = (behind,)
        found.append(Slot(step, _LINKS[step.inner], True, denied, denied_next))
    return found


def _rounds(group: Step, number: int, most: int) -> Iterator[list[_Part]]:
    """The rounds of a group that are left when ``number`` are over."""
    if number >= group.least:
        yield []
    if most == 0 or number == group.most:
        return
    head = replace(group.group[0], how=group.how if number == 0 else group.inner)
    for parts in _sequences((head, *group.group[1:]), most):
        for others in _rounds(group, number + 1, most - _length(parts)):
            yield parts + others


def _slots(parts: list[_Part]) -> list[Slot]:
    """The slots with what is denied before them; the last is what comes behind the match."""
    found: list[Slot] = []
    waiting: list[Step] = []
    for part in [*parts, Slot(Step("end"), "any")]:
        if isinstance(part, Step):
            waiting.append(part)
            continue
        denied = tuple(step for step in waiting if step.how == "not_followed_by")
        denied_next = tuple(step for step in waiting if step.how == "not_next")
        greedy = [step for step in waiting if step.greedy]
        found.append(
            replace(
                part,
                denied=part.denied + denied,
                denied_next=part.denied_next + denied_next,
                outlasted=greedy[-1] if greedy else None,
            )
        )
        waiting = []
    return found


# --- events in slots


class _Filling:
    """All ways to put events into slots."""

    def __init__(self, spec: Spec, events: list[Event], slots: list[Slot], end: Slot) -> None:
        self.spec, self.events, self.slots, self.end = spec, events, slots, end

    def filled(self, numbers: tuple[int, ...], matched: dict[str, list[str]]) -> Iterator[Found]:
        """Those that begin with the events of these numbers."""
        at = len(numbers)
        if at == len(self.slots):
            yield from self._complete(numbers, matched)
            return
        name = self.slots[at].step.name
        for number in range(numbers[-1] + 1 if numbers else 0, len(self.events)):
            if self._allowed((*numbers, number), matched):
                taken = [*matched.get(name, []), self.events[number][0]]
                yield from self.filled((*numbers, number), {**matched, name: taken})

    def _complete(self, numbers: tuple[int, ...], matched: dict[str, list[str]]) -> Iterator[Found]:
        completed = self._completed(numbers, matched) if numbers else None
        if completed is not None:
            names = [slot.step.name for slot in self.slots]
            yield Found(tuple(zip(names, numbers, strict=True)), completed)

    def _allowed(self, numbers: tuple[int, ...], matched: dict[str, list[str]]) -> bool:
        """Whether the last of these events may be in its slot."""

        def fit(condition: str | None, number: int) -> bool:
            return condition is not None and fits(condition, self.events[number][0], matched)

        at, number = len(numbers) - 1, numbers[-1]
        slot = self.slots[at]
        step = slot.step
        in_time = self._in_time(numbers[0], number)
        if not fit(step.fits, number) or fit(step.until, number) or not in_time:
            return False
        if slot.outlasted is not None and fit(slot.outlasted.fits, number):
            return False
        if at == 0:
            return True
        before = numbers[at - 1]
        between = range(before + 1, number)
        if slot.link == "strict" and between:
            return False
        if slot.link == "relaxed" and any(fit(step.fits, one) for one in between):
            return False
        if slot.again and any(fit(step.until, one) for one in between):
            return False
        if slot.outlasted is not None and any(fit(slot.outlasted.fits, one) for one in between):
            return False
        completes = at + 1 == len(self.slots) and not (self.end.denied or self.end.denied_next)
        reach = between if completes else range(before + 1, number + 1)
        if any(fit(denied.fits, one) for denied in slot.denied for one in reach):
            return False
        return not any(fit(denied.fits, before + 1) for denied in slot.denied_next)

    def _in_time(self, first: int, number: int) -> bool:
        within = self.spec.within
        return within is None or self.events[number][1] - self.events[first][1] < within

    def _completed(self, numbers: tuple[int, ...], matched: dict[str, list[str]]) -> int | None:
        first, last, count = numbers[0], numbers[-1], len(self.events)

        def denied(steps: tuple[Step, ...], number: int) -> bool:
            return any(fits(step.fits, self.events[number][0], matched) for step in steps)

        if self.end.denied_next:
            behind = last + 1
            if behind == count or not self._in_time(first, behind):
                return None
            return None if denied(self.end.denied_next, behind) else behind
        if self.end.denied:
            for number in range(last + 1, count):
                if not self._in_time(first, number):
                    return number
                if denied(self.end.denied, number):
                    return None
            return count
        return last


# --- skip strategies


def dropped(spec: Spec, match: Found, others: list[Found]) -> list[Found]:
    """Those of ``others`` that the strategy drops when ``match`` is found."""
    kind, *name = spec.skip
    if kind == "skip_to_next":
        return [one for one in others if one.start == match.start]
    if kind == "skip_past_last_event":
        return [one for one in others if match.start <= one.start <= match.last]
    if kind in ("skip_to_first", "skip_to_last"):
        named = match.by_step.get(name[0], [match.start])
        bound = named[0] if kind == "skip_to_first" else named[-1]
        return [one for one in others if match.start <= one.start < bound]
    return []
