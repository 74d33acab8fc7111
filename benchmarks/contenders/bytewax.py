"""Bytewax: ``stateful_batch`` over the same Parquet files, read with pyarrow.

Keys must be strings there. The source hands out large batches, since a key's events of one batch
are processed together; small ones were half as fast. Several workers are processes, because threads
share an interpreter lock. With ``--recovery`` state is durable: a snapshot goes to SQLite at the
end of every epoch, each second; without it nothing is kept.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import pyarrow.parquet as pq
from bytewax._bytewax import cli_main, init_db_dir
from bytewax.dataflow import Dataflow
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.operators import StatefulBatchLogic
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.recovery import RecoveryConfig

from benchmarks.contenders._protocol import Measurement, Options

_BATCH_ROWS = 200_000
_EPOCH = timedelta(seconds=1)


class ParquetPartition(StatefulSourcePartition):
    """Hands out the rows of Parquet files as tuples, in large batches, and can resume."""

    def __init__(self, files: list[Path], resume_state: int | None) -> None:
        self._batches = self._read(files)
        self._handed_out = 0
        while self._handed_out < (resume_state or 0):
            self.next_batch()

    @staticmethod
    def _read(files: list[Path]) -> Iterator[list[tuple[int, ...]]]:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH_ROWS):
                yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    def next_batch(self) -> list[tuple[int, ...]]:
        batch = next(self._batches)
        self._handed_out += 1
        return batch

    def snapshot(self) -> int:
        return self._handed_out


class ParquetFiles(FixedPartitionedSource):
    """Files dealt out to one partition per worker."""

    def __init__(self, files: list[Path], workers: int) -> None:
        self._files = files
        self._workers = workers

    def list_parts(self) -> list[str]:
        return [str(part) for part in range(self._workers)]

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> StatefulSourcePartition:
        return ParquetPartition(self._files[int(for_part) :: self._workers], resume_state)


class Count(StatefulBatchLogic):
    """Counts the events of one key and says the new count for every event."""

    def __init__(self, resume_state: int | None) -> None:
        self.count = resume_state or 0

    def on_batch(self, values: list[tuple[int, ...]]) -> tuple[list[int], bool]:
        output = []
        for _ in values:
            self.count += 1
            output.append(self.count)
        return output, StatefulBatchLogic.RETAIN

    def snapshot(self) -> int:
        return self.count


class SummingSink(DynamicSink, StatelessSinkPartition):
    """Discards items, having added up the counts in them."""

    def __init__(self, measurement: Measurement) -> None:
        self.rows = self.checksum = 0
        self.first_at = self.shown_at = 0.0
        self._measurement = measurement

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition:
        return self

    def write_batch(self, items: list[tuple[str, int]]) -> None:
        self.checksum += sum([count for _, count in items])
        self.rows += len(items)
        now = time.time()
        self.first_at = self.first_at or now
        if now > self.shown_at + 1:
            self._measurement.show(self.rows)
            self.shown_at = now


def run(options: Any, measurement: Measurement) -> dict[str, Any]:
    """Run this process's part of the dataflow; what its sink has seen, and when."""
    sink = SummingSink(measurement)
    flow = Dataflow("keyed_count")
    files = sorted(options.data.iterdir())
    events = op.input("events", flow, ParquetFiles(files, options.processes))
    keyed = op.key_on("key", events, lambda event: str(event[0]))
    op.output("out", op.stateful_batch("count", keyed, Count), sink)
    settings: dict[str, Any] = {"epoch_interval": _EPOCH}
    if options.recovery:
        settings["recovery_config"] = RecoveryConfig(_recovery(options))
    if options.processes > 1:
        settings |= {"process_id": options.index, "addresses": options.addresses}
    began = time.time()
    cli_main(flow, **settings)
    return {
        "began": began,
        "first": sink.first_at,
        "ended": time.time(),
        "rows": sink.rows,
        "checksum": sink.checksum,
    }


def main() -> None:
    """Run the dataflow and report; processes after the first leave what they saw in a file."""
    options = _options()
    measurement = Measurement()
    if options.index:
        seen = run(options, measurement)
        (options.work / f"seen-{options.index}.json").write_text(json.dumps(seen))
        return
    if options.recovery:
        _recovery(options).mkdir(parents=True)
        init_db_dir(_recovery(options), options.processes)
    options.addresses = _free_addresses(options.processes)
    command = [sys.executable, "-m", "benchmarks.contenders.bytewax", *sys.argv[1:]]
    command += ["--addresses", *options.addresses]
    others = [
        subprocess.Popen([*command, "--index", str(index)], stdout=subprocess.DEVNULL)
        for index in range(1, options.processes)
    ]
    tallies = [run(options, measurement)]
    for index, other in enumerate(others, start=1):
        other.wait()
        tallies.append(json.loads((options.work / f"seen-{index}.json").read_text()))
    rows = sum(tally["rows"] for tally in tallies)
    measurement.first_result(min(tally["first"] for tally in tallies))
    measurement.mark(0, min(tally["began"] for tally in tallies))
    measurement.mark(rows, max(tally["ended"] for tally in tallies))
    checksum = sum(tally["checksum"] for tally in tallies)
    measurement.finish(events=options.events, output_rows=rows, checksum=checksum)


def _options() -> Any:
    parser = Options()
    parser.add_argument("--recovery", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--index", type=int, default=0, help="of this process")
    parser.add_argument("--addresses", nargs="*", default=[])
    return parser.parse_args()


def _recovery(options: Any) -> Path:
    return Path(options.work) / "recovery"


def _free_addresses(count: int) -> list[str]:
    with ExitStack() as open_sockets:
        found = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in found]


if __name__ == "__main__":
    main()
