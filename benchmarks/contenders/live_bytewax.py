"""Bytewax under a steady load; see ``benchmarks/live.py``.

Two worker processes, which exchange records by key; recovery writes a snapshot at the end of every
epoch of a second. The source is asked again as soon as its next record is due. Keys are strings.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
from bytewax._bytewax import cli_main, init_db_dir
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig

from benchmarks.contenders._latency import Latencies, key_of, options

#: The most records of one call, and how many seconds pass at least between two.
_AT_ONCE, _PAUSE = 1000, 0.001


class Paced(StatefulSourcePartition):
    """The records of a partition that are due."""

    def __init__(self, given: argparse.Namespace, start: float, number: int) -> None:
        self._rate, self._keys = given.rate / given.parallelism, given.keys
        self._step, self._number, self._start = given.parallelism, number, start
        self._end = start + given.seconds
        self._passed = 0

    def next_batch(self) -> list[tuple[str, int]]:
        now = time.time()
        if now > self._end:
            raise StopIteration
        last = self._passed + _AT_ONCE
        if self._rate:
            last = min(last, int((now - self._start) * self._rate))
        found = []
        for at in range(self._passed, last):
            due = self._start + at / self._rate if self._rate else now
            key = key_of(at * self._step + self._number, self._keys)
            found.append((str(key), int(due * 1e6)))
        self._passed = max(self._passed, last)
        return found

    def next_awake(self) -> datetime | None:
        if not self._rate:
            return None
        due = max(self._start + self._passed / self._rate, time.time() + _PAUSE)
        return datetime.fromtimestamp(due, UTC)

    def snapshot(self) -> int:
        return self._passed


class Source(FixedPartitionedSource):
    """A partition for each worker."""

    def __init__(self, given: argparse.Namespace, start: float) -> None:
        self._given, self._start = given, start

    def list_parts(self) -> list[str]:
        return [str(number) for number in range(self._given.parallelism)]

    def build_part(self, step_id: str, for_part: str, resume_state: Any) -> Paced:
        return Paced(self._given, self._start, int(for_part))


class Count(StatefulBatchLogic):
    """Counts the records of a key."""

    def __init__(self, resume_state: int | None) -> None:
        self.count = resume_state or 0

    def on_batch(self, values: list[Any]) -> tuple[list[Any], bool]:
        self.count += len(values)
        return values, StatefulBatchLogic.RETAIN

    def snapshot(self) -> int:
        return self.count


class Arrival(DynamicSink, StatelessSinkPartition):
    """Notes when records come."""

    def __init__(self, directory: Path) -> None:
        self._latencies = Latencies(directory)

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition:
        return self

    def write_batch(self, items: list[tuple[str, int]]) -> None:
        self._latencies.note([due for _, due in items])


def flow_of(given: argparse.Namespace, start: float) -> Dataflow:
    """The job."""
    flow = Dataflow("paced")
    events = op.input("events", flow, Source(given, start))
    counted = op.stateful_batch("count", events, Count)
    if given.shape == "two":
        again = op.map("again", counted, lambda pair: (str(int(pair[0]) // 7), pair[1]))
        counted = op.stateful_batch("count-again", again, Count)
    op.output("out", counted, Arrival(given.work))
    return flow


def main() -> None:
    """Run until the time is over; the first process starts the others."""
    parser = options()
    parser.add_argument("--index", type=int, default=0, help="of this process")
    given = parser.parse_args()
    recovery = given.work / "recovery"
    others = []
    if given.index == 0:
        recovery.mkdir()
        init_db_dir(recovery, given.parallelism)
        command = [sys.executable, "-m", "benchmarks.contenders.live_bytewax", *sys.argv[1:]]
        others = [
            subprocess.Popen([*command, "--index", str(number)])
            for number in range(1, given.parallelism)
        ]
    settings: dict[str, Any] = {
        "epoch_interval": timedelta(milliseconds=given.interval_ms),
        "recovery_config": RecoveryConfig(recovery),
    }
    if given.parallelism > 1:
        port = int((given.work / "port").read_text())
        addresses = [f"127.0.0.1:{port + number}" for number in range(given.parallelism)]
        settings |= {"process_id": given.index, "addresses": addresses}
    cli_main(flow_of(given, float((given.work / "start").read_text())), **settings)
    for other in others:
        other.wait()


if __name__ == "__main__":
    main()
