"""The job that is killed: two keyed levels with every kind of state, timers, and two sinks.

Record ``i`` has timestamp ``10 * i`` and one of 40 keys. The first level counts, sums and keeps the
last few per key, and reports them by a timer every 500 ms of event time; the second chains the
numbers of records into a digest, so that it would notice any change of order, and has timers too.
:func:`expected` computes all of it again, in plain Python over a list.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from scurry.common import Duration, WatermarkStrategy
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.datastream import KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from scurry.datastream.functions import (
    ReadPlan,
    ReadRange,
    Sink,
    SinkWriter,
    Source,
    SourceBatch,
    SourceEnumerator,
    WriterContext,
)
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)

KEYS, GROUPS, BUCKETS = 40, 7, 8
PRIME = 1_000_000_007
REPORTS = OutputTag("reports")


def key_of(i: int) -> str:
    return f"k{i * 7919 % KEYS}"


class Numbers(Source):
    """0, 1, 2 ... until the file ``stop`` appears; nothing while there is a file ``pause`` beside
    it."""

    max_tasks = 1

    def __init__(self, stop: Path) -> None:
        self.stop = stop

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Counting(self.stop)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        begin, end = what
        middle = (begin + end) // 2
        for low, high in ((begin, middle), (middle, end)):
            yield SourceBatch(rows=[(i, key_of(i)) for i in range(low, high)])


class _Counting(SourceEnumerator):
    def __init__(self, stop: Path) -> None:
        self.stop = stop

    def initial_position(self) -> int:
        return 0

    def plan(self, position: int, max_records: int) -> ReadPlan:
        if self.stop.with_name("pause").exists():
            return ReadPlan(position, [], finished=self.stop.exists())
        end = position + max_records
        return ReadPlan(end, [ReadRange("0", [position, end])], finished=self.stop.exists())


class TenMillis(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0]) * 10


class PerKey(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums"))
        self.recent = runtime_context.get_list_state(ListStateDescriptor("recent"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        i, key = value
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.sums.put(i % BUCKETS, (self.sums.get(i % BUCKETS) or 0) + i)
        self.recent.add(i)
        if count % 5 == 0:
            self.recent.update(list(self.recent.get())[-3:])
        ctx.timer_service().register_event_time_timer((ctx.timestamp() // 500 + 1) * 500)
        yield i, key, count

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        total = sum(self.sums.values())
        recent = list(self.recent.get())
        yield (
            REPORTS,
            ("timer", timestamp, ctx.get_current_key(), self.count.value(), total, recent),
        )


class PerGroup(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.digest = runtime_context.get_state(ValueStateDescriptor("digest"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        seen, digest = self.digest.value() or (0, 0)
        self.digest.update((seen + 1, (digest * 31 + value[0] * value[2]) % PRIME))
        ctx.timer_service().register_event_time_timer((ctx.timestamp() // 2000 + 1) * 2000)
        yield ("element", value[0] % GROUPS, *self.digest.value())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ("timer", timestamp, ctx.get_current_key(), *self.digest.value())


class FileSink(Sink):
    """A file per micro-batch: committing a batch again replaces it by the same."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Rows()

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        place = self.directory / f"{batch_id}.json"
        draft = place.with_suffix(".draft")
        draft.write_text(json.dumps([row for message in messages for row in message]))
        draft.rename(place)

    def results(self) -> list[Any]:
        files = self.directory.glob("*.json")
        return [row for file in files for row in json.loads(file.read_text())]


class _Rows(SinkWriter):
    def __init__(self) -> None:
        self.rows: list[Any] = []

    def write(self, rows: list[Any]) -> None:
        self.rows.extend(rows)

    def prepare(self) -> Any:
        rows, self.rows = self.rows, []
        return rows or None


def build(env: StreamExecutionEnvironment, root: Path) -> None:
    """The job, reading until ``stop`` exists in ``root``, writing to ``first`` and ``second``."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(0)
    ).with_timestamp_assigner(TenMillis())
    numbers = env.from_source(Numbers(root / "stop"), strategy, "numbers").uid("numbers")
    first = numbers.key_by(lambda v: v[1]).process(PerKey()).uid("per-key")
    second = first.key_by(lambda v: v[0] % GROUPS).process(PerGroup()).uid("per-group")
    reports = first.get_side_output(REPORTS)
    first.union(reports).sink_to(FileSink(root / "first")).uid("first")
    second.sink_to(FileSink(root / "second")).uid("second")


#: What a run leaves behind: the rows of both sinks, and the states by operator and name.
Outcome = tuple[list[Any], list[Any], dict[str, dict[str, Any]]]


def expected(records: int) -> Outcome:
    """What the job must have written and must hold after ``records`` records."""
    first: list[Any] = []
    second: list[Any] = []
    count: dict[str, int] = {}
    sums: dict[str, dict[int, int]] = {}
    recent: dict[str, list[int]] = {}
    digests: dict[int, tuple[int, int]] = {}
    timers: list[tuple[int, str, Any]] = []
    pending: set[tuple[int, str, Any]] = set()

    def register(timer: tuple[int, str, Any]) -> None:
        if timer not in pending:
            pending.add(timer)
            heapq.heappush(timers, timer)

    def fire(watermark: int) -> None:
        while timers and timers[0][0] <= watermark:
            time, level, key = timer = heapq.heappop(timers)
            pending.discard(timer)
            if level == "key":
                total = sum(sums[key].values())
                first.append(["timer", time, key, count[key], total, list(recent[key])])
            else:
                second.append(["timer", time, key, *digests[key]])

    for i in range(records):
        fire(10 * (i - 1) - 1 if i else -1)
        key, group = key_of(i), i % GROUPS
        count[key] = count.get(key, 0) + 1
        buckets = sums.setdefault(key, {})
        buckets[i % BUCKETS] = buckets.get(i % BUCKETS, 0) + i
        recent.setdefault(key, []).append(i)
        if count[key] % 5 == 0:
            recent[key] = recent[key][-3:]
        register((10 * i // 500 * 500 + 500, "key", key))
        first.append([i, key, count[key]])
        seen, digest = digests.get(group, (0, 0))
        digests[group] = (seen + 1, (digest * 31 + i * count[key]) % PRIME)
        register((10 * i // 2000 * 2000 + 2000, "group", group))
        second.append(["element", group, *digests[group]])
    fire(1 << 62)
    states = {
        "per-key": {"count": count, "sums": sums, "recent": recent},
        "per-group": {"digest": digests},
    }
    return first, second, states
