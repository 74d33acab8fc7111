"""What a checkpoint costs: bytes written per micro-batch when 1 %, 10 % and 100 % of keys change.

One slot with its journal, without Spark. The bytes include compaction, averaged over enough
micro-batches for several compactions. Values are random bytes, which do not compress.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks._results import OUT, machine
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
    machine: str = ""


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
        machine=machine(),
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--keys", default=200_000, show_default=True)
@click.option("--value-bytes", default=100, show_default=True)
@click.option("--rewrites", default=8, show_default=True, help="how often all state is written")
def main(keys: int, value_bytes: int, rewrites: int) -> None:
    """Measure all shares, print the table and save it."""
    costs = [measure(share, keys, value_bytes, rewrites) for share in _SHARES]
    OUT.mkdir(parents=True, exist_ok=True)
    content = json.dumps([asdict(cost) for cost in costs], indent=2)
    (OUT / f"{NAME}.costs.json").write_text(content + "\n")
    table = Table(title=f"{keys:,} keys of {value_bytes} bytes, {machine()}", title_justify="left")
    for heading in ("keys changed", "values changed", "written a batch", "largest", "time"):
        table.add_column(heading, justify="right")
    for cost in costs:
        sizes = (cost.changed_bytes, cost.written_bytes, cost.largest_bytes)
        table.add_row(
            f"{cost.share:.0%}",
            *(f"{size / 1e6:.2f} MB" for size in sizes),
            f"{cost.ms_per_batch:.0f} ms",
        )
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
