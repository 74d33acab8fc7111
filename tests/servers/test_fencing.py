"""Sinks into servers, of a driver that was taken for dead and wakes up."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import redis

from scurry.checkpoint.lease import Lease, World, claim
from scurry.checkpoint.lease_files import MemoryLeaseFiles
from scurry.common.errors import JobError, LeaseLostError
from scurry.connectors.postgres import commits
from scurry.connectors.postgres.sink import PostgresSink
from scurry.connectors.redis import RedisSink
from scurry.functions.history import Branch, History
from scurry.functions.sink import CommitterContext, Sink, WriterContext
from scurry.runtime.batch import Batch
from scurry.testing.servers import PostgresServer, RedisServer

#: Where every process but the own one has died.
WORLD = World(beginning=lambda pid: uuid.uuid4().hex)


class Drivers:
    """One driver after the other on one checkpoint."""

    def __init__(self) -> None:
        self._files = MemoryLeaseFiles()

        self._sinks: list[Sink] = []

    def start(self, sink: Sink, last: int = -1) -> Driver:
        self._sinks.append(sink)
        return Driver(sink, claim(self._files, "The checkpoint", "job", world=WORLD), last)

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()


@pytest.fixture
def drivers() -> Iterator[Drivers]:
    made = Drivers()
    yield made
    made.close()


class Driver:
    def __init__(self, sink: Sink, lease: Lease, last: int) -> None:
        self.sink = sink
        self.history = History([Branch("a" * 15, 0)], last + 1, last)
        sink.start(CommitterContext("sink", "checkpoint", self.history, lease))
        sink.committed_mark()

    def recover(self) -> Driver:
        self.sink.recover(self.history.last + 1)
        return self

    def run(self, batch: int, *rows: Any) -> None:
        self.history.planned = batch
        writer = self.sink.create_writer(WriterContext("sink", 0, 1))
        writer.write_records(Batch(list(rows)), 0)
        self.sink.commit(batch, [writer.prepare()])


@pytest.fixture
def dsn(postgres_server: PostgresServer) -> str:
    with psycopg.connect(postgres_server.dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS t; DROP TABLE IF EXISTS _scurry_commits")
        connection.execute("CREATE TABLE t (id bigint)")
    return postgres_server.dsn


def ids(dsn: str) -> list[int]:
    with psycopg.connect(dsn) as connection:
        return sorted(id for (id,) in connection.execute("SELECT id FROM t").fetchall())


def append(dsn: str) -> PostgresSink:
    return PostgresSink.append(dsn, "t", ["id"])


def test_postgres_keeps_out_a_driver_that_was_paused(dsn: str, drivers: Drivers) -> None:
    first = drivers.start(append(dsn)).recover()
    first.run(0, (0,))
    late = drivers.start(append(dsn), 0)
    second = drivers.start(append(dsn), 0).recover()
    # the second has written nothing yet: the mark alone would let the others pass
    for sleeper in (first, late):
        with pytest.raises(LeaseLostError):
            sleeper.run(1, (1,))
    with pytest.raises(LeaseLostError):
        late.recover()
    second.run(1, (1,))
    second.run(2, (2,))
    assert ids(dsn) == [0, 1, 2]


def test_a_driver_paused_within_a_transaction_of_postgres(
    dsn: str, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds the lock that the next driver needs: the server ends its transaction."""
    first = drivers.start(append(dsn)).recover()
    paused, wake = threading.Event(), threading.Event()
    failures: list[Exception] = []

    def pause(name: str) -> None:
        monkeypatch.setattr(commits, "fault_point", lambda name: None)
        paused.set()
        wake.wait()

    def run() -> None:
        try:
            first.run(0, (0,))
        except JobError as failure:
            failures.append(failure)
        except LeaseLostError as failure:
            failures.append(failure)

    monkeypatch.setattr(commits, "fault_point", pause)
    thread = threading.Thread(target=run)
    thread.start()
    paused.wait()
    try:
        second = drivers.start(append(dsn)).recover()
        second.run(0, (0,))
    finally:
        wake.set()
        thread.join()
    assert len(failures) == 1
    second.run(1, (1,))
    assert ids(dsn) == [0, 1]


@pytest.fixture
def client(redis_server: RedisServer) -> redis.Redis:
    client = redis.Redis.from_url(redis_server.url)
    client.flushall()
    return client


def test_redis_keeps_out_a_driver_that_was_paused(
    client: redis.Redis, redis_server: RedisServer, drivers: Drivers
) -> None:
    first = drivers.start(RedisSink.values(redis_server.url)).recover()
    first.run(0, ("k", "0"))
    late = drivers.start(RedisSink.values(redis_server.url), 0)
    second = drivers.start(RedisSink.values(redis_server.url), 0).recover()
    for sleeper in (first, late):
        with pytest.raises(LeaseLostError):
            sleeper.run(1, ("k", "wrong"))
    with pytest.raises(LeaseLostError):
        late.recover()
    assert client.get("k") == b"0"
    second.run(1, ("k", "1"))
    assert client.get("k") == b"1"
    client.close()


def test_redis_is_entered_between_a_look_and_a_write(
    client: redis.Redis,
    redis_server: RedisServer,
    drivers: Drivers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = drivers.start(RedisSink.values(redis_server.url)).recover()
    seconds: list[Driver] = []
    admit = Lease.admit

    def another(self: Lease, found: int) -> None:
        monkeypatch.setattr(Lease, "admit", admit)
        admit(self, found)
        seconds.append(drivers.start(RedisSink.values(redis_server.url)).recover())

    monkeypatch.setattr(Lease, "admit", another)
    with pytest.raises(LeaseLostError):
        first.run(0, ("k", "wrong"))
    assert client.get("k") is None
    seconds[0].run(0, ("k", "0"))
    assert client.get("k") == b"0"
    client.close()
