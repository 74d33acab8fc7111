"""DynamicKafkaSource, with a real broker."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from tests.kafka.conftest import Topics

import scurry.datastream.connectors as connectors
from scurry.common import SimpleStringSchema, WatermarkStrategy
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaMetadataService,
    KafkaRecordDeserializationSchema,
    KafkaStreamSetSubscriber,
    KafkaStreamSubscriber,
    SingleClusterTopicMetadataService,
    StreamPatternSubscriber,
)
from scurry.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaRecord
from scurry.testing import collect_local
from scurry.testing.servers import wait_until


def service(servers: str = "b:9092", **properties: str) -> SingleClusterTopicMetadataService:
    return SingleClusterTopicMetadataService(
        "cluster-a", {"bootstrap.servers": servers, **properties}
    )


def bounded(servers: str) -> DynamicKafkaSourceBuilder:
    return (
        DynamicKafkaSource.builder()
        .set_kafka_metadata_service(service(servers))
        .set_value_only_deserializer(SimpleStringSchema())
        .set_bounded(KafkaOffsetsInitializer.latest())
    )


def read(source: DynamicKafkaSource) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "streams")
    return sorted(collect_local(stream, cuts=2, crash=[1]))


@pytest.fixture
def three(topics: Topics) -> str:
    """The common beginning of three topics with a record or two each."""
    name = f"d{uuid.uuid4().hex[:10]}"
    for kind, values in (("orders", [b"a", b"b"]), ("old-orders", [b"c"]), ("bills", [b"d"])):
        topics.fill(topics.create(name=f"{name}-{kind}"), values)
    return name


def test_streams_are_topics_of_the_cluster(topics: Topics, three: str) -> None:
    ids = {f"{three}-orders", f"{three}-bills"}
    assert read(bounded(topics.servers).set_stream_ids(ids).build()) == ["a", "b", "d"]
    subscriber = KafkaStreamSetSubscriber({f"{three}-bills"})
    source = bounded(topics.servers).set_kafka_stream_subscriber(subscriber).build()
    assert read(source) == ["d"]
    assert source.bounded


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("{}.*orders", "abc"), ("^{}-orders$", "ab"), ("{}-b", "d"), ("(?i){}-BILLS", "d")],
)
def test_a_pattern_is_looked_for_anywhere_in_the_name(
    topics: Topics, three: str, pattern: str, found: str
) -> None:
    builder = bounded(topics.servers).set_stream_pattern(pattern.format(three))
    assert read(builder.build()) == list(found)


def test_a_stream_that_comes_later_is_found(topics: Topics, three: str) -> None:
    source = (
        DynamicKafkaSource.builder()
        .set_kafka_metadata_service(service(topics.servers))
        .set_value_only_deserializer(SimpleStringSchema())
        .set_stream_pattern(f"{three}-bills")
        .set_property("stream-metadata-discovery-interval-ms", "1")
        .build()
    )
    enumerator = source.enumerator(1)
    plan = enumerator.plan(enumerator.initial_position(), 100)
    topics.fill(topics.create(name=f"{three}-bills-2"), [b"e"])
    found: list[Any] = []

    def more() -> bool:
        nonlocal plan
        plan = enumerator.plan(plan.position, 100)
        for one in plan.ranges:
            found.extend(row for part in source.read(one.what) for row in part.rows or [])
        return bool(found)

    wait_until(more)
    enumerator.close()
    assert found == ["e"]


class Places(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        return record.offset, record.value


def test_records_are_decoded_whole_or_by_value(topics: Topics, three: str) -> None:
    builder = bounded(topics.servers).set_stream_ids({f"{three}-orders"})
    assert read(builder.set_deserializer(Places()).build()) == [(0, b"a"), (1, b"b")]
    values = KafkaRecordDeserializationSchema.value_only(SimpleStringSchema())
    assert read(builder.set_deserializer(values).build()) == ["a", "b"]


def test_settings_reach_the_client(topics: Topics, three: str) -> None:
    builder = (
        bounded(topics.servers)
        .set_kafka_stream_subscriber(StreamPatternSubscriber(f"{three}-orders"))
        .set_starting_offsets(KafkaOffsetsInitializer.timestamp(0))
        .set_properties({"stream-metadata-discovery-interval-ms": "1000", "fetch.min.bytes": "1"})
        .set_property("bootstrap.servers", "nowhere:1")
        .set_group_id("g")
        .set_client_id_prefix("c")
    )
    # the metadata service knows better where its cluster is
    assert read(builder.build()) == ["a", "b"]


def test_what_is_missing_is_said() -> None:
    builder = DynamicKafkaSource.builder()
    with pytest.raises(ProgramError, match="needs streams: call set_stream_ids"):
        builder.build()
    with pytest.raises(ProgramError, match="needs a metadata service"):
        builder.set_stream_pattern("x").build()
    with pytest.raises(ProgramError, match="how to read records"):
        builder.set_kafka_metadata_service(service()).build()
    with pytest.raises(ProgramError, match="has one subscriber"):
        builder.set_stream_ids({"a"})
    with pytest.raises(ProgramError, match=r"'cluster-a' need 'bootstrap\.servers'"):
        SingleClusterTopicMetadataService("cluster-a", {})
    with pytest.raises(ProgramError, match="set of stream ids is needed, got 'abc'"):
        KafkaStreamSetSubscriber("abc")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match=r"'\(' is no regular expression"):
        StreamPatternSubscriber("(")
    with pytest.raises(ProgramError, match="value_only takes a DeserializationSchema, got"):
        KafkaRecordDeserializationSchema.value_only(str)  # type: ignore[arg-type]


def test_services_and_subscribers_of_ones_own_are_refused() -> None:
    class Mine(KafkaMetadataService):
        pass

    class Some(KafkaStreamSubscriber):
        pass

    builder = DynamicKafkaSource.builder()
    with pytest.raises(NotSupportedError, match=r"Mine.*KafkaSource and union"):
        builder.set_kafka_metadata_service(Mine())
    with pytest.raises(NotSupportedError, match=r"Some.*of your own are not there"):
        builder.set_kafka_stream_subscriber(Some())


def test_names_are_where_pyflink_has_them_and_hide_secrets() -> None:
    assert connectors.DynamicKafkaSource is DynamicKafkaSource
    assert connectors.KafkaRecordDeserializationSchema is KafkaRecordDeserializationSchema
    builder = DynamicKafkaSource.builder().set_stream_ids({"t"})
    builder.set_value_only_deserializer(SimpleStringSchema())
    secret = service(**{"sasl.password": "hunter2"})
    source = builder.set_kafka_metadata_service(secret).build()
    assert repr(source).startswith("DynamicKafkaSource(")
    assert "hunter2" not in repr(source) + repr(secret)
