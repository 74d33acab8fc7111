"""Tumbling windows of 10 s, counted by a ``ProcessWindowFunction`` in Python.

Events are 1 ms apart, so with 10 000 keys every event is the only one of its window: the hard case.
With fewer keys windows are larger. All contenders get the same rows; slow ones get fewer of them.
"""

from __future__ import annotations

import click

from benchmarks import _data
from benchmarks._command import run_all
from benchmarks._harness import Contender, run
from benchmarks._results import DATA, Result

NAME = "windows"
WINDOW_MS = 10_000
_FLINK = "SCURRY_PYFLINK_PYTHON"

CONTENDERS = (
    Contender("scurry", "scurry_windows", ("--batch", "1000000"), "1 M events a batch, durable"),
    Contender(
        "scurry_200k", "scurry_windows", ("--batch", "200000"), "200 k events a batch, durable"
    ),
    Contender(
        "pyflink_rocksdb_process",
        "pyflink_windows",
        ("--mode", "process", "--backend", "rocksdb", "--checkpoint-ms", "1000"),
        "RocksDB, 1 s checkpoints asked for, process mode, bundle 100 k",
        most_events=400_000,
        interpreter_variable=_FLINK,
        reads_csv=True,
    ),
    Contender(
        "pyflink_heap_process",
        "pyflink_windows",
        ("--mode", "process", "--bundle", "500000", "--bundle-ms", "60000"),
        "heap, no checkpoints, process mode, bundle 500 k",
        most_events=400_000,
        interpreter_variable=_FLINK,
        reads_csv=True,
    ),
)


@click.command(help=__doc__.splitlines()[0])
@click.option("--events", default=4_000_000, show_default=True, help="rounded up to whole files")
@click.option("--keys", default=10_000, show_default=True)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([contender.name for contender in CONTENDERS]),
    help="run just this one; may be given again",
)
def main(events: int, keys: int, only: tuple[str, ...]) -> None:
    """Measure all contenders, or those of ``only``."""
    title = f"Windows of 10 s, {keys:,} keys"
    run_all(NAME, title, CONTENDERS, _run, events, keys, only)


def _run(contender: Contender, events: int, keys: int) -> Result:
    data = (_data.csv if contender.reads_csv else _data.parquet)(DATA, events, keys)
    windows = -(-events // WINDOW_MS) * min(keys, WINDOW_MS)
    return run(contender, data, events, events, windows)


if __name__ == "__main__":
    main()
