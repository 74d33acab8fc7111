"""Uids of operators: the same as long as what they compute is, whatever else the job does."""

from __future__ import annotations

import pytest
from tests.unit.planner.tables import Tables

from scurry.plan.graph import Graph
from scurry.plan.nodes import Sink
from scurry.planner.catalog import Table
from scurry.planner.options import PlannerOptions
from scurry.planner.plan_inserts import plan_inserts

QUERIES = [
    "SELECT b, COUNT(*) FROM t GROUP BY b",
    "SELECT b, SUM(c + 1) FROM t WHERE c > 2 GROUP BY b",
    "SELECT x.b, y.c FROM t AS x JOIN t AS y ON x.b = y.c",
    "SELECT c FROM (SELECT c, ROW_NUMBER() OVER (PARTITION BY b ORDER BY c) AS n FROM t) "
    "WHERE n <= 2",
    "SELECT b FROM t WHERE b IN (SELECT c FROM t)",
]


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create("CREATE TABLE t (a INT, b INT, c INT, d INT)", [(1, 2, 3, 4)])
    made.create("CREATE TABLE u (a INT, e INT)", [(1, 2)])
    return made


def uids(tables: Tables, *queries: str) -> set[str]:
    """The uids of the operators of a job with a target for each query."""
    table = tables.tables["t"]
    assert isinstance(table, Table)
    target = Table(("sink",), table.columns, _Target())
    bound = [(tables.bind(query), target) for query in queries]
    made = plan_inserts(bound, PlannerOptions())
    return {node.uid for node in Graph.of("job", made).operators if node.uid is not None}


class _Target:
    def sink(self, source, mode):  # type: ignore[no-untyped-def]
        return Sink(name="sink", inputs=(source,), sink=None)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "other",
    [
        "SELECT a, MAX(d) FROM t GROUP BY a",
        "SELECT a + d FROM t",
        "SELECT t.a, u.e FROM t JOIN u ON t.d = u.e",
    ],
)
def test_another_query_of_the_job_changes_no_uid(tables: Tables, query: str, other: str) -> None:
    alone = uids(tables, query)
    assert alone <= uids(tables, other, query)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT * FROM ({}) WHERE n > 1", "SELECT n + 1, b FROM ({}) WHERE n > 2"),
        ("{} UNION ALL SELECT a, e FROM u", "{} UNION ALL SELECT a, e + 1 FROM u WHERE e > 2"),
        (
            "SELECT q.n FROM ({}) AS q JOIN u ON q.b = u.a",
            "SELECT q.n, v.e FROM ({}) AS q JOIN (SELECT * FROM u WHERE e > 3) AS v ON q.b = v.a",
        ),
    ],
)
def test_a_change_elsewhere_in_a_query_leaves_an_aggregate_its_uid(
    tables: Tables, before: str, after: str
) -> None:
    counted = "SELECT b, COUNT(*) AS n FROM t GROUP BY b"
    (kept,) = (uid for uid in uids(tables, counted) if "Aggregate" in uid)
    assert kept in uids(tables, before.format(counted))
    assert kept in uids(tables, after.format(counted))


def test_what_computes_something_else_has_another_uid(tables: Tables) -> None:
    one = uids(tables, "SELECT b, COUNT(*) FROM t GROUP BY b")
    other = uids(tables, "SELECT c, COUNT(*) FROM t GROUP BY c")
    assert len(one & other) == 1  # the scan
