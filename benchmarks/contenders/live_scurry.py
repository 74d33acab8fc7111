"""Scurry under a steady load, in whichever engine; see ``benchmarks/live.py``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contenders._latency import Latencies, options
from scurry.common import Configuration, Types, WatermarkStrategy
from scurry.common.time import Time
from scurry.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import ValueStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.functions.sink import AT_LEAST_ONCE, Sink, SinkWriter, WriterContext
from scurry.functions.source import Json, ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator

_PLENTY = 1 << 62
#: In event time, of which ten records are a millisecond.
_TIMER_DELAY_MS = 5000


class _Pace(SourceEnumerator):
    def __init__(self, source: Paced) -> None:
        self._source = source

    def initial_position(self) -> Json:
        return {str(at): 0 for at in range(self._source.partitions)}

    def partitions(self) -> list[str]:
        return [str(at) for at in range(self._source.partitions)]

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        source = self._source
        share, last = max(1, max_records // source.partitions), source.due_by(time.time())
        ranges, after = [], dict(position)
        for name, begin in position.items():
            end = min(begin + share, last)
            if end > begin:
                ranges.append(ReadRange(name, [int(name), begin, end]))
                after[name] = end
        return ReadPlan(after, ranges)


class Paced(Source):
    """Records of a key and a due time, and of their number if that is wanted, at a steady rate."""

    bounded = False
    as_tuples = True

    def __init__(
        self, rate: float, keys: int, partitions: int, start: float, numbered: bool = False
    ) -> None:
        self.partitions = partitions
        self._numbered = numbered
        self._rate = rate / partitions
        self._keys = keys
        self._start = start

    def due_by(self, now: float) -> int:
        """How many records of a partition are due."""
        if not self._rate:
            return _PLENTY
        return max(0, int((now - self._start) * self._rate))

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Pace(self)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        partition, begin, end = what
        numbers = np.arange(begin, end, dtype=np.int64) * self.partitions + partition
        keys = (numbers * 2654435761 & 0xFFFFFFFF) % self._keys
        if self._rate:
            due = (self._start + np.arange(begin, end) / self._rate) * 1e6
        else:
            due = np.full(end - begin, time.time() * 1e6)
        columns = [keys.tolist(), due.astype(np.int64).tolist()]
        if self._numbered:
            columns.append(numbers.tolist())
        yield SourceBatch(rows=list(zip(*columns, strict=True)))


class Count(KeyedProcessFunction):
    """Counts the records of each key."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield value


class Size(ProcessWindowFunction):
    """Counts the records of a window; the result is due when the window ends."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield len(list(elements)), context.window().end * 1000


class CountLater(KeyedProcessFunction):
    """Sets a timer for every record, no two of a key at the same time, and counts when it fires."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + _TIMER_DELAY_MS)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield ctx.get_current_key(), timestamp


class _Writer(SinkWriter):
    def __init__(self, directory: Path) -> None:
        self._latencies = Latencies(directory)

    def write(self, rows: list[Any]) -> None:
        self._latencies.note([row[1] for row in rows])

    def prepare(self) -> object:
        self._latencies.write()
        return None


class LatencySink(Sink):
    """Notes when records come."""

    guarantee = AT_LEAST_ONCE

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self._directory)


def shaped(events: DataStream, shape: str) -> DataStream:
    """The job."""
    if shape == "windows":
        windows = events.key_by(lambda e: e[0]).window(
            TumblingEventTimeWindows.of(Time.milliseconds(100))
        )
        return windows.process(Size())
    if shape == "timers":
        return events.key_by(lambda e: e[0]).process(CountLater())
    counted = events.key_by(lambda e: e[0]).process(Count())
    if shape == "two":
        counted = counted.key_by(lambda e: e[0] // 7).process(Count())
    return counted


def main() -> None:
    """Run until the time is over."""
    given = options().parse_args()
    settings = dict(option.split("=", 1) for option in given.option)
    configuration = Configuration.of(
        {
            "execution.checkpointing.dir": str(given.work / "checkpoint"),
            "execution.checkpointing.interval": f"{given.interval_ms} ms",
            "scurry.state.local-dir": str(given.work / "local"),
            **settings,
        }
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(given.parallelism)
    start = float((given.work / "start").read_text())
    timers = given.shape == "timers"
    source = Paced(given.rate, given.keys, given.parallelism, start, timers)
    strategy: Any = None
    if given.shape == "windows":
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda event, _: event[1] // 1000
        )
    if timers:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda event, _: event[2] // 10
        )
    events = env.from_source(source, strategy, "paced")
    shaped(events, given.shape).sink_to(LatencySink(given.work))
    client = env.execute_async("paced")
    time.sleep(max(0.0, start + given.seconds - time.time()))
    client.cancel().result()


if __name__ == "__main__":
    main()
