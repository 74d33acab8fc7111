from __future__ import annotations

import pickle

import pytest

from scurry.common.errors import ScurryError
from scurry.sql.errors import SqlParserError
from scurry.sql.parser import parse_expression, parse_query, parse_statement
from scurry.sql.parser.cursor import MAX_DEPTH, MAX_NESTING


def refusal(text: str) -> SqlParserError:
    with pytest.raises(SqlParserError) as caught:
        parse_statement(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "word", "message"),
    [
        ("SELECT a FROM", "", "Expected a name, found the end of the text"),
        ("SELECT a,, b FROM t", ", b", "Expected an expression, found ,"),
        ("SELECT a FROM t WHERE", "", "Expected an expression, found the end of the text"),
        ("SELECT value FROM t", "value", "Expected a name, found the reserved word value"),
        ("SELECT a FROM t GROUP a", "GROUP", "found GROUP"),
        ("SELECT (a + b FROM t", "FROM", "found FROM"),
        ("SELECT 'abc FROM t", "'", "A string has no end"),
        ("SELECT `abc FROM t", "`", "A quoted name has no end or no letters"),
        ("SELECT /* abc", "/*", "A comment has no end"),
        ('SELECT "a" FROM t', '"', "Double quotes mean nothing in Flink's SQL"),
        ("SELECT a # b", "#", "The character '#' means nothing in SQL"),
        ("SELECT '\ud800'", "", "is half of a surrogate pair, which is no character"),
        ("SELECT a != b FROM t", "!=", "Flink's SQL has no !="),
        ("SELECT 1a", "a", "A number is followed by 'a'"),
        ("SELECT ? FROM t", "?", "Parameters of prepared statements do not exist"),
        ("SELECT X'ABC'", "X'ABC'", "X'ABC' is no binary string"),
        ("SELECT DATE '2024'", "'2024'", "'2024' is no DATE"),
        ("SELECT U&'\\00'", "U&'\\00'", "is no character"),
        ("SELECT EXTRACT(foo FROM a)", "foo", "Expected a unit of time such as DAY, found foo"),
        ("SELECT CAST(a AS 5) FROM t", "5", "Expected a data type, found 5"),
        ("SELECT INTERVAL '1' FORTNIGHT", "FORTNIGHT", "Expected YEAR, QUARTER"),
        ("SELECT COUNT(DISTINCT *) FROM t", "*", "Expected an expression, found *"),
        ("CREATE TABLE t (a)", "a)", "The column a has no data type"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a), PRIMARY KEY (a))", "", "a second primary key"),
        ("CREATE TABLE t (a INT) WITH ('a' = 1)", "1", "Expected a string in '...', found 1"),
        ("CREATE FUNCTION f AS 'x' LANGUAGE RUST", "RUST", "Expected JAVA, SCALA, PYTHON or SQL"),
        ("FLY ME", "FLY", "Expected a statement such as SELECT"),
        ("", "", "Expected a statement such as SELECT"),
        ("SELECT 1 SELECT 2", "SELECT 2", "found SELECT"),
        ("EXPLAIN SHOW TABLES", "SHOW", "found SHOW"),
        ("EXECUTE STATEMENT SET BEGIN END", "", "Expected INSERT"),
        ("SELECT * FROM t TABLESAMPLE COIN(1)", "COIN", "Expected BERNOULLI or SYSTEM"),
        ("ALTER VIEW v SET ('a' = 'b')", "SET", "Expected RENAME or AS, found SET"),
        ("INSERT INTO t PARTITION (p) SELECT 1", ") SELECT", "Expected =, found )"),
        ("SELECT * FROM TABLE(t)", ")", "Expected a call of a table function, found )"),
    ],
)
def test_messages_say_what_was_expected_and_what_was_found(
    text: str, word: str, message: str
) -> None:
    error = refusal(text)
    assert message in str(error)
    if word:
        assert error.span.start == text.index(word)


def test_a_message_has_the_place_and_a_caret() -> None:
    assert str(refusal("SELECT a\nFROM t WHERE AND b")) == (
        "Expected a name, found the reserved word AND (line 2, column 14)\n"
        "  FROM t WHERE AND b\n"
        "               ^^^\n"
        "If AND is meant as a name, write it in backticks: `AND`."
    )


def test_line_column_and_expected_are_attributes() -> None:
    error = refusal("SHOW TABLES\n  FOR d")
    assert (error.line, error.column) == (2, 3)
    assert {"FROM", "LIKE"} <= set(error.expected)


def test_an_error_can_be_pickled_and_is_a_value_error() -> None:
    error = pickle.loads(pickle.dumps(refusal("SELECT")))
    assert isinstance(error, SqlParserError)
    assert isinstance(error, ScurryError)
    assert isinstance(error, ValueError)
    assert str(error) == str(refusal("SELECT"))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + "(" * 2_000,
        "SELECT " + "(" * 500 + "1" + ")" * 500,
        "SELECT " + "NOT " * 2_000 + "a",
        "SELECT " + "- " * 2_000 + "a",
        "SELECT " + "f(" * 2_000,
        "SELECT " + "CASE WHEN " * 2_000,
        "SELECT * FROM " + "(" * 2_000,
        "SELECT * FROM " + "(SELECT * FROM " * 2_000,
        "SELECT CAST(a AS " + "ARRAY<" * 2_000,
        "(" * 2_000 + "SELECT 1",
        "SELECT a FROM t GROUP BY " + "GROUPING SETS (" * 2_000,
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (" + "(" * 2_000,
        "EXPLAIN " + "EXECUTE " * 2_000,
    ],
    ids=lambda text: text[:40],
)
def test_a_text_that_is_nested_too_deeply_is_refused(text: str) -> None:
    assert f"nested more than {MAX_NESTING} levels deep" in str(refusal(text))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT " + " + ".join(["a"] * 2_000),
        "SELECT a" + "[1]" * 2_000,
        "SELECT f(a)" + ".b" * 2_000,
        "SELECT a" + " IS NULL" * 2_000,
        "SELECT * FROM a" + " JOIN b ON TRUE" * 2_000,
    ],
    ids=lambda text: text[:20],
)
def test_a_chain_that_makes_too_deep_a_tree_is_refused(text: str) -> None:
    error = refusal(text)
    assert f"more than {MAX_DEPTH} parts within each other" in str(error)
    assert "Divide the statement" in error.advice


def test_long_lists_are_no_deep_trees() -> None:
    parse_expression(" AND ".join(["a = 1"] * 2_000))
    parse_expression(f"a IN ({', '.join(['1'] * 2_000)})")
    parse_query(" UNION ALL ".join(["SELECT 1"] * 2_000))


def test_what_is_allowed_can_be_nested() -> None:
    parse_expression("(" * (MAX_NESTING - 1) + "a" + ")" * (MAX_NESTING - 1))
    parse_expression("f(" * 90 + "a" + ")" * 90)
