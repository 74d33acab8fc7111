"""Patterns as JSON: what is written is read again, and mistakes are told with their place."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from hypothesis import given, settings
from tests.property.test_pattern_expressions import written
from tests.property.test_patterns import patterns
from tests.unit.automaton.specs import Spec, pattern_of

from scurry.automaton.compiler import CompiledPattern, compile_pattern
from scurry.automaton.conditions import And, Expressed, Not, Or
from scurry.automaton.stored_matches import identity_of
from scurry.cep import (
    AfterMatchSkipStrategy,
    MalformedPatternError,
    Pattern,
    WithinType,
    last,
    pattern_from_json,
    pattern_to_json,
)
from scurry.table import DataTypes
from scurry.table.expressions import call, col, lit
from scurry.table.udf import udf


def conditions(compiled: CompiledPattern) -> list[str]:
    return [_shown(way.condition) for state in compiled.states for way in state.transitions]


def _shown(condition: Any) -> str:
    if isinstance(condition, And | Or):
        word = "AND" if isinstance(condition, And) else "OR"
        return f"({_shown(condition.left)}) {word} ({_shown(condition.right)})"
    if isinstance(condition, Not):
        return f"NOT {_shown(condition.operand)}"
    return str(condition.given) if isinstance(condition, Expressed) else type(condition).__name__


def same(one: Pattern, other: Pattern) -> bool:
    """Whether two patterns are the same automaton."""
    left, right = compile_pattern(one), compile_pattern(other)
    windows = [[state.window for state in both.states] for both in (left, right)]
    return (
        identity_of(left) == identity_of(right)
        and (left.window, left.skip) == (right.window, right.skip)
        and windows[0] == windows[1]
        and conditions(left) == conditions(right)
    )


@settings(max_examples=100)
@given(patterns(skips=True))
def test_a_pattern_that_was_written_is_read_again(spec: Spec) -> None:
    pattern = pattern_of(spec, written)
    assert same(pattern_from_json(pattern_to_json(pattern)), pattern)


def test_the_form() -> None:
    pattern = (
        Pattern.begin("low", AfterMatchSkipStrategy.skip_to_last("mid").throw_exception_on_miss())
        .where(col("price") < 10.5)
        .where((col("kind") == "it's") & col("ok"))
        .followed_by("mid")
        .where("price > LAST(low.price)")
        .or_where(col("day") == datetime.date(2026, 1, 31))
        .times(2, 4, window_time=7)
        .greedy()
        .next(Pattern.begin("x").where(col("n") == -3).next("y"))
        .times_or_more(2)
        .consecutive()
        .within(1000)
        .not_followed_by("no")
        .within(50, WithinType.PREVIOUS_AND_CURRENT)
    )
    text = pattern_to_json(pattern)
    assert json.loads(text) == {
        "steps": [
            {"name": "low", "where": "(price < 10.5E0) AND (kind = 'it''s' AND ok)"},
            {
                "name": "mid",
                "after": "followed_by",
                "where": "(price > LAST(low.price)) OR (`day` = DATE '2026-01-31')",
                "times": {"least": 2, "most": 4, "within_ms": 7},
                "greedy": True,
            },
            {
                "group": [{"name": "x", "where": "n = -3"}, {"name": "y", "after": "next"}],
                "after": "next",
                "times": {"least": 2},
                "between": "consecutive",
            },
            {"name": "no", "after": "not_followed_by", "within_ms": 50},
        ],
        "skip": {"strategy": "skip_to_last", "step": "mid", "throw_exception_on_miss": True},
        "within_ms": 1000,
    }
    assert pattern_to_json(pattern_from_json(text)) == text


def test_only_expressions_have_a_text() -> None:
    with pytest.raises(MalformedPatternError, match="condition of the step 'a' is a function"):
        pattern_to_json(Pattern.begin("a").where(lambda event: True))
    even = udf(lambda n: n % 2 == 0, result_type=DataTypes.BOOLEAN(), name="even")
    with pytest.raises(MalformedPatternError, match="even is a function of the program"):
        pattern_to_json(Pattern.begin("a").where(call(even, col("n"))))
    for odd in (object(), float("nan"), datetime.datetime.now(datetime.UTC)):
        with pytest.raises(MalformedPatternError, match="is no constant of SQL"):
            pattern_to_json(Pattern.begin("a").where(lit(True) & (last("a", 1).n == odd)))


STEP = {"name": "a"}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "The document is not a pattern: Input data was truncated"),
        ("[]", "Expected `object`, got `array`"),
        ({}, "missing required field `steps`"),
        ({"steps": []}, "steps: there must be at least one step"),
        ({"steps": [{"nmae": "a"}]}, r"unknown field `nmae` - at `\$.steps\[0\]`"),
        ({"steps": [{"name": 3}]}, r"got `int` - at `\$.steps\[0\].name`"),
        ({"steps": [{}]}, r"steps\[0\]: a step has either a name or a group"),
        ({"steps": [{"name": "a", "after": "next"}]}, r"steps\[0\]: after: the first step"),
        ({"steps": [STEP, {"name": "b"}]}, r"steps\[1\]: after: say"),
        ({"steps": [STEP, {"name": "b", "after": "nxet"}]}, "Invalid enum value 'nxet'"),
        ({"steps": [{**STEP, "times": {"least": 0}}]}, r"steps\[0\]: You should give a positive"),
        ({"steps": [{**STEP, "times": {"least": 9999}}]}, "<= 1000"),
        (
            {"steps": [{"group": [{**STEP, "times": {"least": 99}}], "times": {"least": 99}}]},
            "has 9801 steps",
        ),
        ({"steps": [{**STEP, "until": "x"}]}, "only applicable to looping"),
        ({"steps": [{"group": [{**STEP, "greedy": True}]}]}, r"steps\[0\].group\[0\]: Option not"),
        ({"steps": [STEP], "within_ms": -1}, "cannot be negative"),
        ({"steps": [STEP], "skip": {"strategy": "skip_to_last"}}, "skip: the strategy skip_to_la"),
    ],
)
def test_documents_that_describe_no_pattern(document: Any, words: str) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    with pytest.raises(MalformedPatternError, match=words):
        compile_pattern(pattern_from_json(text))
