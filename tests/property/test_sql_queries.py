"""Random queries over random changelogs: what the changes amount to is what DuckDB computes from
the final tables, however the input is cut."""

from __future__ import annotations

from collections import Counter
from typing import Any

import duckdb
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.planner.tables import Tables

from scurry.planner.options import PlannerOptions
from scurry.testing.relations import Change, table_of

SMALL = st.none() | st.integers(0, 3)
TEXTS = st.none() | st.sampled_from(["x", "y", "zz"])
#: every change, the net change of batches, and aggregates in two steps
OPTIONS = [
    PlannerOptions(),
    PlannerOptions(mini_batch=True),
    PlannerOptions(mini_batch=True, agg_phase="ONE_PHASE"),
    PlannerOptions(split_distinct=True),
    PlannerOptions(mini_batch=True, split_distinct=True),
]
COLUMNS = {"l": ("k", "v", "s"), "r": ("k", "w")}


@st.composite
def changelogs(draw: st.DrawFn, *columns: st.SearchStrategy[Any]) -> list[Change]:
    """Insertions, and sometimes a row that is there is updated or deleted."""
    changes: list[Change] = []
    there: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(0, 8))):
        row = draw(st.tuples(*columns))
        what = draw(st.sampled_from(["insert", "insert", "update", "delete"]))
        if what == "insert" or not there:
            changes.append(("+I", *row))
            there.append(row)
            continue
        old = there.pop(draw(st.integers(0, len(there) - 1)))
        if what == "delete":
            changes.append(("-D", *old))
        else:
            changes += [("-U", *old), ("+U", *row)]
            there.append(row)
    return changes


def number(draw: st.DrawFn, alias: str, table: str) -> str:
    """An expression of INT over the columns of a table."""
    column = draw(st.sampled_from([c for c in COLUMNS[table] if c != "s"]))
    forms = [
        "{0}",
        "{0} + 1",
        "{0} * 2",
        "COALESCE({0}, 7)",
        "CASE WHEN {0} > 1 THEN 5 ELSE {0} END",
    ]
    return draw(st.sampled_from(forms)).format(f"{alias}.{column}")


def condition(draw: st.DrawFn, alias: str, table: str) -> str:
    """A condition on the columns of a table."""
    left = number(draw, alias, table)
    forms = ["{0} > 1", "{0} IS NULL", "{0} IN (1, 2)", "NOT {0} = 2", "{0} BETWEEN 1 AND 2",
             "{0} IS DISTINCT FROM 1", "({0} = 1 OR {0} IS NULL)",
             "{0} IN (SELECT w FROM r)", "{0} IN (SELECT v FROM l WHERE k > 0)",
             "EXISTS (SELECT 1 FROM r AS i WHERE i.k = {1}.k)",
             "NOT EXISTS (SELECT 1 FROM l AS i WHERE i.k = {1}.k AND i.v > 1)",
             "{0} NOT IN (SELECT w FROM r WHERE w IS NOT NULL)", "{0} NOT IN (SELECT w FROM r)",
             "{0} >= (SELECT MIN(v) FROM l)",
             "{0} <= (SELECT MAX(i.w) FROM r AS i WHERE i.k = {1}.k)",
             "{0} <= (SELECT COUNT(*) + 1 FROM r AS i WHERE i.k = {1}.k AND i.w > {0})",
             "{0} > ANY (SELECT w FROM r)", "{0} <= ALL (SELECT i.w FROM r AS i WHERE i.k = {1}.k)",
             "EXISTS (SELECT 1 FROM r AS i WHERE i.k = {1}.k AND EXISTS "
             "(SELECT 1 FROM l AS j WHERE j.k = i.k AND j.v > {0}))"]  # fmt: skip
    return draw(st.sampled_from(forms)).format(left, alias)


def where(draw: st.DrawFn, alias: str, table: str) -> str:
    if draw(st.booleans()):
        return ""
    parts = [condition(draw, alias, table) for _ in range(draw(st.integers(1, 2)))]
    connected = draw(st.sampled_from([" AND ", " OR "])).join(parts)
    negated = draw(st.sampled_from(["", "", "NOT "]))
    return f" WHERE {negated}({connected})"


def plain(draw: st.DrawFn) -> str:
    table = draw(st.sampled_from(["l", "r"]))
    first = number(draw, "t", table)
    return f"SELECT {first} AS a, t.k AS b FROM {table} AS t{where(draw, 't', table)}"


def decided(draw: st.DrawFn) -> str:
    """Conditions in the select list: true, false or unknown."""
    table = draw(st.sampled_from(["l", "r"]))
    first, second = condition(draw, "t", table), condition(draw, "t", table)
    value = f"CASE WHEN {first} THEN 1 WHEN NOT ({first}) THEN 0 ELSE 2 END"
    return f"SELECT {value} AS a, {second} AS b FROM {table} AS t"


