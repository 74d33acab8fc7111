"""What a checkpoint costs: bytes written per micro-batch when 1 %, 10 % and 100 % of keys change.

One slot with its journal, without Spark. The bytes include compaction, averaged over enough
micro-batches for several compactions. Values are random bytes, which do not compress.
"""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click
import psutil

from benchmarks import _results
from benchmarks._results import Result
from benchmarks._slot import BenchSlot

NAME = "checkpoint_bytes"
_SHARES = (0.01, 0.1, 1.0)


@dataclass
class Cost:
    """What micro-batches cost that change ``share`` of the keys."""

    share: float
    keys: int
    value_bytes: int
    batches: int
    changed_bytes: int
    written_bytes: int
    largest_bytes: int
    ms_per_batch: float


def measure(share: float, keys: int, size: int, rewrites: int) -> Cost:
    """Change random keys, until all of the state could have been written ``rewrites`` times."""
    batches = max(5, round(rewrites / share))
    changed = max(1, round(keys * share))
    chosen = random.Random(2)
    with tempfile.TemporaryDirectory(prefix="scurry-bench-") as directory:
        slot = BenchSlot(Path(directory))
        slot.fill(keys, size)
        began = time.perf_counter()
        written = [slot.write(chosen.sample(range(keys), changed), size) for _ in range(batches)]
        took = time.perf_counter() - began
        slot.local.close()
    return Cost(
        share=share,
        keys=keys,
        value_bytes=size,
        batches=batches,
        changed_bytes=changed * size,
        written_bytes=round(sum(written) / batches),
        largest_bytes=max(written),
        ms_per_batch=round(took / batches * 1000, 1),
    )


def _result(cost: Cost, took: float) -> Result:
    """The figures in the form that all benchmarks share."""
    sizes = (cost.changed_bytes, cost.written_bytes, cost.largest_bytes)
    changed, written, largest = (f"{size / 1e6:.2f} MB" for size in sizes)
    return Result(
        contender=f"{cost.share:.0%} of the keys".replace(" ", "_").replace("%", "_percent"),
        events=cost.batches * round(cost.keys * cost.share),
        output_rows=0,
        events_per_s=round(cost.keys * cost.share / cost.ms_per_batch * 1000),
        peak_rss_mb=psutil.Process().memory_info().rss >> 20,
        jvm_rss_mb=0,
        worker_rss_mb=0,
        first_result_s=round(cost.ms_per_batch / 1000, 3),
        median_batch_ms=cost.ms_per_batch,
        wall_s=round(took, 2),
        keys=cost.keys,
        note=f"{changed} changed a batch, {written} written (largest batch {largest})",
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--keys", default=200_000, show_default=True)
@click.option("--value-bytes", default=100, show_default=True)
@click.option("--rewrites", default=8, show_default=True, help="how often all state is written")
def main(keys: int, value_bytes: int, rewrites: int) -> None:
    """Measure all shares, print the table and save it."""
    command = f"python -m benchmarks.{NAME} --keys {keys} --value-bytes {value_bytes}"
    results: list[Result] = []
    for share in _SHARES:
        began = time.perf_counter()
        cost = measure(share, keys, value_bytes, rewrites)
        results.append(_results.stamp(_result(cost, time.perf_counter() - began), command))
    known = _results.save(NAME, results, [result.contender for result in results], partial=False)
    title = f"{keys:,} keys of {value_bytes} bytes, one slot, {_results.machine()}"
    _results.show(title, known, {})


if __name__ == "__main__":
    main()
