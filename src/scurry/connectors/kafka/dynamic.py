"""`DynamicKafkaSource`: Kafka read by the names of *streams*, which a metadata service turns into
topics of clusters.

The service that exists here is the one for a single cluster, where a stream is the topic of that
name. So all of this is a `KafkaSource` under other names, and what that promises holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.serialization import DeserializationSchema
from scurry.common.type_information import describe
from scurry.connectors.kafka.offsets import KafkaOffsetsInitializer
from scurry.connectors.kafka.record import KafkaRecordDeserializationSchema
from scurry.connectors.kafka.source import KafkaSource, WrappedKafkaSource

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]

_DISCOVERY = "stream-metadata-discovery-interval-ms"
#: What Flink's source takes out of the properties and has no meaning here.
_LEFT_OUT = ("stream-metadata-discovery-failure-threshold", "stream-enumerator-mode")


class KafkaMetadataService:
    """Says in which topics of which clusters streams are."""


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """All streams are topics of one cluster; ``properties`` say how to reach it."""

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        if not properties.get("bootstrap.servers"):
            raise ProgramError(
                f"SingleClusterTopicMetadataService: the properties of {kafka_cluster_id!r} need "
                "'bootstrap.servers', the brokers to ask first."
            )
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = dict(properties)

    def __repr__(self) -> str:
        return f"SingleClusterTopicMetadataService({self.kafka_cluster_id!r})"


class KafkaStreamSubscriber:
    """Says which streams to read."""


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Reads the streams of these names."""

    def __init__(self, stream_ids: Set[str]) -> None:
        if isinstance(stream_ids, str) or not stream_ids:
            raise ProgramError(f"A set of stream ids is needed, got {stream_ids!r}.")
        self.stream_ids = sorted(stream_ids)


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Reads all streams in whose name a regular expression is found; ``^`` and ``$`` make it the
    whole name."""

    def __init__(self, stream_pattern: str) -> None:
        try:
            re.compile(stream_pattern)
        except re.error as wrong:
            raise ProgramError(
                f"The stream pattern {stream_pattern!r} is no regular expression: {wrong}"
            ) from None
        self.stream_pattern = stream_pattern

    @property
    def topic_pattern(self) -> str:
        """A pattern of the whole names of topics."""
        flags = re.match(r"(?:\(\?[aimsux]+\))*", self.stream_pattern)
        assert flags is not None
        return f"{flags[0]}(?s:.*?)(?:{self.stream_pattern[flags.end() :]})(?s:.*)"


class DynamicKafkaSource(WrappedKafkaSource):
    """Reads streams; made with :meth:`builder`."""

    def __init__(self, source: KafkaSource) -> None:
        self._wrapped = source
        self.bounded = source.bounded

    @property
    def _source(self) -> KafkaSource:
        return self._wrapped

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """A builder without settings."""
        return DynamicKafkaSourceBuilder()

    def __repr__(self) -> str:
        return f"Dynamic{self._source!r}"


class DynamicKafkaSourceBuilder:
    """Makes a :class:`DynamicKafkaSource`: streams, a metadata service and a deserializer are
    needed."""

    def __init__(self) -> None:
        self._builder = KafkaSource.builder()
        self._properties: dict[str, str] = {}
        self._subscribed = False
        self._service: SingleClusterTopicMetadataService | None = None
        self._decodes = False

    def set_stream_ids(self, stream_ids: Set[str]) -> DynamicKafkaSourceBuilder:
        """Read the streams of these names."""
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Read all streams in whose name a regular expression is found."""
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(
        self, kafka_stream_subscriber: KafkaStreamSubscriber
    ) -> DynamicKafkaSourceBuilder:
        """Read the streams of a subscriber."""
        if self._subscribed:
            raise ProgramError(
                "A DynamicKafkaSource has one subscriber: call only one of set_stream_ids, "
                "set_stream_pattern and set_kafka_stream_subscriber, and only once."
            )
        if isinstance(kafka_stream_subscriber, KafkaStreamSetSubscriber):
            self._builder.set_topics(*kafka_stream_subscriber.stream_ids)
        elif isinstance(kafka_stream_subscriber, StreamPatternSubscriber):
            self._builder.set_topic_pattern(kafka_stream_subscriber.topic_pattern)
        else:
            raise NotSupportedError(
                "DynamicKafkaSource takes a KafkaStreamSetSubscriber or a StreamPatternSubscriber, "
                f"got {describe(kafka_stream_subscriber)}; subscribers of your own are not there."
            )
        self._subscribed = True
        return self

    def set_kafka_metadata_service(
        self, kafka_metadata_service: KafkaMetadataService
    ) -> DynamicKafkaSourceBuilder:
        """Where the streams are."""
        if not isinstance(kafka_metadata_service, SingleClusterTopicMetadataService):
            raise NotSupportedError(
                "DynamicKafkaSource takes a SingleClusterTopicMetadataService, got "
                f"{describe(kafka_metadata_service)}; services of your own, for streams that are "
                "spread over clusters, are not there. Read each cluster with a KafkaSource and "
                "union the streams."
            )
        self._service = kafka_metadata_service
        return self

    def set_deserializer(
        self, deserializer: KafkaRecordDeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Make elements of whole records, or with ``value_only`` of their values."""
        self._builder.set_deserializer(deserializer)
        self._decodes = True
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> DynamicKafkaSourceBuilder:
        """Make elements of the records' values; records without a value are passed over."""
        self._builder.set_value_only_deserializer(deserialization_schema)
        self._decodes = True
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """Where a job without history begins; without it, at the oldest record."""
        self._builder.set_starting_offsets(starting_offsets_initializer)
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder:
        """End when those offsets are reached; they are determined when the job first starts
        with them."""
        self._builder.set_bounded(stopping_offsets_initializer)
        return self

    def set_properties(self, props: Mapping[str, str]) -> DynamicKafkaSourceBuilder:
        """Several settings of Kafka's client; those of the metadata service come first."""
        self._properties.update(props)
        return self

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        """A setting of Kafka's client."""
        return self.set_properties({key: value})

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """The consumer group that shows the job's progress."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """What the clients call themselves at the brokers."""
        return self.set_property("client.id", prefix)

    def build(self) -> DynamicKafkaSource:
        """The source."""
        needed = {
            "streams: call set_stream_ids": self._subscribed,
            "a metadata service: call set_kafka_metadata_service": self._service is not None,
            "to know how to read records: call set_value_only_deserializer": self._decodes,
        }
        for what, there in needed.items():
            if not there:
                raise ProgramError(f"A DynamicKafkaSource needs {what}.")
        assert self._service is not None
        properties: dict[str, Any] = {**self._properties, **self._service.properties}
        if _DISCOVERY in properties:
            interval = properties.pop(_DISCOVERY)
            properties.setdefault("partition.discovery.interval.ms", interval)
        for name in _LEFT_OUT:
            properties.pop(name, None)
        return DynamicKafkaSource(self._builder.set_properties(properties).build())
