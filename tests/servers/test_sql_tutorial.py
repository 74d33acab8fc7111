"""The SQL of docs/sql.md runs, on a Postgres of our own, and gives what the page shows.

The ``sql`` blocks are executed in order. A ``console`` block shows what the query before it prints;
a ``json`` block holds the lines of the file that tables read, a ``postgresql`` block what is done
in the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from scurry.common.types import Row, RowKind
from scurry.sql import ast
from scurry.sql.parser import parse_script
from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.table.tableau import Tableau
from scurry.testing.servers import PostgresServer
from scurry.testing.tables import changes_of_table, run_inserts

PAGE = Path(__file__).parents[2] / "docs" / "sql.md"
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_KINDS = {str(kind): kind for kind in RowKind}


class Reader:
    """Somebody who does what the page says."""

    def __init__(self, server: PostgresServer, directory: Path) -> None:
        self._dsn = server.dsn
        self._file = directory / "clicks.json"
        self._env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        self._env.get_config().set_local_timezone("UTC")
        self._shown = ""

    def read(self, language: str, content: str) -> None:
        if language == "json":
            self._file.write_text(content)
        elif language == "postgresql":
            with psycopg.connect(self._dsn, autocommit=True) as connection:
                connection.execute(content)
        elif language == "console":
            assert sorted(self._shown.splitlines()) == sorted(content.splitlines())
        elif language == "sql":
            for statement in parse_script(content):
                self._execute(statement)

    def _execute(self, statement: ast.Statement) -> None:
        text = self._adapted(statement.span.text)
        if isinstance(statement, ast.QueryStatement):
            self._shown = "\n".join(self._lines(text))
        elif isinstance(statement, ast.Insert):
            run_inserts(self._env, [self._env.pipeline_of_sql(text)], cuts=2)
        else:
            self._env.execute_sql(text)

    def _lines(self, query: str) -> Iterator[str]:
        table = self._env.sql_query(query)
        rows = [Row.of_kind(_KINDS[kind], *row) for kind, *row in changes_of_table(table)]
        return Tableau(table.get_resolved_schema(), streaming=True).lines(rows)

    def _adapted(self, text: str) -> str:
        """A statement with our places, and orders that come at once."""
        parts = psycopg.conninfo.conninfo_to_dict(self._dsn)
        url = f"jdbc:postgresql://{parts['host']}:{parts['port']}/{parts['dbname']}"
        login = f"'username' = '{parts['user']}', 'password' = '{parts.get('password') or ''}'"
        text = text.replace("'jdbc:postgresql://localhost/shop'", f"'{url}', {login}")
        text = text.replace("'rows-per-second' = '100'", "'rows-per-second' = '1000000'")
        return text.replace("/data/clicks.json", str(self._file))


@pytest.fixture
def reader(postgres_server: PostgresServer, tmp_path: Path) -> Reader:
    with psycopg.connect(postgres_server.dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS accounts, totals")
    return Reader(postgres_server, tmp_path)


def test_the_tutorial_does_what_it_says(reader: Reader) -> None:
    blocks = _FENCE.findall(PAGE.read_text())
    assert {"sql", "console", "json", "postgresql"} <= {language for language, _ in blocks}
    for language, content in blocks:
        reader.read(language, content)
