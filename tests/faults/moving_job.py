"""A job whose source partitions move from task to task: windows per key, and sums of them by timer.

A partition appears when the others have come far enough, and its name comes before theirs, so that
all partitions are dealt out anew. Its first record is later than what anybody has read by then, so
nothing is ever late. Which partitions are read next, and how far, is decided at random; so what has
been read of each is the position; :func:`expected` computes from it what must have been written.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.faults.job import FileSink

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import (
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.datastream.state import MapStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows

STEP, KEYS, WINDOW, BUCKET = 7, 5, 100, 300
#: milliseconds of event time after which another partition appears, and the most partitions
NEXT, MOST = 150, 6


def record(partition: int, start: int, at: int) -> tuple[str, int, int]:
    """The record number ``at`` of a partition: key, value, timestamp."""
    return f"k{(3 * at + partition) % KEYS}", 10 * at + partition, start + STEP * at


class Appearing(Source):
    """Partitions that appear one after the other; the input ends when there is a file ``stop``."""

    def __init__(self, stop: Path) -> None:
        self.stop = stop

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Partitions(self.stop)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        partition, start, begin, end = what
        middle = (begin + end) // 2
        for low, high in ((begin, middle), (middle, end)):
            yield SourceBatch(rows=[record(partition, start, at) for at in range(low, high)])


class _Partitions(SourceEnumerator):
    def __init__(self, stop: Path) -> None:
        self._stop = stop
        self._random = random.Random()
        self._known: list[str] = []

    def initial_position(self) -> Any:
        return [[0, 0]]

    def plan(self, position: Any, max_records: int) -> ReadPlan:
        parts = [list(each) for each in position]
        frontier = max(start + STEP * read for start, read in parts)
        if len(parts) < MOST and frontier > NEXT * len(parts):
            parts.append([frontier + 1, 0])
        ranges = []
        for number, part in enumerate(parts):
            start, read = part
            count = self._random.randint(0, max_records)
            # nobody runs away
            if count and start + STEP * read <= frontier + WINDOW * (1 - 3 * self._random.random()):
                ranges.append(ReadRange(_name(number), [number, start, read, read + count]))
                part[1] += count
        self._known = [_name(number) for number in range(len(parts))]
        return ReadPlan(parts, ranges, finished=self._stop.exists())

    def partitions(self) -> list[str]:
        return self._known


def _name(number: int) -> str:
    return f"p{MOST - number}"


class InWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        values = [value for _, value, _ in elements]
        yield key, context.window().start, len(values), sum(values)


class PerBucket(KeyedProcessFunction):
    """What windows tell, by larger stretches of time."""

    def open(self, runtime_context: Any) -> None:
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        _, start, count, _ = value
        bucket = start // BUCKET
        self.sums.put(bucket, (self.sums.get(bucket) or 0) + count)
        ctx.timer_service().register_event_time_timer((bucket + 1) * BUCKET)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        bucket = timestamp // BUCKET - 1
        yield ctx.get_current_key(), bucket, self.sums.get(bucket)
        self.sums.remove(bucket)


def build(env: StreamExecutionEnvironment, root: Path) -> None:
    """The job, writing to ``first`` and ``second`` in ``root``."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(0)
    ).with_timestamp_assigner(lambda value, _: value[2])
    source = env.from_source(Appearing(root / "stop"), strategy, "parts").uid("parts")
    windows = source.key_by(lambda value: value[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW))
    )
    counted = windows.process(InWindow()).uid("windows")
    counted.sink_to(FileSink(root / "first")).uid("first")
    buckets = counted.key_by(lambda value: len(value[0]) + value[3] % 3).process(PerBucket())
    buckets.uid("buckets").sink_to(FileSink(root / "second")).uid("second")


def expected(position: list[list[int]]) -> tuple[list[Any], list[Any]]:
    """The rows of both sinks after the input up to ``position``."""
    counts: Counter[tuple[str, int]] = Counter()
    sums: Counter[tuple[str, int]] = Counter()
    for number, (start, read) in enumerate(position):
        for at in range(read):
            key, value, stamp = record(number, start, at)
            window = key, stamp // WINDOW * WINDOW
            counts[window] += 1
            sums[window] += value
    first = [[key, start, counts[key, start], sums[key, start]] for key, start in counts]
    buckets: Counter[tuple[int, int]] = Counter()
    for key, start, count, total in first:
        buckets[len(key) + total % 3, start // BUCKET] += count
    return first, [[group, bucket, count] for (group, bucket), count in buckets.items()]
