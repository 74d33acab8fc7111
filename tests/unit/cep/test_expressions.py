"""Conditions as expressions: texts and the Table API, events of all kinds, NULL, and mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from tests.unit.cep.test_pattern_streams import RUNS

from scurry.automaton.automaton import Automaton
from scurry.automaton.pattern import Pattern
from scurry.cep import CEP, AfterMatchSkipStrategy, MalformedPatternError, first, last
from scurry.common import Duration, Row, Types, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import OutputTag, StreamExecutionEnvironment
from scurry.datastream.functions import DEAD_LETTERS
from scurry.table import DataTypes
from scurry.table.expressions import call, col, lit, not_
from scurry.table.udf import udf
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob

READING = Types.ROW_NAMED(
    ["key", "price", "at", "kind"], [Types.STRING(), Types.INT(), Types.LONG(), Types.STRING()]
)


class Named(NamedTuple):
    key: str
    price: int | None
    at: int
    kind: str | None


@dataclass
class Data:
    key: str
    price: int | None
    at: int
    kind: str | None


class Plain:
    """An object with attributes, some of them slow."""

    def __init__(self, key: str, price: int | None, at: int, kind: str | None) -> None:
        self.key, self.price, self.at, self.kind = key, price, at, kind


def as_row(*values: Any) -> Row:
    return Row(**dict(zip(("key", "price", "at", "kind"), values, strict=True)))


def as_dict(*values: Any) -> dict[str, Any]:
    return dict(zip(("key", "price", "at", "kind"), values, strict=True))


READINGS = [
    ("a", 5, 10, "x"), ("b", 40, 11, "x"), ("a", None, 12, "x"), ("a", 11, 13, "y"),
    ("a", 12, 14, "x"), ("b", 90, 15, None), ("b", 85, 16, "x"), ("a", 30, 17, "x"),
]  # fmt: skip


def stream(make: Any = as_row, values: Any = READINGS, type_info: Any = None) -> Any:
    """Events of two keys in the order of their times."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(2)
    ).with_timestamp_assigner(lambda event, _: get(event, "at"))
    made = env.from_collection([make(*value) for value in values], type_info)
    return made.assign_timestamps_and_watermarks(strategy)


def get(event: Any, name: str) -> Any:
    return event[name] if isinstance(event, dict) else getattr(event, name)


def found(pattern: Pattern, events: Any, **how: Any) -> list[Any]:
    """The prices of the matches of each key, step by step."""
    matches = CEP.pattern(events.key_by(lambda event: get(event, "key")), pattern)
    chosen = matches.select(
        lambda match: {n: [get(one, "price") for one in those] for n, those in match.items()}
    )
    return sorted(collect_local(chosen, **how), key=repr)


def risen() -> Pattern:
    """As text: a price that has doubled, x's only."""
    return (
        Pattern.begin("low", AfterMatchSkipStrategy.skip_past_last_event())
        .where("kind = 'x' AND price < 50")
        .followed_by("high")
        .where("kind = 'x' AND price > 2 * LAST(low.price)")
    )


def risen_in_python() -> Pattern:
    """The same with the Table API's expressions."""
    return (
        Pattern.begin("low", AfterMatchSkipStrategy.skip_past_last_event())
        .where(col("kind") == "x")
        .where(col("price") < lit(50))
        .followed_by("high")
        .where((col("kind") == "x") & (col("price") > last("low").price * 2))
    )


RISEN = [{"low": [40], "high": [85]}, {"low": [5], "high": [12]}]
KINDS: list[Any] = [as_row, Named, Data, as_dict, Plain]


@pytest.mark.parametrize("pattern", [risen, risen_in_python])
@pytest.mark.parametrize("make", KINDS)
def test_events_of_all_kinds(make: Any, pattern: Any) -> None:
    assert found(pattern(), stream(make)) == RISEN


