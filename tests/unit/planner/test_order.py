"""Slice 5: top-N, deduplication, ORDER BY with LIMIT, OVER."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from tests.unit.planner.tables import Tables

from scurry.planner.errors import SqlValidationError
from scurry.planner.options import PlannerOptions


def at(second: int) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 00:00:{second:02}")


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create(
        "CREATE TABLE e (k STRING, v INT, ts TIMESTAMP(3), p AS PROCTIME(), "
        "WATERMARK FOR ts AS ts)",
        [("a", 5, at(1)), ("a", 7, at(2)), ("b", 1, at(3)), ("a", 6, at(4)), ("b", 2, at(15))],
    )
    return made


RANKED = (
    "SELECT {columns} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY {order}) AS rn "
    "FROM {table}) WHERE {condition}"
)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("rn <= 2", [("a", 6), ("a", 7), ("b", 1), ("b", 2)]),
        ("rn < 2", [("a", 7), ("b", 2)]),
        ("2 >= rn AND rn > 1", [("a", 6), ("b", 1)]),
        ("rn = 1", [("a", 7), ("b", 2)]),
        ("rn <= 2 AND k = 'a'", [("a", 6), ("a", 7)]),
    ],
)
def test_top_n(tables: Tables, condition: str, expected: list[Any]) -> None:
    query = RANKED.format(columns="k, v", by="k", order="v DESC", table="e", condition=condition)
    assert "Rank(" in str(tables.optimised(query))
    assert tables.rows(query) == expected


@pytest.mark.parametrize("condition", ["rn <= 0", "rn < 1", "rn = 0", "rn > 3 AND rn < 2"])
def test_no_number_at_all(tables: Tables, condition: str) -> None:
    query = RANKED.format(columns="k, rn", by="k", order="v", table="e", condition=condition)
    assert tables.rows(query) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, v FROM (SELECT * FROM e ORDER BY v) AS q WHERE k = 'b'",
        "SELECT k, v FROM (SELECT k, v FROM e ORDER BY v + 1) AS q WHERE k = 'b'",
        "WITH q AS (SELECT k, v FROM e ORDER BY v DESC) SELECT k, v FROM q WHERE k = 'b'",
        "(SELECT k, v FROM e WHERE k = 'b' ORDER BY v) UNION ALL SELECT k, v FROM e WHERE v > 99",
        "SELECT k, v FROM e WHERE k = 'b' ORDER BY p",
    ],
)
def test_orders_that_need_no_rows_to_wait(tables: Tables, query: str) -> None:
    """An order within a query means nothing, and by processing time rows come."""
    assert tables.changes(query) == [("+I", "b", 1), ("+I", "b", 2)]


def test_names_in_orders_that_mean_nothing(tables: Tables) -> None:
    with pytest.raises(SqlValidationError, match="There is no column x"):
        tables.bind("SELECT k FROM (SELECT k FROM e ORDER BY x) AS q")


def test_functions_over_aggregates_of_groups(tables: Tables) -> None:
    query = "SELECT k, SUM(v), SUM(SUM(v)) OVER (ORDER BY k) FROM e GROUP BY k"
    assert tables.rows(query) == [("a", 18, 18), ("b", 3, 21)]


def test_values_before_that_are_constants(tables: Tables) -> None:
    query = "SELECT k, LAG('x') OVER (PARTITION BY k ORDER BY ts) FROM e"
    assert tables.rows(query) == [("a", "x"), ("a", "x"), ("a", None), ("b", "x"), ("b", None)]


def test_the_number_can_be_selected(tables: Tables) -> None:
    query = RANKED.format(columns="rn, v", by="k", order="v", table="e", condition="rn <= 1")
    assert tables.rows(query) == [(1, 1), (1, 5)]


def test_qualify(tables: Tables) -> None:
    query = "SELECT k, v FROM e QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) = 1"
    assert tables.rows(query) == [("a", 7), ("b", 2)]


@pytest.mark.parametrize(
    ("order", "expected", "kinds"),
    [
        ("p", [("a", 5), ("b", 1)], {"+I"}),
        ("ts", [("a", 5), ("b", 1)], {"+I"}),
        ("p DESC", [("a", 6), ("b", 2)], {"+I", "-U", "+U"}),
        ("ts DESC", [("a", 6), ("b", 2)], {"+I", "-U", "+U"}),
    ],
)
def test_deduplication(tables: Tables, order: str, expected: list[Any], kinds: set[str]) -> None:
    query = RANKED.format(columns="k, v", by="k", order=order, table="e", condition="rn = 1")
    assert "Deduplicate(" in str(tables.optimised(query))
    changes = tables.changes(query)
    assert {kind for kind, *_ in changes} <= kinds
    assert tables.rows(query) == expected


def test_top_n_of_windows(tables: Tables) -> None:
    table = "TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    query = RANKED.format(
        columns="window_start, v", by="window_start, window_end", order="v DESC", table=table,
        condition="rn <= 2",
    )  # fmt: skip
    assert "WindowRank(" in str(tables.optimised(query))
    assert tables.rows(query) == [(at(0), 6), (at(0), 7), (at(10), 2)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT v FROM e ORDER BY v LIMIT 2", [(1,), (2,)]),
        ("SELECT v FROM e ORDER BY v DESC LIMIT 2 OFFSET 1", [(5,), (6,)]),
        ("SELECT k FROM e ORDER BY v DESC FETCH FIRST 1 ROW ONLY", [("a",)]),
        ("SELECT k, SUM(v) AS s FROM e GROUP BY k ORDER BY s DESC LIMIT 1", [("a", 18)]),
        ("SELECT v FROM e LIMIT 2", [(5,), (7,)]),
        ("SELECT v AS x FROM e UNION ALL SELECT 0 ORDER BY x LIMIT 1", [(0,)]),
    ],
)
def test_limits(tables: Tables, query: str, expected: list[Any]) -> None:
    assert tables.rows(query) == expected


def test_order_of_event_time(tables: Tables) -> None:
    tables.create(
        "CREATE TABLE late (v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)",
        [(2, at(2)), (1, at(1)), (4, at(4)), (3, at(3)), (9, at(20))],
    )
    rows = [row[1] for row in tables.changes("SELECT v FROM late ORDER BY ts", cuts=2)]
    assert rows == [1, 2, 3, 4, 9]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
         [5, 12, 1, 13, 3]),
        ("SUM(v) OVER (PARTITION BY k ORDER BY ts)", [5, 12, 1, 18, 3]),
        ("COUNT(*) OVER (ORDER BY ts RANGE BETWEEN INTERVAL '2' SECOND PRECEDING AND CURRENT ROW)",
         [1, 2, 3, 3, 1]),
        ("MAX(v) OVER w", [5, 7, 1, 7, 2]),
    ],
)  # fmt: skip
def test_over(tables: Tables, call: str, expected: list[int]) -> None:
    window = " WINDOW w AS (PARTITION BY k ORDER BY ts)" if call.endswith(" w") else ""
    changes = tables.changes(f"SELECT ts, {call} FROM e{window}")
    assert [row[2] for row in sorted(changes, key=lambda row: row[1])] == expected


def test_batches_send_final_rows_with_columns_of_every_kind() -> None:
    tables = Tables()
    rows = [(1, [1, 2], {"x": 1}, [("k", 1)]), (2, None, None, None)]
    tables.create("CREATE TABLE t (a INT, b ARRAY<INT>, c ROW<x INT>, d MAP<STRING, INT>)", rows)
    tables.create("CREATE TABLE u (a INT)", [(1,), (3,)])
    batch = PlannerOptions(query_start=0)
    query = "SELECT b, c, d, u.a FROM u LEFT JOIN t ON t.a = u.a"
    found = tables.changes(query, batch, cuts=1)
    assert sorted(found, key=repr) == [
        ("+I", None, None, None, 3),
        ("+I", [1, 2], {"x": 1}, [("k", 1)], 1),
    ]
    ordered = tables.changes("SELECT b FROM t ORDER BY a DESC", batch)
    assert ordered == [("+I", None), ("+I", [1, 2])]


def test_the_time_of_a_batch_is_that_of_its_start() -> None:
    tables = Tables()
    tables.create("CREATE TABLE t (a INT)", [(1,), (2,)])
    batch = PlannerOptions(query_start=86_400_000)
    found = tables.changes("SELECT DISTINCT LOCALTIMESTAMP FROM t", batch, cuts=1)
    assert [str(row[1]) for row in found] == ["1970-01-02 00:00:00"]
