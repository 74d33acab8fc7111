"""Records read by Spark's own Kafka connector are those that are read without it."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.faults.sinks_soak import Account, sinks_round, spark_jars
from tests.kafka.conftest import Topics

from scurry.common.errors import ConfigurationError, JobError, ProgramError
from scurry.common.serialization import SimpleStringSchema
from scurry.connectors.kafka.spark_reader import SparkReads, read_staged
from scurry.datastream.connectors.kafka import KafkaSource
from scurry.testing.kafka import REQUIRE, ServerMissing
from scurry.testing.spark import local_session

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def jars(kafka_installed: None) -> str:
    try:
        return spark_jars()
    except ServerMissing as missing:
        if os.environ.get(REQUIRE):
            pytest.fail(f"{REQUIRE} is set, but {missing}")
        pytest.skip(str(missing))


def test_spark_reads_what_was_planned(topics: Topics, tmp_path: Path, jars: str) -> None:
    topic = topics.create(partitions=2)
    producer = topics.producer(transactional_id=topic)
    producer.init_transactions()
    began = int(time.time() * 1000) - 10_000
    for begin, commit in ((0, True), (200, False), (400, True)):
        producer.begin_transaction()
        for number in range(begin, begin + 200):
            headers = [("n", str(number)), ("none", None)] if number % 5 == 0 else None
            producer.produce(
                topic,
                None if number == 7 else f"v{number}",
                key=None if number % 3 else f"k{number}",
                partition=number % 2,
                timestamp=began + number,
                headers=headers,
            )
        producer.flush()
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    arguments = [topics.servers, topic, tmp_path / "staging", tmp_path / "ck", jars]
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("spark_reader_job.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "SCURRY_MASTER": "local[2]"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [
        [
            message.partition(),
            message.offset(),
            message.timestamp()[1],
            *((part and part.decode()) for part in (message.key(), message.value())),
            [[name, value and value.decode()] for name, value in message.headers() or ()],
        ]
        for message in topics.read(topic)
    ]
    assert len(found) == 400
    for partition in range(2):
        mine = [row for row in found if row[0] == partition]
        assert mine == [row for row in expected if row[0] == partition]
    assert list((tmp_path / "staging").glob("*")) == []


@pytest.mark.timeout(600)
def test_kills_lose_and_double_nothing(postgres_installed: None, tmp_path: Path, jars: str) -> None:
    lives = [
        ("local[2,4]", ["worker", "driver planned"]),
    ]
    with sinks_round(tmp_path / "job", jars) as job:
        job.run(lives, random.Random(11))
    assert job.tally.line == "kills=2 lost=0 duplicated=0"
    assert job.tally.sinks == {name: Account(0, 0) for name in ("Kafka", "Postgres", "files")}
    assert job.tally.events > 500


def builder() -> object:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers("127.0.0.1:1")
        .set_topics("t")
        .set_property("sasl.password", "hunter2")
        .set_value_only_deserializer(SimpleStringSchema())
    )


def test_without_the_connector_it_is_said(tmp_path: Path) -> None:
    local_session(3)  # the one that all tests on Spark share, whichever of them comes first
    source = builder().set_spark_reader(str(tmp_path)).build()  # type: ignore[attr-defined]
    with pytest.raises(
        ConfigurationError, match=r"needs Spark's Kafka connector[\s\S]*spark\.jars"
    ):
        source.enumerator(1)


def test_a_staging_place_must_be_shared(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match=r"driver and workers share.*got 's3://bucket/x'"):
        builder().set_spark_reader("s3://bucket/x")  # type: ignore[attr-defined]
    with pytest.raises(JobError, match=r"should be in .* and are not"):
        list(read_staged(["t", 0, 0, 1, str(tmp_path / "gone")]))


def test_secrets_stay_on_the_driver(tmp_path: Path) -> None:
    reads = SparkReads(str(tmp_path), {"sasl.jaas.config": "hunter2"}, {})
    assert "hunter2" not in repr(reads)
    assert "hunter2" not in repr(reads.__getstate__())
