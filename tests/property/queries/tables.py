"""The tables that random queries read: how their changelogs are drawn, and the same in DuckDB.

``l`` and ``r`` are changed with the old rows of updates, ``u`` has a key and gets the new rows
alone, ``i`` only grows. ``e`` and ``f`` grow in the order of their times; ``c`` has times, too, and
is changed.
"""

from __future__ import annotations

import atexit
import datetime
from collections import Counter
from functools import cache
from typing import Any

import duckdb
from hypothesis import strategies as st
from tests.unit.planner.tables import Tables

from scurry.common.changelog import ChangelogMode
from scurry.testing.relations import Change, table_of

Changelogs = dict[str, list[Change]]
SMALL = st.none() | st.integers(0, 3)
TEXTS = st.none() | st.sampled_from(["x", "y", "zz"])
START = datetime.datetime(2024, 1, 1)  # noqa: DTZ001 - a TIMESTAMP has no zone
TIMES = st.integers(0, 9_999).map(lambda ms: START + datetime.timedelta(milliseconds=ms))
#: each table's columns; those of time have the watermark a second behind
DEFINITIONS = {
    "l": "k INT, v INT, s STRING",
    "r": "k INT, w INT",
    "u": "id INT, k INT, v INT, PRIMARY KEY (id) NOT ENFORCED",
    "i": "k INT, v INT, s STRING",
    "c": "k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' HOUR",
    "e": "k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
    "f": "k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND",
}
ROWS = {
    "l": st.tuples(SMALL, SMALL, TEXTS),
    "r": st.tuples(SMALL, SMALL),
    "i": st.tuples(SMALL, SMALL, TEXTS),
    "c": st.tuples(SMALL, SMALL, TIMES),
}


@st.composite
def changelogs(draw: st.DrawFn, row: st.SearchStrategy[Any], most: int = 8) -> list[Change]:
    """Insertions, and sometimes a row that is there is updated or deleted."""
    changes: list[Change] = []
    there: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(0, most))):
        what = draw(st.sampled_from(["insert", "insert", "update", "delete"]))
        new = draw(row)
        if what == "insert" or not there:
            changes.append(("+I", *new))
            there.append(new)
            continue
        old = there.pop(draw(st.integers(0, len(there) - 1)))
        if what == "delete":
            changes.append(("-D", *old))
        else:
            changes += [("-U", *old), ("+U", *new)]
            there.append(new)
    return changes


@st.composite
def upserts(draw: st.DrawFn, most: int = 8) -> list[Change]:
    """New rows by key; a deletion has nothing but the key."""
    changes: list[Change] = []
    there: set[int] = set()
    for _ in range(draw(st.integers(0, most))):
        key = draw(st.integers(1, 3))
        if key in there and draw(st.integers(0, 3)) == 0:
            there.remove(key)
            changes.append(("-D", key, None, None))
            continue
        changes.append(("+U" if key in there else "+I", key, draw(SMALL), draw(SMALL)))
        there.add(key)
    return changes


@st.composite
def events(draw: st.DrawFn, most: int = 8) -> list[Change]:
    """Rows in the order of their times, no two at the same time."""
    second, changes = 0, []
    for _ in range(draw(st.integers(0, most))):
        second += draw(st.sampled_from([1, 1, 2, 3, 7]))
        at = START + datetime.timedelta(seconds=second)
        changes.append(("+I", draw(SMALL), draw(SMALL), at))
    return changes


@st.composite
def inputs(draw: st.DrawFn) -> Changelogs:
    """The changes of all tables."""
    found = {name: draw(changelogs(ROWS[name])) for name in ("l", "r", "c")}
    found["i"] = [("+I", *row) for row in draw(st.lists(ROWS["i"], max_size=6))]
    found["u"] = draw(upserts())
    return found | {name: draw(events()) for name in ("e", "f")}


@st.composite
def insertions(draw: st.DrawFn) -> Changelogs:
    """Rows of tables that only grow."""
    rows = {name: draw(st.lists(ROWS[name], max_size=8)) for name in ("l", "r", "i", "c")}
    rows["u"] = [(n, *row) for n, row in enumerate(draw(st.lists(ROWS["r"], max_size=4)))]
    found = {name: [("+I", *row) for row in some] for name, some in rows.items()}
    return found | {name: draw(events()) for name in ("e", "f")}


#: the rows of ``f`` as versions of each ``k``
_NEWEST = (
    "SELECT k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n "
    "FROM f) WHERE n = 1"
)


def tables_of(given: Changelogs) -> Tables:
    """The catalogue of the tables."""
    tables = Tables()
    for name, columns in DEFINITIONS.items():
        grows = all(change[0] == "+I" for change in given[name])
        mode = ChangelogMode.UPSERT if name == "u" and not grows else None
        tables.create(f"CREATE TABLE {name} ({columns})", given[name], mode)
    tables.create_view("newest", _NEWEST)
    return tables


def rows_of(name: str, changes: list[Change]) -> Counter[tuple[Any, ...]]:
    """The rows that a table's changes amount to."""
    if name != "u":
        return table_of(changes)
    latest: dict[Any, tuple[Any, ...]] = {}
    for kind, *row in changes:
        latest.pop(row[0], None)
        if kind != "-D":
            latest[row[0]] = tuple(row)
    return Counter(latest.values())


#: functions that DuckDB does not have, or that mean something else there
MACROS = """
SET default_null_order = 'nulls_first_on_asc_last_on_desc';
CREATE MACRO seconds(t) AS CAST(FLOOR(epoch(t) - epoch(TIMESTAMP '2024-01-01 00:00:00')) AS INT);
"""


def _close() -> None:
    _connection().close()
    _connection.cache_clear()


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    """One database for all examples: to open one takes longer than the query."""
    connection = duckdb.connect(config={"threads": 1})
    atexit.register(_close)
    connection.execute(MACROS)
    for name, columns in DEFINITIONS.items():
        plain = columns.split(", PRIMARY")[0].split(", WATERMARK")[0]
        plain = plain.replace("STRING", "VARCHAR").replace("TIMESTAMP(3)", "TIMESTAMP")
        connection.execute(f"CREATE TABLE {name} ({plain})")
    return connection


def oracle(query: str, given: Changelogs) -> Counter[tuple[Any, ...]]:
    """What DuckDB computes from the tables that the changelogs amount to."""
    connection = _connection()
    for name in DEFINITIONS:
        connection.execute(f"DELETE FROM {name}")
        rows = [list(row) for row in rows_of(name, given.get(name, [])).elements()]
        if rows:
            marks = ", ".join("?" for _ in rows[0])
            connection.execute(
                f"INSERT INTO {name} VALUES {', '.join([f'({marks})'] * len(rows))}",
                [value for row in rows for value in row],
            )
    return Counter(tuple(row) for row in connection.execute(query).fetchall())
