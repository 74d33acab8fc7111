"""A job that shows where event time stands: what its timers and its records see of each other.

All that counts comes from one partition, ``z``, whose timestamps go back and forth. Others appear
while it is read, before it in order, so that all are dealt out anew: each brings one record, far
ahead, and then nothing, so what is kept of it alone says that nobody has to wait for it. So where
event time stands before each record follows from the records of ``z`` before it, however they are
cut into rounds, and :func:`expected` computes it from the number of records read.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.faults.job import FileSink

from scurry.common import Duration, WatermarkStrategy
from scurry.datastream import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import (
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.datastream.state import ValueStateDescriptor

KEYS, GROUPS, BOUND = 4, 3, 30
#: records of ``z`` after which another partition appears, and the most partitions
NEXT, MOST = 9, 60
FAR = 10_000_000
#: before all that any watermark says
NEVER = -(1 << 60)
SEEN = OutputTag("seen")


def stamp_of(at: int) -> int:
    """The timestamp of record ``at``, between 60 ms before and 30 ms after its place."""
    return 1000 + 10 * at + at * 7919 % 10 * 10 - 60


def marks(records: int) -> Iterator[int]:
    """Where event time stands before each of ``records`` records, and after them."""
    highest = None
    for at in range(records):
        yield NEVER if highest is None else highest - BOUND - 1
        highest = max(stamp_of(at), highest or 0)
    yield NEVER if highest is None else highest - BOUND - 1


class OneThatCounts(Source):
    """Partition ``z`` and those that appear; the input ends when there is a file ``stop``."""

    def __init__(self, stop: Path) -> None:
        self.stop = stop

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Partitions(self.stop)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        name, begin, end = what
        if name == "z":
            middle = (begin + end) // 2
            for low, high in ((begin, middle), (middle, end)):
                yield SourceBatch(rows=[("z", at, stamp_of(at)) for at in range(low, high)])
        else:
            yield SourceBatch(rows=[("far", begin, FAR)])


class _Partitions(SourceEnumerator):
    def __init__(self, stop: Path) -> None:
        self._stop = stop
        self._random = random.Random()
        self._known: list[str] = []

    def initial_position(self) -> Any:
        return [0, 0]

    def plan(self, position: Any, max_records: int) -> ReadPlan:
        read, others = position
        ranges = []
        if others < min(MOST, read // NEXT + 1):
            ranges.append(ReadRange(_name(others), ["far", others, 0]))
            others += 1
        end = read + self._random.randint(0, max_records)
        if end > read:
            ranges.append(ReadRange("z", ["z", read, end]))
        self._known = ["z", *map(_name, range(others))]
        return ReadPlan([end, others], ranges, finished=self._stop.exists())

    def partitions(self) -> list[str]:
        return self._known


def _name(number: int) -> str:
    return f"p{MOST - number:02}"


class WhereTimeStands(ProcessFunction):
    """Tells where event time stands in the partition that is read."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        name, at, _ = value
        if name == "z":
            yield SEEN, ("partition", at, max(NEVER, ctx.timer_service().current_watermark()))
        yield value


class PerKey(KeyedProcessFunction):
    """Counts, and has timers before, at and after where event time stands."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        name, at, _ = value
        now = max(NEVER, ctx.timer_service().current_watermark())
        if name == "far":
            # the partition appeared when so many records were read
            least = list(marks(at * NEXT))[-1]
            yield SEEN, ("far", at, now >= least)
            return
        self.count.update((self.count.value() or 0) + 1)
        yield SEEN, ("key", at, self.count.value(), now)
        for timer in timers_of(at):
            ctx.timer_service().register_event_time_timer(timer)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield SEEN, ("timer", timestamp, ctx.get_current_key(), self.count.value())


class PerGroup(KeyedCoProcessFunction):
    """Counts what comes from the keys, and what comes from the source, until a timer."""

    def open(self, runtime_context: Any) -> None:
        self.counts = runtime_context.get_state(ValueStateDescriptor("counts"))

    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._count(0, value[1], ctx)
        return ()

    def process_element2(self, value: Any, ctx: Any) -> Iterable[Any]:
        self._count(1, value[1], ctx)
        return ()

    def _count(self, port: int, at: int, ctx: Any) -> None:
        counts = list(self.counts.value() or (0, 0))
        counts[port] += 1
        self.counts.update(tuple(counts))
        ctx.timer_service().register_event_time_timer(group_timer_of(at))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ("group", timestamp, ctx.get_current_key(), *self.counts.value())


def timers_of(at: int) -> list[int]:
    """The timers that a record sets for its key."""
    stamp = stamp_of(at)
    return [stamp - 75, stamp + 1, (stamp // 200 + 1) * 200]


def group_timer_of(at: int) -> int:
    """The timer that a record sets for its group."""
    return (stamp_of(at) // 150 + 1) * 150


def build(env: StreamExecutionEnvironment, root: Path) -> None:
    """The job, writing to ``first`` and ``second`` in ``root``."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(BOUND)
    ).with_timestamp_assigner(lambda value, _: value[2])
    source = env.from_source(OneThatCounts(root / "stop"), strategy, "parts").uid("parts")
    read = source.process(WhereTimeStands()).uid("read")
    kept = read.key_by(lambda value: value[1] % KEYS).process(PerKey()).uid("per-key")
    seen = read.get_side_output(SEEN).union(kept.get_side_output(SEEN))
    seen.sink_to(FileSink(root / "first")).uid("first")
    direct = read.filter(lambda value: value[0] == "z").uid("direct")
    grouped = kept.key_by(lambda value: value[1] % GROUPS).connect(
        direct.key_by(lambda value: value[1] % GROUPS)
    )
    grouped.process(PerGroup()).uid("groups").sink_to(FileSink(root / "second")).uid("second")


def expected(position: list[int]) -> tuple[list[Any], list[Any]]:
    """The rows of both sinks after the input up to ``position``."""
    records, others = position
    first: list[Any] = [["far", number, True] for number in range(others)]
    second: list[Any] = []
    keys: Counter[int] = Counter()
    groups: Counter[int] = Counter()
    timers: list[tuple[int, bool, int]] = []
    clock = NEVER

    def register(timer: tuple[int, bool, int]) -> None:
        if timer not in timers:
            heapq.heappush(timers, timer)

    def fire(mark: int) -> None:
        nonlocal clock
        # a timer that is set when its time has passed fires when time goes on, and not before
        while mark > clock and timers and timers[0][0] <= mark:
            time, of_key, key = heapq.heappop(timers)
            if of_key:
                first.append(["timer", time, key, keys[key]])
            else:
                second.append(["group", time, key, groups[key], groups[key]])
        clock = mark

    for at, mark in zip(range(records), marks(records), strict=False):
        fire(mark)
        key, group = at % KEYS, at % GROUPS
        keys[key] += 1
        groups[group] += 1
        first.append(["partition", at, mark])
        first.append(["key", at, keys[key], mark])
        for time in timers_of(at):
            register((time, True, key))
        register((group_timer_of(at), False, group))
    fire(1 << 62)
    return first, second
