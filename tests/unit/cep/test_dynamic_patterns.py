"""Patterns that change while the job runs: added, replaced, disabled, removed, and bad ones."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from tests.unit.cep.test_pattern_streams import RUNS

from scurry.cep import (
    BAD_PATTERNS,
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternMatch,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
    disable_pattern,
    enable_pattern,
    put_pattern,
    remove_pattern,
)
from scurry.common import Row, Types, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import OutputTag, StreamExecutionEnvironment
from scurry.datastream.functions import DEAD_LETTERS
from scurry.testing import collect_local

EVENT = Types.ROW_NAMED(["user", "n"], [Types.STRING(), Types.INT()])
OVER = OutputTag("over")


def pair(low: int = 10, high: int = 20) -> Pattern:
    """A number below ``low``, then one above ``high``."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    low_one = Pattern.begin("low", skip).where(f"n < {low}")
    return low_one.followed_by("high").where(f"n > {high} AND n > LAST(low.n)")


def event(user: str, n: Any) -> Row:
    return Row(user=user, n=n)


def searched(items: list[Any], declared: bool = True, processing: bool = False) -> Any:
    """The matches in a stream of events and documents, which come at times 0, 10, 20, ..."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda item, _: item[0]
    )
    timed = [(10 * at, item) for at, item in enumerate(items)]
    source = env.from_collection(timed).assign_timestamps_and_watermarks(strategy)
    documents = source.filter(lambda item: not isinstance(item[1], Row)).map(lambda item: item[1])
    events = source.filter(lambda item: isinstance(item[1], Row))
    rows = events.map(lambda item: item[1], EVENT if declared else None)
    found = CEP.dynamic_patterns(rows.key_by(lambda row: row.user), documents)
    return found.in_processing_time() if processing else found


def told(match: Any) -> tuple[Any, ...]:
    numbers = {name: [row.n for row in rows] for name, rows in match.items()}
    return match.pattern_id, match.version, numbers


def found(items: list[Any], **how: Any) -> list[Any]:
    """What is found, in order of id and version."""
    chosen = searched(items, how.pop("declared", True), how.pop("processing", False)).select(told)
    return sorted(collect_local(chosen, **how), key=repr)


def low_high(low: int, high: int) -> dict[str, list[int]]:
    return {"low": [low], "high": [high]}


#: Five patterns, and what becomes of them.
STORY = [
    event("ann", 1),  # nobody looks for anything yet
    put_pattern("p", 1, pair()),
    put_pattern("only ann", 1, pair(), keys=["ann"]),
    event("ann", 2),
    event("bob", 3),
    event("ann", 21),  # found by both
    put_pattern("p", 2, pair(high=30), partial_matches="finish"),
    put_pattern("p", 1, pair(high=0)),  # too late
    event("bob", 5),
    event("bob", 25),  # completes the match that began under version 1
    event("bob", 40),  # and this one that of version 2
    event("ann", 4),
    put_pattern("p", 3, pair(high=50)),  # ann's partial match of version 2 ends
    event("ann", 60),  # found only by the pattern for her
    disable_pattern("only ann", 2),
    event("ann", 6),
    event("ann", 70),  # found by version 3
    enable_pattern("only ann", 3),
    event("ann", 7),
    remove_pattern("p", 4, partial_matches="finish"),
    event("ann", 8),
    event("ann", 71),  # completes what began before the removal
    put_pattern("p", 4, pair()),  # too late
    event("ann", 9),
    event("ann", 72),
]
FOUND = [
    ("only ann", 1, low_high(2, 21)),
    ("only ann", 1, low_high(4, 60)),
    ("only ann", 3, low_high(7, 71)),
    ("only ann", 3, low_high(9, 72)),
    ("p", 1, low_high(2, 21)),
    ("p", 1, low_high(3, 25)),
    ("p", 2, low_high(5, 40)),
    ("p", 3, low_high(6, 70)),
    ("p", 3, low_high(7, 71)),
]


@pytest.mark.parametrize("how", RUNS, ids=repr)
@pytest.mark.parametrize("declared", [True, False])
def test_the_life_of_patterns(how: dict[str, Any], declared: bool) -> None:
    assert found(STORY, declared=declared, **how) == FOUND


def test_in_processing_time() -> None:
    assert found(STORY, processing=True) == FOUND
    assert found(STORY, processing=True, cuts=2, restart=[3]) == FOUND


@pytest.mark.parametrize("how", RUNS, ids=repr)
def test_one_pattern_finds_what_it_finds_alone(how: dict[str, Any]) -> None:
    items = [event(user, n) for n in (3, 25, 8, 7, 11, 30, 2, 90) for user in ("ann", "bob")]
    expected = [low_high(3, 25), low_high(7, 30), low_high(8, 30), low_high(2, 90)]
    pattern = Pattern.begin("low").where("n < 10").followed_by("high").where("n > 20")
    assert found([put_pattern("p", 7, pattern), *items], **how) == sorted(
        [("p", 7, one) for one in expected for _ in range(2)], key=repr
    )


class Told(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Matches, and those that were not complete in time."""

    def process_match(self, match: Any, ctx: Any) -> Any:
        yield told(match), ctx.timestamp()

    def process_timed_out_match(self, match: Any, ctx: Any) -> Any:
        yield OVER, (told(match), ctx.timestamp())