@pytest.mark.parametrize("how", RUNS, ids=repr)
@pytest.mark.parametrize("type_info", [READING, None])
def test_however_the_input_is_cut(how: dict[str, Any], type_info: Any) -> None:
    assert found(risen(), stream(type_info=type_info), **how) == RISEN


def test_what_is_unknown_is_not_true() -> None:
    unlike = Pattern.begin("odd").where("kind <> 'y'")
    assert [one["odd"] for one in found(unlike, stream())] == [[12], [30], [40], [5], [85], [None]]
    neither = Pattern.begin("odd").where(not_(col("price") > 20))
    assert [one["odd"] for one in found(neither, stream())] == [[11], [12], [5]]
    unknown = Pattern.begin("odd").where("price IS NULL").or_where(col("kind").is_null)
    assert [one["odd"] for one in found(unknown, stream())] == [[90], [None]]
    more = Pattern.begin("odd").where("price + 1 > 12 OR kind IS NULL")
    alone = [("a", None, 1, "x"), ("a", None, 2, None), ("a", 30, 3, "x")]
    for cuts in ({}, {"cuts": 1}):
        assert [one["odd"] for one in found(more, stream(values=alone), **cuts)] == [[30], [None]]
    # the first event has none before it, so the comparison with it is unknown
    fallen = Pattern.begin("p").where("price < LAST(p.price, 1)").times(1, 2)
    assert found(fallen, stream()) == []


def test_aggregates_and_the_first_event() -> None:
    dear = (
        Pattern.begin("part")
        .where("price IS NOT NULL AND SUM(part.price) < 50")
        .times_or_more(2)
        .greedy()
        .next("end")
        .where(col("price") > first("part").price)
    )
    assert {"part": [11, 12], "end": [30]} in found(dear, stream())
    spread = Pattern.begin("two").where("STDDEV_POP(two.price) < 1.0").times(2)
    assert found(spread, stream()) == [{"two": [11, 12]}, {"two": [5, None]}]


def test_until_is_about_an_event_of_no_step() -> None:
    rising = (
        Pattern.begin("up")
        .where("price > 0")
        .one_or_more()
        .greedy()
        .until("price < LAST(up.price)")
        .followed_by("end")
        .where("price < LAST(up.price)")
    )
    assert {"up": [40, 90], "end": [85]} in found(rising, stream())


def test_single_values_and_tuples() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    for type_info in (Types.INT(), None):
        numbers = env.from_collection([1, 5, 2, 9], type_info)
        pattern = Pattern.begin("a").where(col("f0") < 5).next("b").where("f0 > 4 * LAST(a.f0)")
        pairs = CEP.pattern(numbers, pattern).in_processing_time().select(dict)
        assert list(collect_local(pairs)) == [{"a": [1], "b": [5]}, {"a": [2], "b": [9]}]
    tuples = env.from_collection([(1, "x"), (2, "y")])
    chosen = CEP.pattern(tuples, Pattern.begin("a").where("f1 = 'y'")).in_processing_time()
    assert list(collect_local(chosen.select(lambda match: match["a"][0]))) == [(2, "y")]


def test_numbers_of_several_classes_are_compared_as_numbers() -> None:
    values = [("a", 1, 1, "x"), ("a", 2.5, 2, "x"), ("a", 3, 3, "x")]
    rising = Pattern.begin("low").next("high").where("price > LAST(low.price)")
    expected = [{"low": [1], "high": [2.5]}, {"low": [2.5], "high": [3]}]
    for cuts in (None, 1):
        how = {} if cuts is None else {"cuts": cuts}
        assert found(rising, stream(as_dict, values), **how) == expected


def test_dicts_without_a_field_have_null_there() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection([{"kind": "x"}, {"price": 3, "kind": "x"}, {"price": 4}])
    priced = Pattern.begin("p").where("price > 2 AND kind = 'x'")
    chosen = CEP.pattern(events, priced).in_processing_time().select(lambda match: match["p"])
    assert list(collect_local(chosen)) == [[{"price": 3, "kind": "x"}]]


