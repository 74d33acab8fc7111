"""The Postgres sink: each batch once, in one transaction, also when the server goes away."""

from __future__ import annotations

import datetime
import decimal
import logging
import pickle
import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Row, RowKind
from scurry.common.errors import FunctionError, JobError, ProgramError, TypeMismatchError
from scurry.connectors.postgres.sink import PostgresSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.runtime.batch import Batch
from scurry.testing.local import run_local
from scurry.testing.servers import PostgresServer


class Database:
    """A server, and a fresh table ``t`` in it."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server
        self.dsn = server.dsn

    def run(self, statement: str) -> list[Any]:
        with psycopg.connect(self.dsn) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def rows(self, table: str = "t") -> list[Any]:
        return sorted(self.run(f"SELECT * FROM {table}"))


@pytest.fixture
def database(postgres_server: PostgresServer) -> Database:
    database = Database(postgres_server)
    database.run("DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS _scurry_commits")
    database.run("CREATE TABLE t (id bigint PRIMARY KEY, name text)")
    return database


def started(sink: PostgresSink, job: str = "job") -> PostgresSink:
    sink.start(CommitterContext("sink", job))
    sink.recover(0)
    return sink


def written(sink: PostgresSink, *rows: Any, index: int = 0) -> Any:
    """What a writer in a worker prepares."""
    writer = pickle.loads(pickle.dumps(sink)).create_writer(WriterContext("sink", index, 2))
    writer.write_records(Batch(list(rows)), 0)
    return writer.prepare()


def test_a_batch_is_written_once(database: Database) -> None:
    sink = started(PostgresSink.append(database.dsn, "t", ["id", "name"]))
    sink.commit(0, [written(sink, (1, "a")), written(sink, (2, "b"), index=1)])
    sink.commit(0, [written(sink, (3, "again"))])
    sink.close()
    again = started(PostgresSink.append(database.dsn, "public.t", ["id", "name"]))
    again.commit(0, [written(again, (4, "again"))])
    again.commit(1, [written(again, (5, "next"))])
    again.commit(2, [])
    again.close()
    assert database.rows() == [(1, "a"), (2, "b"), (5, "next")]


def test_jobs_and_sinks_count_their_own_batches(database: Database) -> None:
    for number, job in enumerate(("one", "two")):
        sink = started(PostgresSink.append(database.dsn, "t", ["id", "name"]), job)
        sink.commit(0, [written(sink, (number, job))])
        sink.close()
    assert database.rows() == [(0, "one"), (1, "two")]


def test_a_batch_that_fails_leaves_nothing(database: Database) -> None:
    sink = started(PostgresSink.append(database.dsn, "t", ["id", "name"]))
    with pytest.raises(
        JobError, match=r"into 't' .*duplicate key.*[\s\S]*use PostgresSink\.upsert"
    ):
        sink.commit(0, [written(sink, (1, "a")), written(sink, (1, "b"))])
    assert database.rows() == []
    sink.commit(0, [written(sink, (1, "a"))])
    assert database.rows() == [(1, "a")]
    sink.close()


@dataclass
class Person:
    name: str
    id: int


def test_records_of_all_kinds(database: Database) -> None:
    sink = started(PostgresSink.append(database.dsn, "t"))
    for number, row in enumerate(
        [Row(id=1, name="row"), {"name": "dict", "id": 2}, Person("dataclass", 3)]
    ):
        sink.commit(number, [written(sink, row)])
    sink.close()
    assert database.rows() == [(1, "row"), (2, "dict"), (3, "dataclass")]
    with pytest.raises(TypeMismatchError, match=r"has no field names.*columns=\[\.\.\.\]"):
        written(sink, (1, "a"))
    with pytest.raises(TypeMismatchError, match="has 3 fields, not the 2"):
        written(PostgresSink.append(database.dsn, "t", ["id", "name"]), (1, 2, 3))
    with pytest.raises(TypeMismatchError, match=r"only inserts, and got -D\[1, a\]"):
        written(sink, Row.of_kind(RowKind.DELETE, id=1, name="a"))


VALUES: list[tuple[str, Any]] = [
    ("text", "tab\t line\n back\\slash \\N quote' ü \r end"),
    ("boolean", True),
    ("double precision", 1e300),
    ("double precision", float("inf")),
    ("numeric", decimal.Decimal("123456789.000000001")),
    ("bytea", b"\x00\\\xff"),
    ("timestamptz", datetime.datetime(2024, 5, 1, 12, 0, 0, 123456, datetime.UTC)),
    ("date", datetime.date(2024, 5, 1)),
    ("time", datetime.time(1, 2, 3)),
    ("interval", datetime.timedelta(days=-2, seconds=5, microseconds=7)),
    ("uuid", uuid.UUID(int=5)),
    ("jsonb", {"a": [1, None, 'q"\\']}),
    ("bigint[]", [1, None, 3]),
    ("text[]", ["a,b", 'q"', "\\", "NULL", ""]),
    ("bigint[][]", [[1, 2], [3, 4]]),
    ("text", None),
]


@pytest.mark.parametrize(("kind", "value"), VALUES, ids=[kind for kind, _ in VALUES])
def test_values_come_back_as_they_were(database: Database, kind: str, value: Any) -> None:
    database.run(f"DROP TABLE t; CREATE TABLE t (v {kind})")
    sink = started(PostgresSink.append(database.dsn, "t", ["v"]))
    sink.commit(0, [written(sink, (value,))])
    sink.close()
    assert database.rows() == [(value,)]


def test_values_that_postgres_cannot_hold_are_named(database: Database) -> None:
    sink = PostgresSink.append(database.dsn, "t", ["id", "name"])
    with pytest.raises(TypeMismatchError, match="holds a zero byte"):
        written(sink, (1, "a\0b"))
    with pytest.raises(TypeMismatchError, match=r"\(set\) has no form in Postgres"):
        written(sink, (1, {2}))


def test_changes_by_key(database: Database) -> None:
    sink = started(PostgresSink.upsert(database.dsn, "t", ["id"], ["id", "name"]))
    of = Row.of_kind
    sink.commit(0, [written(sink, (1, "a"), (2, "b"), (3, "c"), (1, "a2"))])
    assert database.rows() == [(1, "a2"), (2, "b"), (3, "c")]
    changes = [
        of(RowKind.UPDATE_BEFORE, 1, "a2"),
        of(RowKind.UPDATE_AFTER, 1, "a3"),
        of(RowKind.DELETE, 2, "b"),
        of(RowKind.DELETE, 3, "c"),
        of(RowKind.INSERT, 3, "c2"),
        of(RowKind.INSERT, 9, "x"),
        of(RowKind.DELETE, 9, "x"),
    ]
    sink.commit(1, [written(sink, *changes)])
    sink.commit(1, [written(sink, (7, "again"))])
    sink.close()
    assert database.rows() == [(1, "a3"), (3, "c2")]


OPS = st.tuples(st.sampled_from([RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE]))


@settings(max_examples=20)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.sampled_from(list(RowKind)), st.integers(0, 5), st.integers(0, 99))),
        max_size=5,
    )
)
def test_the_table_is_what_replaying_the_changes_gives(
    postgres_server: PostgresServer, batches: list[list[tuple[RowKind, int, int]]]
) -> None:
    database = Database(postgres_server)
    database.run("DROP TABLE IF EXISTS p; CREATE TABLE p (a int, b int, v int, PRIMARY KEY (a, b))")
    sink = started(
        PostgresSink.upsert(database.dsn, "p", ["a", "b"], ["v", "a", "b"]), str(uuid.uuid4())
    )
    expected: dict[int, int] = {}
    for number, changes in enumerate(batches):
        rows = [Row.of_kind(kind, value, key, -key) for kind, key, value in changes]
        sink.commit(number, [message] if (message := written(sink, *rows)) else [])
        for kind, key, value in changes:
            if kind is RowKind.DELETE:
                expected.pop(key, None)
            elif kind is not RowKind.UPDATE_BEFORE:
                expected[key] = value
    sink.close()
    assert {a: v for a, _, v in database.rows("p")} == expected


def test_an_upsert_of_keys_alone(database: Database) -> None:
    sink = started(PostgresSink.upsert(database.dsn, "t", ["id"], ["id"]))
    sink.commit(0, [written(sink, (1,), (1,))])
    sink.commit(1, [written(sink, (1,))])
    sink.close()
    assert database.rows() == [(1, None)]


def test_what_is_wrong_with_the_table_is_said(database: Database) -> None:
    database.run("DROP TABLE t; CREATE TABLE t (id bigint, name text)")
    sink = started(PostgresSink.upsert(database.dsn, "t", ["id"], ["id", "name"]))
    with pytest.raises(JobError, match="needs a primary key or unique index on exactly the key"):
        sink.commit(0, [written(sink, (1, "a"))])
    sink.close()
    sink = started(PostgresSink.append(database.dsn, "nowhere", ["id"]))
    with pytest.raises(JobError, match=r"does not exist[\s\S]*Create the table before"):
        sink.commit(0, [written(sink, (1,))])
    sink.close()


def test_settings_are_checked_when_the_program_is_built() -> None:
    dsn = "postgresql://user:secret@localhost/db"
    with pytest.raises(ProgramError, match=r"key is a list of column names, got 'id'"):
        PostgresSink.upsert(dsn, "t", "id")
    with pytest.raises(ProgramError, match=r"'id' is not among the columns \['name'\]"):
        PostgresSink.upsert(dsn, "t", ["id"], ["name"])
    with pytest.raises(ProgramError, match="needs the name of a table"):
        PostgresSink.append(dsn, "")
    with pytest.raises(ProgramError, match="not how a Postgres database is named") as caught:
        PostgresSink.append("hunter2 is my password", "t")
    assert "hunter2" not in str(caught.value)


def test_the_password_stays_on_the_driver_and_out_of_messages() -> None:
    sink = PostgresSink.append("postgresql://user:hunter2@127.0.0.1:1/db", "t", patience_seconds=0)
    assert b"hunter2" not in pickle.dumps(sink)
    with pytest.raises(JobError, match=r"127\.0\.0\.1:1/db could not be reached for 0 s") as caught:
        started(sink)
    assert "hunter2" not in str(caught.value)


def test_a_refused_user_is_no_reason_to_wait(postgres_server: PostgresServer) -> None:
    dsn = postgres_server.dsn.replace("/postgres", "/nowhere")
    with pytest.raises(JobError, match=r"refuses the connection: .*nowhere. does not exist"):
        started(PostgresSink.append(dsn, "t"))


def test_a_server_that_is_away_is_waited_for(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    sink = started(PostgresSink.append(database.dsn, "t", ["id", "name"]))
    sink.commit(0, [written(sink, (1, "a"))])
    database.server.stop()
    back = threading.Thread(target=lambda: (time.sleep(1.5), database.server.start()))
    back.start()
    with caplog.at_level(logging.WARNING, "scurry"):
        sink.commit(1, [written(sink, (2, "b"))])
    back.join()
    sink.close()
    assert database.rows() == [(1, "a"), (2, "b")]
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith(f"waiting for Postgres at 127.0.0.1:{database.server.port}/postgres")
    assert "is back after" in said[-1]


def test_a_program_with_crashes_writes_every_record_once(database: Database) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = env.from_collection([(n, str(n)) for n in range(50)])
    numbers.rebalance().map(lambda pair: pair).sink_to(
        PostgresSink.append(database.dsn, "t", ["id", "name"])
    )
    run_local(env, cuts=8, crash=[0, 3])
    assert database.rows() == [(n, str(n)) for n in range(50)]


def test_a_bad_record_names_the_sink(database: Database) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).sink_to(PostgresSink.append(database.dsn, "t", ["id"]))
    with pytest.raises(FunctionError, match=r"1 is no record with the fields \['id'\]"):
        run_local(env)
