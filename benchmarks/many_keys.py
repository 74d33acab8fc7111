"""A keyed count over 10 million keys with 100-byte values: state that does not fit into a cache.

Scurry's rate is taken once all keys are there, so that the events measured read and rewrite state
that was put away long ago. The same with 100 000 keys stands beside it: the aim is at least half
its rate. So does the same with the value as the only entry of a map: the aim is at most twice what
a value costs. The other engines get as many events as they can handle in a few minutes.
"""

from __future__ import annotations

import os
import sys

import click

from benchmarks import _data, _results
from benchmarks._harness import Contender, ContenderFailed, run
from benchmarks._results import DATA, Result

NAME = "many_keys"
_FLINK = "SCURRY_PYFLINK_PYTHON"
_VALUE = ("--value-bytes", "100")
_FEW = 100_000


def contenders(keys: int) -> tuple[tuple[Contender, int], ...]:
    """Who runs, each with the number of keys it gets."""
    usual = ("--batch", "500000", *_VALUE, "--warm-up")
    return (
        (
            Contender(
                "scurry",
                "scurry",
                (*usual, str(keys)),
                f"{keys:,} keys, 500 k events a batch (the default), durable",
                timeout_s=3000,
            ),
            keys,
        ),
        (
            Contender(
                "scurry_maps",
                "scurry",
                (*usual, str(keys), "--in-map"),
                f"{keys:,} keys, a map of one entry each, 500 k events a batch, durable",
                timeout_s=3000,
            ),
            keys,
        ),
        (
            Contender(
                "scurry_few_keys",
                "scurry",
                (*usual, "1000000"),
                f"{_FEW:,} keys, 500 k events a batch (the default), durable",
                timeout_s=3000,
            ),
            _FEW,
        ),
        (
            Contender(
                "pyspark_tws",
                "pyspark_tws",
                ("--files-per-batch", "1", *_VALUE),
                f"{keys:,} keys, 200 k events a batch, durable",
                most_events=600_000,
            ),
            keys,
        ),
        (
            Contender(
                "pyflink_rocksdb_thread",
                "pyflink",
                (
                    *("--mode", "thread", "--parallelism", "1", *_VALUE),
                    *("--backend", "rocksdb", "--checkpoint-ms", "1000"),
                ),
                f"{keys:,} keys, RocksDB, 1 s checkpoints, thread mode with one slot",
                most_events=600_000,
                interpreter_variable=_FLINK,
                reads_csv=True,
            ),
            keys,
        ),
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--keys", default=10_000_000, show_default=True)
@click.option("--events", default=0, help="twice the keys, unless given")
@click.option("--only", multiple=True, help="run just this one; may be given again")
def main(keys: int, events: int, only: tuple[str, ...]) -> None:
    """Measure all contenders, or those of ``only``."""
    wanted = events or 2 * max(keys, 2_000_000)
    results: list[Result] = []
    absent: dict[str, str] = {}
    command = f"python -m benchmarks.{NAME} --keys {keys} --events {wanted}"
    everyone = contenders(keys)
    for contender, of_keys in everyone:
        if only and contender.name not in only:
            continue
        if contender.interpreter(os.environ) is None:
            absent[contender.name] = contender.why_skipped()
            continue
        try:
            results.append(_results.stamp(_run(contender, wanted, of_keys), command))
        except ContenderFailed as failure:
            absent[contender.name] = f"FAILED. {failure}"
    order = [contender.name for contender, _ in everyone]
    known = _results.save(NAME, results, order, partial=bool(only))
    _results.show(f"Keyed count, 100-byte values, {_results.machine()}", known, absent)
    sys.exit(1 if any(reason.startswith("FAILED") for reason in absent.values()) else 0)


def _run(contender: Contender, wanted: int, keys: int) -> Result:
    events = contender.events(wanted)
    if not contender.reads_csv:
        events = _data.whole_files(events)
    make = _data.csv if contender.reads_csv else _data.parquet
    result = run(contender, make(DATA, events, keys), events, _data.checksum(events, keys))
    result.keys = keys
    result.note += f"; workers' own memory at most {result.worker_own_mb:,} MB"
    if events < wanted:
        result.note += f"; {events:,} of the events"
    return result


if __name__ == "__main__":
    main()
