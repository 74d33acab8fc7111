"""Kafka under the names it had before ``KafkaSource`` and ``KafkaSink``.

Older programs use ``add_source(FlinkKafkaConsumer(...))`` and
``add_sink(FlinkKafkaProducer(...))``. Here both are thin: a consumer makes a `KafkaSource`, a
producer a `KafkaSink`, and all that those promise holds.
"""

from __future__ import annotations

import logging
from abc import ABC
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.serialization import DeserializationSchema, SerializationSchema
from scurry.common.type_information import TypeInformation, describe
from scurry.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from scurry.connectors.kafka.outgoing import KafkaRecordSerializationSchema, Outgoing
from scurry.connectors.kafka.sink import KafkaSink
from scurry.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from scurry.functions.sink import (
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from scurry.functions.source import Json, Source, SourceBatch, SourceEnumerator
from scurry.runtime.batch import Longs

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "Semantic",
]

_log = logging.getLogger(__name__)


class FlinkKafkaConsumerBase(Source, ABC):
    """A source whose starting point is chosen after it was made."""

    bounded = False

    def __init__(self, builder: KafkaSourceBuilder, reset: KafkaOffsetResetStrategy) -> None:
        self._builder = builder
        self._reset = reset
        self._start = KafkaOffsetsInitializer.committed_offsets(reset)
        self._commits = True

    def _source(self) -> KafkaSource:
        commits = "true" if self._commits else "false"
        self._builder.set_property("commit.offsets.on.checkpoint", commits)
        return self._builder.set_starting_offsets(self._start).build()

    def set_commit_offsets_on_checkpoints(
        self, commit_on_checkpoints: bool
    ) -> FlinkKafkaConsumerBase:
        """Whether the consumer group shows how far the job has come."""
        self._commits = commit_on_checkpoints
        return self

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Begin with the oldest record."""
        self._start = KafkaOffsetsInitializer.earliest()
        return self

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Begin with what comes after the job was started."""
        self._start = KafkaOffsetsInitializer.latest()
        return self

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Begin with the first record of that time, in milliseconds, or later."""
        self._start = KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp)
        return self

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Begin where the consumer group stands, which is the default; where it has no offset,
        the property ``auto.offset.reset`` decides."""
        self._start = KafkaOffsetsInitializer.committed_offsets(self._reset)
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Topics that are no longer named cannot be read on."""
        raise NotSupportedError(
            "FlinkKafkaConsumer: partitions of topics that are no longer subscribed to are not "
            "read after a restart. Name those topics until they are read to the end."
        )

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements, if known."""
        return self.type_info

    @property
    def type_info(self) -> TypeInformation | None:
        return self._source().type_info

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return self._source().enumerator(parallelism)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        return self._source().read(what)


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """Reads topics; ``properties`` are those of Kafka's client, ``bootstrap.servers`` among them.
    New programs use `KafkaSource`."""

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema,
        properties: Mapping[str, str],
    ) -> None:
        named = [topics] if isinstance(topics, str) else list(topics)
        builder = KafkaSource.builder().set_topics(*named).set_properties(dict(properties))
        builder.set_value_only_deserializer(deserialization_schema)
        reset = str(properties.get("auto.offset.reset", "latest")).upper()
        if reset not in KafkaOffsetResetStrategy.__members__:
            raise ProgramError(
                f"FlinkKafkaConsumer: auto.offset.reset is {reset.lower()!r}; it takes "
                "'earliest', 'latest' or 'none'."
            )
        super().__init__(builder, KafkaOffsetResetStrategy[reset])
        self._source()


class Semantic(Enum):
    """How often an element may arrive at a `FlinkKafkaProducer`'s topic."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducerBase(Sink, ABC):
    """A sink that is a `KafkaSink` below."""

    def __init__(self, sink: KafkaSink) -> None:
        self._sink = sink
        self.guarantee = sink.guarantee

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducerBase:
        """Records that cannot be written fail the job; they are not merely logged."""
        if log_failures_only:
            raise NotSupportedError(
                "FlinkKafkaProducer.set_log_failures_only(True) would lose records silently, so it "
                "is not there. Use a restart strategy to get over failures."
            )
        return self

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducerBase:
        """Every micro-batch waits for the brokers, whatever is said here."""
        if not flush_on_checkpoint:
            _log.warning("FlinkKafkaProducer waits for the brokers with every micro-batch anyway.")
        return self

    def set_write_timestamp_to_kafka(
        self, write_timestamp_to_kafka: bool
    ) -> FlinkKafkaProducerBase:
        """Whether records get the elements' event timestamps."""
        schema = self._sink.schema
        assert isinstance(schema, _ValuesOnly)
        schema.stamped = write_timestamp_to_kafka
        return self

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return self._sink.create_writer(context)

    def start(self, context: CommitterContext) -> None:
        self._sink.start(context)

    def recover(self, batch_id: int) -> None:
        self._sink.recover(batch_id)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        self._sink.commit(batch_id, messages)

    def abort(self, batch_id: int) -> None:
        self._sink.abort(batch_id)

    def close(self) -> None:
        self._sink.close()


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """Writes elements to one topic. New programs use `KafkaSink`."""

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        if not isinstance(semantic, Semantic):
            raise ProgramError(f"FlinkKafkaProducer takes a Semantic, got {describe(semantic)}.")
        builder = KafkaSink.builder().set_record_serializer(
            _ValuesOnly(topic, serialization_schema)
        )
        for key, value in producer_config.items():
            builder.set_property(key, value)
        builder.set_delivery_guarantee(DeliveryGuarantee[semantic.name])
        builder.set_transactional_id_prefix(f"{topic}-producer")
        super().__init__(builder.build())

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Nothing to ignore: a micro-batch whose transaction timed out is written again."""
        return self


class _ValuesOnly(KafkaRecordSerializationSchema):
    """Records with a value and no key."""

    def __init__(self, topic: str, schema: SerializationSchema) -> None:
        builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
        self._whole = builder.set_value_serialization_schema(schema).build()
        self.stamped = False

    def outgoing(self, rows: list[Any], timestamps: Longs | None) -> Outgoing:
        return self._whole.outgoing(rows, timestamps if self.stamped else None)
