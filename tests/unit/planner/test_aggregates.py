"""Slices 2 and 3: GROUP BY with and without windows; every change, as Flink sends them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.data_types import DataTypes
from scurry.functions.udfs import AggregateFunction, udaf
from scurry.plan.node import Node
from scurry.plan.relational import GroupAggregate, RegularJoin, WindowAggregate, WindowTable
from scurry.planner.errors import SqlNotSupportedError
from scurry.planner.explain import explain
from scurry.planner.options import PlannerOptions
from scurry.planner.plan import plan_query


def at(second: int) -> datetime:
    return datetime.fromisoformat(f"2024-01-01 00:{second // 60:02}:{second % 60:02}")


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create(
        "CREATE TABLE e (k STRING, v INT, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)",
        [("a", 1, at(1)), ("b", 2, at(3)), ("a", 3, at(12)), ("a", 4, at(14)), ("b", 5, at(25)),
         ("c", 1, at(40))],
    )  # fmt: skip
    made.create(
        "CREATE TABLE u (k STRING, n INT)",
        [("+I", "a", 1), ("+I", "b", 2), ("-U", "a", 1), ("+U", "a", 5), ("-D", "b", 2)],
    )
    return made


def test_every_change_of_a_group_is_sent(tables: Tables) -> None:
    assert tables.changes("SELECT k, SUM(v) FROM e WHERE k <> 'c' GROUP BY k") == [
        ("+I", "a", 1),
        ("+I", "b", 2),
        ("-U", "a", 1),
        ("+U", "a", 4),
        ("-U", "a", 4),
        ("+U", "a", 8),
        ("-U", "b", 2),
        ("+U", "b", 7),
    ]


def test_rows_that_are_taken_back_change_groups(tables: Tables) -> None:
    assert tables.changes("SELECT k, COUNT(*), SUM(n) FROM u GROUP BY k") == [
        ("+I", "a", 1, 1),
        ("+I", "b", 1, 2),
        ("-D", "a", 1, 1),
        ("+I", "a", 1, 5),
        ("-D", "b", 1, 2),
    ]


def test_counts_of_counts(tables: Tables) -> None:
    query = "SELECT c, COUNT(k) FROM (SELECT k, COUNT(*) AS c FROM e GROUP BY k) GROUP BY c"
    assert tables.rows(query) == [(1, 1), (2, 1), (3, 1)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT COUNT(*) FROM e", [(6,)]),
        ("SELECT COUNT(*), SUM(v), MIN(v), MAX(k) FROM e", [(6, 16, 1, "c")]),
        ("SELECT k, COUNT(*) AS c FROM e GROUP BY k HAVING COUNT(*) > 1", [("a", 3), ("b", 2)]),
        ("SELECT k, SUM(v) * 2 + 1 FROM e GROUP BY k", [("a", 17), ("b", 15), ("c", 3)]),
        ("SELECT UPPER(k), COUNT(*) FROM e GROUP BY UPPER(k)", [("A", 3), ("B", 2), ("C", 1)]),
        ("SELECT UPPER(k) || '!' FROM e GROUP BY UPPER(k) HAVING MAX(v) > 4", [("B!",)]),
        ("SELECT k AS q, COUNT(*) FROM e GROUP BY q", [("a", 3), ("b", 2), ("c", 1)]),
        ("SELECT k, COUNT(*) FROM e GROUP BY 1", [("a", 3), ("b", 2), ("c", 1)]),
        ("SELECT DISTINCT v FROM e", [(1,), (2,), (3,), (4,), (5,)]),
        ("SELECT COUNT(DISTINCT v), COUNT(v) FROM e", [(5, 6)]),
        ("SELECT COUNT(*) FILTER (WHERE v > 2), SUM(v) FILTER (WHERE k = 'a') FROM e", [(3, 8)]),
        ("SELECT k, AVG(v) FROM e GROUP BY k", [("a", 2), ("b", 3), ("c", 1)]),
        ("SELECT LISTAGG(k, '-') FROM e WHERE v < 3", [("a-b-c",)]),
        ("SELECT k FROM e UNION SELECT k FROM u", [("a",), ("b",), ("c",)]),
        (
            "SELECT k, v > 2 AS big, COUNT(*), GROUPING(k) FROM e GROUP BY ROLLUP(k, v > 2)",
            [("a", False, 1, 0), ("a", True, 2, 0), ("b", False, 1, 0), ("b", True, 1, 0),
             ("c", False, 1, 0), ("a", None, 3, 0), ("b", None, 2, 0), ("c", None, 1, 0),
             (None, None, 6, 1)],
        ),
        (
            "SELECT k, COUNT(*), GROUPING_ID(k, v) FROM e WHERE v < 3 "
            "GROUP BY GROUPING SETS (k, v)",
            [("a", 1, 1), ("b", 1, 1), ("c", 1, 1), (None, 2, 2), (None, 1, 2)],
        ),
        (
            "SELECT k, COUNT(*), GROUP_ID(), GROUPING(k) FROM e WHERE v < 3 AND k <> 'c' "
            "GROUP BY GROUPING SETS ((k), (), (k))",
            [("a", 1, 0, 0), ("a", 1, 1, 0), ("b", 1, 0, 0), ("b", 1, 1, 0), (None, 2, 0, 1)],
        ),
        (
            "SELECT k, COUNT(*) FROM e WHERE v < 3 GROUP BY DISTINCT k, ROLLUP(k)",
            [("a", 1), ("b", 1), ("c", 1)],
        ),
    ],
)  # fmt: skip
def test_tables_of_groups(tables: Tables, query: str, expected: list[Any]) -> None:
    assert sorted(map(repr, tables.rows(query))) == sorted(map(repr, expected))


WINDOWS = [
    ("a", at(0), at(10), 1),
    ("a", at(10), at(20), 7),
    ("b", at(0), at(10), 2),
    ("b", at(20), at(30), 5),
    ("c", at(40), at(50), 1),
]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, window_start, window_end, SUM(v) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end",
        "SELECT k, window_start, window_end, SUM(v) FROM TUMBLE(SIZE => INTERVAL '10' SECOND, "
        "DATA => TABLE e, TIMECOL => DESCRIPTOR(ts)) GROUP BY window_end, window_start, k",
        "SELECT k, window_start, window_end, SUM(v) FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND)) GROUP BY window_time, window_end, window_start, k",
        "SELECT k, TUMBLE_START(ts, INTERVAL '10' SECOND), TUMBLE_END(ts, INTERVAL '10' SECOND), "
        "SUM(v) FROM e GROUP BY TUMBLE(ts, INTERVAL '10' SECOND), k",
        "SELECT x.k, x.s, x.e, x.total FROM (SELECT k, window_start AS s, window_end AS e, "
        "SUM(v) AS total FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY k, window_start, window_end) AS x WHERE x.total > 0",
    ],
)
def test_tumbling_windows(tables: Tables, query: str) -> None:
    changes = tables.changes(query, cuts=2)
    assert {kind for kind, *_ in changes} == {"+I"}
    assert sorted(tuple(row) for _, *row in changes) == WINDOWS


def test_hopping_windows(tables: Tables) -> None:
    query = (
        "SELECT window_start, COUNT(*) FROM TABLE(HOP(TABLE e, DESCRIPTOR(ts), "
        "INTERVAL '5' SECOND, INTERVAL '10' SECOND)) WHERE k = 'a' "
        "GROUP BY window_start, window_end"
    )
    before = datetime.fromisoformat("2023-12-31 23:59:55")
    assert tables.rows(query) == [(before, 1), (at(0), 1), (at(10), 2), (at(5), 2)]


def test_cumulating_windows(tables: Tables) -> None:
    query = (
        "SELECT window_end, SUM(v) FROM TABLE(CUMULATE(TABLE e, DESCRIPTOR(ts), "
        "INTERVAL '10' SECOND, INTERVAL '30' SECOND)) GROUP BY window_start, window_end"
    )
    sums = [(at(10), 3), (at(20), 10), (at(30), 15), (at(50), 1), (at(60), 1)]
    assert sorted(tables.rows(query)) == sums


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k, SESSION_START(ts, INTERVAL '5' SECOND), SESSION_END(ts, INTERVAL '5' SECOND), "
        "SUM(v) FROM e GROUP BY k, SESSION(ts, INTERVAL '5' SECOND)",
        "SELECT k, window_start, window_end, SUM(v) FROM TABLE(SESSION(TABLE e PARTITION BY k, "
        "DESCRIPTOR(ts), INTERVAL '5' SECOND)) GROUP BY k, window_start, window_end",
    ],
)
def test_sessions(tables: Tables, query: str) -> None:
    assert tables.rows(query) == [
        ("a", at(1), at(6), 1),
        ("a", at(12), at(19), 7),
        ("b", at(25), at(30), 5),
        ("b", at(3), at(8), 2),
        ("c", at(40), at(45), 1),
    ]


class Longest(AggregateFunction):
    """The longest text, which cannot be found again once it is gone."""

    def create_accumulator(self) -> list[str]:
        return [""]

    def accumulate(self, accumulator: list[str], *args: str | None) -> None:
        accumulator[0] = max(accumulator[0], args[0] or "", key=len)

    def get_value(self, accumulator: list[str]) -> str:
        return accumulator[0]


def test_aggregates_of_the_user(tables: Tables) -> None:
    tables.functions["longest"] = udaf(
        Longest(), input_types=[DataTypes.STRING()], result_type=DataTypes.STRING()
    )
    assert tables.rows("SELECT longest(k || CAST(v AS STRING)), COUNT(*) FROM e") == [("a1", 6)]
    with pytest.raises(SqlNotSupportedError, match="has no retract"):
        tables.changes("SELECT longest(k) FROM u")


def test_a_hint_says_how_long_state_is_kept(tables: Tables) -> None:
    def retention(query: str) -> int | tuple[int, int]:
        waiting = [plan_query(tables.bind(query), PlannerOptions(retention_ms=7)).node]
        while waiting:
            node = waiting.pop()
            if isinstance(node, RegularJoin):
                return node.retentions
            if isinstance(node, GroupAggregate):
                return node.retention_ms
            waiting.extend(node.inputs)
        raise AssertionError

    assert retention("SELECT k, COUNT(*) FROM e GROUP BY k") == 7
    hinted = "SELECT /*+ STATE_TTL('x' = '1d') */ k, COUNT(*) FROM e AS x GROUP BY k"
    assert retention(hinted) == 86_400_000
    joined = "SELECT /*+ STATE_TTL('e' = '1h'), BROADCAST(u) */ v FROM e JOIN u ON e.k = u.k"
    # each side has its own, and what the job says holds for the other
    assert retention(joined) == (3_600_000, 7)


def test_windows_of_windows(tables: Tables) -> None:
    query = (
        "SELECT window_start, SUM(s) FROM (SELECT k, window_start, window_end, SUM(v) AS s FROM "
        "TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY k, window_start, window_end) GROUP BY window_start, window_end"
    )
    assert tables.rows(query) == [(at(0), 3), (at(10), 7), (at(20), 5), (at(40), 1)]
    again = (
        "SELECT TUMBLE_START(t, INTERVAL '20' SECOND), SUM(s) FROM (SELECT "
        "TUMBLE_ROWTIME(ts, INTERVAL '10' SECOND) AS t, SUM(v) AS s FROM e "
        "GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)) GROUP BY TUMBLE(t, INTERVAL '20' SECOND)"
    )
    assert tables.rows(again) == [(at(0), 10), (at(20), 5), (at(40), 1)]


def test_two_phases_and_split_distinct_are_explained() -> None:
    tables = Tables()
    tables.create("CREATE TABLE t (k INT, v INT)", [(1, 2), (1, 2), (1, 3), (2, None)])
    query = "SELECT k, COUNT(*), MAX(v) FROM t GROUP BY k"
    two = explain(tables.bind(query), options=PlannerOptions(mini_batch=True))
    assert two.count("LocalAggregate(groupBy=[k]") == 1
    one = PlannerOptions(mini_batch=True, agg_phase="ONE_PHASE")
    assert "LocalAggregate" not in explain(tables.bind(query), options=one)
    assert "LocalAggregate" not in explain(tables.bind(query))
    distinct = "SELECT k, COUNT(DISTINCT v), SUM(v) FROM t GROUP BY k"
    split = PlannerOptions(split_distinct=True)
    _, planned = explain(tables.bind(distinct), options=split).split("== Optimized Physical Plan")
    assert planned.count("Aggregate(groupBy=[k") == 2
    assert "groupBy=[k, v]" in planned
    for options in (split, PlannerOptions(mini_batch=True, split_distinct=True)):
        assert tables.rows(distinct, options=options) == [(1, 2, 7), (2, 0, None)]
    assert tables.rows(query, options=PlannerOptions(mini_batch=True), cuts=2) == [
        (1, 3, 3),
        (2, 1, None),
    ]


HOPS = "TABLE(HOP(TABLE e, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))"


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for each in node.inputs:
        yield from _nodes(each)


@pytest.mark.parametrize(
    ("query", "assigned"),
    [
        (f"SELECT k, COUNT(*) FROM {HOPS} GROUP BY k, window_start, window_end", True),
        (f"SELECT COUNT(*), MAX(ts) FROM {HOPS} GROUP BY window_start, window_end", True),
        (f"SELECT UPPER(k), SUM(v) FROM {HOPS} GROUP BY UPPER(k), window_start, window_end", True),
        (f"SELECT COUNT(DISTINCT v) FROM {HOPS} GROUP BY window_start, window_end", False),
        (f"SELECT MAX(window_end) FROM {HOPS} GROUP BY window_start, window_end", False),
        (
            f"SELECT k, COUNT(*) FROM {HOPS} WHERE window_start > TIMESTAMP '2024-01-01 00:00:05' "
            "GROUP BY k, window_start, window_end",
            False,
        ),
    ],
)
def test_aggregates_find_the_windows_of_rows_by_themselves(
    tables: Tables, query: str, assigned: bool
) -> None:
    planned = plan_query(tables.bind(query)).node
    nodes = list(_nodes(planned))
    (found,) = (one for one in nodes if isinstance(one, WindowAggregate))
    assert (found.windows is not None) is assigned
    assert any(isinstance(one, WindowTable) for one in nodes) is not assigned


def test_rows_of_several_windows_are_combined_before_they_are_in_each(tables: Tables) -> None:
    query = f"SELECT k, SUM(v) FROM {HOPS} GROUP BY k, window_start, window_end"
    expected = [("a", 1), ("a", 1), ("a", 7), ("a", 7), ("b", 2), ("b", 2), ("b", 5), ("b", 5)]
    assert sorted(tables.rows(query)) == [*expected, ("c", 1), ("c", 1)]
