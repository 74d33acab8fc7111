"""What can be said about Kafka programs before there is a broker: settings, builders, refusals."""

from __future__ import annotations

import logging
import pickle
from typing import Any

import numpy as np
import pytest

from scurry.common import SimpleStringSchema, WatermarkStrategy
from scurry.common.errors import ConfigurationError, JobError, ProgramError
from scurry.connectors.kafka import enumerator
from scurry.connectors.kafka.client import ClientSettings, Patience, translate
from scurry.connectors.kafka.outgoing import Outgoing
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.base import DeliveryGuarantee
from scurry.datastream.connectors.kafka import (
    DEAD_LETTERS,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
    KafkaTopicSelector,
)
from scurry.datastream.output_tag import OutputTag


def test_properties_of_the_java_client_are_translated() -> None:
    jaas = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="ann" password="s3cr3t";'
    )
    assert translate(
        {
            "bootstrap.servers": "b:9092",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": jaas,
            "fetch.max.wait.ms": "5",
            "max.poll.records": "10",
            "key.deserializer": "x.y.Z",
            "partition.discovery.interval.ms": "10",
        }
    ) == {
        "bootstrap.servers": "b:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "s3cr3t",
        "fetch.wait.max.ms": "5",
    }
    with pytest.raises(ConfigurationError, match="names no username and password"):
        translate({"sasl.jaas.config": "whatever"})
    with pytest.raises(ConfigurationError, match="Java trust store"):
        translate({"ssl.truststore.location": "/x.jks"})


def source_builder() -> Any:
    return (
        KafkaSource.builder()
        .set_bootstrap_servers("b:9092")
        .set_topics("t")
        .set_value_only_deserializer(SimpleStringSchema())
    )


def serializer() -> Any:
    builder = KafkaRecordSerializationSchema.builder().set_topic("t")
    return builder.set_value_serialization_schema(SimpleStringSchema()).build()


def test_secrets_are_not_shown() -> None:
    source = source_builder().set_property("sasl.password", "s3cr3t").build()
    sink = KafkaSink.builder().set_bootstrap_servers("b:9092").set_record_serializer(serializer())
    for shown in (source, source._client, sink.set_property("sasl.password", "s3cr3t").build()):
        assert "s3cr3t" not in repr(shown)
        assert "s3cr3t" not in str(shown)
        assert "b:9092" in repr(shown)


def test_a_wrong_setting_is_named() -> None:
    source = source_builder().set_property("no.such.thing", "1").build()
    with pytest.raises(ConfigurationError, match=r'property: "no.such.thing"'):
        source.enumerator(1)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: KafkaSource.builder().build(), "needs brokers"),
        (lambda: KafkaSource.builder().set_bootstrap_servers("b").build(), "something to read"),
        (
            lambda: KafkaSource.builder().set_bootstrap_servers("b").set_topics("t").build(),
            "set_value_only_deserializer",
        ),
        (lambda: source_builder().set_topic_pattern("x"), "call only one of"),
        (lambda: KafkaSource.builder().set_topics(), "names of topics"),
        (lambda: KafkaSource.builder().set_topic_pattern("("), "no regular expression"),
        (lambda: KafkaSource.builder().set_partitions({1}), "takes KafkaTopicPartitions"),
        (lambda: source_builder().set_starting_offsets("earliest"), "set_starting_offsets takes"),
        (lambda: source_builder().set_bounded(3), "set_bounded takes offsets"),
        (lambda: source_builder().set_bad_records("explode"), "'fail', 'dead-letter' or 'skip'"),
        (lambda: source_builder().set_max_bytes_per_batch(0), "whole number from 1 on, got 0"),
        (lambda: source_builder().set_value_only_deserializer(3), "DeserializationSchema, got 3"),
        (lambda: source_builder().set_deserializer(3), "KafkaRecordDeserializationSchema, got 3"),
        (
            lambda: (
                source_builder()
                .set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
                .build()
            ),
            "call set_group_id",
        ),
        (lambda: KafkaSink.builder().build(), "A KafkaSink needs brokers"),
        (
            lambda: KafkaSink.builder().set_bootstrap_servers("b").build(),
            "call set_record_serializer",
        ),
        (lambda: KafkaSink.builder().set_record_serializer(3), "got 3 .int."),
        (lambda: KafkaSink.builder().set_delivery_guarantee("x"), "takes a DeliveryGuarantee"),
        (lambda: KafkaSink.builder().set_transactional_id_prefix(""), "prefix is a text"),
        (lambda: KafkaRecordSerializationSchema.builder().build(), "needs a topic"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("t").build(), "needs a value"),
        (
            lambda: KafkaRecordSerializationSchema.builder().set_topic_selector(3),
            "takes a function or a KafkaTopicSelector",
        ),
        (
            lambda: KafkaRecordSerializationSchema.builder().set_key_serialization_schema(3),
            "set_key_serialization_schema takes a SerializationSchema",
        ),
    ],
)
def test_builders_say_what_is_missing_or_wrong(call: Any, complaint: str) -> None:
    with pytest.raises(ProgramError, match=complaint):
        call()


