"""The kinds of streams, under the module name PyFlink has for them."""

from __future__ import annotations

from scurry.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from scurry.datastream.cached_stream import CachedDataStream
from scurry.datastream.closeable import CloseableIterator
from scurry.datastream.connected_streams import ConnectedStreams
from scurry.datastream.keyed_stream import KeyedStream
from scurry.datastream.plain_stream import DataStream, DataStreamSink
from scurry.datastream.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
    "WindowedStream",
]
