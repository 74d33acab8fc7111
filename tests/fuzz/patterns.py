"""Patterns of events, and what the model says of them: the automaton, given each key's records in
the order of time.

In a program conditions are Python functions or expressions, and the pattern is given when the
program is built, or is MATCH_RECOGNIZE in SQL. The model knows functions of a value only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tests.fuzz.model_keyed import Timeline, Timer
from tests.fuzz.records import Fields, fields, fold, shaped
from tests.fuzz.streams import Element, Stream

from scurry.automaton.automaton import Automaton, MatchState
from scurry.automaton.compiler import compile_pattern
from scurry.cep import AfterMatchSkipStrategy, Pattern, PatternProcessFunction


class Conditions(NamedTuple):
    """What patterns are made of: conditions of a value, and of what a match has so far."""

    even: Any
    odd: Any
    third: Any
    #: above the last value of the step b, or of a if there is none
    grows: Any
    #: not above the last value of b
    drops: Any


def of_values(v: Callable[[Any], int]) -> Conditions:
    """As functions; ``v`` is the value of an event."""

    def last(ctx: Any, *names: str) -> int:
        return next(v(found[-1]) for n in names if (found := list(ctx.get_events_for_pattern(n))))

    return Conditions(
        lambda e: v(e) % 2 == 0,
        lambda e: v(e) % 2 == 1,
        lambda e: v(e) % 3 == 0,
        lambda e, ctx: v(e) > last(ctx, "b", "a"),
        lambda e, ctx: v(e) <= last(ctx, "b"),
    )


def of_fields(shape: str) -> Conditions:
    """As expressions over the fields of records of a form."""
    v = "f2" if shape in ("tuple", "list", "typed tuple") else "v"
    return Conditions(
        f"MOD({v}, 2) = 0",
        f"MOD({v}, 2) = 1",
        f"MOD({v}, 3) = 0",
        f"{v} > COALESCE(LAST(b.{v}, 1), LAST(a.{v}))",
        f"{v} <= LAST(b.{v})",
    )


def _pair(of: Conditions) -> Pattern:
    return Pattern.begin("a").where(of.even).followed_by("b").where(of.odd)


def _run(of: Conditions) -> Pattern:
    """Values that grow."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    grown = Pattern.begin("a", skip).next("b").where(of.grows)
    return grown.times_or_more(2).consecutive().within(20)


def _quiet(of: Conditions) -> Pattern:
    """No odd value for a while after an even one."""
    return Pattern.begin("a").where(of.even).not_followed_by("b").where(of.odd).within(4)


def _any(of: Conditions) -> Pattern:
    skip = AfterMatchSkipStrategy.skip_to_next()
    first = Pattern.begin("a", skip).where(of.third).optional()
    return first.followed_by_any("b").where(of.odd).times(1, 2).within(8)


def _strict(of: Conditions) -> Pattern:
    """A multiple of three, and an odd value right behind it."""
    return Pattern.begin("a").where(of.third).next("b").where(of.odd)


PATTERNS: dict[str, Callable[[Conditions], Pattern]] = {
    "pair": _pair,
    "run": _run,
    "quiet": _quiet,
    "any": _any,
    "strict": _strict,
}


def _peak(of: Conditions) -> Pattern:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    up = Pattern.begin("a", skip).where(of.even).next("b").where(of.grows)
    return up.one_or_more().consecutive().greedy().next("c").where(of.drops).within(20)


def _next(of: Conditions) -> Pattern:
    skip = AfterMatchSkipStrategy.skip_to_next()
    return Pattern.begin("a", skip).where(of.third).next("b").where(of.odd)


_CLAUSE = (
    "SELECT k, x, y, n, mt FROM {{0}} MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts, v MEASURES "
    "FIRST(a.v) AS x, LAST(b.v) AS y, COUNT(b.v) AS n, MATCH_ROWTIME() AS mt ONE ROW PER MATCH "
    "AFTER MATCH {skip} PATTERN ({pattern}){within} DEFINE {define})"
)
_GROWS = "b.v > LAST(b.v, 1) OR (LAST(b.v, 1) IS NULL AND b.v > LAST(a.v))"
#: Queries with MATCH_RECOGNIZE, and the patterns that say the same.
MATCHES: dict[str, tuple[str, Callable[[Conditions], Pattern]]] = {
    "peak": (
        _CLAUSE.format(
            skip="SKIP PAST LAST ROW", pattern="a b+ c", within=" WITHIN INTERVAL '0.020' SECOND",
            define=f"a AS MOD(a.v, 2) = 0, b AS {_GROWS}, c AS c.v <= LAST(b.v)",
        ),
        _peak,
    ),
    "next": (
        _CLAUSE.format(
            skip="SKIP TO NEXT ROW", pattern="a b", within="",
            define="a AS MOD(a.v, 3) = 0, b AS MOD(b.v, 2) = 1",
        ),
        _next,
    ),
}  # fmt: skip


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


def _all(match: dict[str, list[int]]) -> int:
    return fold([v for values in match.values() for v in values])


def measured(match: dict[str, list[int]]) -> int:
    """What the measures of the queries amount to."""
    return fold([match["a"][0], match["b"][-1], len(match["b"])])


def matches(
    stream: Stream, pattern: Pattern, folded: Callable[[dict[str, list[int]]], int] = _all
) -> tuple[Element, ...]:
    """The matches of each key; the events of the pattern are values."""
    automaton = Automaton(compile_pattern(pattern))
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
            yield (k, time, folded(match)), time

    timeline = Timeline(on_timer)

    def on_element(element: Element) -> None:
        (k, _, v), ts, _ = element
        assert ts is not None
        if ts > timeline.watermark:
            waiting.setdefault((ts, k), []).append(v)
            timeline.timers[ts, k] = None

    return timeline.run(stream, on_element)
