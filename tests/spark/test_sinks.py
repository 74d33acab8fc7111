"""Real sinks on Spark: each record once, although the driver is killed or a server is away.

The driver that is killed has a sink of every kind: files, tables of Postgres and of Delta Lake,
values in Redis and a webhook.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import deltalake
import psycopg
import pyarrow.parquet as pq
import pytest
import redis
from tests.spark._kills import all_counts, counting_program, lines_below, run_and_kill

from scurry.common import Configuration, Duration, Encoder
from scurry.common.job_status import JobStatus
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from scurry.datastream.connectors.postgres import PostgresSink
from scurry.testing.servers import PostgresServer, RedisServer, wait_until

SINKS = """
from scurry.datastream.connectors.delta import DeltaSink
from scurry.datastream.connectors.postgres import PostgresSink
from scurry.datastream.connectors.redis import RedisSink
from scurry.datastream.connectors.webhook import WebhookSink

dsn, redis_url, hook = sys.argv[2:]
policy = RollingPolicy.default_rolling_policy(part_size=200)
flat = BucketAssigner.base_path_bucket_assigner()
files = FileSink.for_row_format(str(root / "out"), Encoder.simple_string_encoder())
counts.map(lambda pair: f"{pair[0]} {pair[1]}").sink_to(
    files.with_bucket_assigner(flat).with_rolling_policy(policy).build()
).uid("files")
counts.sink_to(PostgresSink.append(dsn, "events", ["key", "n"])).uid("events")
counts.sink_to(PostgresSink.upsert(dsn, "latest", ["key"], ["key", "n"])).uid("latest")
rows = counts.map(lambda pair: {"key": pair[0], "n": pair[1]}).uid("rows")
rows.sink_to(DeltaSink(str(root / "table"))).uid("table")
rows.sink_to(WebhookSink(hook)).uid("hook")
pairs = counts.map(lambda pair: (pair[0], str(pair[1]))).uid("pairs")
pairs.sink_to(RedisSink.values(redis_url, prefix="count:")).uid("values")
"""


def query(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []


class Hook(BaseHTTPRequestHandler):
    """Remembers what was posted, by idempotency key."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Any = self.server
        server.posts.append((self.headers["Idempotency-Key"], body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def hook() -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.posts = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.micro_batch("counts micro-batches")
def test_killed_drivers_leave_every_record_once(
    tmp_path: Path, postgres_server: PostgresServer, redis_server: RedisServer, hook: Any
) -> None:
    dsn = postgres_server.dsn
    query(dsn, "CREATE TABLE events (key text, n bigint)")
    query(dsn, "CREATE TABLE latest (key text PRIMARY KEY, n bigint)")
    address = f"http://127.0.0.1:{hook.server_port}/"
    command = counting_program(tmp_path, SINKS, dsn, redis_server.url, address)
    sizes, expected = all_counts()
    seen: Counter[str] = Counter()
    for batches, delay in ((3, 0.0), (5, 0.3)):
        assert not run_and_kill(command, batches, delay)
        now = Counter(lines_below(tmp_path / "out"))
        assert max(now.values(), default=1) == 1
        assert seen <= now
        seen = now
        assert rows_of(tmp_path / "table") <= expected, "nothing twice, at no time"
    assert run_and_kill(command, None, 0)
    assert Counter(lines_below(tmp_path / "out")) == Counter(f"{k} {n}" for k, n in expected)
    assert Counter(query(dsn, "SELECT key, n FROM events")) == expected
    assert dict(query(dsn, "SELECT key, n FROM latest")) == sizes
    assert rows_of(tmp_path / "table") == expected
    with redis.Redis.from_url(redis_server.url) as client:
        latest = {key: client.get(f"count:{key}") for key in sizes}
    assert latest == {key: b"%d" % size for key, size in sizes.items()}
    by_key = dict(hook.posts)
    assert all(by_key[key] == body for key, body in hook.posts), "what comes again is the same"
    posted = Counter(
        (record["key"], record["n"]) for body in by_key.values() for record in json.loads(body)
    )
    assert posted == expected, "once, if who receives it heeds the idempotency key"


def rows_of(table: Path) -> Counter[tuple[str, int]]:
    if not deltalake.DeltaTable.is_deltatable(str(table)):
        return Counter()
    rows = pq.read_table(deltalake.DeltaTable(str(table)).file_uris()).to_pylist()
    return Counter((row["key"], row["n"]) for row in rows)


def test_a_job_waits_for_postgres_and_loses_nothing(
    tmp_path: Path, postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    dsn = postgres_server.dsn
    query(dsn, "CREATE TABLE waited (line text)")
    (tmp_path / "in").mkdir()
    configuration = Configuration.of({"execution.checkpointing.dir": str(tmp_path / "ck")})
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    builder = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path / "in")
    ).monitor_continuously(Duration.of_millis(50))
    lines = env.from_source(builder.build(), None, "lines")
    lines.map(lambda line: (line,)).sink_to(PostgresSink.append(dsn, "waited", ["line"]))
    lines.sink_to(
        FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).build()
    )
    stop = threading.Event()
    sent: list[str] = []

    def produce() -> None:
        with (tmp_path / "in" / "log").open("a") as log:
            while not stop.wait(0.02):
                sent.append(f"line {len(sent)}")
                log.write(sent[-1] + "\n")
                log.flush()

    producer = threading.Thread(target=produce)
    producer.start()
    with caplog.at_level(logging.WARNING, "scurry"):
        job = env.execute_async("waiting")
        wait_until(lambda: query(dsn, "SELECT count(*) FROM waited")[0][0] > 0, 60)
        postgres_server.stop()
        time.sleep(4)
        assert job.get_job_status().result() is JobStatus.RUNNING
        postgres_server.start()
        stop.set()
        producer.join()
        wait_until(lambda: query(dsn, "SELECT count(*) FROM waited")[0][0] >= len(sent), 60)
        job.cancel().result()
    assert Counter(line for (line,) in query(dsn, "SELECT line FROM waited")) == Counter(sent)
    assert Counter(lines_below(tmp_path / "out")) == Counter(sent)
    assert "waiting for Postgres" in caplog.text
    assert "is back after" in caplog.text
