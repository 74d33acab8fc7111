"""Queries that mean nothing, and those that cannot be run: what is wrong, where, what to do."""

from __future__ import annotations

import pickle

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.planner.errors import SqlNotSupportedError, SqlValidationError
from scurry.planner.gaps import GAPS

CUBES = ", ".join(["CUBE(id, price, name)"] * 4)


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create(
        "CREATE TABLE orders (id INT, price DECIMAL(10, 2), name STRING, tags ARRAY<STRING>)"
    )
    made.create("CREATE TABLE other (id INT, q ROW<x INT>)")
    made.create(
        "CREATE TABLE e (k STRING, ts TIMESTAMP(3), plain TIMESTAMP(3), WATERMARK FOR ts AS ts)"
    )
    definition = "CREATE TABLE c (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)"
    made.create(definition, mode=ChangelogMode.RETRACT)
    return made


@pytest.mark.parametrize(
    ("query", "word", "message"),
    [
        ("SELECT prise FROM orders", "prise", "There is no column prise"),
        ("SELECT prise FROM orders", "prise", "Did you mean price?"),
        ("SELECT o.id FROM orders", "o", "There is no table or column o"),
        ("SELECT orders.nam FROM orders", "orders.nam", "Did you mean name?"),
        ("SELECT id FROM oders", "oders", "There is no table oders"),
        ("SELECT id FROM oders", "oders", "Did you mean orders"),
        ("SELECT id FROM orders, other", "id", "The column id is ambiguous"),
        ("SELECT id FROM orders, other", "id", "Write which one is meant: orders.id."),
        ("SELECT UPER(name) FROM orders", "UPER", "Did you mean UPPER"),
        ("SELECT UPPER(id) FROM orders", "UPPER(id)", "UPPER does not take (INT)"),
        ("SELECT id + name FROM orders", "id + name", "does not take"),
        ("SELECT q.z FROM other", "z", "There is no field z"),
        ("SELECT id.x FROM other", "x", "A value of INT has no field x"),
        ("SELECT id FROM orders WHERE id", "id", "WHERE needs a condition, but this is INT"),
        ("SELECT id FROM orders WHERE COUNT(*) > 1", "COUNT(*)", "cannot stand in WHERE"),
        ("SELECT name, COUNT(*) FROM orders GROUP BY id", "name", "neither in GROUP BY nor"),
        (
            "SELECT (SELECT MAX(id) FROM other WHERE id = price) FROM orders GROUP BY name",
            "price",
            "neither in GROUP BY nor",
        ),
        (
            "SELECT SUM(COUNT(*)) FROM orders",
            "COUNT(*)",
            "cannot stand in the arguments of another",
        ),
        ("SELECT * FROM orders UNION ALL SELECT id FROM other", "SELECT id", "UNION of 4 columns"),
        ("SELECT name FROM orders UNION ALL SELECT id FROM other", "SELECT name", "no common type"),
        ("SELECT CAST(tags AS INT) FROM orders", "CAST(tags AS INT)", "cannot be cast to INT"),
        ("SELECT x.* FROM orders", "x", "There is no table x"),
        ("SELECT GROUPING(id) FROM orders", "GROUPING(id)", "needs a GROUP BY"),
        ("SELECT GROUPING() FROM orders GROUP BY id", "GROUPING()", "takes one grouping expr"),
        ("SELECT GROUPING(name) FROM orders GROUP BY id", "name", "grouping expressions only"),
        ("SELECT GREATEST(name, DATE '2024-01-01') FROM orders", "GREATEST", "no common type"),
        ("SELECT INTERVAL '1-12' YEAR TO MONTH", "INTERVAL", "12 as its MONTH, which is at most"),
        ("SELECT INTERVAL '1 24:00:00' DAY TO SECOND", "INTERVAL", "24 as its HOUR"),
        ("SELECT INTERVAL '99999999999999999999' DAY", "INTERVAL", "is out of range"),
        (
            "SELECT 1 FROM orders GROUP BY CUBE(id, price, name), " + CUBES,
            "CUBE",
            "may have 4096",
        ),
        ("SELECT *", "*", "SELECT * needs a FROM clause"),
        ("SELECT id FROM orders LIMIT id", "id", "LIMIT takes a number"),
        ("SELECT id FROM orders ORDER BY 3", "3", "There is no column 3 to order by"),
        ("SELECT x FROM UNNEST(1) AS t(x)", "1", "UNNEST takes an array"),
        ("VALUES (1, 2), (3)", "(3)", "This row has 1 values, but the first has 2"),
        ("SELECT DATE '2024-02-30'", "DATE", "There is no DATE '2024-02-30'"),
        ("SELECT INTERVAL 'x' DAY", "INTERVAL", "'x' is no interval of DAY"),
        (
            "SELECT id FROM orders WHERE id IN (SELECT id, q FROM other)",
            "SELECT id, q",
            "2 columns",
        ),
        ("SELECT /*+ STATE_TLL('e' = '1d') */ k FROM e", "STATE_TLL", "Did you mean STATE_TTL?"),
        (
            "SELECT /*+ STATE_TTL('f' = '1d') */ k FROM e JOIN c ON c.id = 1",
            "'f'",
            "There is no table for STATE_TTL f",
        ),
        ("SELECT /*+ STATE_TTL('e' = '1d') */ x.k FROM e AS x", "'e'", "There is x."),
        ("SELECT /*+ STATE_TTL('e' = 'x') */ k FROM e", "'x'", "cannot read 'x' as a length of"),
        (
            "SELECT TUMBLE_START(ts, INTERVAL '1' DAY) FROM (SELECT ts FROM e GROUP BY ts) "
            "GROUP BY TUMBLE(ts, INTERVAL '1' DAY)",
            "ts, INTERVAL",
            "TUMBLE needs a time attribute",
        ),
        ("SELECT MAX(tags) FROM orders", "MAX(tags)", "MAX does not take (ARRAY<STRING>)"),
        ("SELECT id FROM other ORDER BY q LIMIT 1", "q", "ORDER BY takes no ROW"),
        (
            "SELECT SUM(LAG(id) OVER (ORDER BY id)) OVER (ORDER BY id) FROM orders",
            "LAG(",
            "cannot stand in the arguments of another call with OVER",
        ),
        ("SELECT ROW_NUMBER() FROM orders", "ROW_NUMBER()", "ROW_NUMBER needs an OVER clause"),
        (
            "SELECT TUMBLE_START(ts, INTERVAL '1' DAY) FROM e",
            "TUMBLE_START",
            "same window in GROUP",
        ),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(plain), INTERVAL '1' DAY))",
            "plain",
            "TUMBLE needs a time attribute, but plain is TIMESTAMP(3)",
        ),
        (
            "SELECT * FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '1' MONTH))",
            "INTERVAL",
            "TUMBLE needs a constant interval of days",
        ),
        (
            "SELECT COUNT(*) FROM e GROUP BY TUMBLE(plain, INTERVAL '1' DAY)",
            "plain",
            "time attribute",
        ),
    ],
)
def test_mistakes_are_shown_at_their_place(
    tables: Tables, query: str, word: str, message: str
) -> None:
    with pytest.raises(SqlValidationError) as caught:
        tables.bind(query)
    assert message in str(caught.value)
    assert caught.value.span.start == query.rindex(word) or caught.value.span.text.startswith(word)


