"""NEXMark's queries, cut at random and crashed, beside what a database computes of the rows."""

from __future__ import annotations

import random
from pathlib import Path

import duckdb
import pytest
from benchmarks.contenders import _nexmark
from benchmarks.nexmark import BY_THE_CLOCK, queries
from benchmarks.nexmark.check import SHAPE, compared, declare_function, in_database
from benchmarks.nexmark.files import written

from scurry.common.types import Row, RowKind
from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.testing.tables import changes_of_table

EVENTS = 3000
TEXTS = {name: text for name, text in queries().items() if name not in BY_THE_CLOCK}
KINDS = {str(kind): kind for kind in RowKind}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("nexmark"), EVENTS, SHAPE, "csv")


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    return in_database(EVENTS)


@pytest.mark.parametrize("name", TEXTS)
def test_the_table_is_what_a_database_computes(
    name: str, files: Path, database: duckdb.DuckDBPyConnection
) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    declare_function(env)
    _nexmark.declare(env, files, "csv")
    rng = random.Random(name)
    cuts = [rng.choice((50, 300, 900)) for _ in range(40)]
    changes = changes_of_table(env.sql_query(TEXTS[name]), cuts, crash=[1, 4], restart=[2])
    rows = [Row.of_kind(KINDS[str(kind)], *values) for kind, *values in changes]
    assert rows
    assert compared(database, name, rows) == ""