@pytest.mark.parametrize("how", RUNS, ids=repr)
def test_matches_that_are_over(how: dict[str, Any]) -> None:
    items = [
        put_pattern("p", 1, pair().within(25)),
        event("ann", 1),
        put_pattern("p", 2, pair().within(45), partial_matches="finish"),
        event("ann", 2),
        event("bob", 3),
        event("bob", 33),
        event("ann", 22),
    ]
    matches = searched(items).process(Told())
    both = matches.union(matches.get_side_output(OVER))
    assert sorted(collect_local(both, **how), key=repr) == [
        (("p", 1, {"low": [1]}), 35),
        (("p", 2, low_high(2, 22)), 60),
        (("p", 2, low_high(3, 33)), 50),
    ]


GOOD = json.loads(put_pattern("p", 1, pair()))


@pytest.mark.parametrize("how", [{}, {"cuts": 1}], ids=repr)
def test_bad_documents_are_told_of_and_stop_nothing(how: dict[str, Any]) -> None:
    bad = [
        "{",
        "{}",
        b"\xff",
        17,
        {**GOOD, "version": "two"},
        {**GOOD, "code": "os.remove('x')"},
        {**GOOD, "pattern": None},
        {**GOOD, "pattern": {"steps": [{"name": "a", "where": "m > 3"}]}},
        {**GOOD, "pattern": {"steps": [{"name": "a", "where": "n > "}]}},
        {**GOOD, "pattern": {"steps": [{"name": "a"}, {"name": "a", "after": "next"}]}},
        disable_pattern("q", 1),
        {**GOOD, "action": "remove"},
    ]
    items = [*bad, GOOD, event("ann", 1), "]", event("ann", 30)]
    matches = searched(items).select(told)
    told_of = matches.get_side_output(BAD_PATTERNS).map(lambda one: (one.document, one.error))
    results = list(collect_local(matches.union(told_of), **how))
    assert [one for one in results if len(one) == 3] == [("p", 1, low_high(1, 30))]
    errors = [(document, error) for document, error, *rest in results if not rest]
    assert [document for document, _ in errors] == [*bad, "]"]
    words = dict(zip(range(len(errors)), [error for _, error in errors], strict=True))
    assert "missing required field `id`" in words[1]
    assert "Expected `int`, got `str` - at `$.version`" in words[4]
    assert "unknown field `code`" in words[5]
    assert "put needs a pattern" in words[6]
    assert "There is no field m" in words[7]
    assert "Duplicate pattern name" in words[9]
    assert "there is no pattern 'q' to disable" in words[10]


