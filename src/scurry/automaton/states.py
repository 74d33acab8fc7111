"""The states of an automaton and the ways between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from scurry.automaton.conditions import Condition


class Action(Enum):
    """What is done with an event on a way from one state to another."""

    #: the event becomes part of the match
    TAKE = "take"
    #: the event is passed over
    IGNORE = "ignore"
    #: the event is looked at in the other state as well
    PROCEED = "proceed"


class Kind(Enum):
    """What it means to be in a state."""

    NORMAL = "normal"
    #: the match is complete
    FINAL = "final"
    #: what must not occur has occurred
    STOP = "stop"
    #: the match is complete once its time is over
    PENDING = "pending"


@dataclass(eq=False)
class Transition:
    """A way from ``source`` to ``target`` for events for which the condition is true."""

    source: State
    action: Action
    target: State
    condition: Condition


@dataclass(eq=False)
class State:
    """``step`` is the name of the pattern's step that events taken here belong to, ``number`` tells
    states apart. ``window`` is how long the event before may have been, in milliseconds."""

    number: int
    step: str
    kind: Kind = Kind.NORMAL
    start: bool = False
    window: int | None = None
    transitions: list[Transition] = field(default_factory=list)

    def take(self, target: State, condition: Condition) -> None:
        """Events that fit become part of the match."""
        self.add(Action.TAKE, target, condition)

    def ignore(self, target: State, condition: Condition) -> None:
        """Events may be passed over."""
        self.add(Action.IGNORE, target, condition)

    def proceed(self, target: State, condition: Condition) -> None:
        """The automaton may go on without an event."""
        self.add(Action.PROCEED, target, condition)

    def add(self, action: Action, target: State, condition: Condition) -> None:
        """Another way out of this state."""
        self.transitions.append(Transition(self, action, target, condition))