def lateral(draw: st.DrawFn) -> str:
    inner = draw(st.sampled_from([
        "SELECT i.w AS w FROM r AS i WHERE i.k = l.k",
        "SELECT i.w + l.v AS w FROM r AS i WHERE i.k = l.k AND i.w >= l.v",
        "SELECT COUNT(*) AS w FROM r AS i WHERE i.k = l.k",
        "SELECT COALESCE(MAX(i.w), 9) AS w FROM r AS i WHERE i.k < l.v",
        "SELECT i.w AS w FROM r AS i WHERE i.k = l.k ORDER BY i.w DESC NULLS LAST LIMIT 1",
        "SELECT SUM(i.w) AS w FROM r AS i WHERE i.k = l.k GROUP BY i.w",
        "SELECT COUNT(*) AS w FROM r AS i WHERE i.k = l.k HAVING COUNT(*) < 2",
        "SELECT i.w AS w FROM r AS i WHERE i.k = l.k UNION ALL SELECT l.v AS w",
        "SELECT DISTINCT i.w AS w FROM r AS i JOIN l AS j ON i.k = j.k AND j.v = l.v",
    ]))  # fmt: skip
    kind = draw(st.sampled_from(["CROSS JOIN LATERAL ({0}) AS t",
                                 "LEFT JOIN LATERAL ({0}) AS t ON TRUE"]))  # fmt: skip
    return f"SELECT l.v AS a, t.w AS b FROM l {kind.format(inner)}"


def joined(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    extra = draw(st.sampled_from(["", "", " AND l.v > 0", " AND r.w > l.v", " AND r.w = l.v"]))
    after = draw(st.sampled_from(["", "", " WHERE l.v IS NULL OR r.w > 0", " WHERE l.k > 0"]))
    first = number(draw, "l", "l")
    return f"SELECT {first} AS a, r.w AS b FROM l {kind} r ON l.k = r.k{extra}{after}"


def grouped(draw: st.DrawFn) -> str:
    inner = draw(st.sampled_from([plain, joined]))(draw)
    calls = st.sampled_from(
        ["COUNT(*)", "COUNT(a)", "SUM(a)", "MIN(a)", "MAX(a)", "COUNT(DISTINCT a)",
         "SUM(DISTINCT a)", "COUNT(*) FILTER (WHERE a > 1)"]
    )  # fmt: skip
    having = draw(st.sampled_from(["", "", " HAVING COUNT(*) > 1", " HAVING MAX(a) IS NOT NULL"]))
    return f"SELECT b AS a, {draw(calls)} AS b FROM ({inner}) AS g GROUP BY b{having}"


def counted(draw: st.DrawFn) -> str:
    inner = grouped(draw)
    return f"SELECT b AS a, COUNT(*) AS b FROM ({inner}) AS c GROUP BY b"


def combined(draw: st.DrawFn) -> str:
    how = draw(st.sampled_from(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"]))
    return f"({plain(draw)}) {how} ({plain(draw)})"


def distinct(draw: st.DrawFn) -> str:
    return plain(draw).replace("SELECT", "SELECT DISTINCT", 1)


def ranked(draw: st.DrawFn) -> str:
    """Rows that are equal in all columns are equal, so ties do not matter."""
    inner = draw(st.sampled_from([plain, joined, grouped]))(draw)
    direction = draw(st.sampled_from(["ASC", "DESC"]))
    nulls = "FIRST" if direction == "ASC" else "LAST"
    number_of = f"ROW_NUMBER() OVER (PARTITION BY b ORDER BY a {direction} NULLS {nulls})"
    limit = draw(st.integers(1, 2))
    numbered = f"SELECT a, b, {number_of} AS n FROM ({inner}) AS i"
    return f"SELECT a, b FROM ({numbered}) AS q WHERE n <= {limit}"


@st.composite
def queries(draw: st.DrawFn) -> str:
    kinds = [plain, joined, grouped, counted, combined, distinct, ranked, decided, lateral]
    return draw(st.sampled_from(kinds))(draw)


def oracle(query: str, left: list[Change], right: list[Change]) -> Counter[tuple[Any, ...]]:
    """What DuckDB computes from the tables that the changelogs amount to."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE l (k INT, v INT, s VARCHAR)")
        connection.execute("CREATE TABLE r (k INT, w INT)")
        for name, changes in (("l", left), ("r", right)):
            for row, count in table_of(changes).items():
                marks = ", ".join("?" for _ in row)
                for _ in range(count):
                    connection.execute(f"INSERT INTO {name} VALUES ({marks})", list(row))
        return Counter(tuple(row) for row in connection.execute(query).fetchall())


@given(
    queries(),
    changelogs(SMALL, SMALL, TEXTS),
    changelogs(SMALL, SMALL),
    st.integers(1, 5),
    st.integers(1, 2),
    st.sampled_from(OPTIONS),
)
def test_incremental_equals_recomputed(
    query: str,
    left: list[Change],
    right: list[Change],
    cuts: int,
    parallelism: int,
    options: PlannerOptions,
) -> None:
    tables = Tables()
    tables.create("CREATE TABLE l (k INT, v INT, s STRING)", left)
    tables.create("CREATE TABLE r (k INT, w INT)", right)
    found = table_of(tables.changes(query, options, cuts=cuts, parallelism=parallelism))
    assert found == oracle(query, left, right)


ROWS = st.lists(st.tuples(SMALL, SMALL, TEXTS), max_size=8)


@given(queries(), ROWS, st.lists(st.tuples(SMALL, SMALL), max_size=8), st.integers(1, 5))
def test_batch_mode_sends_the_same_rows_once(
    query: str, left: list[Any], right: list[Any], cuts: int
) -> None:
    tables = Tables()
    tables.create("CREATE TABLE l (k INT, v INT, s STRING)", left)
    tables.create("CREATE TABLE r (k INT, w INT)", right)
    found = tables.changes(query, PlannerOptions(query_start=0), cuts=cuts, parallelism=2)
    assert {kind for kind, *_ in found} <= {"+I"}
    expected = oracle(query, [("+I", *row) for row in left], [("+I", *row) for row in right])
    assert table_of(found) == expected
