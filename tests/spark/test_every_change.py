"""One job through versions of its program that change everything that may change, on Spark.

All versions read the same numbers. What each of them gave is compared with a computation in plain
Python over the whole history, which knows where one version ended and the next one began.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.spark.test_recovery import FileSink

from scurry.common import Configuration, Time, Types, WatermarkStrategy
from scurry.common.errors import StateError
from scurry.common.job_status import JobStatus
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.datastream.window import CountEvictor, TumblingEventTimeWindows

KEYS, STEP = 5, 10
LAST = 599


@dataclass
class Totals:
    events: int = 0


@dataclass
class MoreTotals:
    events: int = 0
    greatest: int = -1


class Counting(KeyedProcessFunction):
    """Counts events; from version 2 on also their greatest, and in a state of its own by digit."""

    def __init__(self, version: int) -> None:
        self.version = version

    def open(self, runtime_context: Any) -> None:
        kind = Totals if self.version == 1 else MoreTotals
        self.totals = runtime_context.get_state(ValueStateDescriptor("totals", kind))
        self.digits: Any = None
        if self.version in (2, 3):
            descriptor = MapStateDescriptor("digits", Types.LONG(), Types.LONG())
            self.digits = runtime_context.get_map_state(descriptor)

    def process_element(self, number: int, ctx: Any) -> Iterable[Any]:
        totals = self.totals.value() or (Totals() if self.version == 1 else MoreTotals())
        totals.events += 1
        row = ["count", number, totals.events]
        if self.version > 1:
            totals.greatest = max(totals.greatest, number)
            row.append(totals.greatest)
        self.totals.update(totals)
        if self.digits is not None:
            self.digits.put(number % 10, (self.digits.get(number % 10) or 0) + 1)
            row.append(self.digits.get(number % 10))
        yield row


class Sums(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield ["sum", key, context.window().start, context.window().end, sum(elements)]


class Seen(KeyedProcessFunction):
    """Numbers the counts that it sees of each parity."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, row: Any, ctx: Any) -> Iterable[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        yield ["seen", row[1], self.seen.value()]


class Level(KeyedProcessFunction):
    """Hands on what it gets; a keyed level."""

    def process_element(self, number: int, ctx: Any) -> Iterable[Any]:
        yield number


#: By version: the size of windows, in milliseconds.
SIZES = {1: 100, 2: 150, 3: 150, 4: 70}


def build(env: StreamExecutionEnvironment, version: int, out: Path) -> None:
    """The program of a version.

    | version | what is new |
    |---|---|
    | 2 | a field more in a state, a state more, windows of another size, an operator more, a map |
    | 3 | a keyed level before the operators (so more stages), the operators in another order |
    | 4 | a state and an operator less, windows of yet another size, another sink, no level |
    """
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda number, _: number * STEP
    )
    source = env.from_source(NumberSequenceSource(0, LAST), strategy, "numbers")
    numbers = source.uid("numbers").set_parallelism(1)
    if version == 2:
        numbers = numbers.map(lambda number: number)
    if version == 3:
        numbers = numbers.key_by(lambda number: number % 3).process(Level()).uid("level")

    def counts() -> Any:
        return numbers.key_by(lambda n: n % KEYS).process(Counting(version)).uid("counts")

    def sums() -> Any:
        windows = TumblingEventTimeWindows.of(Time.milliseconds(SIZES[version]))
        keyed = numbers.key_by(lambda n: n % KEYS).window(windows)
        return keyed.evictor(CountEvictor.of(10**6)).process(Sums()).uid("sums")

    counted, summed = (counts(), sums()) if version != 3 else (sums(), counts())[::-1]
    every = counted.union(summed)
    if version in (2, 3):
        every = every.union(counted.key_by(lambda r: r[1] % 2).process(Seen()).uid("seen"))
    out.mkdir(exist_ok=True)
    every.sink_to(FileSink(out)).uid("sink" if version < 4 else "another sink")


