"""How often a step of a pattern may occur, and what may lie between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class ConsumingStrategy(Enum):
    """What may lie between an event of a match and the next one."""

    #: nothing
    STRICT = "strict"
    #: events that do not fit
    SKIP_TILL_NEXT = "skip till next"
    #: any events
    SKIP_TILL_ANY = "skip till any"
    #: the next event must not fit
    NOT_NEXT = "not next"
    #: until the step behind it no event may fit
    NOT_FOLLOW = "not follow"


@dataclass(frozen=True)
class Times:
    """At least and at most; ``window`` is how many milliseconds may lie between two of them."""

    least: int
    most: int
    window: int | None = None


@dataclass(frozen=True)
class Quantifier:
    """``kind`` is "single", "times" or "looping" (no upper bound)."""

    consuming: ConsumingStrategy
    kind: str = "single"
    times: Times | None = None
    optional: bool = False
    greedy: bool = False
    #: what may lie between the events of a step that occurs several times
    inner: ConsumingStrategy = ConsumingStrategy.SKIP_TILL_NEXT

    def but(self, **changes: object) -> Quantifier:
        """The same with some things changed."""
        return replace(self, **changes)  # type: ignore[arg-type]
