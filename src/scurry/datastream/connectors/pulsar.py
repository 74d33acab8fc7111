"""The connector for Pulsar, under PyFlink's names: planned, importable, and not there yet.

A program may import the names; whoever uses one is told what to do meanwhile.
"""

from __future__ import annotations

from scurry.common.unavailable import Planned

__all__ = [
    "MessageDelayer",
    "PulsarSink",
    "PulsarSinkBuilder",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RangeGenerator",
    "StartCursor",
    "StopCursor",
    "TopicRoutingMode",
]

_CONNECTOR = "Pulsar"
_INSTEAD = (
    "read and write through a broker that speaks the Kafka protocol with "
    "KafkaSource and KafkaSink, or write a Source with pulsar-client "
    "(docs/howto/source-and-sink.md)"
)


class StartCursor(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class StopCursor(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class RangeGenerator(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class PulsarSource(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class PulsarSourceBuilder(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class TopicRoutingMode(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class MessageDelayer(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class PulsarSink(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class PulsarSinkBuilder(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""
