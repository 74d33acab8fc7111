"""Partial matches as the state of a key.

A match is a chain of links that others share. In the state store each event and each link is held
once, and named by its number.
"""

from __future__ import annotations

import hashlib
from typing import Any

from scurry.automaton.automaton import MatchState
from scurry.automaton.compiler import CompiledPattern
from scurry.automaton.matches import Link, Partial, links_of
from scurry.automaton.states import State


class StoredMatches:
    """A state of the automaton that can be kept; ``pattern`` tells which pattern it belongs to. It
    does not change, so nobody needs a copy of it."""

    __slots__ = ("pattern", "state")

    def __init__(self, pattern: str, state: MatchState) -> None:
        self.pattern = pattern
        self.state = state

    def __deepcopy__(self, memo: dict[int, Any]) -> StoredMatches:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self.pattern, _packed(self.state))


def identity_of(pattern: CompiledPattern) -> str:
    """What two patterns have in common whose partial matches mean the same: states and the ways
    between them. Conditions are not looked at."""
    shape = [(state.step, state.kind.value, state.start, _ways(state)) for state in pattern.states]
    return hashlib.blake2b(repr(shape).encode(), digest_size=8).hexdigest()


def _ways(state: State) -> list[tuple[str, int]]:
    return [(way.action.value, way.target.number) for way in state.transitions]


def _packed(state: MatchState) -> tuple[Any, ...]:
    steps: dict[str, int] = {}
    events: dict[tuple[int, int], int] = {}
    values: list[Any] = []
    numbers: dict[int, int] = {}
    links: list[tuple[int, int, int]] = []

    def number_of(link: Link | None) -> int:
        last = -1
        for one in links_of(link):
            if id(one) not in numbers:
                if one.event not in events:
                    events[one.event] = len(values)
                    values.append(one.value)
                numbers[id(one)] = len(links)
                links.append((steps.setdefault(one.step, len(steps)), events[one.event], last))
            last = numbers[id(one)]
        return last

    partial, complete = (
        [(one.state, number_of(one.link), one.start, one.last) for one in held]
        for held in (state.partial, state.complete)
    )
    return tuple(steps), tuple(events), values, links, partial, complete, state.counted


def _unpacked(pattern: str, packed: tuple[Any, ...]) -> StoredMatches:
    steps, events, values, links, partial, complete, counted = packed
    made: list[Link] = []
    for step, event, before in links:
        made.append(
            Link(steps[step], events[event], values[event], None if before < 0 else made[before])
        )
    held = [
        tuple(
            Partial(state, None if link < 0 else made[link], start, last)
            for state, link, start, last in matches
        )
        for matches in (partial, complete)
    ]
    return StoredMatches(pattern, MatchState(held[0], held[1], counted))
