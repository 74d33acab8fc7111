"""Does an event cost the same after a hundred million others? Windows and state over a long run.

One job counts and sums over tumbling windows of 10 s and keeps a value for each of 10 000 keys, the
events 1 ms apart. They are made where they are read, so no disk stands between. Each line is a part
of the same run; flat cost means that their rates are alike and memory does not grow.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from typing import Any

import click
import numpy as np
import pyarrow as pa

from benchmarks import _data, _results
from benchmarks._memory import JVM, WORKERS, MemoryWatch
from benchmarks._results import OUT, Result
from benchmarks.contenders.scurry_aggregates import ColumnSummingSink, aggregates
from scurry.connectors.collection import SequenceEnumerator
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.source import Source, SourceBatch, SourceEnumerator

NAME = "flat_cost"
_KEYS = 10_000
_BATCH = 1_000_000
_SLOTS = 2
_READ_ROWS = 65_536


class Ticks(Source):
    """The rows of :mod:`benchmarks._data`, made instead of read."""

    as_tuples = True
    max_tasks = 1

    def __init__(self, events: int, keys: int) -> None:
        self._events = events
        self._keys = keys

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return SequenceEnumerator(self._events)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        start, end = what
        for first in range(start, end, _READ_ROWS):
            rows = min(_READ_ROWS, end - first)
            at = np.arange(first, first + rows, dtype=np.int64)
            columns = [_data.keys_of(first, rows, self._keys), at % 1000, at]
            named = pa.RecordBatch.from_arrays(list(map(pa.array, columns)), ["key", "value", "ts"])
            yield SourceBatch(columns=named)


@click.command(help=__doc__.splitlines()[0])
@click.option("--events", default=100_000_000, show_default=True)
@click.option("--parts", default=10, show_default=True, help="how many lines the run becomes")
def main(events: int, parts: int) -> None:
    """Run once, show part after part."""
    marks: list[tuple[int, float, int, int, int]] = []
    work = OUT / "work" / NAME
    shutil.rmtree(work, ignore_errors=True)
    began = time.perf_counter()
    with MemoryWatch(os.getpid()) as watch:

        def on_progress(progress: Any) -> None:
            sizes = watch.peak_mb(), watch.peak_mb(JVM), watch.peak_mb(WORKERS)
            marks.append((progress.records_read, time.perf_counter(), *sizes))

        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(_SLOTS)
        settings = env.get_configuration()
        settings.set_string("spark.master", f"local[{_SLOTS}]")
        settings.set_string("scurry.batch.max-records", str(_BATCH))
        settings.set_string("execution.checkpointing.dir", str(work / "checkpoint"))
        settings.set_string("scurry.state.local-dir", str(work / "local"))
        env.on_progress(on_progress)
        sink = ColumnSummingSink()
        ticks = env.from_source(Ticks(events, _KEYS), None, "ticks")
        aggregates("tumbling")(ticks).sink_to(sink)
        env.execute(NAME)
    shutil.rmtree(work, ignore_errors=True)
    if sink.checksum != events + _data.values(events):
        raise SystemExit(f"The sums are {sink.checksum}, not {events + _data.values(events)}.")
    results = _parts(marks, events, parts, marks[0][1] - began)
    command = f"python -m benchmarks.{NAME} --events {events}"
    order = [result.contender for result in results]
    stamped = [_results.stamp(result, command) for result in results]
    known = _results.save(NAME, stamped, order, partial=False)
    _results.show(f"Tumbling windows of 10 s, one run, {_results.machine()}", known, {})
    first, last = known[0], known[-1]
    times = first.events_per_s / last.events_per_s
    print(f"  At the end an event costs {times:.2f} times what it cost at first.")


def _parts(
    marks: list[tuple[int, float, int, int, int]], events: int, parts: int, first_result: float
) -> list[Result]:
    """One result for each part of the run; the first micro-batch, which starts everything, is in
    none."""
    results: list[Result] = []
    before, since, *_ = marks[0]
    for number in range(1, parts + 1):
        limit = events * number // parts
        read, at, total, jvm, workers = max(mark for mark in marks if mark[0] <= limit)
        if read <= before:
            continue
        results.append(
            Result(
                contender=f"to_{read // 1_000_000}_M",
                events=read - before,
                output_rows=read - before,
                events_per_s=round((read - before) / (at - since)),
                peak_rss_mb=total,
                jvm_rss_mb=jvm,
                worker_rss_mb=workers,
                first_result_s=round(first_result, 2),
                wall_s=round(at - since, 2),
                keys=_KEYS,
                note=f"events {before:,} to {read:,}; memory is the peak so far",
            )
        )
        before, since = read, at
    return results


if __name__ == "__main__":
    main()