def test_functions_of_the_program() -> None:
    even = udf(lambda n: n is not None and n % 2 == 0, result_type=DataTypes.BOOLEAN())
    pattern = Pattern.begin("e").where((col("kind") == "x") & call(even, col("price")))
    assert [one["e"] for one in found(pattern, stream())] == [[12], [30], [40]]


SELECTIVE: dict[str, tuple[Pattern, list[int]]] = {
    # what may begin a match, or continue one, of any key
    "relaxed": (
        Pattern.begin("a").where("price > 80").followed_by("b").where("kind = 'y'"),
        [85, 90],
    ),
    # what may begin one, and whatever comes next
    "strict": (Pattern.begin("a").where("price = 11").next("b").where("kind = 'y'"), [11, 12]),
    # from what may begin one on, as the condition of b is not of the event alone
    "loop": (
        Pattern.begin("a")
        .where("price = 12")
        .next("b")
        .where("price > LAST(b.price, 1)")
        .one_or_more()
        .consecutive(),
        [12, 30],
    ),
}


@pytest.mark.parametrize("type_info", [READING, None])
@pytest.mark.parametrize("name", SELECTIVE)
def test_no_call_for_events_that_can_start_or_continue_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str, type_info: Any
) -> None:
    seen: list[Any] = []
    process = Automaton.process

    def noted(self: Any, state: Any, value: Any, *more: Any) -> Any:
        seen.append(value.price)
        return process(self, state, value, *more)

    monkeypatch.setattr(Automaton, "process", noted)
    pattern, expected = SELECTIVE[name]
    assert found(pattern, stream(type_info=type_info)) == []
    assert sorted(seen) == expected


def test_a_field_that_no_dict_has_is_told_of() -> None:
    pattern = Pattern.begin("a").where("pirce > 5").followed_by("b").where("LAST(a.cost) > 3")
    with pytest.warns(RuntimeWarning, match=r"reads the field pirce, which none.*mean price\?"):
        assert found(pattern, stream(as_dict)) == []


def test_a_field_of_earlier_events_that_no_dict_has_is_told_of() -> None:
    pattern = Pattern.begin("a").where("price > 5").next("b").where("LAST(a.cost) > 3")
    with pytest.warns(RuntimeWarning, match=r"the field cost.* It has key, price, at, kind\."):
        assert found(pattern, stream(as_dict)) == []


def test_fields_that_some_dicts_have_are_not_told_of() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection([{"kind": "x"}, {"price": 3, "kind": "x"}])
    chosen = CEP.pattern(events, Pattern.begin("p").where("price > 2")).in_processing_time()
    assert list(collect_local(chosen.select(lambda match: match["p"][0]["price"]))) == [3]


def test_late_events_are_told_of_even_if_they_would_change_nothing() -> None:
    late = OutputTag("late")
    values = [("a", 1, 100, "x"), ("a", 1, 200, "x"), ("a", 1, 20, "x")]
    pattern = Pattern.begin("a").where("price > 80")
    matches = CEP.pattern(stream(Named, values), pattern).side_output_late_data(late)
    told = matches.select(len).get_side_output(late)
    assert list(collect_local(told)) == [Named("a", 1, 20, "x")]


def test_conditions_that_could_fail_are_asked_only_where_a_match_waits() -> None:
    ratio = Pattern.begin("a").where("price > 10").next("b").where("100 / (price - 12) > 1")
    values = [("a", 12, 1, "x"), ("a", 20, 2, "x"), ("a", 12, 3, "x")]
    # nobody waits for b when the first event comes
    assert found(ratio, stream(Named, values[:2])) == [{"a": [12], "b": [20]}]
    with pytest.raises(FunctionError, match=r"condition of the step 'b', 100 / .* failed"):
        found(ratio, stream(Named, values))


