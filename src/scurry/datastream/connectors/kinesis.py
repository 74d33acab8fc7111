"""The connector for Kinesis, under PyFlink's names: planned, importable, and not there yet.

A program may import the names; whoever uses one is told what to do meanwhile.
"""

from __future__ import annotations

from scurry.common.unavailable import Planned

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]

_CONNECTOR = "Kinesis"
_INSTEAD = "write a Source or a Sink with boto3 (docs/howto/source-and-sink.md), or use Kafka"


class KinesisShardAssigner(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class KinesisDeserializationSchema(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class WatermarkTracker(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class FlinkKinesisConsumer(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class PartitionKeyGenerator(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class KinesisStreamsSink(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class KinesisStreamsSinkBuilder(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class KinesisFirehoseSink(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class KinesisFirehoseSinkBuilder(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""
