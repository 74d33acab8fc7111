"""Postgres and Redis, and jobs that go on from older copies of their checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg
import pytest
import redis
from tests.contract._histories import HistoryContract, Runs, Target

from scurry.common import Row, Types
from scurry.common.errors import OtherHistoryError, ProgramError, TypeMismatchError
from scurry.connectors.postgres.jdbc import JdbcConnectionOptions, JdbcSink
from scurry.connectors.postgres.sink import PostgresSink
from scurry.connectors.redis import RedisSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.sink import CommitterContext, Sink
from scurry.testing.local import run_local
from scurry.testing.servers import PostgresServer, RedisServer


class Table(Target):
    """Rows that are appended, and do not say which batch wrote them."""

    truncates = False
    definition = "n bigint"

    def __init__(self, server: PostgresServer) -> None:
        self.dsn = server.dsn
        self.run("DROP TABLE IF EXISTS h, _scurry_commits")
        self.run(f"CREATE TABLE h ({self.definition})")

    def run(self, statement: str) -> list[Any]:
        with psycopg.connect(self.dsn) as connection:
            cursor = connection.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    def sink(self) -> Sink:
        return PostgresSink.append(self.dsn, "h")

    @staticmethod
    def convert(number: int) -> Any:
        return Row(n=number)

    def numbers(self) -> Iterable[int]:
        return [number for (number,) in self.run("SELECT n FROM h")]


class LabelledTable(Table):
    truncates = True
    definition = "n bigint, batch text"

    def sink(self) -> Sink:
        return PostgresSink.append(self.dsn, "h", batch_column="batch")


class UpsertedTable(Table):
    idempotent = True
    definition = "n bigint primary key"

    def sink(self) -> Sink:
        return PostgresSink.upsert(self.dsn, "h", ["n"])


class JdbcTable(Table):
    def sink(self) -> Sink:
        with psycopg.connect(self.dsn) as connection:
            at = connection.info
            url = f"jdbc:postgresql://{at.host}:{at.port}/{at.dbname}"
            options = JdbcConnectionOptions(url, user_name=at.user)
        row = Types.ROW_NAMED(["n"], [Types.LONG()])
        return JdbcSink.sink("INSERT INTO h VALUES (?)", row, options)


class RedisKeys(Target):
    truncates = False
    idempotent = True

    def __init__(self, server: RedisServer) -> None:
        self.url = server.url
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def sink(self) -> Sink:
        return RedisSink.values(self.url, prefix="h:")

    @staticmethod
    def convert(number: int) -> Any:
        return (number, "x")

    def numbers(self) -> Iterable[int]:
        with redis.Redis.from_url(self.url) as client:
            return [int(key.decode().removeprefix("h:")) for key in client.keys("h:*")]  # type: ignore[union-attr]


class TestPostgres(HistoryContract):
    @pytest.fixture(
        params=[Table, LabelledTable, UpsertedTable, JdbcTable], ids=lambda kind: kind.__name__
    )
    def target(self, request: pytest.FixtureRequest, postgres_server: PostgresServer) -> Target:
        made: Target = request.param(postgres_server)
        return made


class TestRedis(HistoryContract):
    @pytest.fixture
    def target(self, redis_server: RedisServer) -> Target:
        return RedisKeys(redis_server)


def test_a_table_of_commits_from_before_there_were_branches(
    postgres_server: PostgresServer,
) -> None:
    table = Table(postgres_server)
    table.run(
        "CREATE TABLE _scurry_commits (sink text PRIMARY KEY, batch bigint NOT NULL, "
        "changed timestamptz NOT NULL DEFAULT now())"
    )
    table.run("INSERT INTO _scurry_commits VALUES ('old/out', 7, '2026-01-02 03:04:05Z')")
    sink = table.sink()
    sink.start(CommitterContext("out", "old"))
    mark = sink.committed_mark()
    assert mark is not None
    assert (mark.batch, mark.branch, mark.when) == (7, "", 1767323045000)
    sink.close()


def test_a_mark_in_redis_from_before_there_were_branches(redis_server: RedisServer) -> None:
    target = RedisKeys(redis_server)
    with redis.Redis.from_url(target.url) as client:
        client.set("_scurry:old/out", 7)
    sink = target.sink()
    sink.start(CommitterContext("out", "old"))
    mark = sink.committed_mark()
    assert mark is not None
    assert (mark.batch, mark.branch, mark.when) == (7, "", None)
    sink.close()


def test_rows_from_before_there_was_a_batch_column_cannot_be_taken_back(
    postgres_server: PostgresServer,
) -> None:
    table = LabelledTable(postgres_server)
    labelled, table.sink = table.sink, lambda: PostgresSink.append(table.dsn, "h")  # type: ignore[method-assign]
    runs = Runs(table)
    runs.steps(2)
    copy = runs.job.copy_checkpoint()
    runs.steps(2)
    newer = runs.job.copy_checkpoint()
    table.sink = labelled  # type: ignore[method-assign]
    runs.go_back(newer, "refuse")
    runs.steps(2)
    with pytest.raises(OtherHistoryError, match="only to micro-batch 3, the last one before batch"):
        runs.go_back(copy, "truncate")
    runs.go_back(newer, "truncate")
    runs.finish()
    assert sorted(table.numbers()) == list(range(40))
    runs.close()


def test_a_batch_column_belongs_to_the_sink_alone(postgres_server: PostgresServer) -> None:
    table = LabelledTable(postgres_server)
    with pytest.raises(ProgramError, match="batch_column 'batch' is among the columns"):
        PostgresSink.append(table.dsn, "h", ["n", "batch"], batch_column="batch")
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(lambda n: Row(n=n, batch="b")).sink_to(table.sink())
    with pytest.raises(TypeMismatchError, match="records have a field 'batch', which is the batch"):
        run_local(env)