def test_the_place_is_shown_with_a_caret(tables: Tables) -> None:
    with pytest.raises(SqlValidationError) as caught:
        tables.bind("SELECT id,\n  prise\nFROM orders")
    assert str(caught.value) == (
        "There is no column prise (line 2, column 3)\n    prise\n    ^^^^^\nDid you mean price?"
    )


def test_a_mistake_in_a_view_is_shown_in_the_view(tables: Tables) -> None:
    tables.create_view("v", "SELECT nothing FROM orders")
    with pytest.raises(SqlValidationError, match=r"view v, line 1, column 8"):
        tables.bind("SELECT * FROM v")


def test_a_view_that_refers_to_itself_is_refused(tables: Tables) -> None:
    tables.create_view("v", "SELECT * FROM v")
    with pytest.raises(SqlValidationError, match="a view may refer to itself"):
        tables.bind("SELECT * FROM v")


def test_errors_can_be_pickled_and_caught(tables: Tables) -> None:
    with pytest.raises(ProgramError) as caught:
        tables.bind("SELECT prise FROM orders")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def match_of(
    pattern: str = "A C",
    condition: str = "TRUE",
    measure: str = "A.k",
    rows: str = "",
    order: str = "ORDER BY ts",
    after: str = "",
    within: str = "",
) -> str:
    """A search for a pattern."""
    return (
        f"SELECT * FROM e MATCH_RECOGNIZE ({order} MEASURES {measure} AS m {rows} {after} "
        f"PATTERN ({pattern}) {within} DEFINE C AS {condition})"
    )


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (match_of(pattern="A C+"), "cannot end with a variable that takes as many rows"),
        (match_of(pattern="A* C*"), "can match no row at all"),
        (match_of(pattern="A+ B? C"), "Optional pattern cannot be preceded by greedy pattern"),
        (match_of(pattern="A C A"), "The variable A stands twice"),
        (match_of(pattern="A B"), "There is no variable of the pattern C"),
        (match_of(order=""), "needs an order in time"),
        (match_of(order="ORDER BY k"), "must be a time attribute"),
        (match_of(order="ORDER BY ts DESC"), "must be ascending"),
        (match_of(order="PARTITION BY UPPER(k) ORDER BY ts"), "PARTITION BY of MATCH_RECOGNIZE"),
        (match_of(after="AFTER MATCH SKIP TO LAST D"), "There is no variable D"),
        (match_of(measure="SUM(A.k + C.k)"), "takes the rows of one variable"),
        (match_of(measure="COUNT(Z.*)"), "There is no variable Z"),
        (match_of(measure="LAST(A.k || C.k)"), "a value of the rows of one variable"),
        (match_of(measure="LAST(SUM(A.k))"), "FIRST and LAST take a value of one row"),
        (match_of(measure="LAST(FIRST(A.k, 1), 1)"), "FIRST cannot stand within FIRST or LAST"),
        (match_of(measure="LAST(A.k, C.k)"), "The number of rows in LAST must be a constant"),
        (match_of(measure="LAST()"), "LAST takes a value"),
        (match_of(measure="MATCH_ROWTIME(k)"), "MATCH_ROWTIME takes the rowtime column"),
        (match_of(condition="MATCH_ROWTIME() IS NULL"), "belongs to MEASURES"),
        (match_of(condition="C.k"), "needs a condition"),
        (match_of(measure="SUM(A.k) OVER (ORDER BY ts)"), "OVER cannot stand"),
        (match_of(pattern="A B{3,2} C"), "3 to 2 times is never"),
        (match_of(pattern="A C", within="WITHIN INTERVAL '1' MONTH"), "WITHIN takes days"),
    ],
)
def test_searches_for_patterns_that_mean_nothing(tables: Tables, query: str, words: str) -> None:
    with pytest.raises(SqlValidationError) as caught:
        tables.bind(query)
    assert words in str(caught.value)
    assert "^" in str(caught.value)


