"""INSERT: columns, casts, and what sinks of each kind are given; EXPLAIN says it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest
from tests.unit.planner.tables import Rows, Tables

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataTypes
from scurry.plan.node import Node as PlanNode
from scurry.plan.nodes import Sink
from scurry.plan.relational import (
    DropUpdateBefore,
    GroupAggregate,
    LookupJoin,
    SinkMaterialize,
)
from scurry.planner.bind.inserts import bind_insert
from scurry.planner.catalog import ScanRequest, Table, TableColumn
from scurry.planner.errors import SqlNotSupportedError, SqlValidationError
from scurry.planner.explain import explain
from scurry.planner.options import PlannerOptions
from scurry.planner.plan import plan_query
from scurry.planner.plan_inserts import plan_inserts
from scurry.sql.ast import Insert
from scurry.sql.parser import parse_statement
from scurry.testing import ListSink
from scurry.testing.relations import changes_of


@dataclass
class Target:
    """A sink that remembers what it was given."""

    given: list[tuple[PlanNode, ChangelogMode]] = field(default_factory=list)

    def scan(self, request: ScanRequest) -> PlanNode:
        raise AssertionError

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        return None

    def sink(self, source: PlanNode, mode: ChangelogMode) -> PlanNode:
        self.given.append((source, mode))
        return Sink(name="sink", inputs=(source,), sink=ListSink())


def target(accepts: ChangelogMode, *key: str, **columns: Any) -> Table:
    declared = columns or {"k": DataTypes.STRING(), "n": DataTypes.BIGINT()}
    made = tuple(TableColumn(name, kind) for name, kind in declared.items())
    return Table(("out",), made, Target(), key, accepts=accepts)


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create("CREATE TABLE t (k STRING, v INT)", [("a", 1), ("b", 2), ("a", 3)])
    return made


def inserted(
    tables: Tables, text: str, table: Table, options: PlannerOptions | None = None
) -> tuple[PlanNode, ChangelogMode]:
    statement = parse_statement(text)
    assert isinstance(statement, Insert)
    plan_inserts([(bind_insert(statement, table, tables), table)], options)
    access = table.access
    assert isinstance(access, Target)
    return access.given[-1]


COUNTS = "INSERT INTO o SELECT k, COUNT(*) FROM t GROUP BY k"
RETRACTED = [("+I", "a", 1), ("+I", "b", 1), ("-U", "a", 1), ("+U", "a", 2)]


def test_a_sink_of_all_changes_is_given_old_rows(tables: Tables) -> None:
    node, mode = inserted(tables, COUNTS, target(ChangelogMode.RETRACT))
    assert mode is ChangelogMode.RETRACT
    assert changes_of(node) == RETRACTED


def test_a_sink_that_upserts_is_given_new_rows_only(tables: Tables) -> None:
    node, mode = inserted(tables, COUNTS, target(ChangelogMode.UPSERT, "k"))
    assert mode is ChangelogMode.UPSERT
    assert changes_of(node) == [("+I", "a", 1), ("+I", "b", 1), ("+U", "a", 2)]
    assert _found(node, GroupAggregate).update_before is False


def test_rows_with_another_key_than_the_sink_are_materialized(tables: Tables) -> None:
    node, mode = inserted(
        tables,
        "INSERT INTO o SELECT MAX(k), c FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) "
        "GROUP BY c",
        target(ChangelogMode.UPSERT, "k"),
    )
    assert isinstance(node, SinkMaterialize)
    assert mode is ChangelogMode.UPSERT


def test_whether_rows_are_materialized_can_be_set(tables: Tables) -> None:
    other = (
        "INSERT INTO o SELECT MAX(k), c FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) GROUP BY c"
    )
    for how, text, kept in (("FORCE", COUNTS, True), ("NONE", other, False)):
        options = PlannerOptions(upsert_materialize=how)
        node, mode = inserted(tables, text, target(ChangelogMode.UPSERT, "k"), options)
        assert isinstance(node, SinkMaterialize) == kept
        assert mode is ChangelogMode.UPSERT
        assert "-U" not in {kind for kind, *_ in changes_of(node)}


def test_a_sink_of_insertions_refuses_updates(tables: Tables) -> None:
    with pytest.raises(SqlValidationError, match="takes insertions only, but the query changes"):
        inserted(tables, COUNTS, target(ChangelogMode.INSERT_ONLY))
    node, _ = inserted(
        tables, "INSERT INTO o SELECT k, v FROM t", target(ChangelogMode.INSERT_ONLY)
    )
    assert len(changes_of(node)) == 3


def test_a_sink_that_upserts_needs_a_primary_key(tables: Tables) -> None:
    with pytest.raises(SqlValidationError, match="updated by its primary key, but has none"):
        inserted(tables, COUNTS, target(ChangelogMode.UPSERT))


def test_inserts_of_one_job_share_what_they_have_in_common(tables: Tables) -> None:
    upsert, retract = target(ChangelogMode.UPSERT, "k"), target(ChangelogMode.RETRACT)
    statement = parse_statement(COUNTS)
    assert isinstance(statement, Insert)
    plan_inserts([(bind_insert(statement, table, tables), table) for table in (upsert, retract)])
    assert isinstance(upsert.access, Target)
    assert isinstance(retract.access, Target)
    first, second = upsert.access.given[0][0], retract.access.given[0][0]
    assert isinstance(first, DropUpdateBefore)
    assert first.inputs[0] is second


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO o SELECT k, v FROM t WHERE v = 1", ("a", 1)),
        ("INSERT INTO o (n, k) SELECT v, k FROM t WHERE v = 1", ("a", 1)),
        ("INSERT INTO o (n) SELECT v FROM t WHERE v = 1", (None, 1)),
        ("INSERT INTO o PARTITION (k = 'p') SELECT v FROM t WHERE v = 1", ("p", 1)),
        ("INSERT INTO o VALUES ('x', 5)", ("x", 5)),
    ],
)
def test_columns(tables: Tables, text: str, expected: tuple[Any, ...]) -> None:
    node, _ = inserted(tables, text, target(ChangelogMode.RETRACT))
    assert changes_of(node) == [("+I", *expected)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "INSERT INTO o SELECT v, k FROM t",
            "The column k of out is STRING, but the query gives INT",
        ),
        ("INSERT INTO o SELECT k FROM t", "The query has 1 columns, but 2 are written"),
        ("INSERT INTO o (q) SELECT k FROM t", "There is no column q"),
    ],
)
def test_what_does_not_fit_is_refused(tables: Tables, text: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=message):
        inserted(tables, text, target(ChangelogMode.RETRACT))


def test_columns_that_are_never_null_need_a_value(tables: Tables) -> None:
    table = target(ChangelogMode.RETRACT, k=DataTypes.STRING(False), n=DataTypes.BIGINT())
    with pytest.raises(SqlNotSupportedError, match="without a value for k"):
        inserted(tables, "INSERT INTO o (n) SELECT v FROM t", table)


def test_explain_shows_queries_in_expressions_below_their_node(tables: Tables) -> None:
    query = "SELECT k FROM t WHERE v IN (SELECT u.v FROM t AS u WHERE u.k = t.k)"
    written, _ = explain(tables.bind(query)).split("\n\n")
    assert written.splitlines()[1:] == [
        "Project(select=[k])",
        "+- Filter(where=[(v) IN (query)])",
        "   +- Project(select=[v])",
        "      +- Filter(where=[(k = $outer1[0])])",
        "         +- Scan(table=[t], fields=[k, v])",
        "   +- Scan(table=[t], fields=[k, v])",
    ]


def test_explain_shows_which_changes_there_are(tables: Tables) -> None:
    query = "SELECT k, COUNT(*) AS c FROM t WHERE v > 0 GROUP BY k"
    assert explain(tables.bind(query), changelog=True) == (
        "== Abstract Syntax Tree ==\n"
        "Project(select=[k, $COUNT AS c])\n"
        "+- Aggregate(groupBy=[k], select=[COUNT(*) AS $COUNT])\n"
        "   +- Project(select=[k])\n"
        "      +- Filter(where=[(v > 0)])\n"
        "         +- Scan(table=[t], fields=[k, v])\n"
        "\n"
        "== Optimized Physical Plan ==\n"
        "Project(select=[k, $COUNT AS c], changelogMode=[I,UB,UA])\n"
        "+- Aggregate(groupBy=[k], select=[COUNT(*) AS $COUNT], changelogMode=[I,UB,UA])\n"
        "   +- Project(select=[k], changelogMode=[I])\n"
        "      +- Filter(where=[(v > 0)], changelogMode=[I])\n"
        "         +- Scan(table=[t], fields=[k, v], filter=[(v > 0)], changelogMode=[I])\n"
    )
    upserted = explain(tables.bind(query), changelog=True, update_before=False)
    assert "changelogMode=[I,UA]" in upserted


def test_uids_stay_when_another_part_of_the_query_changes(tables: Tables) -> None:
    def aggregate(query: str) -> PlanNode:
        node, _ = inserted(tables, query, target(ChangelogMode.RETRACT))
        return _found(node, GroupAggregate)

    first = aggregate("INSERT INTO o SELECT k, COUNT(*) FROM t GROUP BY k")
    other = aggregate("INSERT INTO o SELECT UPPER(k), c + 1 FROM (SELECT k, COUNT(*) AS c FROM t "
                      "GROUP BY k) WHERE c > 1")  # fmt: skip
    changed = aggregate("INSERT INTO o SELECT k, COUNT(*) FROM t WHERE v > 1 GROUP BY k")
    assert first.uid == other.uid
    assert first.uid != changed.uid


def test_nodes_that_differ_have_uids_of_their_own(tables: Tables) -> None:
    """Also where EXPLAIN does not show the difference."""
    tables.create(
        "CREATE TABLE e (v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)",
        [(1, datetime.fromisoformat("2024-01-01 00:00:05"))],
    )
    window = "TABLE(TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '{}' SECOND))"
    part = "SELECT window_start, SUM(v) FROM {} GROUP BY window_start, window_end"
    first, second = (part.format(window.format(offset)) for offset in (1, 2))
    assert tables.rows(f"{first} UNION ALL {second}") == [
        (datetime.fromisoformat("2024-01-01 00:00:01"), 1),
        (datetime.fromisoformat("2024-01-01 00:00:02"), 1),
    ]


@dataclass
class Finder(Rows):
    """A table that can be looked up by key."""

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        return ("finds", [column.name for column in request.columns], keys)


def test_a_table_of_processing_time_is_looked_up(tables: Tables) -> None:
    made = tables.create("CREATE TABLE names (k STRING, name STRING)")
    finder = Finder(made.name, made.columns, [], made.mode)
    tables.tables["names"] = Table(("names",), made.columns, finder)
    tables.create("CREATE TABLE p (k STRING, p AS PROCTIME())")
    query = (
        "SELECT p.k, name FROM p LEFT JOIN names FOR SYSTEM_TIME AS OF p.p AS n "
        "ON p.k = n.k AND n.name <> 'x'"
    )
    join = _found(plan_query(tables.bind(query)).node, LookupJoin)
    assert join.lookup == ("finds", ["k", "name"], ("k",))
    assert join.left is True
    assert str(join.condition) == "($3 <> 'x')"


def _found(node: PlanNode, kind: type[Any]) -> Any:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, kind):
            return one
        waiting.extend(one.inputs)
    raise AssertionError(kind)
