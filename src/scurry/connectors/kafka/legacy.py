"""Kafka under the names it had before ``KafkaSource`` and ``KafkaSink``.

Older programs use ``add_source(FlinkKafkaConsumer(...))`` and
``add_sink(FlinkKafkaProducer(...))``. Here both are thin: a consumer makes a `KafkaSource`, a
producer a `KafkaSink`, and all that those promise holds.
"""

from __future__ import annotations

import logging
from abc import ABC
from collections.abc import Mapping
from enum import Enum
from typing import Any

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.serialization import DeserializationSchema, SerializationSchema
from scurry.common.type_information import TypeInformation, describe
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from scurry.connectors.kafka.outgoing import KafkaRecordSerializationSchema, Outgoing
from scurry.connectors.kafka.sink import KafkaSink
from scurry.connectors.kafka.source import KafkaSource, KafkaSourceBuilder, WrappedKafkaSource
from scurry.connectors.kafka.who_writes import DRIVER
from scurry.functions.sink import CommitterContext, DeliveryGuarantee
from scurry.runtime.batch import Longs

__all__ = [
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "Semantic",
]

_log = logging.getLogger(__name__)


class FlinkKafkaConsumerBase(WrappedKafkaSource):
    """A source whose starting point is chosen after it was made."""

    bounded = False

    def __init__(self, builder: KafkaSourceBuilder, reset: KafkaOffsetResetStrategy) -> None:
        self._builder = builder
        self._reset = reset
        self._start = KafkaOffsetsInitializer.committed_offsets(reset)
        self._made: KafkaSource | None = None

    @property
    def _source(self) -> KafkaSource:
        if self._made is None:
            self._made = self._builder.set_starting_offsets(self._start).build()
        return self._made

    def _from(self, start: KafkaOffsetsInitializer) -> FlinkKafkaConsumerBase:
        self._start, self._made = start, None
        return self

    def set_commit_offsets_on_checkpoints(
        self, commit_on_checkpoints: bool
    ) -> FlinkKafkaConsumerBase:
        """Whether the consumer group shows how far the job has come."""
        commits = "true" if commit_on_checkpoints else "false"
        self._builder.set_property("commit.offsets.on.checkpoint", commits)
        return self._from(self._start)

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Begin with the oldest record."""
        return self._from(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Begin with what comes after the job was started."""
        return self._from(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Begin with the first record of that time, in milliseconds, or later."""
        return self._from(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Begin where the consumer group stands, which is the default; where it has no offset,
        the property ``auto.offset.reset`` decides."""
        return self._from(KafkaOffsetsInitializer.committed_offsets(self._reset))

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Topics that are no longer named cannot be read on."""
        raise NotSupportedError(
            "FlinkKafkaConsumer: partitions of topics that are no longer subscribed to are not "
            "read after a restart. Name those topics until they are read to the end."
        )

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the elements, if known."""
        return self.type_info


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
        builder.build()
        super().__init__(builder, KafkaOffsetResetStrategy[reset])


class Semantic(Enum):
    """How often an element may arrive at a `FlinkKafkaProducer`'s topic."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducerBase(KafkaSink, ABC):
    """A `KafkaSink` whose transactions are named after the job's checkpoint, since the program
    gives them no name."""

    _schema: _ValuesOnly

    def start(self, context: CommitterContext) -> None:
        self._prefix = f"scurry-{context.checkpoint_id}"
        super().start(context)

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
        self._schema.stamped = write_timestamp_to_kafka
        return self


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
        if not producer_config.get("bootstrap.servers"):
            raise ProgramError("A FlinkKafkaProducer needs brokers: set bootstrap.servers.")
        super().__init__(
            ClientSettings(producer_config),
            _ValuesOnly(topic, serialization_schema),
            DeliveryGuarantee[semantic.name],
            topic,
            # tasks would have to know the checkpoint
            DRIVER,
        )

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
