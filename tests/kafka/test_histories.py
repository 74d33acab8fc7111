"""Kafka, and jobs that go on from older copies of their checkpoints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from tests.contract._histories import HistoryContract, Runs, Target
from tests.kafka.conftest import Topics

from scurry.common import SimpleStringSchema
from scurry.common.errors import OtherHistoryError
from scurry.datastream.connectors.base import DeliveryGuarantee
from scurry.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from scurry.functions.sink import CommitterContext, Sink


class TwoTopics(Target):
    """Numbers up to 11, and greater ones: a mark is with one topic, the next with the other."""

    truncates = False

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self.low, self.high = topics.create(), topics.create()

    def sink(self, guarantee: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> Sink:
        low, high = self.low, self.high
        schema = (
            KafkaRecordSerializationSchema.builder()
            .set_topic_selector(lambda text: low if int(text) < 12 else high)
            .set_value_serialization_schema(SimpleStringSchema())
            .build()
        )
        return (
            KafkaSink.builder()
            .set_bootstrap_servers(self.topics.servers)
            .set_record_serializer(schema)
            .set_delivery_guarantee(guarantee)
            .set_transactional_id_prefix(self.low)
            .build()
        )

    @staticmethod
    def convert(number: int) -> Any:
        return str(number)

    def numbers(self) -> Iterable[int]:
        return [int(value) for name in (self.low, self.high) for value in self.topics.values(name)]


class TestKafka(HistoryContract):
    @pytest.fixture
    def target(self, topics: Topics) -> Target:
        return TwoTopics(topics)


def test_a_refused_job_does_not_disturb_the_one_that_runs(topics: Topics) -> None:
    target = TwoTopics(topics)
    runs = Runs(target)
    runs.steps(1)
    copy = runs.job.copy_checkpoint()
    runs.steps(2)
    job = runs.job
    alive, protocol, compiled = job.checkpoint, job._protocol, job._job
    with pytest.raises(OtherHistoryError):
        runs.go_back(copy, "refuse", stop=False)
    # the first run goes on as if nothing had happened
    job.checkpoint, job._protocol, job._job = alive, protocol, compiled
    runs.finish()
    assert target.holds(Counter(range(40)))
    runs.close()


def test_a_mark_from_before_there_were_branches(topics: Topics) -> None:
    from confluent_kafka import Consumer, TopicPartition

    target = TwoTopics(topics)
    group = {"bootstrap.servers": topics.servers, "group.id": f"{target.low}-out"}
    consumer = Consumer(group)
    consumer.commit(offsets=[TopicPartition(target.low, 0, 8, "old")], asynchronous=False)
    consumer.close()
    sink = target.sink()
    sink.start(CommitterContext("out", "old"))
    mark = sink.committed_mark()
    assert mark is not None
    assert (mark.batch, mark.branch, mark.when) == (7, "", None)
    sink.close()


def test_at_least_once_has_no_marks(topics: Topics) -> None:
    target = TwoTopics(topics)
    sink = target.sink(DeliveryGuarantee.AT_LEAST_ONCE)
    sink.start(CommitterContext("out", "job"))
    assert sink.committed_mark() is None
