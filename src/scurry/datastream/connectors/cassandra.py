"""The connector for Cassandra, under PyFlink's names: planned, importable, and not there yet.

A program may import the names; whoever uses one is told what to do meanwhile.
"""

from __future__ import annotations

from scurry.common.unavailable import Planned

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]

_CONNECTOR = "Cassandra"
_INSTEAD = (
    "write a Sink whose writer uses cassandra-driver "
    "(docs/howto/source-and-sink.md), or write to Postgres or Delta"
)


class ConsistencyLevel(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class MapperOptions(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class ClusterBuilder(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class CassandraCommitter(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class CassandraFailureHandler(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""


class CassandraSink(metaclass=Planned, connector=_CONNECTOR, instead=_INSTEAD):
    """Not there yet."""