def test_a_pattern_is_searched_for_in_rows_that_stay(tables: Tables) -> None:
    counted = "(SELECT id, COUNT(*) AS n, PROCTIME() AS p FROM orders GROUP BY id)"
    with pytest.raises(SqlNotSupportedError, match="on a table that is updated"):
        tables.changes(
            f"SELECT * FROM {counted} MATCH_RECOGNIZE (ORDER BY p MEASURES A.id AS m "
            "PATTERN (A) DEFINE A AS A.n > 1)"
        )


@pytest.mark.parametrize(
    ("query", "gap"),
    [
        ("WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r", "recursive"),
        ("SELECT * FROM orders TABLESAMPLE BERNOULLI(10)", "tablesample"),
        (match_of(rows="ALL ROWS PER MATCH"), "match-all-rows"),
        (match_of(pattern="(A | B) C"), "match-group"),
        (match_of(pattern="(A B)+ C"), "match-group"),
        (match_of(pattern="PERMUTE(A, B) C"), "match-group"),
        (match_of(pattern="^ A C"), "match-anchor"),
        (match_of(pattern="A B?? C"), "match-reluctant-optional"),
        (match_of(condition="C.k > PREV(C.k)"), "match-physical-offset"),
        (match_of(measure="RUNNING LAST(A.k)"), "match-semantics"),
        (match_of(condition="FINAL LAST(C.k) = 'x'"), "match-semantics"),
        (match_of(measure="COUNT(DISTINCT A.k)"), "match-distinct"),
        (match_of(measure="SUM(A.k) FILTER (WHERE A.k > 1)"), "match-filter"),
        ("SELECT ARRAY(SELECT id FROM other)", "query-constructor"),
        ("SELECT name ILIKE 'x' FROM orders", "like-variant"),
        ("SELECT MULTISET[1, 2]", "multiset-operator"),
        ("SELECT ARRAY_AGG(id ORDER BY id) FROM orders", "aggregate-order"),
        ("SELECT id FROM orders ORDER BY id", "sort"),
        (
            "SELECT SUM(c) OVER (ORDER BY PROCTIME()) FROM (SELECT COUNT(*) AS c FROM e)",
            "over-updates",
        ),
        ("SELECT COUNT(*) OVER (ORDER BY id DESC) FROM orders", "over-order"),
        ("SELECT COUNT(*) OVER (ORDER BY id, price) FROM orders", "over-order"),
        ("SELECT COUNT(*) OVER (PARTITION BY id) FROM orders", "over-order"),
        ("SELECT SUM(id) OVER (ORDER BY id ROWS 2 PRECEDING) FROM orders", "over-frame"),
        ("SELECT LEAD(id) OVER (ORDER BY id) FROM orders", "over-function"),
        (
            "SELECT COUNT(*) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING) FROM e",
            "over-frame",
        ),
        ("SELECT * FROM TABLE(SESSION(TABLE c, DESCRIPTOR(ts), INTERVAL '1' DAY))", "session-rows"),
    ],
)
def test_gaps_are_refused_with_what_to_do_instead(tables: Tables, query: str, gap: str) -> None:
    with pytest.raises(SqlNotSupportedError) as caught:
        tables.changes(query)
    assert isinstance(caught.value, NotSupportedError)
    assert GAPS[gap].instead in str(caught.value)
    assert "is not supported" in str(caught.value)
    assert "^" in str(caught.value)
