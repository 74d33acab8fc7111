"""Conditions of patterns: functions of an event, and of the events that a match has so far.

Users give plain functions, subclasses of :class:`IterativeCondition`, or expressions over the
fields of events. Inside they are leaves of trees of *and*, *or* and *not*, which the compiler
builds: a step that is skipped until the next event that fits, for instance, may pass over an event
that does *not* fit. What depends on the event alone (:class:`SimpleCondition`) is asked once for
each event, however many partial matches wait.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeAlias, runtime_checkable

from scurry.common.errors import ProgramError


class ConditionContext(Protocol):
    """What a condition may ask beside the event itself."""

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        """The events that the partial match has under this name so far, in order."""

    def timestamp(self) -> int | None:
        """The timestamp of the event."""

    def current_processing_time(self) -> int:
        """The clock, in milliseconds."""


class IterativeCondition(ABC):
    """A condition that may look at the events matched so far."""

    @abstractmethod
    def filter(self, value: Any, ctx: ConditionContext) -> bool:
        """Whether the event is accepted."""


class SimpleCondition(IterativeCondition):
    """A condition of the event alone; made of a function, or a subclass with a ``filter`` of one
    argument."""

    def __init__(self, function: Callable[[Any], bool] | None = None) -> None:
        self._function = function

    @staticmethod
    def of(function: Callable[[Any], bool]) -> SimpleCondition:
        """The condition that a function of an event is."""
        return SimpleCondition(function)

    def filter(self, value: Any, ctx: Any = None) -> bool:
        assert self._function is not None, "a subclass says what is accepted"
        return self._function(value)


class Turn(ConditionContext, Protocol):
    """One event, at one partial match."""

    value: Any
    #: what conditions of the event alone have said, by condition
    known: dict[Any, bool]

    def events(self) -> list[Any]:
        """All events that the partial match has so far, in order."""


class Condition(ABC):
    """A tree of conditions."""

    @abstractmethod
    def test(self, turn: Turn) -> bool:
        """Whether it is true for an event at a partial match."""


@runtime_checkable
class HasTree(Protocol):
    """An expression of the Table API: something that has a syntax tree."""

    @property
    def node(self) -> Any:
        """The syntax tree."""


#: What is given: a condition, a function of the event, or of the event and a context, or an
#: expression over the fields of events.
GivenCondition: TypeAlias = (
    Condition
    | IterativeCondition
    | Callable[[Any], bool]
    | Callable[[Any, ConditionContext], bool]
    | str
    | HasTree
)


class Always(Condition):
    """True."""

    def test(self, turn: Turn) -> bool:
        return True


class OfEvent(Condition):
    """A function of the event alone."""

    def __init__(self, function: Callable[[Any], bool]) -> None:
        self.function = function

    def test(self, turn: Turn) -> bool:
        known = turn.known.get(self)
        if known is None:
            known = turn.known[self] = bool(self.function(turn.value))
        return known


class OfMatch(Condition):
    """A function of the event and of what was matched before."""

    def __init__(self, function: Callable[[Any, Any], bool]) -> None:
        self.function = function

    def test(self, turn: Turn) -> bool:
        return bool(self.function(turn.value, turn))


class Expressed(Condition):
    """An expression over the fields of events, as text or as one of the Table API.

    It is a place holder: before a pattern is searched for, whoever knows the events puts conditions
    that can be asked in its place (:func:`with_leaves`). ``step`` is the name of the step that it
    was given to, and ``where`` the method.
    """

    def __init__(self, given: str | HasTree, step: str, where: str) -> None:
        self.given, self.step, self.where = given, step, where

    def test(self, turn: Turn) -> bool:
        raise AssertionError(f"{self.given} has not been bound to the fields of events")


class And(Condition):
    """Both."""

    def __init__(self, left: Condition, right: Condition) -> None:
        self.left, self.right = left, right

    def test(self, turn: Turn) -> bool:
        return self.left.test(turn) and self.right.test(turn)


class Or(Condition):
    """One or both."""

    def __init__(self, left: Condition, right: Condition) -> None:
        self.left, self.right = left, right

    def test(self, turn: Turn) -> bool:
        return self.left.test(turn) or self.right.test(turn)


class Not(Condition):
    """The opposite."""

    def __init__(self, operand: Condition) -> None:
        self.operand = operand

    def test(self, turn: Turn) -> bool:
        return not self.operand.test(turn)


ALWAYS = Always()


def leaves(condition: Condition) -> Iterator[Condition]:
    """The conditions that a tree is made of."""
    if isinstance(condition, And | Or):
        yield from leaves(condition.left)
        yield from leaves(condition.right)
    elif isinstance(condition, Not):
        yield from leaves(condition.operand)
    else:
        yield condition


def with_leaves(condition: Condition, places: dict[Condition, Condition]) -> Condition:
    """The tree with other conditions in the places of some of its leaves. Trees that are made are
    added to ``places``, so that what was one tree in several ways of an automaton stays one."""
    found = places.get(condition)
    if found is not None:
        return found
    if isinstance(condition, And | Or):
        sides = with_leaves(condition.left, places), with_leaves(condition.right, places)
        places[condition] = type(condition)(*sides)
    elif isinstance(condition, Not):
        places[condition] = Not(with_leaves(condition.operand, places))
    return places.get(condition, condition)


def condition_of(given: Any, where: str, step: str) -> Condition:
    """What a user has given to the method ``where`` of a step as a tree of one leaf."""
    if isinstance(given, Condition):
        return given
    if isinstance(given, str):
        return Expressed(given, step, where)
    if isinstance(given, SimpleCondition):
        return OfEvent(given.filter)
    if isinstance(given, IterativeCondition):
        return OfMatch(given.filter)
    if not callable(given):
        if isinstance(given, HasTree):
            return Expressed(given, step, where)
        raise ProgramError(
            f"{where} needs a condition, which is a function of the event (and of a context), an "
            "IterativeCondition, or an expression over the fields of events; got "
            f"{given!r} ({type(given).__name__})."
        )
    count = _arguments(given)
    if count > 2:
        raise ProgramError(
            f"{where} needs a function of the event, or of the event and a context; {given!r} "
            f"takes {count} arguments."
        )
    return OfMatch(given) if count == 2 else OfEvent(given)


def _arguments(function: Callable[..., Any]) -> int:
    """How many positional arguments without default a function takes."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is one.empty for one in parameters)
