"""Programs that still use FlinkKafkaConsumer and FlinkKafkaProducer, with a real broker."""

from __future__ import annotations

import pytest
from tests.kafka.conftest import Topics

from scurry.common import SimpleStringSchema, WatermarkStrategy
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    Semantic,
)
from scurry.testing import run_local


class AtNine(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return 9000


def produced(topics: Topics, topic: str, sink: FlinkKafkaProducer, *words: str) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(AtNine())
    env.from_collection(words).assign_timestamps_and_watermarks(strategy).add_sink(sink)
    run_local(env, cuts=1)


@pytest.mark.parametrize("semantic", list(Semantic))
def test_what_is_written_arrives(topics: Topics, semantic: Semantic) -> None:
    topic = topics.create()
    config = {"bootstrap.servers": topics.servers}
    sink = FlinkKafkaProducer(topic, SimpleStringSchema(), config, semantic=semantic)
    sink.set_flush_on_checkpoint(True)
    produced(topics, topic, sink.ignore_failures_after_transaction_timeout(), "a", "b")
    assert topics.values(topic) == [b"a", b"b"]


@pytest.mark.parametrize("stamped", [True, False])
def test_records_get_the_elements_timestamps_if_asked_for(topics: Topics, stamped: bool) -> None:
    topic = topics.create()
    config = {"bootstrap.servers": topics.servers}
    sink = FlinkKafkaProducer(topic, SimpleStringSchema(), config)
    sink.set_write_timestamp_to_kafka(stamped)
    produced(topics, topic, sink, "a")
    (record,) = topics.read(topic)
    assert (record.timestamp()[1] == 9000) == stamped


def test_where_reading_begins(topics: Topics) -> None:
    topic = topics.create()
    topics.fill(topic, [b"a", b"b", b"c"])
    config = {"bootstrap.servers": topics.servers, "group.id": topic}
    consumer = FlinkKafkaConsumer(topic, SimpleStringSchema(), config)

    def read_at_first(source: FlinkKafkaConsumer) -> list[str]:
        """The records a job without history finds."""
        enumerator = source.enumerator(1)
        plan = enumerator.plan(enumerator.initial_position(), 100)
        batches = [batch for one in plan.ranges for batch in source.read(one.what)]
        enumerator.close()
        return [row for batch in batches for row in batch.rows or []]

    assert read_at_first(consumer) == []
    consumer.set_start_from_earliest()
    assert read_at_first(consumer) == ["a", "b", "c"]
    consumer.set_start_from_latest()
    assert read_at_first(consumer) == []
    consumer.set_start_from_timestamp(0)
    assert read_at_first(consumer) == ["a", "b", "c"]
    consumer.set_start_from_group_offsets()
    assert read_at_first(consumer) == []
    early = {**config, "auto.offset.reset": "earliest"}
    assert read_at_first(FlinkKafkaConsumer([topic], SimpleStringSchema(), early)) == [
        "a",
        "b",
        "c",
    ]


def test_mistakes_and_what_is_not_there() -> None:
    config = {"bootstrap.servers": "localhost:1"}
    with pytest.raises(ProgramError, match=r"auto\.offset\.reset is 'never'"):
        FlinkKafkaConsumer("t", SimpleStringSchema(), {**config, "auto.offset.reset": "never"})
    with pytest.raises(ProgramError, match="needs brokers"):
        FlinkKafkaConsumer("t", SimpleStringSchema(), {})
    with pytest.raises(NotSupportedError, match="no longer subscribed"):
        FlinkKafkaConsumer(
            "t", SimpleStringSchema(), config
        ).disable_filter_restored_partitions_with_subscribed_topics()
    with pytest.raises(ProgramError, match="takes a Semantic, got 'exactly'"):
        FlinkKafkaProducer("t", SimpleStringSchema(), config, semantic="exactly")  # type: ignore[arg-type]
    with pytest.raises(NotSupportedError, match="lose records silently"):
        FlinkKafkaProducer("t", SimpleStringSchema(), config).set_log_failures_only(True)
