"""The connector for Elasticsearch, under PyFlink's names: planned, importable, and not there yet.

A program may import the names; whoever uses one is told what to do meanwhile.
"""

from __future__ import annotations

from scurry.common.unavailable import Planned

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "ElasticsearchSinkBuilderBase",
    "FlushBackoffType",
]

_CONNECTOR = "Elasticsearch"
_INSTEAD = (
    "send batches to its bulk API with WebhookSink "
    "(scurry.datastream.connectors.webhook), or write a Sink "
    "(docs/howto/source-and-sink.md)"
)


class FlushBackoffType(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class ElasticsearchEmitter(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class ElasticsearchSinkBuilderBase(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class Elasticsearch6SinkBuilder(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class Elasticsearch7SinkBuilder(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class ElasticsearchSink(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""
