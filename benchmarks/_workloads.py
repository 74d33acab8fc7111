"""The workloads that take one kind of state each: who runs them, and what has to come out.

Every contender gives out one record for each event, with a number; the numbers have to add up to
what is worked out here from the columns of the input, by other means than theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
import numpy as np
import numpy.typing as npt

from benchmarks import _data
from benchmarks._command import run_all
from benchmarks._harness import Contender, run
from benchmarks._results import DATA, Result
from benchmarks.contenders._shapes import ENTRIES, RULES, amount_of, entry_of, reads_list

FLINK = "SCURRY_PYFLINK_PYTHON"
Longs = npt.NDArray[np.int64]


def benchmark(name: str, title: str, about: str) -> click.Command:
    """The command of the benchmark that runs workload ``name``."""
    everyone = contenders(name)

    @click.command(name, help=about.splitlines()[0])
    @click.option("--events", default=10_000_000, help="rounded up to whole files")
    @click.option("--keys", default=10_000)
    @click.option("--only", multiple=True, type=click.Choice([one.name for one in everyone]))
    def main(events: int, keys: int, only: tuple[str, ...]) -> None:
        run_all(name, f"{title}, {keys:,} keys", everyone, measure, events, keys, only)

    def measure(contender: Contender, events: int, keys: int) -> Result:
        data = (_data.csv if contender.reads_csv else _data.parquet)(DATA, events, keys)
        return run(contender, data, events, CHECKSUMS[name](events, keys))

    return main


def contenders(workload: str) -> tuple[Contender, ...]:
    """Who runs ``workload``: Scurry, plain Spark, PyFlink."""
    chosen = ("--workload", workload)
    scurry = (
        Contender(
            "scurry",
            "workload_scurry",
            (*chosen, "--batch", "1000000"),
            "1 M events a batch, durable",
        ),
        Contender(
            "scurry_200k",
            "workload_scurry",
            (*chosen, "--batch", "200000"),
            "200 k events a batch, durable",
        ),
    )
    flink = (
        _flink(
            "pyflink_rocksdb_thread",
            (*chosen, "--mode", "thread", "--parallelism", "1"),
            "RocksDB, 1 s checkpoints, thread mode with one slot",
        ),
        _flink(
            "pyflink_rocksdb_process",
            (*chosen, "--mode", "process"),
            "RocksDB, 1 s checkpoints asked for, process mode, bundle 100 k",
        ),
    )
    return (*scurry, *_SPARK[workload], *flink)


def _flink(name: str, options: tuple[str, ...], note: str) -> Contender:
    return Contender(
        name,
        "workload_pyflink",
        (*options, "--backend", "rocksdb", "--checkpoint-ms", "1000"),
        note,
        most_events=400_000,
        interpreter_variable=FLINK,
        reads_csv=True,
    )


def _spark(name: str, workload: str, options: tuple[str, ...], note: str, most: int) -> Contender:
    chosen = ("--workload", workload, *options)
    return Contender(name, "workload_pyspark", chosen, note, most_events=most)


_MILLION = ("--files-per-batch", "5")
_PER_EVENT = ("--files-per-batch", "1", "--per-event")
_SPARK = {
    "map_state": (
        _spark(
            "pyspark_tws",
            "map_state",
            _MILLION,
            "1 M events a batch, durable; an entry is read and written once per key and batch",
            2_000_000,
        ),
        _spark(
            "pyspark_tws_per_event",
            "map_state",
            _PER_EVENT,
            "200 k events a batch, durable",
            400_000,
        ),
    ),
    "list_state": (
        _spark(
            "pyspark_tws",
            "list_state",
            _MILLION,
            "1 M events a batch, durable; what a key appends in a batch is appended together",
            2_000_000,
        ),
        _spark(
            "pyspark_tws_per_event",
            "list_state",
            _PER_EVENT,
            "200 k events a batch, durable",
            400_000,
        ),
    ),
    "timers": (
        _spark("pyspark_tws", "timers", _PER_EVENT, "200 k events a batch, durable", 400_000),
    ),
    "broadcast_rules": (
        _spark(
            "pyspark_tws",
            "broadcast_rules",
            _MILLION,
            "1 M events a batch; the rules are a constant and cannot change",
            2_000_000,
        ),
        _spark(
            "pyspark_map_in_pandas",
            "broadcast_rules",
            (*_MILLION, "--map-in-pandas"),
            "1 M events a batch; constant rules, no keys, no shuffle, no state",
            10_000_000,
        ),
    ),
}


def _columns(events: int, keys: int) -> Iterator[tuple[Longs, Longs, Longs]]:
    for first in range(0, events, _data.FILE_ROWS):
        table = _data.table(first, min(_data.FILE_ROWS, events - first), keys)
        key, value, ts = (column.to_numpy() for column in table.columns)
        yield key, value, ts


def counts_by_entry(events: int, keys: int) -> int:
    """The running counts of each key and entry, added up."""
    total = np.zeros(keys * ENTRIES, dtype=np.int64)
    for key, _, ts in _columns(events, keys):
        total += np.bincount(key * ENTRIES + entry_of(ts), minlength=keys * ENTRIES)
    return int((total * (total + 1) // 2).sum())


def list_sums(events: int, keys: int) -> int:
    """All values that were in a list when it was read, which is those up to a key's last read."""
    last = np.full(keys, -1, dtype=np.int64)
    for key, _, ts in _columns(events, keys):
        read = reads_list(key, ts)
        np.maximum.at(last, key[read], ts[read])
    return sum(int(value[ts <= last[key]].sum()) for key, value, ts in _columns(events, keys))


def rules_met(events: int, keys: int) -> int:
    """How many events reach the threshold of their rule."""
    thresholds = np.array([RULES[value] for value in range(len(RULES))])
    return sum(
        int((amount_of(ts) >= thresholds[value]).sum()) for _, value, ts in _columns(events, keys)
    )


#: From the numbers of events and keys to what all outputs add up to.
CHECKSUMS: dict[str, Callable[[int, int], int]] = {
    "map_state": counts_by_entry,
    "list_state": list_sums,
    "timers": _data.checksum,
    "broadcast_rules": rules_met,
}
