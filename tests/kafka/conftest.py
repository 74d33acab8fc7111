"""Tests with a real Kafka broker; one broker serves all processes of a test run.

Where the broker cannot be had these tests are skipped, with a line that says so; with
``SCURRY_REQUIRE_SERVERS=1`` they fail instead.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from scurry.testing.kafka import (
    REQUIRE,
    ServerMissing,
    admin_client,
    await_transactions,
    kafka_jars,
    shared_broker,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/kafka" in str(item.path):
            item.add_marker(pytest.mark.kafka)
            spark = "on_spark" in item.path.name
            item.add_marker(pytest.mark.xdist_group("spark" if spark else "kafka"))


@pytest.fixture(scope="session")
def kafka_installed() -> None:
    """Skips, or fails, where there is no broker to be had."""
    try:
        kafka_jars()
    except ServerMissing as missing:
        if os.environ.get(REQUIRE):
            pytest.fail(f"{REQUIRE} is set, but {missing}")
        print(f"\n*** SKIPPED: the Kafka tests do not run: {missing} ***", flush=True)
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def servers(kafka_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the broker."""
    base = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        base = base.parent
    with shared_broker(base / "kafka") as address:
        yield address


_consumers: dict[tuple[str, str], Any] = {}


class Topics:
    """Makes topics with names of their own, fills and reads them."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.admin = admin_client(servers)

    def create(self, partitions: int = 1, name: str = "", **config: str) -> str:
        from confluent_kafka.admin import NewTopic

        name = name or f"t{uuid.uuid4().hex[:10]}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        new = NewTopic(name, partitions, 1, config=settings)
        self.admin.create_topics([new])[name].result(10)
        return name

    def add_partitions(self, topic: str, total: int) -> None:
        from confluent_kafka.admin import NewPartitions

        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(10)

    def producer(self, **config: Any) -> Any:
        from confluent_kafka import Producer

        settings = {key.replace("_", "."): value for key, value in config.items()}
        return Producer({"bootstrap.servers": self.servers, "linger.ms": 1, **settings})

    def fill(self, topic: str, values: list[Any], partition: int = 0, **extra: Any) -> None:
        producer = self.producer()
        for value in values:
            producer.produce(topic, value, partition=partition, **extra)
            producer.poll(0)
        assert producer.flush(30) == 0

    def await_transactions(self, topic: str) -> None:
        """Until what was committed can be read."""
        assert await_transactions(self.servers, topic), f"a transaction of {topic} stays open"

    def read(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        """All messages of a topic, as a consumer of that isolation level sees them."""
        from confluent_kafka import KafkaError, TopicPartition

        self.await_transactions(topic)
        consumer = self._consumer(isolation)
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        open_partitions, found = set(partitions), []
        while open_partitions:
            message = consumer.poll(10)
            assert message is not None, f"no answer while reading {topic}"
            if message.error() is None:
                found.append(message)
            elif message.error().code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(message.partition())
        consumer.unassign()
        return found

    def _consumer(self, isolation: str) -> Any:
        """One for all reads of the test run."""
        from confluent_kafka import Consumer

        place = (self.servers, isolation)
        if place not in _consumers:
            _consumers[place] = Consumer(
                {
                    "bootstrap.servers": self.servers,
                    "group.id": uuid.uuid4().hex,
                    "isolation.level": isolation,
                    "enable.partition.eof": True,
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "fetch.wait.max.ms": 20,
                    "log_level": 0,
                }
            )
        return _consumers[place]

    def values(self, topic: str, isolation: str = "read_committed") -> list[bytes]:
        return [message.value() for message in self.read(topic, isolation)]


@pytest.fixture
def topics(servers: str) -> Topics:
    return Topics(servers)