class Job:
    """The versions that ran one after the other, and what each of them gave."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.starts = 0

    def run(
        self,
        version: int,
        numbers: int | None,
        parallelism: int = 2,
        groups: int = 128,
        savepoint: str = "",
        **settings: str,
    ) -> tuple[list[Any], str]:
        """Go on with a version from a savepoint until it has counted so many numbers, or to the
        end; its output, and its savepoint."""
        self.starts += 1
        conf = Configuration.of({"scurry.batch.max-records": "20", **settings})
        conf.set_string("execution.checkpointing.dir", str(self.root / f"ck-{self.starts}"))
        if savepoint:
            conf.set_string("execution.savepoint.path", savepoint)
        env = StreamExecutionEnvironment.get_execution_environment(conf)
        env.set_parallelism(parallelism).set_max_parallelism(groups)
        out = self.root / f"out-{self.starts}"
        build(env, version, out)
        job = env.execute_async()
        sink, path = FileSink(out), ""
        if numbers is not None:
            while sum(row[0] == "count" for row in sink.results()) < numbers:
                assert job.get_job_status().result() is JobStatus.RUNNING
                time.sleep(0.02)
            path = job.stop_with_savepoint(False, str(self.root / "savepoints")).result(120)
        job.get_job_execution_result().result(120)
        return sink.results(), str(path)


class Expected:
    """What all versions give, computed number by number."""

    def __init__(self) -> None:
        self.counts = Counter[int]()
        self.greatest = defaultdict[int, int](lambda: -1)
        self.digits = Counter[tuple[int, int]]()
        self.seen = Counter[int]()
        self.windows: dict[tuple[int, int, int], int] = {}

    def take(self, version: int, numbers: Iterable[int]) -> list[Any]:
        """A version counts these numbers."""
        made: list[Any] = []
        for number in numbers:
            key, at = number % KEYS, number * STEP
            self.counts[key] += 1
            row = ["count", number, self.counts[key]]
            if version > 1:
                self.greatest[key] = max(self.greatest[key], number)
                row.append(self.greatest[key])
            if version in (2, 3):
                self.digits[key, number % 10] += 1
                row.append(self.digits[key, number % 10])
                self.seen[number % 2] += 1
                made.append(["seen", number, self.seen[number % 2]])
            made.append(row)
            size = SIZES[version]
            window = key, at // size * size, at // size * size + size
            self.windows[window] = self.windows.get(window, 0) + number
        return made

    def fired(self, until: int) -> list[Any]:
        """The windows that are over when event time is ``until``, each once."""
        due = [window for window in self.windows if window[2] - 1 <= until]
        return [["sum", *window, self.windows.pop(window)] for window in due]


def check(given: list[Any], version: int, expected: Expected, end: bool = False) -> int:
    """Compare what a version gave; how many numbers have been counted after it."""
    counted = sorted(row[1] for row in given if row[0] == "count")
    first, after = counted[0], counted[-1] + 1
    made = expected.take(version, range(first, after))
    made += expected.fired(1 << 60 if end else (after - 1) * STEP - 1)
    assert Counter(map(tuple, given)) == Counter(map(tuple, made))
    return after


def test_a_job_that_is_changed_in_every_way_gives_what_its_history_says(tmp_path: Path) -> None:
    job, expected = Job(tmp_path), Expected()
    given, first = job.run(1, 100)
    after_first = check(given, 1, expected)
    given, second = job.run(2, 100, parallelism=3, savepoint=first)
    after_second = check(given, 2, expected)
    assert sorted(r[1] for r in given if r[0] == "count")[0] == after_first
    given, third = job.run(3, 100, parallelism=1, groups=7, savepoint=second)
    after_third = check(given, 3, expected)
    assert sorted(r[1] for r in given if r[0] == "count")[0] == after_second
    with pytest.raises(StateError, match="uid 'seen'"):
        job.run(4, None, savepoint=third)
    allowed = {"scurry.state-recovery.allow-dropped": "seen"}
    given, _ = job.run(4, None, parallelism=2, groups=300, savepoint=third, **allowed)
    assert check(given, 4, expected, end=True) == LAST + 1
    assert sorted(r[1] for r in given if r[0] == "count")[0] == after_third
    # back: the first version goes on where it was, as if the others had never been
    rolled_back, _ = job.run(1, None, parallelism=2, savepoint=first)
    again = Expected()
    again.take(1, range(after_first))
    again.fired((after_first - 1) * STEP - 1)
    assert check(rolled_back, 1, again, end=True) == LAST + 1
    assert sorted(r[1] for r in rolled_back if r[0] == "count")[0] == after_first
