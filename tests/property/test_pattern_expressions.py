"""Patterns whose conditions are expressions find what the definition of a pattern says, however the
stream is cut into micro-batches, and whether the type of its events is declared or not."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.test_patterns import patterns, streams
from tests.unit.automaton.definition import all_matches
from tests.unit.automaton.specs import Event, Spec, number, pattern_of

from scurry.automaton.pattern import Pattern
from scurry.cep import CEP
from scurry.common import Row, Types, WatermarkStrategy
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import collect_local

_NAMES = ["letter", "n", "at", "name"]
_EVENT = Types.ROW_NAMED(_NAMES, [Types.STRING(), Types.INT(), Types.LONG(), Types.STRING()])


def written(condition: str, step: str) -> str:
    """A condition as an expression: it looks at the event alone, or at the last one of a step."""
    letters, _, name = condition.partition(">")
    found = (
        [f"letter IN ({', '.join(map(repr, letters))})"] if letters != "*" else ["n IS NOT NULL"]
    )
    if name:
        # in its own condition the event in question is the last one of a step
        before = f"LAST({name}.n, 1)" if name == step else f"LAST({name}.n)"
        found.append(f"({before} IS NULL OR n > {before})")
    return " AND ".join(found)


def found_in_stream(pattern: Pattern, events: list[Event], type_info: Any, cuts: int) -> list[Any]:
    """The matches in a stream of rows: pairs of step and number of the event."""
    rows = [Row(text[0], number(text), at, text) for text, at in events]
    for row in rows:
        row.set_field_names(_NAMES)
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row.at
    )
    stream = env.from_collection(rows, type_info).assign_timestamps_and_watermarks(strategy)
    matches = CEP.pattern(stream, pattern).select(_read)
    return sorted(collect_local(matches, cuts=cuts))


def _read(match: dict[str, list[Any]]) -> Any:
    pairs = [(int(e.name.partition("#")[2]), name) for name, rows in match.items() for e in rows]
    return tuple((name, at) for at, name in sorted(pairs))


@settings(max_examples=40)
@given(patterns(), streams(), st.sampled_from([None, _EVENT]), st.integers(1, 9))
def test_expressions_find_what_the_definition_says(
    spec: Spec, events: list[Event], type_info: Any, cuts: int
) -> None:
    if not events:
        return
    expected = sorted(match.events for match in all_matches(spec, events))
    assert found_in_stream(pattern_of(spec, written), events, type_info, cuts) == expected
