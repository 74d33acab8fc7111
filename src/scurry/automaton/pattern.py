"""Patterns: what is looked for in a stream, as a chain of steps.

>>> warned = (
...     Pattern.begin("first").where(lambda event: event > 100)
...     .next("second").where(lambda event: event > 100)
...     .within(10_000)
... )
>>> warned.get_name(), warned.get_previous().get_name()
('second', 'first')

Each method that adds a step returns it; each that describes a step changes it and returns it.
"""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any

from scurry.automaton.conditions import ALWAYS, And, Condition, GivenCondition, Or, condition_of
from scurry.automaton.errors import MalformedPatternError
from scurry.automaton.quantifier import ConsumingStrategy, Quantifier, Times
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy
from scurry.common.time import Duration, Time

_NOTS = (ConsumingStrategy.NOT_NEXT, ConsumingStrategy.NOT_FOLLOW)


class WithinType(Enum):
    """What a length of time given to :meth:`Pattern.within` is between."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


class Pattern:
    """A step of a pattern, and through ``previous`` all steps before it."""

    def __init__(
        self,
        name: str,
        previous: Pattern | None = None,
        consuming: ConsumingStrategy = ConsumingStrategy.STRICT,
        skip: AfterMatchSkipStrategy | None = None,
    ) -> None:
        self._name = name
        self._previous = previous
        self._skip = skip or AfterMatchSkipStrategy.no_skip()
        self._condition: Condition | None = None
        self._until: Condition | None = None
        self._within: dict[WithinType, int] = {}
        self._quantifier = Quantifier(consuming)
        if not isinstance(name, str) or not name:
            raise MalformedPatternError(f"A step of a pattern needs a name, got {name!r}.")

    # --- steps

    @staticmethod
    def begin(
        first: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern:
        """A pattern that begins with a step of this name, or with a group of steps."""
        if isinstance(first, Pattern):
            return GroupPattern(first, None, ConsumingStrategy.STRICT, after_match_skip_strategy)
        return Pattern(first, skip=after_match_skip_strategy)

    def next(self, step: str | Pattern) -> Pattern:
        """The very next event is of this step."""
        return self._followed(step, ConsumingStrategy.STRICT)

    def followed_by(self, step: str | Pattern) -> Pattern:
        """The next event that fits is of this step; what does not fit is passed over."""
        return self._followed(step, ConsumingStrategy.SKIP_TILL_NEXT)

    def followed_by_any(self, step: str | Pattern) -> Pattern:
        """Any later event that fits may be of this step, each in a match of its own."""
        return self._followed(step, ConsumingStrategy.SKIP_TILL_ANY)

    def not_next(self, step: str) -> Pattern:
        """The very next event must not fit."""
        return self._denied(step, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, step: str) -> Pattern:
        """No event that fits may come before the step behind this one, or, if this is the last one,
        before the time of :meth:`within` is over."""
        return self._denied(step, ConsumingStrategy.NOT_FOLLOW)

    def _followed(self, step: str | Pattern, consuming: ConsumingStrategy) -> Pattern:
        if isinstance(step, Pattern):
            return GroupPattern(step, self, consuming, self._skip)
        return Pattern(step, self, consuming, self._skip)

    def _denied(self, step: str, consuming: ConsumingStrategy) -> Pattern:
        if self._quantifier.optional:
            raise MalformedPatternError(
                f"The step {step!r} must not occur, and cannot come behind {self._name!r}, which "
                "is optional. Look for two patterns, one with the optional step and one without."
            )
        return Pattern(step, self, consuming, self._skip)

    # --- conditions

    def where(self, condition: GivenCondition) -> Pattern:
        """Only events for which the condition is true; several conditions must all be true. A
        condition is a function of the event, or of the event and a context, or an expression over
        the fields of events: SQL's as text, or one of the Table API."""
        given = condition_of(condition, "where", self._name)
        self._condition = given if self._condition is None else And(self._condition, given)
        return self

    def or_where(self, condition: GivenCondition) -> Pattern:
        """Also events for which this condition is true."""
        given = condition_of(condition, "or_where", self._name)
        self._condition = given if self._condition is None else Or(self._condition, given)
        return self

    def subtype(self, kind: type) -> Pattern:
        """Only events that are instances of ``kind``."""
        return self.where(lambda event: isinstance(event, kind))

    def until(self, condition: GivenCondition) -> Pattern:
        """A step that loops ends with the first event for which the condition is true."""
        if self._until is not None:
            raise MalformedPatternError("Only one until condition can be applied.")
        if self._quantifier.kind != "looping":
            raise MalformedPatternError(
                "The until condition is only applicable to looping states: call it behind "
                "one_or_more() or times_or_more()."
            )
        self._until = condition_of(condition, "until", self._name)
        return self

    def within(
        self,
        window_time: Any,
        within_type: WithinType = WithinType.FIRST_AND_LAST,
    ) -> Pattern:
        """How long a match may take at most: a Duration, a Time, a timedelta or milliseconds."""
        self._within[within_type] = _milliseconds(window_time)
        return self

    # --- how often

    def optional(self) -> Pattern:
        """The step may be missing."""
        before = self._previous
        if before is not None and before._quantifier.greedy:
            raise MalformedPatternError("Optional pattern cannot be preceded by greedy pattern.")
        self._check_positive()
        if self._quantifier.optional:
            raise MalformedPatternError("Optional already applied!")
        return self._quantified(optional=True)

    def one_or_more(self, window_time: Any = None) -> Pattern:
        """Once or several times; ``window_time`` may lie between two of them."""
        return self.times_or_more(1, window_time)

    def times_or_more(self, times: int, window_time: Any = None) -> Pattern:
        """At least so many times."""
        self._check_unquantified()
        least = _positive(times)
        return self._quantified(kind="looping", times=_times(least, least, window_time))

    def times(self, least: int, most: int | None = None, window_time: Any = None) -> Pattern:
        """Exactly so many times, or from ``least`` to ``most`` times."""
        self._check_unquantified()
        if most is None:
            most = _positive(least)
        elif least == 0:
            self._quantified(optional=True)
            least = 1
        if most < _positive(least):
            raise MalformedPatternError(
                f"The to should be a number greater than or equal to from: {least}, got {most}."
            )
        return self._quantified(kind="times", times=_times(least, most, window_time))

    def greedy(self) -> Pattern:
        """As many as possible."""
        self._check_positive()
        if isinstance(self, GroupPattern):
            raise MalformedPatternError("Option not applicable to group pattern.")
        if self._quantifier.inner is ConsumingStrategy.SKIP_TILL_ANY:
            raise MalformedPatternError("Option not applicable to FollowedByAny pattern.")
        if self._quantifier.kind == "single":
            raise MalformedPatternError("Option not applicable to singleton quantifier.")
        return self._quantified(greedy=True)

    def consecutive(self) -> Pattern:
        """Nothing may lie between the events of this step."""
        return self._inner(ConsumingStrategy.STRICT, "Strict continuity")

    def allow_combinations(self) -> Pattern:
        """Events that fit may be left out between the events of this step."""
        return self._inner(ConsumingStrategy.SKIP_TILL_ANY, "Combinations")

    def _inner(self, wanted: ConsumingStrategy, word: str) -> Pattern:
        if self._quantifier.kind == "single":
            raise MalformedPatternError(
                f"{word} not applicable to {self._name!r}, which occurs once."
            )
        if self._quantifier.inner is wanted:
            raise MalformedPatternError(f"{word} already applied!")
        if self._quantifier.inner is not ConsumingStrategy.SKIP_TILL_NEXT:
            raise MalformedPatternError(
                "You can apply either combinations or consecutive, not both!"
            )
        return self._quantified(inner=wanted)

    def _quantified(self, **changes: Any) -> Pattern:
        self._quantifier = self._quantifier.but(**changes)
        return self

    def _check_positive(self) -> None:
        if self._quantifier.consuming in _NOTS:
            raise MalformedPatternError("Option not applicable to NOT pattern.")

    def _check_unquantified(self) -> None:
        self._check_positive()
        if self._quantifier.kind != "single":
            raise MalformedPatternError(
                f"Already applied quantifier to this Pattern: {self._name!r} occurs "
                f"{self._quantifier.kind}."
            )

    # --- what there is

    def get_name(self) -> str:
        """The name of the step."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """The step before this one."""
        return self._previous

    def get_condition(self) -> Condition:
        """What is true for events of this step."""
        return ALWAYS if self._condition is None else self._condition

    def get_until_condition(self) -> Condition | None:
        """What ends the loop."""
        return self._until

    def get_quantifier(self) -> Quantifier:
        """How often the step occurs."""
        return self._quantifier

    def get_times(self) -> Times | None:
        """From how many to how many times the step occurs, None if once."""
        return self._quantifier.times

    def get_window_size(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """The milliseconds given to :meth:`within`."""
        return self._within.get(within_type)

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """What happens to other matches when one is found."""
        return self._skip


class GroupPattern(Pattern):
    """A pattern as a step of another one."""

    def __init__(
        self,
        group: Pattern,
        previous: Pattern | None,
        consuming: ConsumingStrategy,
        skip: AfterMatchSkipStrategy | None,
    ) -> None:
        super().__init__("GroupPattern", previous, consuming, skip)
        self.group = group

    def where(self, condition: GivenCondition) -> Pattern:
        raise MalformedPatternError("GroupPattern does not support where clause.")

    def or_where(self, condition: GivenCondition) -> Pattern:
        raise MalformedPatternError("GroupPattern does not support or clause.")

    def subtype(self, kind: type) -> Pattern:
        raise MalformedPatternError("GroupPattern does not support subtype clause.")


def _times(least: int, most: int, window_time: Any) -> Times:
    return Times(least, most, None if window_time is None else _milliseconds(window_time))


def _positive(times: Any) -> int:
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        raise MalformedPatternError(
            f"You should give a positive number greater than 0, got {times!r}."
        )
    return times


def _milliseconds(length: Any) -> int:
    if isinstance(length, Duration | Time):
        found = length.to_milliseconds()
    elif isinstance(length, datetime.timedelta):
        found = length // datetime.timedelta(milliseconds=1)
    elif isinstance(length, int) and not isinstance(length, bool):
        found = length
    else:
        raise MalformedPatternError(
            f"A length of time is a Duration, a Time, a timedelta or milliseconds, got {length!r}."
        )
    if found < 0:
        raise MalformedPatternError(f"A length of time cannot be negative, got {found} ms.")
    return found
