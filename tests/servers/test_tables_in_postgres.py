"""Tables of the connector ``jdbc``, on a Postgres of our own."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from scurry.table import DataTypes, EnvironmentSettings, TableEnvironment
from scurry.table.udf import udf
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


LOOKUP = "JOIN users FOR SYSTEM_TIME AS OF a.pt AS u ON a.name = u.name"


def asking(env: TableEnvironment, names: list[str | None]) -> None:
    """Make a view of names that are looked up."""
    env.create_temporary_view("names", env.from_elements([(one,) for one in names], ["name"]))
    env.execute_sql("CREATE VIEW asked AS SELECT name, PROCTIME() AS pt FROM names")


@pytest.mark.parametrize("mode", ["ordered", "allow_unordered"])
def test_rows_are_looked_up_by_calls_of_their_own(
    postgres_server: PostgresServer, shop: Any, mode: str
) -> None:
    shop.execute("INSERT INTO users SELECT 'u' || n, 'c' || n FROM generate_series(1, 200) AS n")
    env = environment(postgres_server)
    asking(env, ["ann", "zoe", None, "ann", "bob", *(f"u{n}" for n in range(200, 0, -1))])
    hint = f"/*+ LOOKUP('table' = 'u', 'async' = 'true', 'output-mode' = '{mode}') */"
    query = f"SELECT {hint} a.name, u.city FROM asked AS a LEFT {LOOKUP}"
    found = [tuple(change[1:]) for change in changes_of_table(env.sql_query(query), cuts=150)]
    first = [("ann", "Bonn"), ("zoe", None), (None, None), ("ann", "Bonn"), ("bob", None)]
    expected = [*first, *((f"u{n}", f"c{n}") for n in range(200, 0, -1))]
    if mode == "allow_unordered":
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    assert found == expected


@pytest.mark.parametrize("way", ["true", "false"])
def test_a_row_that_comes_later_is_waited_for(
    postgres_server: PostgresServer, shop: Any, way: str
) -> None:
    env = environment(postgres_server)
    asking(env, ["late"])
    retry = (
        "'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', "
        "'fixed-delay' = '50ms', 'max-attempts' = '1000'"
    )
    hint = f"/*+ LOOKUP('table' = 'users', 'async' = '{way}', {retry}) */"
    query = env.sql_query(f"SELECT {hint} a.name, u.city FROM asked AS a {LOOKUP}")
    late = threading.Timer(0.3, shop.execute, ["INSERT INTO users VALUES ('late', 'Rome', NULL)"])
    late.start()
    assert changes_of_table(query) == [("+I", "late", "Rome")]
    late.join()


@pytest.mark.parametrize("way", ["true", "false"])
@pytest.mark.parametrize(("cache", "city"), [("PARTIAL", "Bonn"), ("NONE", "Rome")])
def test_rows_that_were_found_are_kept(
    postgres_server: PostgresServer, shop: Any, way: str, cache: str, city: str
) -> None:
    """A function that is called after the second lookup changes the row that the third finds."""
    env = environment(postgres_server)
    env.execute_sql(f"ALTER TABLE users SET ('lookup.async' = '{way}', 'lookup.cache' = '{cache}')")
    asking(env, ["ann", "move", "ann"])
    dsn = postgres_server.dsn

    def move(name: str) -> str:
        if name == "move":
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("UPDATE users SET city = 'Rome'")
        return name

    env.create_temporary_system_function("move", udf(move, result_type=DataTypes.STRING()))
    query = f"SELECT move(a.name), u.city FROM asked AS a LEFT {LOOKUP}"
    found = changes_of_table(env.sql_query(query), cuts=1)
    assert [change[2] for change in found] == ["Bonn", None, city]


def test_a_table_is_read(postgres_server: PostgresServer, shop: Any) -> None:
    env = environment(postgres_server)
    found = changes_of_table(env.sql_query("SELECT city, UPPER(name) FROM users"))
    assert sorted(found, key=repr) == [("+I", "Bonn", "ANN"), ("+I", None, "BOB")]
