"""What a KafkaSink writes to a real broker: once, or at least once, and what it refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.kafka.conftest import Topics

from scurry.common import SimpleStringSchema, WatermarkStrategy
from scurry.common.errors import FunctionError, JobError
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.base import DeliveryGuarantee
from scurry.datastream.connectors.kafka import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaSink,
)
from scurry.functions.sink import CommitterContext, WriterContext
from scurry.testing import run_local

EXACTLY, LEAST = DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE


def serializer(topic: str) -> KafkaRecordSerializationSchema:
    return (
        KafkaRecordSerializationSchema.builder()
        .set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )


def sink(topics: Topics, schema: Any, guarantee: DeliveryGuarantee, prefix: str = "p") -> KafkaSink:
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(topics.servers)
        .set_record_serializer(serializer(schema) if isinstance(schema, str) else schema)
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix(prefix)
        .build()
    )


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    return env


@pytest.mark.parametrize("guarantee", [EXACTLY, LEAST])
def test_all_elements_arrive(topics: Topics, guarantee: DeliveryGuarantee) -> None:
    topic = topics.create(partitions=2)
    env = environment()
    env.from_collection(list(range(200))).rebalance().sink_to(sink(topics, topic, guarantee, topic))
    crash = [1, 3] if guarantee is EXACTLY else []
    run_local(env, cuts=30, crash=crash)
    assert Counter(topics.values(topic)) == Counter(str(n).encode() for n in range(200))


def test_at_least_once_may_double_but_not_lose(topics: Topics) -> None:
    topic = topics.create()
    env = environment()
    env.from_collection(list(range(60))).sink_to(sink(topics, topic, LEAST))
    run_local(env, cuts=20, crash=[1])
    counts = Counter(int(value) for value in topics.values(topic))
    assert counts == {n: 2 if 20 <= n < 40 else 1 for n in range(60)}


def staged(target: KafkaSink, index: int, rows: list[str]) -> Any:
    writer = target.create_writer(WriterContext("s", index, 2))
    writer.write(rows)
    return writer.prepare()


def test_a_batch_that_is_committed_again_changes_nothing(topics: Topics) -> None:
    topic = topics.create()
    context = CommitterContext("s", "checkpoint-1")
    first = sink(topics, topic, EXACTLY, topic)
    first.start(context)
    first.recover(0)
    first.commit(0, [staged(first, 1, ["c"]), staged(first, 0, ["a", "b"])])
    first.commit(0, [staged(first, 0, ["a", "b"])])
    first.commit(1, [])
    first.commit(2, [staged(first, 0, ["d"])])
    assert topics.values(topic) == [b"a", b"b", b"c", b"d"]
    # another run of the same job: batch 2 is there already, batch 3 is not
    second = sink(topics, topic, EXACTLY, topic)
    second.start(context)
    second.recover(2)
    second.commit(2, [staged(second, 0, ["not again"])])
    second.commit(3, [staged(second, 0, ["e"])])
    assert topics.values(topic) == [b"a", b"b", b"c", b"d", b"e"]
    # the first run still lives somewhere: it can do nothing any more
    with pytest.raises(JobError, match="Another run of this job has taken over"):
        first.commit(3, [staged(first, 0, ["zombie"])])
    assert b"zombie" not in topics.values(topic)
    # a new job, from an empty checkpoint, counts its batches from 0 again
    third = sink(topics, topic, EXACTLY, topic)
    third.start(CommitterContext("s", "checkpoint-2"))
    third.recover(0)
    third.commit(0, [staged(third, 0, ["f"])])
    assert topics.values(topic)[-1] == b"f"
    for each in (first, second, third):
        each.close()


def test_what_a_dead_run_left_open_is_aborted_by_the_next(topics: Topics) -> None:
    topic = topics.create()
    dead = topics.producer(transactional_id=f"{topic}-s")
    dead.init_transactions(10)
    dead.begin_transaction()
    dead.produce(topic, "half")
    dead.flush(10)
    alive = sink(topics, topic, EXACTLY, topic)
    alive.start(CommitterContext("s", "c"))
    alive.recover(0)
    alive.commit(0, [staged(alive, 0, ["whole"])])
    assert topics.values(topic) == [b"whole"]
    assert sorted(topics.values(topic, "read_uncommitted")) == [b"half", b"whole"]
    alive.close()


def test_keys_topics_and_timestamps(topics: Topics) -> None:
    even, odd = topics.create(partitions=4), topics.create()

    class Text(SimpleStringSchema):
        def serialize(self, value: Any) -> bytes:
            return b"v%d" % value

    schema = (
        KafkaRecordSerializationSchema.builder()
        .set_topic_selector(lambda n: odd if n % 2 else even)
        .set_key_serialization_schema(SimpleStringSchema())
        .set_value_serialization_schema(Text())
        .build()
    )

    class Stamp(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return int(1000 + value)

    for guarantee in (EXACTLY, LEAST):
        env = environment()
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
        stream = env.from_collection([1, 2, 3, 4]).assign_timestamps_and_watermarks(strategy)
        stream.sink_to(sink(topics, schema, guarantee, even))
        run_local(env)
    odds = [(m.key(), m.value(), m.timestamp()[1]) for m in topics.read(odd)]
    assert odds == [(b"1", b"v1", 1001), (b"3", b"v3", 1003)] * 2
    evens = sorted((m.key(), m.value(), m.timestamp()[1], m.partition()) for m in topics.read(even))
    assert [e[:3] for e in evens] == [(b"2", b"v2", 1002)] * 2 + [(b"4", b"v4", 1004)] * 2
    assert len({e[3] for e in evens if e[0] == b"2"}) == 1


class Whole(KafkaRecordSerializationSchema):
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def to_record(self, element: Any, timestamp: int | None) -> KafkaProducerRecord | None:
        if element == 3:
            return None
        headers = (("n", b"%d" % element),)
        return KafkaProducerRecord(self.topic, None, b"k", element % 2, 50 + element, headers)


def test_a_record_serializer_decides_everything(topics: Topics) -> None:
    topic = topics.create(partitions=2)
    env = environment(1)
    env.from_collection([1, 2, 3, 4]).sink_to(sink(topics, Whole(topic), EXACTLY, topic))
    run_local(env)
    found = sorted(
        (m.partition(), m.timestamp()[1], m.key(), m.value(), m.headers())
        for m in topics.read(topic)
    )
    assert found == [
        (0, 52, b"k", None, [("n", b"2")]),
        (0, 54, b"k", None, [("n", b"4")]),
        (1, 51, b"k", None, [("n", b"1")]),
    ]


def test_an_element_that_cannot_be_serialised_is_named(topics: Topics) -> None:
    topic = topics.create()

    class Picky(SimpleStringSchema):
        def serialize(self, value: Any) -> bytes:
            return bytes(value)

    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    built = schema.set_value_serialization_schema(Picky()).build()
    env = environment(1)
    env.from_collection([1, "x"]).sink_to(sink(topics, built, EXACTLY, topic))
    with pytest.raises(FunctionError, match="on element 'x'"):
        run_local(env)


@pytest.mark.parametrize("guarantee", [EXACTLY, LEAST])
def test_a_record_the_broker_refuses_fails_the_job(
    topics: Topics, guarantee: DeliveryGuarantee
) -> None:
    topic = topics.create(max_message_bytes="2000")
    env = environment(1)
    env.from_collection(["x" * 5000]).sink_to(sink(topics, topic, guarantee, topic))
    with pytest.raises((JobError, FunctionError), match="size too large"):
        run_local(env)
