"""Broadcast streams: every instance of a function sees all of their elements.

The broadcast state pattern: a stream of rules (thresholds, exchange rates, a model's parameters)
is broadcast and kept in a map in every instance; another stream, with or without keys, is processed
in the light of that map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.type_inference import yield_type_of
from scurry.datastream.connected_streams import common_type
from scurry.datastream.keyed_stream import KeyedStream
from scurry.datastream.plain_stream import DataStream
from scurry.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from scurry.plan import nodes
from scurry.state.states import MapStateDescriptor


class BroadcastStream:
    """A stream on its way to every slot, and the states its elements are kept in."""

    def __init__(
        self, input_stream: DataStream, broadcast_state_descriptors: Sequence[MapStateDescriptor]
    ) -> None:
        names: set[str] = set()
        for descriptor in broadcast_state_descriptors:
            if not isinstance(descriptor, MapStateDescriptor):
                raise ProgramError(
                    f"broadcast takes MapStateDescriptors, got {descriptor!r} "
                    f"({type(descriptor).__name__})."
                )
            if descriptor.name in names:
                raise ProgramError(
                    f"broadcast was given two states named {descriptor.name!r}; give each its own "
                    "name."
                )
            names.add(descriptor.name)
        self.input_stream = input_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)


class BroadcastConnectedStream:
    """A stream beside a broadcast stream."""

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: Sequence[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = tuple(broadcast_state_descriptors)

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any]
        | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: Any = None,
    ) -> DataStream:
        """Process both streams: a :class:`KeyedBroadcastProcessFunction` if the stream that is not
        broadcast has keys, else a :class:`BroadcastProcessFunction`."""
        keyed = isinstance(self.non_broadcast_stream, KeyedStream)
        wanted = KeyedBroadcastProcessFunction if keyed else BroadcastProcessFunction
        if not isinstance(func, wanted):
            stream = "a keyed stream" if keyed else "a stream without keys"
            raise ProgramError(
                f"process on {stream} connected with a broadcast stream needs a "
                f"{wanted.__name__}, got {func!r} ({type(func).__name__})."
            )
        return self.non_broadcast_stream._then(
            nodes.KeyedBroadcastProcess if keyed else nodes.BroadcastProcess,
            "Keyed-Co-Process-Broadcast" if keyed else "Co-Process-Broadcast",
            output_type,
            common_type(yield_type_of, func.process_element, func.process_broadcast_element),
            [self.broadcast_stream.input_stream],
            function=func,
            descriptors=self.broadcast_state_descriptors,
        )
