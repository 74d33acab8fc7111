"""Scurry: a ``KeyedProcessFunction`` with one ``ValueState``, written as for PyFlink.

State is durable: every micro-batch ends with Spark's checkpoint in a directory on disk. The sink
keeps nothing, but adds up the counts it is given, so that the result can be checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from benchmarks.contenders._protocol import Measurement, Options, count_of, padded
from scurry.connectors.parquet import ParquetSource
from scurry.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import MapState, MapStateDescriptor, ValueState, ValueStateDescriptor
from scurry.functions.sink import Sink, SinkWriter, WriterContext

_count_of = itemgetter(1)


class Count(KeyedProcessFunction):
    """Counts the events of each key and says the new count for every event."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count: ValueState[int] = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: tuple[int, ...], ctx: Any) -> Iterator[tuple[int, int]]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


class CountInLargeValue(KeyedProcessFunction):
    """The same with a value of ``size`` bytes for each key."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held: ValueState[bytes] = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: tuple[int, ...], ctx: Any) -> Iterator[tuple[int, int]]:
        count = count_of(self.held.value()) + 1
        self.held.update(padded(count, self.size))
        yield value[0], count


class CountInMap(CountInLargeValue):
    """The same with a map of one such entry for each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.map: MapState[int, bytes] = runtime_context.get_map_state(MapStateDescriptor("held"))

    def process_element(self, value: tuple[int, ...], ctx: Any) -> Iterator[tuple[int, int]]:
        count = count_of(self.map.get(0)) + 1
        self.map.put(0, padded(count, self.size))
        yield value[0], count


class SummingSink(Sink):
    """Discards records, having added up the counts in them."""

    def __init__(self) -> None:
        self.checksum = 0

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _SummingWriter()

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        self.checksum += sum(messages)


class _SummingWriter(SinkWriter):
    def __init__(self) -> None:
        self._sum = 0

    def write(self, rows: list[Any]) -> None:
        self._sum += sum(map(_count_of, rows))

    def prepare(self) -> int:
        total, self._sum = self._sum, 0
        return total


def keyed_count(events: DataStream, value_bytes: int = 0, in_map: bool = False) -> DataStream:
    """The job."""
    function: KeyedProcessFunction = CountInLargeValue(value_bytes) if value_bytes else Count()
    if in_map:
        function = CountInMap(value_bytes)
    return events.key_by(lambda event: event[0]).process(function)


def main(
    job: Callable[[DataStream], DataStream] | None = None, sink: SummingSink | None = None
) -> None:
    """Run a job over the events and report; without a ``sink`` its rows end with a count."""
    parser = Options()
    parser.add_argument("--batch", type=int, default=1_000_000, help="events per micro-batch")
    parser.add_argument("--value-bytes", type=int, default=0, help="0: the count is the value")
    parser.add_argument("--in-map", action="store_true", help="the value is an entry of a map")
    parser.add_argument("--warm-up", type=int, default=0, help="events before the rate is taken")
    parser.add_argument("--backend", choices=("disk", "memory"), default="disk")
    options = parser.parse_args()
    measurement = Measurement()
    sink = sink or SummingSink()
    written = 0

    def on_progress(progress: Any) -> None:
        nonlocal written
        written = progress.records_written
        if progress.records_read >= options.warm_up:
            measurement.mark(progress.records_read)
        else:
            measurement.show(progress.records_read)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(options.parallelism)
    settings = env.get_configuration()
    settings.set_string("spark.master", f"local[{options.parallelism}]")
    settings.set_string("scurry.batch.max-records", str(options.batch))
    settings.set_string("execution.checkpointing.dir", str(options.work / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(options.work / "local"))
    settings.set_string("state.backend", options.backend)
    env.on_progress(on_progress)
    events = env.from_source(ParquetSource(options.data, element=tuple), None, "events")
    counted = (
        keyed_count(events, options.value_bytes, options.in_map) if job is None else job(events)
    )
    counted.sink_to(sink)
    env.execute("counts")
    measurement.finish(events=options.events, output_rows=written, checksum=sink.checksum)


if __name__ == "__main__":
    main()
