"""Conditions of patterns: functions of an event, and of the events that a match has so far.

Users give plain functions or subclasses of :class:`IterativeCondition`. Inside they are leaves of
trees of *and*, *or* and *not*, which the compiler builds: a step that is skipped until the next
event that fits, for instance, may pass over an event that does *not* fit. What depends on the event
alone (:class:`SimpleCondition`) is asked once for each event, however many partial matches wait.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

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


#: What is given: a condition, or a function of the event, or of the event and a context.
GivenCondition: TypeAlias = (
    Condition | IterativeCondition | Callable[[Any], bool] | Callable[[Any, ConditionContext], bool]
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


def condition_of(given: Any, where: str) -> Condition:
    """What a user has given to ``where`` as a tree of one leaf."""
    if isinstance(given, Condition):
        return given
    if isinstance(given, SimpleCondition):
        return OfEvent(given.filter)
    if isinstance(given, IterativeCondition):
        return OfMatch(given.filter)
    if not callable(given):
        raise ProgramError(
            f"{where} needs a condition, which is a function of the event (and of a context), or "
            f"an IterativeCondition; got {given!r} ({type(given).__name__})."
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
