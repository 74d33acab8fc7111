"""Tables of the connector ``jdbc``, on a Postgres of our own."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.testing.servers import PostgresServer
from scurry.testing.tables import changes_of_table, run_inserts


@pytest.fixture
def shop(postgres_server: PostgresServer) -> Any:
    """A connection to a database with two tables."""
    with psycopg.connect(postgres_server.dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS totals, users")
        connection.execute("CREATE TABLE totals (word TEXT PRIMARY KEY, n BIGINT)")
        connection.execute("CREATE TABLE users (name TEXT, city TEXT, since TIMESTAMP)")
        users = "('ann', 'Bonn', '2024-01-31'), ('bob', NULL, NULL)"
        connection.execute(f"INSERT INTO users VALUES {users}")
        yield connection


def environment(server: PostgresServer) -> TableEnvironment:
    """An environment that knows both tables."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    parts = psycopg.conninfo.conninfo_to_dict(server.dsn)
    url = f"jdbc:postgresql://{parts['host']}:{parts['port']}/{parts['dbname']}"
    options = f"'connector' = 'jdbc', 'url' = '{url}', 'username' = '{parts['user']}'"
    if parts.get("password"):
        options += f", 'password' = '{parts['password']}'"
    env.execute_sql(
        "CREATE TABLE totals (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED) "
        f"WITH ({options}, 'table-name' = 'totals')"
    )
    env.execute_sql(
        "CREATE TABLE users (name STRING, city STRING, since TIMESTAMP(3)) "
        f"WITH ({options}, 'table-name' = 'users')"
    )
    rows = [("a", 1), ("b", 2), ("a", 3)]
    env.create_temporary_view("words", env.from_elements(rows, ["word", "n"]))
    return env


def test_updates_and_deletions_reach_the_table(postgres_server: PostgresServer, shop: Any) -> None:
    env = environment(postgres_server)
    totals = "SELECT word, COUNT(*) AS n FROM words GROUP BY word"
    run_inserts(env, [env.pipeline_of_sql(f"INSERT INTO totals {totals}")], cuts=1)
    assert shop.execute("SELECT * FROM totals ORDER BY word").fetchall() == [("a", 2), ("b", 1)]
    shop.execute("TRUNCATE totals")
    once = f"SELECT word, n FROM ({totals}) WHERE n < 2"
    run_inserts(env, [env.pipeline_of_sql(f"INSERT INTO totals {once}")], cuts=1)
    assert shop.execute("SELECT * FROM totals").fetchall() == [("b", 1)]


def test_rows_are_looked_up(postgres_server: PostgresServer, shop: Any) -> None:
    env = environment(postgres_server)
    names = env.from_elements([("ann",), ("zoe",), (None,), ("ann",)], ["name"])
    env.create_temporary_view("names", names)
    env.execute_sql("CREATE VIEW asked AS SELECT name, PROCTIME() AS pt FROM names")
    query = (
        "SELECT a.name, u.city FROM asked AS a LEFT JOIN users FOR SYSTEM_TIME AS OF a.pt AS u "
        "ON a.name = u.name"
    )
    found = changes_of_table(env.sql_query(query), cuts=2)
    expected = [("ann", "Bonn"), ("zoe", None), (None, None), ("ann", "Bonn")]
    assert [tuple(change[1:]) for change in found] == expected


def test_a_table_is_read(postgres_server: PostgresServer, shop: Any) -> None:
    env = environment(postgres_server)
    found = changes_of_table(env.sql_query("SELECT city, UPPER(name) FROM users"))
    assert sorted(found, key=repr) == [("+I", "Bonn", "ANN"), ("+I", None, "BOB")]
