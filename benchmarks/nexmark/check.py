"""Each query's result in Scurry beside what a database computes of the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks._results import DATA
from benchmarks.contenders import _nexmark
from benchmarks.nexmark import BY_THE_CLOCK, expected
from benchmarks.nexmark.files import SIDE, side_rows, written
from scurry.common.types import Row, RowKind
from scurry.connectors.nexmark import TABLES, NexmarkShape, rows_of
from scurry.connectors.nexmark.tables import rows_among
from scurry.table import DataTypes, EnvironmentSettings, TableEnvironment
from scurry.table.udf import udf

#: Events two milliseconds apart: no two bids have one time, so that no order is left open.
SHAPE = NexmarkShape(events_per_second=500)
Rows = Counter[tuple[Any, ...]]


def differences(texts: dict[str, str], events: int) -> dict[str, str]:
    """For each query whose result differs: what is missing or too much."""
    database = in_database(events)
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    declare_function(tables)
    _nexmark.declare(tables, written(DATA, events, SHAPE, "csv"), "csv")
    found = {}
    for name, text in texts.items():
        if name not in BY_THE_CLOCK:
            with tables.sql_query(text).execute().collect() as rows:
                difference = compared(database, name, rows)
            if difference:
                found[name] = difference
    return found


def declare_function(tables: Any) -> None:
    """The Python function of query 14."""
    function = udf(_nexmark.count_char, result_type=DataTypes.BIGINT())
    tables.create_temporary_system_function("count_char", function)


def in_database(events: int) -> duckdb.DuckDBPyConnection:
    """The first ``events`` events as tables of a database."""
    database = duckdb.connect()
    for table in TABLES:
        rows = rows_of(table, 0, rows_among(table, events), SHAPE)
        database.register(table, pa.Table.from_batches([rows]))
    database.register(SIDE, pa.Table.from_batches([side_rows()]))
    return database


def compared(database: duckdb.DuckDBPyConnection, name: str, rows: Iterable[Row]) -> str:
    """How the table that changes ``rows`` amount to differs from what the database says, or ""."""
    wanted: Rows = Counter(database.sql(expected()[name]).fetchall())
    found = table_of(rows)
    if found == wanted:
        return ""
    missing, surplus = wanted - found, found - wanted
    return (
        f"{missing.total()} rows are missing, such as {next(iter(missing), None)}; "
        f"{surplus.total()} are too much, such as {next(iter(surplus), None)}"
    )


def table_of(changes: Iterable[Row]) -> Rows:
    """The table that changes amount to; a row that is taken back must have been there."""
    table: Rows = Counter()
    for row in changes:
        values = tuple(row)
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            table[values] += 1
        elif table[values] > 0:
            table[values] -= 1
        else:
            raise AssertionError(f"{row} takes back what was not there")
    return +table
