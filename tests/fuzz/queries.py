"""Random queries in SQL over one or two tables of records, and what they amount to.

A query is a text with places for the names of its tables, ``{0}`` and ``{1}``, and gives two
columns of whole numbers, ``a`` and ``b``. What it amounts to in the end is what DuckDB computes
from all records at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import duckdb
from hypothesis import strategies as st
from tests.fuzz.records import Fields

Draw = Callable[[st.SearchStrategy[Any]], Any]
Rows = Counter[tuple[Any, ...]]
_CONDITIONS = [
    "MOD(v, 3) <> 1", "k > 1", "v BETWEEN 3 AND 20", "k IN (0, 2) OR v > 10",
    "v IN (SELECT v FROM {1} WHERE k = 0)", "k NOT IN (SELECT k FROM {1} WHERE v > 5)",
    "EXISTS (SELECT 1 FROM {1} AS i WHERE i.k = o.k AND i.v > 3)",
    "v >= (SELECT MIN(v) FROM {1})",
]  # fmt: skip
_CALLS = [
    "COUNT(*)", "COUNT(b)", "SUM(b)", "MIN(b)", "MAX(b)", "COUNT(DISTINCT b)",
    "SUM(b) FILTER (WHERE b > 4)", "MAX(b) - MIN(b)", "COALESCE(SUM(b), -1) + COUNT(*)",
]  # fmt: skip


def _plain(draw: Draw, depth: int) -> str:
    value = draw(st.sampled_from(["v", "v + 1", "MOD(v, 4)", "CASE WHEN v > 9 THEN k ELSE v END"]))
    where = draw(st.one_of(st.none(), st.sampled_from(_CONDITIONS)))
    text = f"SELECT k AS a, {value} AS b FROM {{0}} AS o"
    return text if where is None else f"{text} WHERE {where}"


def _joined(draw: Draw, depth: int) -> str:
    kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    on = draw(st.sampled_from(["l.k = r.k", "l.k = r.k AND l.v < r.v", "l.v = r.v"]))
    return f"SELECT l.k AS a, r.v AS b FROM {{0}} AS l {kind} {{1}} AS r ON {on}"


def _grouped(draw: Draw, depth: int) -> str:
    call = draw(st.sampled_from(_CALLS))
    having = draw(st.sampled_from(["", "", " HAVING COUNT(*) > 1"]))
    by = draw(st.sampled_from(["a", "a", "b"]))
    inner = query(draw, depth - 1)
    return f"SELECT {by} AS a, {call} AS b FROM ({inner}) AS g GROUP BY {by}{having}"


def _distinct(draw: Draw, depth: int) -> str:
    return f"SELECT DISTINCT a, b FROM ({query(draw, depth - 1)}) AS d"


def _combined(draw: Draw, depth: int) -> str:
    how = draw(st.sampled_from(["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"]))
    one, other = query(draw, depth - 1), _plain(draw, 0).replace("{0} AS o", "{1} AS o")
    return f"SELECT a, b FROM ({one}) AS x {how} SELECT a, b FROM ({other}) AS y"


def _ranked(draw: Draw, depth: int) -> str:
    """The first rows of a group; rows that are equal in both columns are equal altogether."""
    order = draw(st.sampled_from(["ASC NULLS FIRST", "DESC NULLS LAST"]))
    over = f"ROW_NUMBER() OVER (PARTITION BY a ORDER BY b {order})"
    inner = f"SELECT a, b, {over} AS n FROM ({query(draw, depth - 1)}) AS i"
    return f"SELECT a, b FROM ({inner}) AS q WHERE n <= {draw(st.integers(1, 3))}"


_FORMS = [_plain, _joined, _grouped, _grouped, _distinct, _combined, _ranked]


def query(draw: Draw, depth: int = 3) -> str:
    """A random query of queries, ``depth`` of them at most within each other."""
    if depth <= 0:
        return _plain(draw, 0)
    return draw(st.sampled_from(_FORMS))(draw, depth)


#: Queries over what another one gives, to which it came as a stream of changes.
AFTERWARDS = [
    None, None, "SELECT a, b FROM {0}", "SELECT b AS a, COUNT(*) AS b FROM {0} GROUP BY b",
    "SELECT a, SUM(b) AS b FROM {0} GROUP BY a", "SELECT DISTINCT a, a AS b FROM {0}",
]  # fmt: skip


def answer(text: str, tables: list[Iterable[Fields]], afterwards: str | None) -> Rows:
    """The rows that a query gives for all records at once, and how often."""
    names = [f"t{number}" for number in range(len(tables))]
    connection = _connection()
    for name, records in zip(names, tables, strict=True):
        connection.execute(f"CREATE OR REPLACE TABLE {name} (k BIGINT, t BIGINT, v BIGINT)")
        if values := ", ".join(str(tuple(record)) for record in records):
            connection.execute(f"INSERT INTO {name} VALUES {values}")
    whole = filled(text, names)
    if afterwards is not None:
        whole = afterwards.format(f"({whole}) AS f")
    return Counter(tuple(row) for row in connection.execute(whole).fetchall())


def filled(text: str, names: list[str]) -> str:
    """A query with the names of its tables; one table may stand in both places."""
    return text.format(names[0], names[-1])


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})
