"""Slice 4: joins of every kind, and queries within expressions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ScurryError
from scurry.planner.errors import SqlNotSupportedError


def at(second: int) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 00:{second // 60:02}:{second % 60:02}")


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create("CREATE TABLE l (k INT, a STRING)", [(1, "x"), (2, "y"), (2, "z"), (None, "n")])
    made.create("CREATE TABLE r (k INT, b INT)", [(2, 20), (2, 21), (3, 30), (None, 0)])
    made.create("CREATE TABLE s (k BIGINT NOT NULL, c INT)", [(1, 5), (2, 7), (2, 9)])
    made.create(
        "CREATE TABLE changing (k INT, v INT)",
        [("+I", 1, 10), ("+I", 2, 20), ("-U", 1, 10), ("+U", 1, 11), ("-D", 2, 20)],
    )
    for name, rows in (
        ("o", [(1, "p", at(10)), (2, "q", at(20)), (1, "r", at(30)), (9, "z", at(90))]),
        ("d", [(1, "P", at(12)), (1, "R", at(29)), (2, "Q", at(40)), (9, "Z", at(95))]),
    ):
        made.create(
            f"CREATE TABLE {name} (id INT, n STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)", rows
        )
    made.create(
        "CREATE TABLE rates (cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, "
        "PRIMARY KEY (cur) NOT ENFORCED)",
        [("+I", "EUR", 10, at(1)), ("+U", "EUR", 20, at(15)), ("+I", "USD", 5, at(18)),
         ("+U", "EUR", 30, at(80))],
        ChangelogMode.UPSERT,
    )  # fmt: skip
    made.create(
        "CREATE TABLE pay (cur STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
        [("EUR", 1, at(5)), ("USD", 3, at(10)), ("EUR", 2, at(16)), ("USD", 4, at(20)),
         ("EUR", 0, at(99))],
    )  # fmt: skip
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT a, b FROM l JOIN r ON l.k = r.k", [("y", 20), ("y", 21), ("z", 20), ("z", 21)]),
        ("SELECT a, b FROM l, r WHERE l.k = r.k AND b > 20", [("y", 21), ("z", 21)]),
        (
            "SELECT a, b FROM l LEFT JOIN r ON l.k = r.k AND b > 20",
            [("x", None), ("y", 21), ("z", 21), ("n", None)],
        ),
        (
            "SELECT a, b FROM l RIGHT JOIN r ON l.k = r.k WHERE b <> 20",
            [("y", 21), ("z", 21), (None, 30), (None, 0)],
        ),
        (
            "SELECT l.k, r.k FROM l FULL OUTER JOIN r ON l.k = r.k",
            [(1, None), (2, 2), (2, 2), (2, 2), (2, 2), (None, None), (None, 3), (None, None)],
        ),
        ("SELECT COUNT(*) FROM l CROSS JOIN r", [(16,)]),
        (
            "SELECT a, c FROM l JOIN s ON l.k = s.k",
            [("x", 5), ("y", 7), ("y", 9), ("z", 7), ("z", 9)],
        ),
        ("SELECT a, c FROM l JOIN s ON l.k + 1 = s.k", [("x", 7), ("x", 9)]),
        ("SELECT a, c FROM l JOIN s ON l.k < s.k", [("x", 7), ("x", 9)]),
        ("SELECT k, a, b FROM l JOIN r USING (k) WHERE a = 'y'", [(2, "y", 20), (2, "y", 21)]),
        ("SELECT * FROM l NATURAL JOIN r WHERE b = 20", [(2, "y", 20), (2, "z", 20)]),
        ("SELECT COUNT(*) FROM l JOIN l AS m ON l.k IS NOT DISTINCT FROM m.k", [(6,)]),
        (
            "SELECT a, b, c FROM l JOIN r ON l.k = r.k JOIN s ON r.k = s.k AND c > 7 WHERE a = 'y'",
            [("y", 20, 9), ("y", 21, 9)],
        ),
        ("SELECT a, v FROM l JOIN changing AS c ON l.k = c.k", [("x", 11)]),
        ("SELECT a, v FROM l LEFT JOIN changing AS c ON l.k = c.k WHERE l.k IS NOT NULL",
         [("x", 11), ("y", None), ("z", None)]),
        ("SELECT a FROM l WHERE k IN (SELECT k FROM r)", [("y",), ("z",)]),
        ("SELECT a FROM l WHERE k NOT IN (SELECT k FROM r WHERE k IS NOT NULL)", [("x",)]),
        ("SELECT a FROM l WHERE k NOT IN (SELECT k FROM r)", []),
        ("SELECT c FROM s WHERE k NOT IN (SELECT k FROM s WHERE c = 5)", [(7,), (9,)]),
        (
            "SELECT a FROM l WHERE EXISTS (SELECT * FROM r WHERE r.k = l.k AND b > 20)",
            [("y",), ("z",)],
        ),
        ("SELECT a FROM l WHERE NOT EXISTS (SELECT 1 FROM r WHERE r.k = l.k)", [("x",), ("n",)]),
        ("SELECT a FROM l WHERE k = (SELECT MAX(k) FROM s)", [("y",), ("z",)]),
        ("SELECT k, c FROM s WHERE c > (SELECT AVG(c) FROM s AS i WHERE i.k = s.k)", [(2, 9)]),
        (
            "SELECT a, (SELECT COUNT(*) FROM r WHERE r.k = l.k) FROM l",
            [("x", 0), ("y", 2), ("z", 2), ("n", 0)],
        ),
        ("SELECT a FROM l WHERE (k, a) IN (SELECT k, 'y' FROM r)", [("y",)]),
        (
            "SELECT a, b FROM l LEFT JOIN r ON l.k = r.k AND b > (SELECT MAX(b) - 10 FROM r) "
            "AND r.k IN (SELECT k FROM s) AND EXISTS (SELECT 1 FROM s WHERE c = 7 AND s.k = l.k)",
            [("x", None), ("y", 21), ("z", 21), ("n", None)],
        ),
        (
            "SELECT a, b FROM l FULL JOIN r ON l.k = r.k "
            "AND b NOT IN (SELECT b FROM r WHERE b < 21)",
            [("x", None), ("y", 21), ("z", 21), ("n", None), (None, 20), (None, 30), (None, 0)],
        ),
        (
            "SELECT a, (SELECT MAX(c) FROM s WHERE s.k < 1 + l.k) FROM l GROUP BY a, k",
            [("x", 5), ("y", 9), ("z", 9), ("n", None)],
        ),
        (
            "SELECT a FROM l GROUP BY a, k "
            "HAVING EXISTS (SELECT 1 FROM s WHERE s.k = l.k AND c > 5)",
            [("y",), ("z",)],
        ),
        ("SELECT SUM((SELECT MAX(c) FROM s WHERE s.k = l.k)) FROM l", [(23,)]),
        (
            "SELECT a FROM l WHERE EXISTS (SELECT 1 FROM (SELECT b FROM r WHERE r.k = l.k) AS q "
            "WHERE b > 20)",
            [("y",), ("z",)],
        ),
        ("SELECT a FROM l JOIN r USING (k) WHERE EXISTS (SELECT 1 FROM s WHERE c = k + 5)",
         [("y",), ("y",), ("z",), ("z",)]),
        (
            "SELECT a, q.c, q.n FROM l, LATERAL (SELECT c, COUNT(*) AS n FROM s WHERE s.k = l.k "
            "GROUP BY ROLLUP (c)) AS q WHERE a <> 'z'",
            [("x", 5, 1), ("x", None, 1), ("y", 7, 1), ("y", 9, 1), ("y", None, 2)],
        ),
        ("SELECT k FROM l INTERSECT SELECT k FROM r", [(2,), (None,)]),
        ("SELECT k FROM l EXCEPT SELECT k FROM r", [(1,)]),
        ("SELECT k FROM l INTERSECT ALL SELECT k FROM r", [(2,), (2,), (None,)]),
        ("SELECT k FROM r EXCEPT ALL SELECT k FROM l WHERE a = 'y'", [(2,), (3,), (None,)]),
    ],
)  # fmt: skip
def test_queries(tables: Tables, query: str, expected: list[Any]) -> None:
    assert sorted(map(repr, tables.rows(query))) == sorted(map(repr, expected))


@pytest.mark.parametrize(
    "condition",
    [
        "d.ts BETWEEN o.ts AND o.ts + INTERVAL '5' SECOND",
        "d.ts >= o.ts AND d.ts <= o.ts + INTERVAL '5' SECOND",
        "o.ts <= d.ts AND o.ts > d.ts - INTERVAL '5.001' SECOND",
        "d.ts - INTERVAL '5' SECOND <= o.ts AND o.ts <= d.ts",
    ],
)
def test_interval_joins(tables: Tables, condition: str) -> None:
    query = f"SELECT o.n, d.n FROM o JOIN d ON o.id = d.id AND {condition}"
    assert "IntervalJoin" in str(tables.optimised(query))
    assert tables.rows(query, cuts=1) == [("p", "P"), ("z", "Z")]
    where = f"SELECT o.n, d.n FROM o, d WHERE o.id = d.id AND {condition}"
    assert tables.rows(where) == [("p", "P"), ("z", "Z")]


def test_an_outer_interval_join_waits_until_no_partner_can_come(tables: Tables) -> None:
    query = (
        "SELECT o.n, d.n FROM o LEFT JOIN d ON o.id = d.id AND d.ts BETWEEN o.ts "
        "AND o.ts + INTERVAL '5' SECOND"
    )
    changes = tables.changes(query)
    assert {kind for kind, *_ in changes} == {"+I"}
    assert sorted(map(repr, changes)) == sorted(
        map(repr, [("+I", "p", "P"), ("+I", "q", None), ("+I", "r", None), ("+I", "z", "Z")])
    )


def test_versions_by_rowtime(tables: Tables) -> None:
    query = (
        "SELECT n, rate FROM pay LEFT JOIN rates FOR SYSTEM_TIME AS OF pay.ts AS r "
        "ON pay.cur = r.cur WHERE n > 0"
    )
    assert tables.rows(query) == [(1, 10), (2, 20), (3, None), (4, 5)]


def test_joins_of_windows(tables: Tables) -> None:
    window = "TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '20' SECOND))"
    query = (
        f"SELECT x.n, y.n FROM {window.format('o')} AS x JOIN {window.format('d')} AS y "
        "ON x.id = y.id AND x.window_start = y.window_start AND x.window_end = y.window_end"
    )
    assert "WindowJoin" in str(tables.optimised(query))
    assert tables.rows(query) == [("p", "P"), ("r", "R"), ("z", "Z")]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM l WHERE EXISTS (SELECT 1 FROM r FULL JOIN s ON r.k = s.k AND s.c > l.k)",
        "SELECT a FROM l LEFT JOIN r ON l.k = r.k "
        "AND b > (SELECT MIN(c) FROM s WHERE c > l.k + r.k)",
        "SELECT n FROM o JOIN l FOR SYSTEM_TIME AS OF o.ts ON o.id = l.k",
    ],
)
def test_what_cannot_be_joined_is_refused(tables: Tables, query: str) -> None:
    with pytest.raises(SqlNotSupportedError, match="is not supported"):
        tables.changes(query)


def test_a_value_of_several_rows_is_an_error_when_it_has_them(tables: Tables) -> None:
    query = "SELECT a, (SELECT b FROM r WHERE r.k = l.k AND b < 21) FROM l"
    assert tables.rows(query) == [("n", None), ("x", None), ("y", 20), ("z", 20)]
    with pytest.raises(ScurryError, match="has more than one row"):
        tables.rows("SELECT a, (SELECT b FROM r WHERE r.k = l.k) FROM l")


def test_rows_in_a_query_as_a_value(tables: Tables) -> None:
    query = "SELECT a, (k, 20) IN (SELECT k, b FROM r), (k, 0) IN (SELECT k, b FROM r) FROM l"
    assert tables.rows(query) == [
        ("n", None, None), ("x", False, None), ("y", True, None), ("z", True, None)
    ]  # fmt: skip


def test_an_aggregate_of_no_rows_has_a_row(tables: Tables) -> None:
    """In Flink a lateral aggregate of no rows loses the row it belongs to; not so in SQL."""
    query = "SELECT a, c FROM l, LATERAL (SELECT COUNT(*) AS c FROM r WHERE r.k = l.k) AS t"
    assert tables.rows(query) == [("n", 0), ("x", 0), ("y", 2), ("z", 2)]
    always = "SELECT a FROM l WHERE EXISTS (SELECT COUNT(*) FROM r WHERE r.k = l.k)"
    assert tables.rows(always) == [("n",), ("x",), ("y",), ("z",)]
