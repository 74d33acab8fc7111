"""Connectors, under the module names PyFlink has for them.

The names PyFlink has here as well are looked up when they are asked for, so that a program does not
import what it does not use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scurry.functions.sink import DeliveryGuarantee, Sink
from scurry.functions.source import Source

_ELSEWHERE = {
    "dynamic_kafka": (
        "DynamicKafkaSource",
        "DynamicKafkaSourceBuilder",
        "KafkaMetadataService",
        "KafkaRecordDeserializationSchema",
        "KafkaStreamSetSubscriber",
        "KafkaStreamSubscriber",
        "SingleClusterTopicMetadataService",
        "StreamPatternSubscriber",
    ),
    "file_system": (
        "BucketAssigner",
        "FileEnumeratorProvider",
        "FileSink",
        "FileSource",
        "FileSourceBuilder",
        "FileSplitAssignerProvider",
        "OutputFileConfig",
        "RollingPolicy",
        "StreamFormat",
        "StreamingFileSink",
    ),
    "jdbc": ("JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"),
    "kafka": ("FlinkKafkaConsumer", "FlinkKafkaProducer", "KafkaSource", "Semantic"),
    "number_seq": ("NumberSequenceSource",),
    "pulsar": ("PulsarSource", "PulsarSourceBuilder", "StartCursor", "StopCursor"),
    "rabbitmq": ("RMQConnectionConfig", "RMQSink", "RMQSource"),
}
_MODULES = {name: module for module, names in _ELSEWHERE.items() for name in names}

__all__ = ["DeliveryGuarantee", "Sink", "Source", *_MODULES]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
