"""Kafka, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.connectors.kafka.legacy import (
    FlinkKafkaConsumer,
    FlinkKafkaConsumerBase,
    FlinkKafkaProducer,
    FlinkKafkaProducerBase,
    Semantic,
)
from scurry.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from scurry.connectors.kafka.outgoing import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaTopicSelector,
)
from scurry.connectors.kafka.record import (
    KafkaDeadLetter,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from scurry.connectors.kafka.sink import KafkaSink, KafkaSinkBuilder
from scurry.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from scurry.functions.dead_letters import DEAD_LETTERS

__all__ = [
    "DEAD_LETTERS",
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaDeadLetter",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaProducerRecord",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
