"""The pattern of MATCH_RECOGNIZE as one of the automaton: its steps follow right on each other."""

from __future__ import annotations

from collections.abc import Mapping

from scurry.automaton.conditions import ALWAYS, Condition
from scurry.automaton.pattern import Pattern
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy
from scurry.functions.match_calls import MatchSpec, PatternStep


def search_pattern(match: MatchSpec, conditions: Mapping[str, Condition]) -> Pattern:
    """The pattern; a variable without condition takes any row."""
    skip = _SKIPS[match.skip](match.skip_to)
    made: Pattern | None = None
    for step in match.steps:
        name = step.variable
        made = Pattern.begin(name, skip) if made is None else made.next(name)
        made = _quantified(made.where(conditions.get(name, ALWAYS)), step)
    assert made is not None
    return made if match.within_ms is None else made.within(match.within_ms)


def _quantified(made: Pattern, step: PatternStep) -> Pattern:
    if step.single:
        return made
    if (step.least, step.most) == (0, 1):
        return made.optional()
    if step.most is None:
        made = made.times_or_more(max(step.least, 1)).consecutive()
        made = made if step.least else made.optional()
    else:
        made = made.times(step.least, step.most).consecutive()
    return made.greedy() if step.greedy and step.least != step.most else made


_SKIPS = {
    "NEXT ROW": lambda name: AfterMatchSkipStrategy.skip_to_next(),
    "PAST LAST ROW": lambda name: AfterMatchSkipStrategy.skip_past_last_event(),
    "FIRST": lambda name: AfterMatchSkipStrategy.skip_to_first(name).throw_exception_on_miss(),
    "LAST": lambda name: AfterMatchSkipStrategy.skip_to_last(name).throw_exception_on_miss(),
}
