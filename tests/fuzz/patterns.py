"""Patterns of events, and what the model says of them: the automaton, given each key's records in
the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.fuzz.model_keyed import Timeline, Timer
from tests.fuzz.records import Fields, fields, fold, shaped
from tests.fuzz.streams import Element, Stream

from scurry.automaton.automaton import Automaton, MatchState
from scurry.automaton.compiler import compile_pattern
from scurry.cep import AfterMatchSkipStrategy, Pattern, PatternProcessFunction

Value = Callable[[Any], int]


def _pair(v: Value) -> Pattern:
    even = Pattern.begin("a").where(lambda e: v(e) % 2 == 0)
    return even.followed_by("b").where(lambda e: v(e) % 2 == 1)


def _run(v: Value) -> Pattern:
    """Values that grow."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()

    def grows(event: Any, ctx: Any) -> bool:
        before = list(ctx.get_events_for_pattern("b")) or list(ctx.get_events_for_pattern("a"))
        return v(event) > v(before[-1])

    return Pattern.begin("a", skip).next("b").where(grows).times_or_more(2).consecutive().within(20)


def _quiet(v: Value) -> Pattern:
    """No odd value for a while after an even one."""
    even = Pattern.begin("a").where(lambda e: v(e) % 2 == 0)
    return even.not_followed_by("b").where(lambda e: v(e) % 2 == 1).within(4)


def _any(v: Value) -> Pattern:
    skip = AfterMatchSkipStrategy.skip_to_next()
    first = Pattern.begin("a", skip).where(lambda e: v(e) % 3 == 0).optional()
    return first.followed_by_any("b").where(lambda e: v(e) % 2 == 1).times(1, 2).within(8)


PATTERNS: dict[str, Callable[[Value], Pattern]] = {
    "pair": _pair,
    "run": _run,
    "quiet": _quiet,
    "any": _any,
}


def value_of(record: Any) -> int:
    """The value of a record of any form."""
    v: int = fields(record)[2]
    return v


class Folded(PatternProcessFunction):
    """One record for each match."""

    def __init__(self, shape: str) -> None:
        self.shape = shape

    def process_match(self, match: dict[str, list[Any]], ctx: Any) -> Iterator[Any]:
        events = [fields(event) for events in match.values() for event in events]
        yield shaped(self.shape, events[0][0], ctx.timestamp(), fold([v for _, _, v in events]))


def matches(stream: Stream, name: str) -> tuple[Element, ...]:
    """The matches of each key."""
    automaton = Automaton(compile_pattern(PATTERNS[name](lambda v: v)))  # type: ignore[no-any-return]
    states: dict[int, MatchState] = {}
    waiting: dict[Timer, list[int]] = {}

    def on_timer(time: int, k: int) -> Iterable[tuple[Fields, int]]:
        steps = [automaton.advance(states.get(k) or automaton.begin(), time)]
        for v in sorted(waiting.pop((time, k), [])):
            steps.append(automaton.process(steps[-1].state, v, time, lambda: 0))
        states[k] = steps[-1].state
        for due in map(automaton.due, states[k].partial):
            if due is not None:
                timeline.timers[due, k] = None
        for match in (match for step in steps for match in step.matches):
            yield (k, time, fold([v for values in match.values() for v in values])), time

    timeline = Timeline(on_timer)

    def on_element(element: Element) -> None:
        (k, _, v), ts, _ = element
        assert ts is not None
        if ts > timeline.watermark:
            waiting.setdefault((ts, k), []).append(v)
            timeline.timers[ts, k] = None

    return timeline.run(stream, on_element)
