"""Streams: a program is a tree of them, grown by calling methods. Nothing runs until executed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, Union, overload

from scurry.common.errors import ProgramError
from scurry.common.execution_config import ExecutionConfig
from scurry.common.type_inference import return_type_of, yield_type_of
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.connectors.memory import CollectSink, PrintSink
from scurry.datastream.closeable import CloseableIterator
from scurry.datastream.missing_methods import missing_method
from scurry.datastream.step import Step, StreamStep
from scurry.datastream.transformation import Transformation, caller
from scurry.functions import (
    FilterFunction,
    FlatMapFunction,
    Function,
    MapFunction,
    OutputTag,
    ProcessFunction,
    adapters,
)
from scurry.functions.history import CHOICES
from scurry.functions.preprocessing import SupportsPreprocessing
from scurry.functions.sink import Sink
from scurry.plan import nodes
from scurry.runtime.selectors import FieldSelector
from scurry.state.states import MapStateDescriptor
from scurry.windowing.assigners import WindowAssigner

if TYPE_CHECKING:
    from scurry.connectors.data_frames.frames import DataFrame
    from scurry.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
    from scurry.datastream.cached_stream import CachedDataStream
    from scurry.datastream.connected_streams import ConnectedStreams
    from scurry.datastream.keyed_stream import KeyedStream
    from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
    from scurry.datastream.window_join import CoGroupedStreams, JoinedStreams
    from scurry.datastream.windowed_stream import AllWindowedStream

S = TypeVar("S", bound="DataStream")


class DataStreamSink(Step):
    """The end of a stream."""

    def on_other_history(self, choice: str) -> DataStreamSink:
        """What happens when the sink has committed micro-batches that the checkpoint does not
        know, as after an older copy of the checkpoint was put back: ``"refuse"`` ends the job
        before anything is processed, ``"truncate"`` takes back what was committed beyond the
        checkpoint, ``"append"`` leaves it and writes on. Without it the job's
        ``scurry.sink.on-other-history`` decides."""
        if choice not in CHOICES:
            raise ProgramError(
                f"on_other_history({choice!r}) at {caller()}: it must be one of "
                f"{', '.join(CHOICES)}."
            )
        self._transformation.fields["on_other_history"] = choice
        return self


class DataStream(StreamStep):
    """A stream of elements."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Called for a name that does not exist: says what was probably meant."""
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise missing_method(self, name)

    def on_error(self: S, policy: str) -> S:
        """What happens to an element on which this operator's function raises: ``"fail"`` ends the
        job, ``"dead-letter"`` sends the element to the side output ``DEAD_LETTERS``. Without it
        the job's ``scurry.on-error`` decides."""
        self._transformation.set_on_error(policy)
        return self

    def get_name(self) -> str:
        """The operator's name; that of a source is the one it was given."""
        return self._called()

    def _called(self) -> str:
        step = self._transformation.part_of or self._transformation
        if step.kind is nodes.Source:
            return step.name.removeprefix("Source: ")
        return step.peer or step.name

    def get_type(self) -> TypeInformation:
        """The type of the elements; pickled objects if none was declared or could be inferred."""
        return self._transformation.type_info or Types.PICKLED_BYTE_ARRAY()

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        """The environment the stream belongs to."""
        return self._environment

    def get_execution_config(self) -> ExecutionConfig:
        """The environment's settings."""
        return self._environment.get_config()

    def map(self, func: Callable[[Any], Any] | MapFunction, output_type: Any = None) -> DataStream:
        """Replace each element by what ``func`` returns for it."""
        function = adapters.map_function(func)
        inferred = return_type_of(adapters.user_callable(function, "map"))
        return self._then(nodes.Map, "Map", output_type, inferred, function=function)

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction, output_type: Any = None
    ) -> DataStream:
        """Replace each element by any number of elements."""
        function = adapters.flat_map_function(func)
        inferred = yield_type_of(adapters.user_callable(function, "flat_map"))
        return self._then(nodes.FlatMap, "FlatMap", output_type, inferred, function=function)

    def filter(self, func: Callable[[Any], bool] | FilterFunction) -> DataStream:
        """Keep the elements for which ``func`` is true."""
        function = adapters.filter_function(func)
        kept = self._transformation.type_info
        return self._then(nodes.Filter, "Filter", None, kept, function=function)

    def process(self, func: ProcessFunction, output_type: Any = None) -> DataStream:
        """Process each element with access to time and side outputs."""
        if not isinstance(func, ProcessFunction):
            raise ProgramError(
                f"process needs a ProcessFunction on a stream without keys, got {func!r}. "
                "For state and timers call key_by(...) first and pass a KeyedProcessFunction."
            )
        inferred = yield_type_of(func.process_element)
        return self._then(nodes.Process, "PROCESS", output_type, inferred, function=func)

    def map_batches(self, func: Callable[[Any], Any], output_type: Any = None) -> DataStream:
        """Replace whole batches: ``func`` takes a ``pyarrow.RecordBatch`` and returns one with as
        many rows, each of which is a change of the same kind as the row it replaces. It must not
        depend on where batches begin and end."""
        return self._batches("Map Batches", func, output_type)

    def process_batches(self, func: Callable[[Any], Any], output_type: Any = None) -> DataStream:
        """Replace whole batches by any number of batches: ``func`` takes a ``pyarrow.RecordBatch``
        and returns or yields RecordBatches or Tables of any length. The rows must be insertions."""
        return self._batches("Process Batches", func, output_type)

    def _batches(self, name: str, func: Any, output_type: Any) -> DataStream:
        if not callable(func):
            raise ProgramError(f"{name.lower()} needs a callable over Arrow batches, got {func!r}.")
        return self._then(nodes.Batches, name, output_type, None, function=Function(), call=func)

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        """Partition by key: by a function of the element, or a field's name or position."""
        from scurry.datastream.keyed_stream import KeyedStream

        if isinstance(key_selector, (str, int)) and not isinstance(key_selector, bool):
            key_selector = FieldSelector(key_selector)
        step = Transformation(
            nodes.KeyBy,
            "Key By",
            [self._transformation],
            self._transformation.type_info,
            selector=adapters.key_selector(key_selector),
        )
        return KeyedStream(self._environment, step, self)

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Group all elements into windows, whatever their key: one slot does all the work."""
        from scurry.datastream.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Group all elements by count: ``size`` of them, one group every ``slide`` elements (every
        ``size`` if that is 0)."""
        from scurry.datastream.windowed_stream import AllWindowedStream, count_assigner

        return AllWindowedStream(self, count_assigner(size, slide))

    def union(self, *streams: DataStream) -> DataStream:
        """This stream and others as one; elements of one stream stay in order."""
        for stream in streams:
            self._check_partner("union", stream)
        inputs = [self._transformation, *(stream._transformation for stream in streams)]
        types = {step.type_info for step in inputs}
        common = types.pop() if len(types) == 1 else None
        return self._stream(Transformation(nodes.Union, "Union", inputs, common))

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(
        self, ds: DataStream | BroadcastStream
    ) -> ConnectedStreams | BroadcastConnectedStream:
        """This stream and another one side by side, for one function that has a method for
        each; the other one may be a broadcast stream."""
        from scurry.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
        from scurry.datastream.connected_streams import ConnectedStreams

        if isinstance(ds, BroadcastStream):
            self._check_partner("connect", ds.input_stream)
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        self._check_partner("connect", ds)
        return ConnectedStreams(self, ds)

    def _check_partner(self, operation: str, stream: Any) -> None:
        if not isinstance(stream, DataStream):
            raise ProgramError(f"{operation} takes streams, got {stream!r}.")
        if stream._environment is not self._environment:
            raise ProgramError(f"{operation} takes streams of one environment only.")

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Join elements that share a key and a window:
        ``a.join(b).where(key).equal_to(key).window(assigner).apply(function)``."""
        from scurry.datastream.window_join import JoinedStreams

        self._check_partner("join", other_stream)
        return JoinedStreams(self, other_stream)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """Group the elements of two streams by key and window:
        ``a.co_group(b).where(key).equal_to(key).window(assigner).apply(function)``."""
        from scurry.datastream.window_join import CoGroupedStreams

        self._check_partner("co_group", other_stream)
        return CoGroupedStreams(self, other_stream)

    def shuffle(self) -> DataStream:
        """Spread elements over the slots of the next operator as if at random."""
        return self._partition("shuffle")

    def rebalance(self) -> DataStream:
        """Spread elements over the slots of the next operator in turn."""
        return self._partition("rebalance")

    def rescale(self) -> DataStream:
        """As :meth:`rebalance`; on Spark every sender reaches every slot at the same cost."""
        return self._partition("rescale")

    def forward(self) -> DataStream:
        """Keep elements in the slot they are in."""
        return self._partition("forward")

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Send every element to every slot of the next operator. With descriptors: a stream to
        connect another one with, whose elements are kept in broadcast state of those names."""
        from scurry.datastream.broadcast_stream import BroadcastStream

        everywhere = self._partition("broadcast")
        if broadcast_state_descriptor is None:
            return everywhere
        descriptors = [broadcast_state_descriptor, *other_broadcast_state_descriptors]
        return BroadcastStream(everywhere, descriptors)

    def partition_custom(self, partitioner: Any, key_selector: Any) -> DataStream:
        """Send each element where ``partitioner(key, slots)`` says."""
        return self._partition(
            "custom",
            partitioner=adapters.partitioner(partitioner),
            selector=adapters.key_selector(key_selector),
        )

    def _partition(self, kind: str, **fields: Any) -> DataStream:
        step = Transformation(
            nodes.Partition,
            kind.capitalize(),
            [self._transformation],
            self._transformation.type_info,
            how=kind,
            **fields,
        )
        return self._stream(step)

    def project(self, *field_indexes: int) -> DataStream:
        """Keep only some fields of tuples, in the order given."""
        from scurry.datastream.projection import Projection

        projection = Projection(field_indexes)
        kept = projection.type_of(self._transformation.type_info)
        return self.map(projection, kept).name("Projection")

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Say when each element happened, and how late elements may come."""
        if not isinstance(watermark_strategy, WatermarkStrategy):
            raise ProgramError(
                "assign_timestamps_and_watermarks needs a WatermarkStrategy, "
                f"got {watermark_strategy!r}."
            )
        timed = self._then(
            nodes.Timestamps,
            "Timestamps/Watermarks",
            None,
            self._transformation.type_info,
            strategy=replace(watermark_strategy),
        )
        if watermark_strategy.assigner is not None:
            timed._transformation.peer = "Remove-Timestamp"
        return timed

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The stream of what this operator sends to ``output_tag``."""
        if not isinstance(output_tag, OutputTag):
            raise ProgramError(f"get_side_output needs an OutputTag, got {output_tag!r}.")
        step = Transformation(
            nodes.SideOutput,
            f"Side Output {output_tag.tag_id}",
            [self._side_producer(output_tag)],
            output_tag.type_info,
            tag=output_tag.tag_id,
        )
        step.peer = "Map"
        return self._stream(step)

    def _side_producer(self, tag: OutputTag) -> Transformation:
        """The step that has the side output: a strategy given to ``from_source`` stands between
        the source and this stream, and has side outputs of its own."""
        source = self._transformation.part_of
        if source is None:
            return self._transformation
        strategy: WatermarkStrategy = self._transformation.fields["strategy"]
        bound = strategy.future_bound
        return self._transformation if bound and bound[1] == tag.tag_id else source

    def cache(self) -> CachedDataStream:
        """The same stream, computed once: the first job that uses it keeps its records, later jobs
        of this environment read them. For streams that end."""
        return self._environment.cached(self)

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """End the stream in a sink."""
        if not isinstance(sink, Sink):
            raise ProgramError(f"sink_to needs a Sink, got {sink!r} ({type(sink).__name__}).")
        if isinstance(sink, SupportsPreprocessing) and (transformer := sink.get_transformer()):
            prepared = transformer.apply(self)
            if not isinstance(prepared, DataStream):
                raise ProgramError(
                    f"The transformer of {type(sink).__name__} returned {prepared!r}; it must "
                    "return a stream."
                )
            return prepared._end_in(sink)
        return self._end_in(sink)

    def _end_in(self, sink: Sink) -> DataStreamSink:
        sink.take_type(self._transformation.declared_type())
        step = Transformation(
            nodes.Sink, f"{type(sink).__name__}: Writer", [self._transformation], sink=sink
        )
        self._environment.add_sink(step)
        return DataStreamSink(self._environment, step)

    def add_sink(self, sink_func: Sink) -> DataStreamSink:
        """The older name of :meth:`sink_to`."""
        end = self.sink_to(sink_func)
        end._transformation.legacy = True
        return end

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print every element on the driver: as Flink does where its type was declared, such as
        ``(a,1)`` for a tuple and ``+I[a,1]`` for a row, and as Python does elsewhere."""
        return self.add_sink(PrintSink(sink_identifier or "")).name("Print to Std. Out")

    def foreach_batch(
        self, function: Callable[[DataFrame, int], object], schema: Any = None
    ) -> DataStreamSink:
        """Call ``function(df, batch_id)`` on the driver with a Spark DataFrame of the elements of
        each micro-batch that has some.

        As in Structured Streaming the function may be called again after a crash, with the same
        elements and the same number. ``schema`` says which columns there are, as a ``StructType``,
        a text such as ``"user string, total double"`` or a type; without it the type of the stream
        does."""
        from scurry.datastream.data_frames import foreach_batch_sink

        return self.sink_to(foreach_batch_sink(self, function, schema)).name("For Each Batch")

    def to_data_frame(self, directory: str | None = None, schema: Any = None) -> DataFrame:
        """This stream as a Spark DataFrame; ``schema`` is that of :meth:`foreach_batch`.

        Without a directory the program is run now, to its end, and the DataFrame is static. With
        one, the stream ends in Parquet files there, written when the program is executed, and the
        DataFrame is a streaming one that reads them, each once."""
        from scurry.datastream.data_frames import run_to_data_frame, streaming_data_frame

        if directory is None:
            return run_to_data_frame(self, schema)
        return streaming_data_frame(self, schema, directory)

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> Union[CloseableIterator, list[Any]]:  # noqa: UP007
        """Run the program and bring this stream's elements here: an iterator of them as they come
        (close it, or use it in ``with``, to stop the job), or with ``limit`` a list of so many."""
        sink = CollectSink()
        end = self.sink_to(sink).name("Collect")
        try:
            sink.attach()
            client = self._environment.start(job_execution_name or "Collect")
        finally:
            self._environment.remove_sink(end._transformation)
        found = CloseableIterator(sink.results(client.result), client)
        if limit is None:
            return found
        with found:
            return [element for _, element in zip(range(limit), found, strict=False)]

    def _then(
        self,
        kind: type[nodes.Node],
        name: str,
        output_type: Any,
        inferred: TypeInformation | None,
        others: Sequence[DataStream] = (),
        **fields: Any,
    ) -> DataStream:
        """The stream of what an operator makes of this stream, and of ``others`` besides."""
        declared = output_type is not None
        if isinstance(output_type, list):
            output_type = Types.ROW(output_type)
        elif declared and not isinstance(output_type, TypeInformation):
            output_type = Types.of(output_type)
        inputs = [stream._transformation for stream in (self, *others)]
        step = Transformation(kind, name, inputs, output_type or inferred, declared, **fields)
        return self._stream(step)

    def _stream(self, step: Transformation) -> DataStream:
        return DataStream(self._environment, step)
