"""Recovery: how long until state is usable again, on a fresh machine and where it survived.

A job fills its state, then starts again twice on the same checkpoint: once with its local stores in
place, once with them deleted, so that every slot is rebuilt from the log in the checkpoint. What is
measured is from the start of the micro-batch to its end, by a batch of a single record. With
``--store-only`` one slot is measured by itself, without Spark.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import _results
from benchmarks._memory import JVM, WORKERS, MemoryWatch
from benchmarks._results import OUT, Result
from benchmarks._slot import BenchSlot
from scurry.connectors.parquet import ParquetSource
from scurry.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor

NAME = "recovery"
_FILE_ROWS = 500_000


class Keep(KeyedProcessFunction):
    """Keeps a value of ``size`` bytes for each key."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.random = np.random.default_rng(runtime_context.get_index_of_this_subtask())
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: tuple[int, ...], ctx: Any) -> Iterator[Any]:
        self.held.update(self.random.bytes(self.size))
        return iter(())


def store_only(keys: int, size: int) -> dict[str, float]:
    """Seconds to open one slot's store, fresh and surviving."""
    with tempfile.TemporaryDirectory(prefix="scurry-bench-") as directory:
        slot = BenchSlot(Path(directory, "first"))
        slot.fill(keys, size)
        began = time.perf_counter()
        slot.store.begin(slot.journal)
        surviving = time.perf_counter() - began
        fresh = slot.fresh(Path(directory, "second"))
        began = time.perf_counter()
        fresh.begin(slot.journal)
        rebuilt = time.perf_counter() - began
        found = fresh.entries
        fresh.close()
        slot.local.close()
    if found != keys:
        raise SystemExit(f"The rebuilt store holds {found} entries, expected {keys}.")
    return {"surviving_s": surviving, "fresh_s": rebuilt}


def on_spark(keys: int, size: int) -> dict[str, float]:
    """Seconds of the first micro-batch after a restart, fresh and surviving."""
    work = OUT / "work" / NAME
    shutil.rmtree(work, ignore_errors=True)
    data, local = work / "data", work / "local"
    data.mkdir(parents=True)
    for first in range(0, keys, _FILE_ROWS):
        _write(data, first, min(_FILE_ROWS, keys - first))
    try:
        filled = _run(work, size)
        _write(data, keys, 1)
        surviving = _run(work, size)
        shutil.rmtree(local)
        _write(data, keys + 1, 1)
        fresh = _run(work, size)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {
        "fill_s": sum(filled[0]),
        "surviving_s": surviving[0][0],
        "fresh_s": fresh[0][0],
        "rebuilt_mb": fresh[1] / 1e6,
    }


def _write(data: Path, first: int, rows: int) -> None:
    keys = np.arange(first, first + rows, dtype=np.int64)
    pq.write_table(pa.table({"key": keys}), data / f"part-{first:012d}.parquet")


def _run(work: Path, size: int) -> tuple[list[float], int]:
    """Run the job over what is new: the seconds of each micro-batch, and bytes rebuilt."""
    seconds: list[float] = []
    rebuilt = 0

    def on_progress(progress: Any) -> None:
        nonlocal rebuilt
        seconds.append(progress.last_seconds)
        rebuilt = progress.counters.get("state_rebuilt_bytes", 0)

    env = StreamExecutionEnvironment.get_execution_environment()
    settings = env.get_configuration()
    settings.set_string("scurry.batch.max-records", "1000000")
    settings.set_string("execution.checkpointing.dir", str(work / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(work / "local"))
    env.on_progress(on_progress)
    events = env.from_source(ParquetSource(work / "data", element=tuple), None, "keys").uid("keys")
    events.key_by(lambda event: event[0]).process(Keep(size)).uid("keep").print().uid("out")
    env.execute(NAME)
    return seconds, rebuilt


def _result(contender: str, keys: int, seconds: float, watch: MemoryWatch, note: str) -> Result:
    """The figures in the form that all benchmarks share; the rate is in keys."""
    return Result(
        contender=contender,
        events=keys,
        output_rows=0,
        events_per_s=round(keys / seconds),
        peak_rss_mb=watch.peak_mb(),
        jvm_rss_mb=watch.peak_mb(JVM),
        worker_rss_mb=watch.peak_mb(WORKERS),
        first_result_s=round(seconds, 2),
        wall_s=round(seconds, 2),
        keys=keys,
        note=note,
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--megabytes", default=1000, show_default=True, help="bytes of all values together")
@click.option("--value-bytes", default=100, show_default=True)
@click.option("--store-only", "alone", is_flag=True, help="one slot by itself, without Spark")
def main(megabytes: int, value_bytes: int, alone: bool) -> None:
    """Measure, print and save."""
    keys = megabytes * 1_000_000 // value_bytes
    with MemoryWatch(os.getpid()) as watch:
        found = (store_only if alone else on_spark)(keys, value_bytes)
    size = f"{keys:,} keys of {value_bytes} bytes"
    notes = {"fresh_machine": size, "store_survived": size}
    if "rebuilt_mb" in found:
        notes["fresh_machine"] += f"; {found['rebuilt_mb']:,.0f} MB of log read"
        notes["store_survived"] += f"; filling them took {found['fill_s']:.0f} s"
    name = f"{NAME}_store" if alone else NAME
    command = f"python -m benchmarks.{NAME} --megabytes {megabytes}"
    results = [
        _results.stamp(_result(contender, keys, found[key], watch, notes[contender]), command)
        for contender, key in (("fresh_machine", "fresh_s"), ("store_survived", "surviving_s"))
    ]
    known = _results.save(name, results, [result.contender for result in results], partial=False)
    _results.show(f"First micro-batch after a restart, {_results.machine()}", known, {})


if __name__ == "__main__":
    main()
