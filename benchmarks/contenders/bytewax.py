"""Bytewax: ``stateful_batch`` over the same Parquet files, read with pyarrow.

Keys must be strings there. One worker in one process, with large batches from the source, came out
ahead of two threads, of two processes, of smaller batches and of ``stateful_map``.
With ``--recovery`` state is durable: a snapshot goes to SQLite every second, which is how often an
epoch ends; without it nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
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

_EPOCH = timedelta(seconds=1)
#: Several times what the source hands out at once.
_MARK_EVERY = 200_000


class ParquetPartition(StatefulSourcePartition):
    """Hands out the rows of Parquet files as tuples, ``batch`` at a time, and can resume."""

    def __init__(self, files: list[Path], batch: int, resume_state: int | None) -> None:
        self._batches = self._read(files, batch)
        self._handed_out = 0
        while self._handed_out < (resume_state or 0):
            next(self._batches)
            self._handed_out += 1

    @staticmethod
    def _read(files: list[Path], size: int) -> Iterator[list[tuple[int, ...]]]:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=size):
                yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    def next_batch(self) -> list[tuple[int, ...]]:
        batch = next(self._batches)
        self._handed_out += 1
        return batch

    def snapshot(self) -> int:
        return self._handed_out


class ParquetFiles(FixedPartitionedSource):
    """One partition with all files."""

    def __init__(self, files: list[Path], batch: int) -> None:
        self._files = files
        self._batch = batch

    def list_parts(self) -> list[str]:
        return ["all"]

    def build_part(
        self, step_id: str, for_part: str, resume_state: int | None
    ) -> StatefulSourcePartition:
        return ParquetPartition(self._files, self._batch, resume_state)


class SummingSink(DynamicSink, StatelessSinkPartition):
    """Discards items, having added up the counts in them."""

    def __init__(self, measurement: Measurement) -> None:
        self.rows = self.checksum = 0
        self._measurement = measurement
        self._next_mark = _MARK_EVERY

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition:
        return self

    def write_batch(self, items: list[tuple[str, int]]) -> None:
        self._measurement.first_result()
        self.checksum += sum([count for _, count in items])
        self.rows += len(items)
        if self.rows >= self._next_mark:
            self._measurement.mark(self.rows)
            self._next_mark += _MARK_EVERY


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


def main() -> None:
    """Run the dataflow and report."""
    parser = Options()
    parser.add_argument("--batch", type=int, default=65_536, help="rows a source hands out at once")
    parser.add_argument("--recovery", action="store_true")
    options = parser.parse_args()
    measurement = Measurement()
    sink = SummingSink(measurement)
    flow = Dataflow("keyed_count")
    events = op.input("events", flow, ParquetFiles(sorted(options.data.iterdir()), options.batch))
    keyed = op.key_on("key", events, lambda event: str(event[0]))
    op.output("out", op.stateful_batch("count", keyed, Count), sink)
    settings: dict[str, Any] = {"epoch_interval": _EPOCH}
    if options.recovery:
        place = options.work / "recovery"
        place.mkdir(parents=True)
        init_db_dir(place, 1)
        settings["recovery_config"] = RecoveryConfig(place)
    cli_main(flow, **settings)
    measurement.finish(events=options.events, output_rows=sink.rows, checksum=sink.checksum)


if __name__ == "__main__":
    main()