def test_events_that_wait_are_judged_anew_when_the_conditions_have_changed() -> None:
    def program(condition: Any) -> tuple[Any, ListSink]:
        events, sink = stream(), ListSink()
        keyed = events.key_by(lambda event: event.key)
        found = CEP.pattern(keyed, Pattern.begin("p").where(condition)).select(
            lambda match: match["p"][0].price
        )
        found.uid("patterns").sink_to(sink).uid("sink")
        return events.get_execution_environment()._compile(None), sink

    changes: list[tuple[Any, Any, list[int]]] = [
        ("price > 10", "price > 30", [40, 85, 90]),
        ("price > 10", lambda event: (event.price or 0) > 30, [40, 85, 90]),
        (lambda event: (event.price or 0) > 10, "price > 30", [40, 85, 90]),
        ("price > 10", "price > 10", [11, 12, 30, 40, 85, 90]),
    ]
    for before, after, expected in changes:
        (first, _), (second, sink) = program(before), program(after)
        with LocalJob(first) as job:
            # the events of the first micro-batch wait for the watermark
            job.step(3)
            job.continue_as(second)
            while not job.done:
                job.step(3)
        assert sorted(sink.values) == expected


# --- mistakes


def test_unknown_fields_of_a_declared_type() -> None:
    with pytest.raises(MalformedPatternError) as told:
        found(Pattern.begin("low").where("prize > 10"), stream(type_info=READING))
    text = str(told.value)
    assert "The where condition of the step 'low', prize > 10, cannot be used" in text
    assert "There is no field prize" in text
    assert "Did you mean price?" in text


def test_unknown_fields_of_events_that_nobody_declared() -> None:
    with pytest.raises(FunctionError) as told:
        found(Pattern.begin("low").where(col("prize") > 10), stream(Data))
    text = str(told.value)
    assert "The where condition of the step 'low'" in text
    assert "There is no field prize in the event Data(key='a', price=5" in text
    assert "Did you mean price?" in text


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("price > ", "Expected"),
        ("price + 1", "needs a condition, but this is INT"),
        ("price > 3 AND nothing(price)", "There is no function nothing"),
        ("LAST(hihg.price) < price", "There is no field hihg"),
        ("PREV(price) < price", "PREV"),
        ("price IN (SELECT 1)", "A query cannot stand in"),
        (col("price") + lit("x"), "test_expressions.py"),
    ],
)
def test_expressions_that_mean_nothing(condition: Any, words: str) -> None:
    events = stream(type_info=READING)
    with pytest.raises(MalformedPatternError) as told:
        CEP.pattern(events, Pattern.begin("low").followed_by("high").where(condition))
    assert "The where condition of the step 'high'" in str(told.value)
    assert words in str(told.value)


def test_events_that_fail_become_dead_letters() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection([Named("a", 1, 1, "x"), 7, Named("a", 30, 1, "x")])
    pattern = Pattern.begin("a").where("price > 10")
    matches = CEP.pattern(events, pattern).in_processing_time().select(lambda match: match["a"])
    matches.on_error("dead-letter")
    letters = matches.get_side_output(DEAD_LETTERS).map(lambda letter: letter.element)
    assert list(collect_local(matches.union(letters))) == [7, [Named("a", 30, 1, "x")]]


def test_what_last_and_first_take() -> None:
    with pytest.raises(ProgramError, match="last takes the name of a step, got 3"):
        last(3)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="how many events to pass over, got -1"):
        first("a", -1)
    assert str(last("a", 1).price) == "LAST(a.price, 1)"
    assert str(first("a")["the price"]) == "FIRST(a.`the price`)"


def test_a_value_of_a_wrong_type_is_told_once_with_the_condition() -> None:
    values = [{"key": "a", "ts": 1, "price": "two"}]
    events = StreamExecutionEnvironment.get_execution_environment().from_collection(values)
    matches = CEP.pattern(events, Pattern.begin("p").where("price > 1")).in_processing_time()
    with pytest.raises(FunctionError) as failure:
        list(collect_local(matches.select(len)))
    assert str(failure.value).count("The where condition of the step 'p'") == 1
    assert "on element {'key': 'a', 'ts': 1, 'price': 'two'}" in str(failure.value)
