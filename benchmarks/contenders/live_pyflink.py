"""PyFlink under a steady load; see ``benchmarks/live.py``.

A Python function lets each number pass when it is due. RocksDB keeps the state, with a checkpoint
every second; buffers and bundles are as small as their time limits of a millisecond make them.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

from benchmarks.contenders._latency import Latencies, key_of, options

RECORD = Types.TUPLE([Types.LONG(), Types.LONG()])


class Due(MapFunction):
    """Lets a number pass when it is due."""

    def __init__(
        self, rate: float, keys: int, start: float, parallelism: int, row: bool = False
    ) -> None:
        self._rate, self._keys, self._start = rate / parallelism, keys, start
        self._passed = 0
        self._make: Any = Row if row else _pair

    def map(self, value: int) -> Any:
        due = self._start + self._passed / self._rate if self._rate else time.time()
        self._passed += 1
        wait = due - time.time()
        if wait > 0:
            time.sleep(wait)
        return self._make(key_of(value, self._keys), int(due * 1e6))


def _pair(key: int, due: int) -> tuple[int, int]:
    return key, due


class Count(KeyedProcessFunction):
    """Counts the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        self._count.update((self._count.value() or 0) + 1)
        yield value


class Size(ProcessWindowFunction):
    """Counts the records of a window; the result is due when the window ends."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield len(list(elements)), context.window().end * 1000


class Arrival(MapFunction):
    """Notes when records come."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        self._latencies = Latencies(Path(self._directory))

    def map(self, value: Any) -> int:
        self._latencies.note([value[1]])
        return 0


class DueTime(TimestampAssigner):
    """The due time as event time."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) // 1000


def shaped(events: DataStream, shape: str) -> DataStream:
    """The job."""
    if shape == "windows":
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        timed = events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(DueTime()))
        keyed = timed.key_by(lambda e: e[0], key_type=Types.LONG())
        windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        return windows.process(Size(), output_type=RECORD)
    counted = events.key_by(lambda e: e[0], key_type=Types.LONG())
    once = counted.process(Count(), output_type=RECORD)
    if shape == "one":
        return once
    return once.key_by(lambda e: e[0] // 7, key_type=Types.LONG()).process(Count(), RECORD)


def settings(given: argparse.Namespace) -> Configuration:
    """The configuration of a run."""
    # the interpreter inside the JVM, which thread mode uses, does not look there by itself
    path = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), sysconfig.get_path("purelib")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)
    configuration = Configuration()
    wanted = {
        "python.execution-mode": "thread",
        # thread mode looks for the interpreter's library with what is called `python` otherwise
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        "python.fn-execution.bundle.time": "1",
        "state.backend.type": "rocksdb",
        "execution.buffer-timeout.interval": "1 ms",
        "execution.checkpointing.interval": f"{given.interval_ms} ms",
        "execution.checkpointing.dir": (given.work / "checkpoint").absolute().as_uri(),
        "taskmanager.memory.managed.size": "1gb",
        "pipeline.object-reuse": "true",
        "restart-strategy.type": "none",
        **dict(option.split("=", 1) for option in given.option),
    }
    for key, value in wanted.items():
        configuration.set_string(key, value)
    return configuration


def main() -> None:
    """Run until the time is over."""
    given = options().parse_args()
    env = StreamExecutionEnvironment.get_execution_environment(settings(given))
    env.set_parallelism(given.parallelism)
    start = float((given.work / "start").read_text())
    numbers = NumberSequenceSource(0, (1 << 62) - 1)
    events = env.from_source(
        numbers, WatermarkStrategy.no_watermarks(), "numbers", type_info=Types.LONG()
    )
    due = events.map(Due(given.rate, given.keys, start, given.parallelism), output_type=RECORD)
    arrived = shaped(due, given.shape).map(Arrival(str(given.work)), output_type=Types.INT())
    arrived.filter(lambda n: n < 0).print()
    client = env.execute_async("paced")
    time.sleep(max(0.0, start + given.seconds - time.time()))
    client.cancel()


if __name__ == "__main__":
    main()
