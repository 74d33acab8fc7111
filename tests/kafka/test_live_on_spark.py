"""Kafka -> keyed job -> Kafka in the live engine on Spark, with a worker that is killed, and with
brokers that are away."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.kafka.conftest import Topics

from scurry.common import Configuration, Row, Types, WatermarkStrategy
from scurry.common.restart_strategy import RestartStrategies
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.base import DeliveryGuarantee
from scurry.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from scurry.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing.kafka import private_broker
from scurry.testing.spark import local_session

EVENT = Types.ROW_NAMED(["key", "number"], [Types.LONG(), Types.LONG()])
COUNTED = Types.ROW_NAMED(["key", "count"], [Types.LONG(), Types.LONG()])
KEYS, EACH = 20, 150
#: longer than a client waits before it is made anew, and than any single call may last
AWAY_SECONDS = float(os.environ.get("SCURRY_TEST_AWAY_SECONDS", "12"))
EXPECTED = Counter(
    b'{"key":%d,"count":%d}' % (key, count) for key in range(KEYS) for count in range(1, EACH + 1)
)


class Count(KeyedProcessFunction):
    """Numbers the events of each key; notes in which processes it runs."""

    def __init__(self, processes: Path) -> None:
        self._processes = processes

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        (self._processes / str(os.getpid())).touch()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield Row(value[0], count)


def sink(servers: str, topic: str, guarantee: DeliveryGuarantee) -> KafkaSink:
    values = JsonRowSerializationSchema.builder().with_type_info(COUNTED).build()
    records = KafkaRecordSerializationSchema.builder().set_topic(topic)
    builder = KafkaSink.builder().set_bootstrap_servers(servers)
    builder.set_record_serializer(records.set_value_serialization_schema(values).build())
    return builder.set_delivery_guarantee(guarantee).set_transactional_id_prefix(topic).build()


def program(servers: str, source: str, once: str, least: str, root: Path) -> Any:
    configuration = Configuration.of(
        {
            "execution.engine": "live",
            "execution.checkpointing.dir": str(root / "ck"),
            "execution.checkpointing.interval": "50 ms",
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2).set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
    values = JsonRowDeserializationSchema.builder().type_info(EVENT).build()
    events = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(source)
    stream = env.from_source(
        events.set_value_only_deserializer(values).build(),
        WatermarkStrategy.no_watermarks(),
        "events",
    ).uid("events")
    keyed = stream.key_by(lambda event: event[0], key_type=Types.LONG())
    counted = keyed.process(Count(root), output_type=COUNTED).uid("count")
    counted.sink_to(sink(servers, once, DeliveryGuarantee.EXACTLY_ONCE)).uid("once")
    counted.sink_to(sink(servers, least, DeliveryGuarantee.AT_LEAST_ONCE)).uid("least")
    return env


def feed(topics: Topics, topic: str, numbers: range) -> None:
    """A record for each number; those of a key are in one partition."""
    for partition in range(2):
        values = [b'{"key":%d,"number":%d}' % (n % KEYS, n) for n in numbers if n % 2 == partition]
        topics.fill(topic, values, partition=partition)


def await_that(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 90
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def processes_in(directory: Path) -> set[str]:
    """In which processes the function was opened."""
    return {path.name for path in directory.iterdir() if path.name.isdigit()}


@pytest.mark.spark
def test_a_worker_that_is_killed(topics: Topics, tmp_path: Path) -> None:
    source, once, least = topics.create(2), topics.create(2), topics.create(1)
    (tmp_path / "processes").mkdir()
    local_session(3)
    total = KEYS * EACH
    feed(topics, source, range(total // 2))
    env = program(topics.servers, source, once, least, tmp_path / "processes")
    client = env.execute_async("live")
    try:
        await_that(lambda: len(topics.values(once)) == total // 2, "the first half")
        seen = processes_in(tmp_path / "processes")
        feed(topics, source, range(total // 2, total * 3 // 4))
        os.kill(int(min(seen)), signal.SIGKILL)
        feed(topics, source, range(total * 3 // 4, total))
        await_that(lambda: len(topics.values(once)) >= total, "the rest, after the kill")
        await_that(lambda: not EXPECTED - Counter(topics.values(least)), "the rest, at least once")
    finally:
        client.cancel().result()
    assert Counter(topics.values(once)) == EXPECTED
    assert processes_in(tmp_path / "processes") - seen, "it has gone on in another process"


@pytest.mark.spark
def test_brokers_that_are_away(kafka_installed: None, tmp_path: Path) -> None:
    local_session(3)
    total = KEYS * EACH
    with private_broker() as broker:
        topics = Topics(broker.bootstrap_servers)
        source, once, least = topics.create(2), topics.create(2), topics.create(1)
        feed(topics, source, range(total // 2))
        env = program(topics.servers, source, once, least, tmp_path)
        client = env.execute_async("live")
        try:
            await_that(lambda: len(topics.values(once)) == total // 2, "the first half")
            seen = processes_in(tmp_path)
            # in the middle of transactions
            feed(topics, source, range(total // 2, total * 3 // 4))
            broker.stop(kill=True)
            time.sleep(AWAY_SECONDS)
            assert client.get_waiting(), "it says that it waits"
            broker.start()
            feed(topics, source, range(total * 3 // 4, total))
            await_that(lambda: len(topics.values(once)) >= total, "the rest")
            await_that(lambda: not EXPECTED - Counter(topics.values(least)), "at least once")
        finally:
            client.cancel().result()
        assert Counter(topics.values(once)) == EXPECTED
        assert processes_in(tmp_path) == seen, "it has waited, and was not started again"
