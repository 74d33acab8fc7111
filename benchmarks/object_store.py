"""What a state in an object store costs: requests and bytes, beside what its changes explain.

One slot with its journal in S3, without Spark; the server is a process of this machine. A state of
many keys is written, then micro-batches change some of them. What the changes explain are the keys
and values that changed, and one request a micro-batch, which is its run. Everything above that is
merging, indexes, the journal, deletions and headers. Requests and bytes are those that arrive.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

import click
import psutil
from tests.faults.s3 import BUCKET, Proxy, s3_server, store

from benchmarks import _results
from benchmarks._results import Result
from benchmarks._slot import BenchSlot
from scurry.checkpoint.file_journal import FileJournal
from scurry.common.any_paths import ObjectPath

NAME = "object_store"


class Meter:
    """What arrives at the store, since it was last asked."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._requests, self._sent = 0, 0

    def take(self) -> tuple[int, int]:
        """Requests and bytes."""
        now = self._proxy.requests.total(), self._proxy.sent
        found = now[0] - self._requests, now[1] - self._sent
        self._requests, self._sent = now
        return found


def measure(keys: int, size: int, batches: int, share: float) -> list[Result]:
    """Fill a state, then change ``share`` of it ``batches`` times."""
    changed = round(keys * share)
    chosen = random.Random(2)
    with s3_server() as port, tempfile.TemporaryDirectory() as directory:
        proxy = Proxy(port)
        place = ObjectPath(store(proxy.port), f"{BUCKET}/bench-{time.time_ns()}")
        slot = BenchSlot(Path(directory))
        slot.journal = FileJournal(place / "log", place / "runs", "bench", None)
        meter = Meter(proxy)
        began = time.perf_counter()
        slot.fill(keys, size)
        filled, fills = time.perf_counter() - began, -(-keys // 500_000)
        first = _result("first_write", (keys, size, fills), meter.take(), filled)
        began = time.perf_counter()
        for _ in range(batches):
            slot.write(chosen.sample(range(keys), changed), size)
        took = time.perf_counter() - began
        second = _result("changes", (changed * batches, size, batches), meter.take(), took, keys)
        slot.local.close()
        proxy.close()
    return [first, second]


def _result(
    name: str,
    work: tuple[int, int, int],
    found: tuple[int, int],
    took: float,
    keys: int | None = None,
) -> Result:
    records, size, batches = work
    requests, sent = found
    # keys are numbers of nine bytes, as they are stored
    due = records * (size + 9)
    return Result(
        contender=name,
        events=records,
        output_rows=0,
        events_per_s=round(records / took),
        peak_rss_mb=psutil.Process().memory_info().rss >> 20,
        jvm_rss_mb=0,
        worker_rss_mb=0,
        first_result_s=round(took / batches, 3),
        median_batch_ms=round(took / batches * 1000, 1),
        wall_s=round(took, 2),
        keys=keys or records,
        note=(
            f"{batches} micro-batches, {requests} requests, "
            f"{requests / batches:.2f} each; {sent / 1e6:.1f} MB sent, "
            f"{sent / due:.2f} x of the {due / 1e6:.1f} MB that changed"
        ),
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--keys", default=1_000_000, show_default=True)
@click.option("--value-bytes", default=100, show_default=True)
@click.option("--batches", default=50, show_default=True)
@click.option("--share", default=0.01, show_default=True, help="of the keys, changed in each")
def main(keys: int, value_bytes: int, batches: int, share: float) -> None:
    """Measure, print the table and save it."""
    command = f"python -m benchmarks.{NAME} --keys {keys} --batches {batches}"
    found = measure(keys, value_bytes, batches, share)
    results = [_results.stamp(result, command) for result in found]
    known = _results.save(NAME, results, [result.contender for result in results], partial=False)
    title = f"{keys:,} keys of {value_bytes} bytes in S3, one slot, {_results.machine()}"
    _results.show(title, known, {})
    for result in results:
        click.echo(f"{result.contender}: {result.note}")


if __name__ == "__main__":
    main()
