"""Random searches in SQL find what the automaton finds when it is asked in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.unit.planner.tables import Tables

from scurry.automaton.automaton import Automaton
from scurry.automaton.compiler import compile_pattern
from scurry.automaton.conditions import OfMatch
from scurry.common.errors import FunctionError, ProgramError
from scurry.functions.match_calls import MatchSpec, PatternStep, pattern_words
from scurry.functions.match_patterns import search_pattern
from scurry.planner.errors import SqlValidationError

ZERO = datetime.fromisoformat("2024-01-01")
NAMES = "ABCD"
Numbers = list[int | None]


class Condition(NamedTuple):
    """In SQL, with V for the variable, and as a function of the numbers so far: those of the
    variable, those of A, and all; the number in question is the last one."""

    text: str
    holds: Callable[[Numbers, Numbers, Numbers], bool | None]


def less(left: Any, right: Any) -> bool | None:
    return None if left is None or right is None else left < right


def known(numbers: Numbers) -> list[int]:
    return [number for number in numbers if number is not None]


def before(numbers: Numbers) -> int | None:
    return numbers[-2] if len(numbers) > 1 else None


def last(numbers: Numbers) -> int | None:
    return numbers[-1] if numbers else None


CONDITIONS = [
    Condition("2 < V.n", lambda mine, a, every: less(2, mine[-1])),
    Condition(
        "V.n IS NOT NULL AND MOD(V.n, 2) = 0",
        lambda mine, a, every: mine[-1] is not None and mine[-1] % 2 == 0,
    ),
    Condition(
        "LAST(V.n, 1) < V.n OR LAST(V.n, 1) IS NULL",
        lambda mine, a, every: less(before(mine), mine[-1]) or before(mine) is None,
    ),
    Condition("A.n < n + 2", lambda m, a, every: m[-1] is not None and less(last(a), m[-1] + 2)),
    Condition(
        "V.n < 4 AND SUM(V.n) < 6",
        lambda mine, a, every: (
            less(mine[-1], 4) and less(sum(known(mine)) if known(mine) else None, 6)
        ),
    ),
    Condition("COUNT(*) < 4", lambda mine, a, every: len(every) < 4),
    Condition(
        "ABS(MAX(n) - MIN(n)) < 3",
        lambda mine, a, every: bool(known(every)) and (max(known(every)) - min(known(every)) < 3),
    ),
    Condition(
        "FIRST(V.n) < LAST(V.n) + 1 AND n > 0",
        lambda mine, a, every: (
            None if mine[-1] is None else less(mine[0], mine[-1] + 1) and mine[-1] > 0
        ),
    ),
]
QUANTIFIERS: list[tuple[int, int | None, bool]] = [
    (1, 1, True),
    (1, 1, True),
    (0, 1, True),
    (0, None, True),
    (1, None, True),
    (2, 2, True),
    (1, 3, True),
    (0, None, False),
    (1, None, False),
    (2, None, False),
]


@st.composite
def searches(draw: st.DrawFn) -> tuple[MatchSpec, dict[str, Condition]]:
    count = draw(st.integers(1, 4))
    steps = tuple(
        PatternStep(NAMES[at], *draw(st.sampled_from(QUANTIFIERS))) for at in range(count)
    )
    skips = ["NEXT ROW", "PAST LAST ROW"] + ["LAST"] * bool(steps[-1].least)
    skip = draw(st.sampled_from(skips))
    within = draw(st.none() | st.integers(2, 9))
    to = steps[-1].variable if skip == "LAST" else ""
    assume(skip != "LAST" or count > 1)
    names = [step.variable for step in steps if draw(st.booleans())]
    defined = {name: draw(st.sampled_from(CONDITIONS)) for name in names}
    return MatchSpec(steps, (), (), skip, to, within), defined or {"A": CONDITIONS[0]}


def query_of(match: MatchSpec, defined: dict[str, Condition]) -> str:
    measures = [
        f"FIRST({name}.id) AS {name}1, LAST({name}.id) AS {name}9, COUNT({name}.id) AS {name}n"
        for name in (step.variable for step in match.steps)
    ]
    skip = {"NEXT ROW": "TO NEXT ROW", "LAST": f"TO LAST {match.skip_to}"}.get(match.skip)
    within = "" if match.within_ms is None else f"WITHIN INTERVAL '{match.within_ms}' SECOND"
    define = ", ".join(
        f"{name} AS {one.text.replace('V.', f'{name}.')}" for name, one in defined.items()
    )
    return (
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
        f"MEASURES {', '.join(measures)} AFTER MATCH SKIP {skip or 'PAST LAST ROW'} "
        f"PATTERN ({pattern_words(match.steps)}) {within} DEFINE {define})"
    )


def found(match: MatchSpec, defined: dict[str, Condition], rows: list[Any]) -> list[Any]:
    """The matches in the rows of one key, which are in order."""

    def condition(name: str, one: Condition) -> OfMatch:
        def holds(row: Any, turn: Any) -> bool:
            mine = [*(r[2] for r in turn.get_events_for_pattern(name)), row[2]]
            a = [r[2] for r in turn.get_events_for_pattern("A")] + [row[2]] * (name == "A")
            every = [*(r[2] for r in turn.events()), row[2]]
            return one.holds(mine, a, every) is True

        return OfMatch(holds)

    made = {name: condition(name, one) for name, one in defined.items()}
    seconds = None if match.within_ms is None else match.within_ms * 1000
    automaton = Automaton(compile_pattern(search_pattern(replace(match, within_ms=seconds), made)))
    state, matches = automaton.begin(), []
    for row in rows:
        step = automaton.advance(state, row[3] * 1000)
        matches += step.matches
        step = automaton.process(step.state, row, row[3] * 1000, lambda: 0)
        matches += step.matches
        state = step.state
    matches += automaton.advance(state, 1 << 60).matches
    made_rows = []
    for one in matches:
        values: list[Any] = [rows[0][1]]
        for pattern_step in match.steps:
            ids = [row[0] for row in one.get(pattern_step.variable, ())]
            values += [ids[0] if ids else None, ids[-1] if ids else None, len(ids)]
        made_rows.append(("+I", *values))
    return made_rows


tables = st.lists(
    st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 5), st.integers(0, 25)),
    min_size=1,
    max_size=20,
)


@given(
    searches(),
    tables,
    st.integers(0, 12),
    st.lists(st.integers(1, 6), min_size=1, max_size=4),
    st.lists(st.integers(0, 5), max_size=2),
    st.dictionaries(st.integers(1, 4), st.integers(1, 3), max_size=1),
)
def test_random_searches(
    search: tuple[MatchSpec, dict[str, Condition]],
    table: list[tuple[str, int | None, int]],
    delay: int,
    cuts: list[int],
    crash: list[int],
    rescale: dict[int, int],
) -> None:
    match, defined = search
    rows = [(number, key, n, at) for number, (key, n, at) in enumerate(table)]
    made = Tables()
    made.create(
        "CREATE TABLE t (id INT, k STRING, n INT, ts TIMESTAMP(3), "
        f"WATERMARK FOR ts AS ts - INTERVAL '{delay}' SECOND)",
        [(number, key, n, ZERO + timedelta(seconds=at)) for number, key, n, at in rows],
    )
    query = query_of(match, defined)
    reached, on_time = -100, []
    for row in rows:
        if row[3] > reached:
            on_time.append(row)
        reached = max(reached, row[3] - delay)
    expected: list[Any] = []
    try:
        for key in "ab":
            mine = sorted((row for row in on_time if row[1] == key), key=lambda row: row[3])
            expected += found(match, defined, mine) if mine else []
    except ProgramError:
        # as in Flink, a match that would be found again for ever is an error
        with pytest.raises((FunctionError, SqlValidationError), match=r"Could not skip to|PATTERN"):
            made.changes(query, cuts=cuts, crash=crash, restart=crash[:1], rescale=rescale)
        return
    try:
        changes = made.changes(query, cuts=cuts, crash=crash, restart=crash[:1], rescale=rescale)
    except SqlValidationError:
        return  # the pattern is one that Flink refuses
    assert sorted(changes, key=repr) == sorted(expected, key=repr)
