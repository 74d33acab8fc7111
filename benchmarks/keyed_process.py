"""A keyed count: one read and one update of a ``ValueState``, and one output, for every event.

This is the least a stateful Python function can do, so it shows what the engine itself costs. All
contenders get the same rows; slow ones get fewer of them, which their note says.
"""

from __future__ import annotations

import click

from benchmarks import _data
from benchmarks._command import run_all
from benchmarks._harness import Contender, run
from benchmarks._results import DATA, Result

NAME = "keyed_process"
_FLINK = "SCURRY_PYFLINK_PYTHON"
_BYTEWAX = "SCURRY_BYTEWAX_PYTHON"

CONTENDERS = (
    Contender("scurry", "scurry", ("--batch", "1000000"), "1 M events a batch, durable"),
    Contender("scurry_200k", "scurry", ("--batch", "200000"), "200 k events a batch, durable"),
    Contender(
        "pyspark_tws",
        "pyspark_tws",
        ("--files-per-batch", "5"),
        "1 M events a batch, durable; state read and written once per key and batch",
        most_events=2_000_000,
    ),
    Contender(
        "pyspark_tws_per_event",
        "pyspark_tws",
        ("--files-per-batch", "1", "--per-event"),
        "200 k events a batch, durable",
        most_events=600_000,
    ),
    Contender(
        "pyspark_map_in_arrow",
        "pyspark_map_in_arrow",
        ("--files-per-batch", "5"),
        "copies only: no function, no state",
    ),
    Contender(
        "pyspark_map_in_arrow_200k",
        "pyspark_map_in_arrow",
        ("--files-per-batch", "1"),
        "copies only, 200 k events a batch",
    ),
    Contender("python_loop", "python_loop", (), "one core, a dict, nothing durable"),
    Contender(
        "pyflink_rocksdb_thread",
        "pyflink",
        (
            *("--mode", "thread", "--parallelism", "1"),
            *("--backend", "rocksdb", "--checkpoint-ms", "1000"),
        ),
        "RocksDB, 1 s checkpoints, thread mode with one slot",
        most_events=600_000,
        interpreter_variable=_FLINK,
        reads_csv=True,
    ),
    Contender(
        "pyflink_rocksdb_process",
        "pyflink",
        ("--mode", "process", "--backend", "rocksdb", "--checkpoint-ms", "1000"),
        "RocksDB, 1 s checkpoints asked for, process mode, bundle 100 k",
        most_events=600_000,
        interpreter_variable=_FLINK,
        reads_csv=True,
    ),
    Contender(
        "pyflink_heap_process",
        "pyflink",
        ("--mode", "process", "--bundle", "500000", "--bundle-ms", "60000"),
        "heap, no checkpoints, process mode, bundle 500 k: its best at any setting",
        most_events=2_000_000,
        interpreter_variable=_FLINK,
        reads_csv=True,
    ),
    Contender(
        "bytewax",
        "bytewax",
        (),
        "one core, nothing durable",
        interpreter_variable=_BYTEWAX,
    ),
    Contender(
        "bytewax_2_processes",
        "bytewax",
        ("--processes", "2"),
        "nothing durable",
        interpreter_variable=_BYTEWAX,
    ),
    Contender(
        "bytewax_recovery",
        "bytewax",
        ("--recovery",),
        "one core, durable, 1 s epochs",
        interpreter_variable=_BYTEWAX,
    ),
)


@click.command(help=__doc__.splitlines()[0])
@click.option("--events", default=10_000_000, show_default=True, help="rounded up to whole files")
@click.option("--keys", default=10_000, show_default=True)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([contender.name for contender in CONTENDERS]),
    help="run just this one; may be given again",
)
def main(events: int, keys: int, only: tuple[str, ...]) -> None:
    """Measure all contenders, or those of ``only``."""
    run_all(NAME, f"Keyed count, {keys:,} keys", CONTENDERS, _run, events, keys, only)


def _run(contender: Contender, events: int, keys: int) -> Result:
    data = (_data.csv if contender.reads_csv else _data.parquet)(DATA, events, keys)
    return run(contender, data, events, _data.checksum(events, keys))


if __name__ == "__main__":
    main()
