"""The Redis sink: the last value of each key, each batch once."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from scurry.common import Row, RowKind
from scurry.common.errors import JobError, ProgramError, TypeMismatchError
from scurry.connectors.redis import RedisSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.runtime.batch import Batch
from scurry.testing.local import run_local
from scurry.testing.servers import RedisServer


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
        yield client


def started(sink: RedisSink) -> RedisSink:
    sink.start(CommitterContext("sink", "job"))
    sink.recover(0)
    return sink


def written(sink: RedisSink, *rows: Any) -> Any:
    writer = pickle.loads(pickle.dumps(sink)).create_writer(WriterContext("sink", 0, 1))
    writer.write_records(Batch(list(rows)), 0)
    return writer.prepare()


def test_values_by_key(client: redis.Redis, redis_server: RedisServer) -> None:
    sink = started(RedisSink.values(redis_server.url, prefix="p:", expire_seconds=100))
    sink.commit(0, [written(sink, ("a", "1"), ("b", {"x": [1]}), ("c", b"\xff"), ("a", "2"))])
    sink.commit(0, [written(sink, ("a", "again"))])
    assert (client.get("p:a"), client.get("p:b")) == (b"2", b'{"x": [1]}')
    assert client.get("p:c") == b"\xff"
    assert 0 < client.ttl("p:a") <= 100  # type: ignore[operator]
    sink.commit(1, [written(sink, ("a", None), Row.of_kind(RowKind.DELETE, "b", 0))])
    assert (client.exists("p:a"), client.exists("p:b")) == (0, 0)
    sink.close()


@dataclass
class User:
    id: int
    name: str
    age: int | None = None


def test_hashes_by_key(client: redis.Redis, redis_server: RedisServer) -> None:
    sink = started(RedisSink.hashes(redis_server.url, "id", "user:"))
    sink.commit(0, [written(sink, User(1, "Ann", 41), {"id": 2, "name": "Bo"})])
    assert client.hgetall("user:1") == {b"name": b"Ann", b"age": b"41"}
    sink.commit(1, [written(sink, User(1, "Ann"), Row.of_kind(RowKind.DELETE, id=2, name="Bo"))])
    assert client.hgetall("user:1") == {b"name": b"Ann"}
    assert not client.exists("user:2")
    sink.close()


def test_a_server_that_is_away_is_waited_for(
    client: redis.Redis, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    sink = started(RedisSink.values(redis_server.url))
    sink.commit(0, [written(sink, ("a", "1"))])
    redis_server.stop()
    back = threading.Thread(target=lambda: (time.sleep(0.7), redis_server.start()))
    back.start()
    with caplog.at_level(logging.WARNING, "scurry"):
        sink.commit(1, [written(sink, ("b", "2"))])
    back.join()
    sink.close()
    assert (client.get("a"), client.get("b")) == (b"1", b"2")
    assert "waiting for Redis" in caplog.text


def test_a_program_with_crashes(client: redis.Redis, redis_server: RedisServer) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    pairs = env.from_collection([(str(n % 5), n) for n in range(40)])
    pairs.key_by(lambda pair: pair[0]).map(lambda pair: pair).sink_to(
        RedisSink.values(redis_server.url)
    )
    run_local(env, cuts=7, crash=[0, 3])
    assert {key: client.get(str(key)) for key in range(5)} == {
        key: str(35 + key).encode() for key in range(5)
    }


def test_faults_are_said(redis_server: RedisServer) -> None:
    with pytest.raises(ProgramError, match="begins with 'http'"):
        RedisSink.values("http://user:hunter2@host")
    sink = RedisSink.values("redis://:hunter2@127.0.0.1:1/0", patience_seconds=0)
    assert b"hunter2" not in pickle.dumps(sink)
    with pytest.raises(JobError, match=r"127\.0\.0\.1:1 could not be reached") as caught:
        started(sink).commit(0, [{"a": "1"}])
    assert "hunter2" not in str(caught.value)
    with pytest.raises(TypeMismatchError, match="takes pairs of key and value, got 5"):
        written(sink, 5)
    with pytest.raises(TypeMismatchError, match="cannot be stored in Redis"):
        written(sink, ("a", {1}))
    with pytest.raises(TypeMismatchError, match="records with a field 'id'"):
        written(RedisSink.hashes(redis_server.url, "id"), {"name": "x"})
