"""The Postgres source: each row once, also those whose transactions end late."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import psycopg
import pytest

from scurry.common import Row, Types
from scurry.common.errors import JobError, NotSupportedError, ProgramError
from scurry.connectors.postgres import source as source_module
from scurry.connectors.postgres.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from scurry.connectors.postgres.source import PostgresSource
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import collect_local
from scurry.testing.local import run_local
from scurry.testing.servers import PostgresServer


def run(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def dsn(postgres_server: PostgresServer) -> str:
    run(postgres_server.dsn, "DROP TABLE IF EXISTS e")
    run(postgres_server.dsn, "CREATE TABLE e (id bigserial PRIMARY KEY, name text)")
    return postgres_server.dsn


def collect(source: PostgresSource, cuts: int | None = None, crash: Any = ()) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    return collect_local(env.from_source(source), cuts=cuts, crash=crash)


def test_a_snapshot_by_column_in_any_cut(dsn: str) -> None:
    run(dsn, "INSERT INTO e (name) SELECT 'n' || i FROM generate_series(1, 25) i")
    expected = [Row(id=n, name=f"n{n}") for n in range(1, 26)]
    assert collect(PostgresSource.snapshot(dsn, "e", "id")) == expected
    assert collect(PostgresSource.snapshot(dsn, "e", "id"), cuts=4, crash=[1]) == expected


def test_a_query_without_a_column_is_one_batch(dsn: str) -> None:
    run(dsn, "INSERT INTO e (name) VALUES ('a%'), ('b')")
    query = "SELECT name, 10 % 3 AS one FROM e WHERE name LIKE '%a%%';"
    assert collect(PostgresSource.snapshot(dsn, query), cuts=1) == [Row(name="a%", one=1)]
    query = "SELECT id, name FROM e WHERE name LIKE '%a%%'"
    assert collect(PostgresSource.snapshot(dsn, query, "id")) == [Row(id=1, name="a%")]
    assert collect(PostgresSource.snapshot(dsn, "SELECT * FROM e WHERE false", "id")) == []


def test_declared_types(dsn: str) -> None:
    run(dsn, "INSERT INTO e (name) VALUES ('a')")
    kind = Types.TUPLE([Types.LONG(), Types.STRING()])
    assert collect(PostgresSource.snapshot(dsn, "e", type_info=kind)) == [(1, "a")]


class Watcher:
    """An incremental source, driven step by step; every step restarts it."""

    def __init__(self, source: PostgresSource) -> None:
        self.source = source
        self.enumerator = source.enumerator(1)
        self.position = self.enumerator.initial_position()

    def restart(self) -> None:
        self.enumerator.close()
        self.enumerator = self.source.enumerator(1)
        self.position = json.loads(json.dumps(self.position))

    def step(self, max_records: int = 1000) -> list[int]:
        plan = self.enumerator.plan(self.position, max_records)
        assert not plan.finished
        self.position = plan.position
        return [
            row.id
            for item in plan.ranges
            for batch in self.source.read(item.what)
            for row in batch.rows or []
        ]


def test_new_rows_are_read_once_in_order(dsn: str) -> None:
    watcher = Watcher(PostgresSource.incremental(dsn, "e", "id", poll_seconds=0))
    assert watcher.step() == []
    run(dsn, "INSERT INTO e (name) SELECT 'x' FROM generate_series(1, 5)")
    assert watcher.step(2) == [1, 2]
    watcher.restart()
    assert watcher.step(2) == [3, 4]
    run(dsn, "INSERT INTO e (name) VALUES ('y')")
    assert watcher.step() == [5]
    assert watcher.step() == [6]
    watcher.restart()
    assert watcher.step() == []
    watcher.enumerator.close()
    above = Watcher(PostgresSource.incremental(dsn, "e", "id", start=4, poll_seconds=0))
    assert above.step() == [5, 6]
    above.enumerator.close()


def test_pieces_are_cut_in_the_order_of_the_column(dsn: str) -> None:
    """As texts, 10 would come before 2."""
    run(dsn, "INSERT INTO e (name) SELECT 'x' FROM generate_series(1, 25)")
    watcher = Watcher(PostgresSource.incremental(dsn, "e", "id", poll_seconds=0))
    assert [len(watcher.step(4)) for _ in range(7)] == [4, 4, 4, 4, 4, 4, 1]
    watcher.enumerator.close()


def test_rows_that_wait_are_told(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_module, "_COUNT_SHARE", 0)
    watcher = Watcher(PostgresSource.incremental(dsn, "e", "id", poll_seconds=0))
    assert watcher.step() == []
    assert watcher.enumerator.gauges() == {"lag": 0}
    run(dsn, "INSERT INTO e (name) SELECT 'x' FROM generate_series(1, 7)")
    assert watcher.step(2) == [1, 2]
    assert watcher.enumerator.gauges() == {"lag": 5}
    run(dsn, "INSERT INTO e (name) VALUES ('y')")
    watcher.restart()
    assert watcher.step(3) == [3, 4, 5]
    assert watcher.enumerator.gauges() == {"lag": 3}
    with psycopg.connect(dsn) as late:
        late.execute("INSERT INTO e (name) VALUES ('late')")
        run(dsn, "INSERT INTO e (name) VALUES ('early')")
        assert watcher.step() == [6, 7, 8]
        assert watcher.step() == []
        assert watcher.enumerator.gauges() == {"lag": 1}
    assert watcher.step() == [9, 10]
    assert watcher.enumerator.gauges() == {"lag": 0}
    watcher.enumerator.close()
    bounded = PostgresSource.snapshot(dsn, "e", "id").enumerator(1)
    position = bounded.plan(bounded.initial_position(), 4).position
    assert bounded.gauges() == {"lag": 6}
    run(dsn, "INSERT INTO e (name) VALUES ('too late for the snapshot')")
    bounded.plan(position, 5)
    assert bounded.gauges() == {"lag": 1}
    bounded.close()


def test_between_two_counts_what_was_planned_is_taken_off(dsn: str) -> None:
    run(dsn, "INSERT INTO e (name) SELECT 'x' FROM generate_series(1, 9)")
    watcher = Watcher(PostgresSource.incremental(dsn, "e", "id", poll_seconds=3600))
    watcher.step(2)
    assert watcher.enumerator.gauges() == {"lag": 7}
    watcher.step(3)
    assert watcher.enumerator.gauges() == {"lag": 4}
    watcher.step(100)
    assert watcher.enumerator.gauges() == {"lag": 0}
    watcher.enumerator.close()


def test_a_transaction_that_ends_late_loses_no_row(dsn: str) -> None:
    watcher = Watcher(PostgresSource.incremental(dsn, "e", "id", poll_seconds=0))
    with psycopg.connect(dsn) as late:
        late.execute("INSERT INTO e (name) VALUES ('late')")
        run(dsn, "INSERT INTO e (name) VALUES ('early')")
        assert run(dsn, "SELECT id FROM e") == [(2,)]
        assert watcher.step() == []
        assert watcher.step() == []
    assert watcher.step() == [1, 2]
    watcher.enumerator.close()


def test_a_server_that_is_away_is_waited_for(dsn: str, postgres_server: PostgresServer) -> None:
    watcher = Watcher(PostgresSource.incremental(dsn, "e", "id", poll_seconds=0))
    run(dsn, "INSERT INTO e (name) VALUES ('a')")
    assert watcher.step() == [1]
    postgres_server.stop()
    back = threading.Thread(target=lambda: (time.sleep(1), postgres_server.start()))
    back.start()
    assert watcher.step() == []
    back.join()
    watcher.enumerator.close()


def test_faults_are_said(dsn: str) -> None:
    with pytest.raises(JobError, match=r'"nowhere" does not exist[\s\S]*The query was: SELECT \*'):
        PostgresSource.snapshot(dsn, "nowhere", "id").enumerator(1).initial_position()
    with pytest.raises(ProgramError, match="needs a query or a table, got ''"):
        PostgresSource.snapshot(dsn, "")
    source = PostgresSource.snapshot("postgresql://u:hunter2@h/d", "e")
    assert repr(source) == "PostgresSource('SELECT * FROM e', Postgres at h:5432/d)"


# --- JdbcSink ------------------------------------------------------------------------------

PAIR = Types.ROW([Types.LONG(), Types.STRING()])


def jdbc(server: PostgresServer) -> JdbcConnectionOptions:
    return (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(f"jdbc:postgresql://127.0.0.1:{server.port}/postgres")
        .with_driver_name("org.postgresql.Driver")
        .with_user_name("postgres")
        .with_password("irrelevant")
        .build()
    )


def test_a_jdbc_sink_runs_its_statement_for_each_record(
    dsn: str, postgres_server: PostgresServer
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    stream = env.from_collection([(n, f"n{n}") for n in range(10)], PAIR)
    stream.add_sink(
        JdbcSink.sink(
            "INSERT INTO e (id, name) VALUES (?, '10% ? ' || ?)",
            PAIR,
            jdbc(postgres_server),
            JdbcExecutionOptions.builder().with_batch_size(3).with_max_retries(1).build(),
        )
    )
    run_local(env, cuts=3, crash=[0, 2])
    expected = [(n, f"10% ? n{n}") for n in range(10)]
    assert sorted(run(dsn, "SELECT * FROM e")) == expected


def test_what_a_jdbc_sink_refuses(postgres_server: PostgresServer) -> None:
    options = jdbc(postgres_server)
    with pytest.raises(ProgramError, match="has 1 question marks, and the type has 2 fields"):
        JdbcSink.sink("INSERT INTO e VALUES (?)", PAIR, options)
    with pytest.raises(NotSupportedError, match="'jdbc:mysql:' is not a database"):
        JdbcSink.sink("?", PAIR, JdbcConnectionOptions("jdbc:mysql://host/db"))
    with pytest.raises(ProgramError, match="needs a row type"):
        JdbcSink.sink("?", Types.LONG(), options)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"with_url\(\.\.\.\) is missing"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()
    assert "irrelevant" not in repr(options)
    assert options.get_db_url().startswith("jdbc:postgresql:")
    assert JdbcExecutionOptions.defaults().get_batch_size() == 5000
