"""Real sinks on Spark: each record once, although the driver is killed or a server is away."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.spark._kills import all_counts, counting_program, lines_below, run_and_kill

from scurry.common import Configuration, Duration, Encoder
from scurry.common.job_status import JobStatus
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from scurry.datastream.connectors.postgres import PostgresSink
from scurry.testing.servers import PostgresServer, wait_until

SINKS = """
from scurry.datastream.connectors.postgres import PostgresSink

dsn = sys.argv[2]
policy = RollingPolicy.default_rolling_policy(part_size=200)
flat = BucketAssigner.base_path_bucket_assigner()
files = FileSink.for_row_format(str(root / "out"), Encoder.simple_string_encoder())
counts.map(lambda pair: f"{pair[0]} {pair[1]}").sink_to(
    files.with_bucket_assigner(flat).with_rolling_policy(policy).build()
).uid("files")
counts.sink_to(PostgresSink.append(dsn, "events", ["key", "n"])).uid("events")
counts.sink_to(PostgresSink.upsert(dsn, "latest", ["key"], ["key", "n"])).uid("latest")
"""


def query(dsn: str, statement: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload]
        return cursor.fetchall() if cursor.description else []


def test_killed_drivers_leave_every_record_once_in_files_and_tables(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    dsn = postgres_server.dsn
    query(dsn, "CREATE TABLE events (key text, n bigint)")
    query(dsn, "CREATE TABLE latest (key text PRIMARY KEY, n bigint)")
    command = counting_program(tmp_path, SINKS, dsn)
    seen: Counter[str] = Counter()
    for batches, delay in ((3, 0.0), (4, 0.15), (5, 0.3)):
        assert not run_and_kill(command, batches, delay)
        now = Counter(lines_below(tmp_path / "out"))
        assert max(now.values(), default=1) == 1
        assert seen <= now
        seen = now
    assert run_and_kill(command, None, 0)
    sizes, expected = all_counts()
    assert Counter(lines_below(tmp_path / "out")) == Counter(f"{k} {n}" for k, n in expected)
    assert Counter(query(dsn, "SELECT key, n FROM events")) == expected
    assert dict(query(dsn, "SELECT key, n FROM latest")) == sizes


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
