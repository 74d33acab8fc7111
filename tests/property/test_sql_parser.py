"""Any text is a tree or a SqlParserError with a place; any tree can be written and parsed again."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.sql.corpus import accepted

from scurry.sql.ast.node import Statement
from scurry.sql.errors import SqlParserError
from scurry.sql.keywords import RESERVED
from scurry.sql.parser import parse_expression, parse_statement
from scurry.sql.unparse import unparse

STATEMENTS = accepted()
WORDS = sorted({word for text in STATEMENTS for word in text.replace("(", " ( ").split()})
SYMBOLS = [*"()[]{},;.=<>+-*/%?:|^$'`\"#!\\&", "<=", ">=", "<>", "=>", "||", "/*", "*/", "--"]
CONSTANTS = ["1", "1.5e3", "'x'", "''", "`a b`", "X'0A'", "U&'\\0041'", "N'n'", "\n", "é", "\x00"]
TOKENS = st.sampled_from(WORDS + SYMBOLS * 3 + CONSTANTS * 3 + sorted(RESERVED))


def parsed(text: str) -> Statement | None:
    """The tree of a text, None where it is refused; anything else is a failure."""
    try:
        return parse_statement(text)
    except SqlParserError as caught:
        error = caught
    assert 0 <= error.span.start <= error.span.end <= len(text)
    assert min(error.line, error.column) >= 1
    # a blank text has no place to point to
    assert re.search(r"^\s*\^+$", str(error), re.MULTILINE) or not text.strip()
    return None


def check(text: str) -> None:
    tree = parsed(text)
    if tree is not None:
        assert parse_statement(unparse(tree)) == tree


@given(st.lists(TOKENS, max_size=40))
def test_any_tokens(tokens: list[str]) -> None:
    check(" ".join(tokens))


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    check(text)


OPENINGS = ["(", "f(", "ARRAY[", "CASE WHEN ", "(SELECT ", "NOT ", "- ", "a AND ", "a.", "x[", "'"]


@given(
    st.lists(st.sampled_from(OPENINGS), min_size=1, max_size=5), st.sampled_from([50, 400, 4000])
)
def test_what_is_opened_very_often_neither_hangs_nor_overflows(
    parts: list[str], times: int
) -> None:
    parsed("SELECT " + "".join(parts) * times + "1")


BEGINNINGS = ["SELECT ", "SELECT * FROM ", "CREATE TABLE t (", "ALTER TABLE t ", "SHOW "]


@given(st.sampled_from(BEGINNINGS), st.lists(TOKENS, max_size=12))
def test_beginnings_of_statements(start: str, tokens: list[str]) -> None:
    check(start + " ".join(tokens))


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A statement that Flink accepts, with some of its words dropped, doubled, swapped or replaced,
    also by words of another statement."""
    words = draw(st.sampled_from(STATEMENTS)).replace("(", " ( ").replace(")", " ) ").split(" ")
    other = draw(st.sampled_from(STATEMENTS)).split(" ")
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(words) - 1))
        how = draw(st.integers(0, 4))
        if how == 0 and len(words) > 1:
            del words[place]
        elif how == 1:
            words.insert(place, draw(TOKENS))
        elif how == 2:
            words[place] = draw(TOKENS)
        elif how == 3:
            at = draw(st.integers(0, len(other) - 1))
            words[place : place + 1] = other[at : at + draw(st.integers(1, 8))]
        else:
            words = words[:place] + words[place:][: draw(st.integers(1, 20))] * 2
    return " ".join(words)


@given(mutated())
def test_mutated_statements(text: str) -> None:
    check(text)


NAMES = st.sampled_from(["a", "b1", "`select`", "`x``y`", "`Key`", "t.c", "model", "map", "`é`"])
ATOMS = NAMES | st.sampled_from(
    [
        "1",
        "2.50",
        "1e3",
        "'s'",
        "''''",
        "NULL",
        "TRUE",
        "UNKNOWN",
        "DATE '2024-01-01'",
        "X'AB'",
        "CURRENT_DATE",
        "INTERVAL '1' DAY",
        "INTERVAL -'1-2' YEAR(3) TO MONTH",
        "COUNT(*)",
        "f()",
        "(SELECT a FROM t)",
        "(VALUES (1), (2))",
        "ARRAY[]",
        "ROW(1)",
        "EXISTS (SELECT 1)",
    ]
)
OPERATORS = st.sampled_from(
    [
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "=",
        "<>",
        "<",
        ">=",
        "AND",
        "OR",
        "IS DISTINCT FROM",
        "LIKE",
        "NOT LIKE",
        "SIMILAR TO",
        "MULTISET UNION",
        "MEMBER OF",
        "OVERLAPS",
    ]
)


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions around expressions, with parentheses or without."""
    one = st.sampled_from(
        [
            "({0})",
            "-{0}",
            "+ {0}",
            "NOT {0}",
            "{0} IS NULL",
            "{0} IS NOT JSON ARRAY",
            "({0}).f",
            "f({0})",
            "COUNT(DISTINCT {0})",
            "{0}[1]",
            "CAST({0} AS INT)",
            "TRIM(LEADING FROM {0})",
            "CASE WHEN {0} THEN 1 END",
            "FLOOR({0} TO DAY)",
            "EXTRACT(DAY FROM {0})",
            "g(x => {0})",
            "SUM({0}) FILTER (WHERE a) OVER (PARTITION BY b ORDER BY c DESC)",
            "INTERVAL ({0}) DAY",
            "{0} IN (1, 2)",
            "{0} NOT IN (SELECT 1)",
            "{0} > ALL (SELECT 1)",
            "MAP['k', {0}]",
            "JSON_VALUE({0}, '$' DEFAULT {0} ON EMPTY)",
            "JSON_OBJECT(KEY 'a' VALUE {0})",
        ]
    )
    two = st.sampled_from(
        [
            "({0}, {1})",
            "{0} BETWEEN {1} AND {0}",
            "{0} NOT BETWEEN SYMMETRIC {1} AND 2",
            "POSITION({0} IN {1})",
            "SUBSTRING({0} FROM {1})",
            "OVERLAY({0} PLACING {1} FROM 1)",
            "CASE {0} WHEN {1}, 2 THEN {0} ELSE {1} END",
            "{0} LIKE {1} ESCAPE '!'",
            "{0}[{1}].x",
        ]
    )
    return (
        st.builds(lambda form, x: form.format(x), one, inner)
        | st.builds(lambda form, x, y: form.format(x, y), two, inner, inner)
        | st.builds(lambda x, o, y: f"{x} {o} {y}", inner, OPERATORS, inner)
    )


@given(st.recursive(ATOMS, deeper, max_leaves=12))
def test_expressions_survive_being_written(text: str) -> None:
    try:
        tree = parse_expression(text)
    except SqlParserError:
        return  # operators may not fit together without parentheses
    assert parse_expression(unparse(tree)) == tree