def test_offsets_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="maps a KafkaTopicPartition to an offset"):
        KafkaOffsetsInitializer.offsets({KafkaTopicPartition("t", 0): -1})
    with pytest.raises(ConfigurationError, match="takes milliseconds since 1970"):
        KafkaOffsetsInitializer.timestamp(-5)
    with pytest.raises(ConfigurationError, match="it takes milliseconds"):
        source_builder().set_property("partition.discovery.interval.ms", "soon").build()


def test_guarantees_are_told() -> None:
    builder = KafkaSink.builder().set_bootstrap_servers("b").set_record_serializer(serializer())
    assert builder.build().guarantee == "at-least-once"
    builder.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    sink = pickle.loads(pickle.dumps(builder.build()))
    assert sink.guarantee == "exactly-once"


def test_only_a_source_with_dead_letters_has_that_side_output() -> None:
    def program(policy: str, tag: OutputTag) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment()
        source = source_builder().set_bad_records(policy).build()
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        env.from_source(source, strategy, "k").get_side_output(tag).print()
        return env

    assert "side output 'dead-letters'" in program("dead-letter", DEAD_LETTERS).explain()
    with pytest.raises(ProgramError, match="has no side outputs"):
        program("fail", DEAD_LETTERS).explain()
    with pytest.raises(ProgramError, match=r"whose side outputs are \['dead-letters'\]"):
        program("dead-letter", OutputTag("late")).explain()


class Recorder:
    """A producer whose queue is full now and then."""

    def __init__(self) -> None:
        self.taken: list[Any] = []
        self.calls = 0

    def produce(self, topic: str, value: Any, key: Any, *more: Any) -> None:
        self.calls += 1
        if self.calls % 3 == 0:
            raise BufferError
        self.taken.append((topic, value, key, more[3]))

    def poll(self, timeout: float) -> None:
        pass


def test_a_full_queue_keeps_the_order() -> None:
    values: list[bytes | None] = [b"%d" % n for n in range(20)]
    producer = Recorder()
    Outgoing("t", values, timestamps=list(range(20))).send(producer)
    assert producer.taken == [("t", b"%d" % n, None, n) for n in range(20)]


def test_topics_can_be_chosen_by_a_class() -> None:
    class Parity(KafkaTopicSelector):
        def apply(self, data: Any) -> str:
            return "odd" if data % 2 else "even"

    builder = KafkaRecordSerializationSchema.builder().set_topic_selector(Parity())
    schema = builder.set_value_serialization_schema(SimpleStringSchema()).build()
    stamps = np.array([5, np.iinfo(np.int64).min])
    out = schema.outgoing([1, 2], stamps)
    assert (out.topics, out.values, out.timestamps) == (["odd", "even"], [b"1", b"2"], [5, 0])


def test_patience_speaks_now_and_then(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    patience = Patience("b:9092", "read t-0")
    with caplog.at_level(logging.INFO, "scurry.kafka"):
        for _ in range(14):
            patience.waiting("refused")
            clock[0] += 1
        patience.over()
        patience.over()
    assert [record.getMessage() for record in caplog.records] == [
        "waiting for Kafka at b:9092 to read t-0, for 2 s now: refused",
        "waiting for Kafka at b:9092 to read t-0, for 12 s now: refused",
        "Kafka at b:9092 is back after 14 s",
    ]


def test_a_new_job_does_not_wait_forever_for_its_first_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(enumerator, "_FIRST_ANSWER_SECONDS", 0.0)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers("127.0.0.1:1")
        .set_topics("t")
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    with pytest.raises(JobError, match=r"Kafka at 127.0.0.1:1 cannot be used.*scurry doctor"):
        source.enumerator(1).initial_position()


def test_settings_are_compared_by_value() -> None:
    one, same = ClientSettings({"a": "1"}), ClientSettings({"a": "1"})
    assert one == same
    assert hash(one) == hash(same)
    assert one != ClientSettings({"a": "2"})
