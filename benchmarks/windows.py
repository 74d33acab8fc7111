"""Windows: built-in aggregates, or a ``ProcessWindowFunction`` in Python.

Events are 1 ms apart, so with 10 000 keys every event is the only one of its tumbling window of
10 s: the hard case. With fewer keys windows are larger. For sessions, keys take turns: each has 10
events within 5 s, and then none for a while. All contenders get the same rows; slow ones get fewer
of them.
"""

from __future__ import annotations

from functools import partial

import click

from benchmarks import _data
from benchmarks._command import run_all
from benchmarks._harness import Contender, run
from benchmarks._results import DATA, Result

NAME = "windows"
WINDOW_MS = 10_000
_MANY_KEYS = 10_000
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
        most_events=20_000,
        interpreter_variable=_FLINK,
        reads_csv=True,
    ),
    Contender(
        "pyflink_heap_process",
        "pyflink_windows",
        ("--mode", "process", "--bundle", "500000", "--bundle-ms", "60000"),
        "heap, no checkpoints, process mode, bundle 500 k",
        most_events=20_000,
        interpreter_variable=_FLINK,
        reads_csv=True,
    ),
)


def _built_in(kind: str) -> tuple[Contender, ...]:
    """The contenders for windows of ``kind`` with built-in aggregates."""
    flink = ("--backend", "rocksdb", "--checkpoint-ms", "1000", kind)
    return (
        Contender(
            "scurry",
            "scurry_aggregates",
            ("--batch", "1000000", kind),
            "1 M events a batch, durable",
        ),
        Contender(
            "scurry_200k",
            "scurry_aggregates",
            ("--batch", "200000", kind),
            "200 k events a batch, durable",
        ),
        Contender(
            "spark",
            "spark_windows",
            ("--files-per-batch", "5", kind),
            "append mode, 1 M events a batch, RocksDB",
        ),
        Contender(
            "flink_sql_rocksdb",
            "pyflink_sql_windows",
            flink,
            "RocksDB, 1 s checkpoints asked for",
            interpreter_variable=_FLINK,
            reads_csv=True,
        ),
        Contender(
            "flink_sql_heap",
            "pyflink_sql_windows",
            (kind,),
            "heap, no checkpoints",
            interpreter_variable=_FLINK,
            reads_csv=True,
        ),
    )


_TITLES = {
    "process": "Windows of 10 s in Python",
    "tumbling": "Tumbling windows of 10 s",
    "sliding": "Sliding windows of 60 s by 10 s",
    "session": "Sessions, gap 1 s",
}


@click.command(help=__doc__.splitlines()[0])
@click.option("--windows", "kind", default="process", type=click.Choice(list(_TITLES)))
@click.option("--events", default=4_000_000, show_default=True, help="rounded up to whole files")
@click.option("--keys", default=10_000, show_default=True)
@click.option("--only", multiple=True, help="run just this one; may be given again")
def main(kind: str, events: int, keys: int, only: tuple[str, ...]) -> None:
    """Measure all contenders, or those of ``only``."""
    contenders = CONTENDERS if kind == "process" else _built_in(kind)
    unknown = set(only) - {contender.name for contender in contenders}
    if unknown:
        raise click.BadParameter(f"{sorted(unknown)} are not contenders for {kind} windows")
    if kind == "session" and not 200 <= keys <= 20_000:
        raise click.BadParameter("sessions end as they should with 200 to 20000 keys")
    name = NAME if kind == "process" else f"{NAME}_{kind}"
    if keys != _MANY_KEYS:
        name += f"_{keys}_keys"
    title = f"{_TITLES[kind]}, {keys:,} keys"
    ask = f"{NAME} --windows {kind}"
    run_all(name, title, contenders, partial(_run, kind), events, keys, only, ask)


def _run(kind: str, contender: Contender, events: int, keys: int) -> Result:
    make = _data.csv if contender.reads_csv else _data.parquet
    data = make(DATA, events, keys, bursts=kind == "session")
    rows = _windows_of(kind, events, keys)
    if kind == "process":
        return run(contender, data, events, events, rows)
    copies = 6 if kind == "sliding" else 1
    return run(contender, data, events, copies * (events + _data.values(events)), rows)


def _windows_of(kind: str, events: int, keys: int) -> int:
    """How many windows have something in them."""
    if kind == "session":
        return _data.bursts(events, keys)
    spans = -(-events // WINDOW_MS)
    return (spans + 5 if kind == "sliding" else spans) * min(keys, WINDOW_MS)


if __name__ == "__main__":
    main()
