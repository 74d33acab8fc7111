"""Keyed streams: elements of one key meet in one slot, with state of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.type_inference import return_type_of, yield_type_of
from scurry.common.type_information import TypeInformation
from scurry.datastream.plain_stream import DataStream
from scurry.datastream.transformation import Transformation
from scurry.datastream.windowed_stream import WindowedStream, count_assigner
from scurry.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    adapters,
)
from scurry.functions.aggregations import FieldAggregation
from scurry.plan import nodes
from scurry.windowing.assigners import WindowAssigner

if TYPE_CHECKING:
    from scurry.datastream.cached_stream import CachedDataStream
    from scurry.datastream.interval_join import IntervalJoin
    from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment


class KeyedStream(DataStream):
    """A stream partitioned by key."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        transformation: Transformation,
        origin: DataStream,
    ) -> None:
        super().__init__(environment, transformation)
        self._origin = origin

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: Any = None) -> DataStream:
        """Replace each element; the function may keep state of the element's key."""
        function = adapters.map_function(func)
        inferred = return_type_of(adapters.user_callable(function, "map"))
        return self._keyed("Map", output_type, inferred, adapters.KeyedMap(function))

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: Any = None
    ) -> DataStream:
        """Replace each element by any number; the function may keep state of the key."""
        function = adapters.flat_map_function(func)
        inferred = yield_type_of(adapters.user_callable(function, "flat_map"))
        return self._keyed("FlatMap", output_type, inferred, adapters.KeyedFlatMap(function))

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep elements; the function may keep state of the element's key."""
        function = adapters.filter_function(func)
        kept = self._transformation.type_info
        return self._keyed("Filter", None, kept, adapters.KeyedFilter(function))

    def _keyed(
        self,
        name: str,
        output_type: Any,
        inferred: TypeInformation | None,
        function: KeyedProcessFunction,
    ) -> DataStream:
        return self._then(nodes.KeyedProcess, name, output_type, inferred, function=function)

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction, output_type: Any = None
    ) -> DataStream:
        """Process each element with the state and timers of its key."""
        if not isinstance(func, KeyedProcessFunction):
            raise ProgramError(
                f"process needs a KeyedProcessFunction on a keyed stream, got {func!r} "
                f"({type(func).__name__})."
            )
        inferred = yield_type_of(func.process_element)
        return self._keyed("KEYED PROCESS", output_type, inferred, func)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combine the elements of a key, one by one; every element yields the value so far."""
        function = adapters.reduce_function(func)
        kept = self._transformation.type_info
        return self._then(nodes.Reduce, "Reduce", None, kept, function=function)

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """The key's running sum of a field, in the first element of the key."""
        return self._aggregate("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """The least value of a field so far, in the first element of the key."""
        return self._aggregate("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """The greatest value of a field so far, in the first element of the key."""
        return self._aggregate("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The element with the least value of a field so far; the first of several."""
        return self._aggregate("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The element with the greatest value of a field so far; the first of several."""
        return self._aggregate("max_by", position_to_max_by)

    def _aggregate(self, how: str, position: int | str) -> DataStream:
        reduced = self.reduce(FieldAggregation(how, position)).name(how.capitalize())
        reduced._transformation.peer = "Reduce"
        return reduced

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Group the elements of each key into windows."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Group the elements of each key by count: ``size`` of them, one group every ``slide``
        elements (every ``size`` if that is 0)."""
        return WindowedStream(self, count_assigner(size, slide))

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Join with another keyed stream: elements of equal keys whose timestamps are within
        bounds, see :meth:`IntervalJoin.between`."""
        from scurry.datastream.interval_join import IntervalJoin

        self._check_partner("interval_join", other_stream)
        if not isinstance(other_stream, KeyedStream):
            raise ProgramError(
                "interval_join needs a keyed stream on both sides: call key_by(...) on the other "
                "stream too."
            )
        return IntervalJoin(self, other_stream)

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        """Partition by another key."""
        return self._origin.key_by(key_selector, key_type)

    def get_name(self) -> str:
        """Refused: elements and their keys are what the operator before them sends."""
        raise self._nameless("get_name")

    def cache(self) -> CachedDataStream:
        """Refused: cache the stream before ``key_by``, or the result of an operator after it."""
        raise self._nameless("cache")

    def _nameless(self, method: str) -> NotSupportedError:
        return NotSupportedError(
            f"{method}() of a keyed stream ({self._transformation.location}): call it on the "
            "stream before key_by(...), or on the result of an operator after it."
        )

    def shuffle(self) -> DataStream:
        """Refused: it would tear keys apart."""
        raise self._refused("shuffle")

    def rebalance(self) -> DataStream:
        """Refused: it would tear keys apart."""
        raise self._refused("rebalance")

    def rescale(self) -> DataStream:
        """Refused: it would tear keys apart."""
        raise self._refused("rescale")

    def forward(self) -> DataStream:
        """Refused: it would tear keys apart."""
        raise self._refused("forward")

    def broadcast(self, *args: Any) -> Any:
        """Refused: it would tear keys apart."""
        raise self._refused("broadcast")

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        """Refused: it would tear keys apart."""
        raise self._refused("partition_custom")

    def _refused(self, operation: str) -> ProgramError:
        return ProgramError(
            f"{operation}() on a keyed stream would separate elements of one key. Call it before "
            "key_by(...), or on the result of an operator after it."
        )
