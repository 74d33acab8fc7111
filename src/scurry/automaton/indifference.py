"""Events that change nothing, whatever partial matches there are.

In a pattern whose steps all pass over what does not fit, an event that fits nowhere leaves every
partial match as it is. Such events are most of a stream as a rule, and need not be kept until the
watermark has passed them. They are known by the conditions of the event alone: if all of these are
false, and no state of the automaton does anything but stay as it is then. Conditions that a user
has joined stay together, because the first may guard the second from events of another kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from scurry.automaton.compiler import CompiledPattern
from scurry.automaton.conditions import Always, And, Condition, Not, OfEvent, Or
from scurry.automaton.states import Action, Kind, State, Transition


def decisive_conditions(pattern: CompiledPattern) -> tuple[Condition, ...] | None:
    """The conditions of which one must be true for an event to change anything; None if other
    events can, too."""
    decisive: dict[Condition, None] = {}
    for state in pattern.states:
        if state.kind in (Kind.FINAL, Kind.STOP):
            continue
        ways = _ways(state)
        if ways is None:
            return None
        stays = [way for way in ways if way.action is Action.IGNORE and way.target is state]
        if len(stays) != len(ways) or len(stays) != (0 if state.start else 1):
            return None
        for way in state.transitions:
            _collect(way.condition, decisive)
    return tuple(decisive)


def decided(condition: Condition, known: Mapping[Condition, bool]) -> bool | None:
    """Whether a condition is true, if that follows from what is ``known``; None if it does not."""
    if isinstance(condition, Always):
        return True
    if isinstance(condition, Not):
        inner = decided(condition.operand, known)
        return None if inner is None else not inner
    if isinstance(condition, And | Or):
        sides = decided(condition.left, known), decided(condition.right, known)
        decisive = isinstance(condition, Or)
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    return known.get(condition)


def _ways(state: State) -> list[Transition] | None:
    """The ways that an event takes for which all conditions of the event alone are false; None if
    that depends on the match."""
    found: list[Transition] = []
    open_states = [state]
    while open_states:
        for way in open_states.pop().transitions:
            truth = _truth(way.condition)
            if truth is None:
                return None
            if truth and way.action is Action.PROCEED:
                open_states.append(way.target)
            elif truth:
                found.append(way)
    return found


def _truth(condition: Condition) -> bool | None:
    """Whether it is true if all that is decisive is false; None if nobody knows."""
    if isinstance(condition, Always):
        return True
    if _of_event(condition):
        return False
    if isinstance(condition, Not):
        inner = _truth(condition.operand)
        return None if inner is None else not inner
    if isinstance(condition, And | Or):
        left, right = _truth(condition.left), _truth(condition.right)
        decisive = isinstance(condition, Or)
        if decisive in (left, right):
            return decisive
        return None if None in (left, right) else not decisive
    return None


def _of_event(condition: Condition) -> bool:
    """Whether it is made of conditions of the event alone, with *and* and *or*."""
    if isinstance(condition, And | Or):
        return _of_event(condition.left) and _of_event(condition.right)
    return isinstance(condition, OfEvent)


def _collect(condition: Condition, decisive: dict[Condition, None]) -> None:
    if _of_event(condition):
        decisive[condition] = None
    elif isinstance(condition, Not):
        _collect(condition.operand, decisive)
    elif isinstance(condition, And | Or):
        _collect(condition.left, decisive)
        _collect(condition.right, decisive)