def test_a_pattern_that_fails_on_an_event_passes_over_it() -> None:
    low = Pattern.begin("low").where("10 / n > 1").next("high").where("n > 20")
    items = [put_pattern("f", 1, low), put_pattern("p", 1, pair()), event("ann", 5)]
    items += [event("ann", 0), event("ann", 30)]
    matches = searched(items).select(told)
    bad = matches.get_side_output(BAD_PATTERNS).map(lambda one: (one.document, one.event.n))
    assert sorted(collect_local(matches.union(bad)), key=repr) == [
        ("f", 1, low_high(5, 30)),
        ("p", 1, low_high(5, 30)),
        ({"id": "f", "version": 1}, 0),
    ]


def test_fields_that_events_do_not_have_are_found_when_nobody_declared_them() -> None:
    odd = Pattern.begin("a").where("m > 3")
    items = [put_pattern("odd", 1, odd), put_pattern("p", 1, pair())]
    matches = searched([*items, event("ann", 1), event("ann", 30)], declared=False).select(told)
    errors = matches.get_side_output(BAD_PATTERNS).map(lambda one: one.error)
    results = list(collect_local(matches.union(errors)))
    assert [one for one in results if isinstance(one, tuple)] == [("p", 1, low_high(1, 30))]
    assert sum("There is no field m in the event" in str(one) for one in results) == 2


def test_what_a_function_fails_on_is_a_dead_letter() -> None:
    def strict(match: Any) -> Any:
        return told(match) if match["high"][0].n != 30 else 1 // 0

    items = [put_pattern("p", 1, pair())]
    items += [event("ann", n) for n in (1, 30, 2, 40)]
    with pytest.raises(FunctionError, match="ZeroDivisionError"):
        list(collect_local(searched(items).select(strict)))
    matches = searched(items).select(strict)
    matches.on_error("dead-letter")
    letters = matches.get_side_output(DEAD_LETTERS).map(lambda letter: letter.element.n)
    # the match that had begun is still there, and is completed by the next event
    assert list(collect_local(matches.union(letters))) == [30, ("p", 1, low_high(1, 40))]


def test_a_stream_without_keys_and_keys_that_are_tuples() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = env.from_collection([put_pattern("p", 1, pair()), event("a", 1), event("b", 30)])
    documents = source.filter(lambda item: isinstance(item, str))
    rows = source.filter(lambda item: isinstance(item, Row))
    matches = CEP.dynamic_patterns(rows, documents).in_processing_time().select(told)
    assert list(collect_local(matches)) == [("p", 1, low_high(1, 30))]
    source = env.from_collection(
        [put_pattern("p", 1, pair(), keys=[["a", 2]]), *(event("a", n) for n in (1, 30))]
    )
    documents = source.filter(lambda item: isinstance(item, str))
    rows = source.filter(lambda item: isinstance(item, Row)).key_by(lambda row: (row.user, 2))
    matches = CEP.dynamic_patterns(rows, documents).in_processing_time().select(told)
    assert list(collect_local(matches)) == [("p", 1, low_high(1, 30))]


def test_a_match_is_a_value() -> None:
    match = PatternMatch("p", 3, {"a": [1]})
    copy = pickle.loads(pickle.dumps(match))
    assert (copy, copy.pattern_id, copy.version) == ({"a": [1]}, "p", 3)


def test_patterns_without_watermarks_are_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    found = CEP.dynamic_patterns(env.from_collection([1]), env.from_collection(["{}"]))
    with pytest.raises(ProgramError, match="The stream of patterns has no watermarks"):
        found.select(dict)
    with pytest.raises(ProgramError, match="needs a stream of documents"):
        CEP.dynamic_patterns(env.from_collection([1]), ["{}"])  # type: ignore[arg-type]
