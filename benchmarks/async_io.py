"""Asynchronous calls to a service of 20 ms, 100 at a time per task: how near to the limit?

By Little's law ``tasks * capacity / latency`` calls a second are possible. What an engine makes of
that is its share; the rest of its price is the CPU that its Python workers use per event.
"""

from __future__ import annotations

import os
import sys

import click

from benchmarks import _results
from benchmarks._harness import Contender, ContenderFailed, run
from benchmarks._results import DATA, Result

NAME = "async_io"
_FLINK = "SCURRY_PYFLINK_PYTHON"

CONTENDERS = (
    Contender("scurry", "async_scurry", (), "unordered, 100 k events a batch"),
    Contender("scurry_ordered", "async_scurry", ("--ordered",), "ordered, 100 k events a batch"),
    Contender(
        "scurry_10k",
        "async_scurry",
        ("--batch", "10000"),
        "unordered, 10 k events a batch",
    ),
    Contender(
        "pyflink", "async_pyflink", (), "unordered, process mode", interpreter_variable=_FLINK
    ),
    Contender(
        "pyflink_ordered",
        "async_pyflink",
        ("--ordered",),
        "ordered, process mode",
        interpreter_variable=_FLINK,
    ),
)


@click.command(help=__doc__.splitlines()[0])
@click.option("--events", default=300_000, show_default=True)
@click.option("--capacity", default=100, show_default=True, help="calls at a time per task")
@click.option("--latency-ms", default=20, show_default=True, help="of the service")
@click.option("--tasks", default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice([contender.name for contender in CONTENDERS]),
    help="run just this one; may be given again",
)
def main(events: int, capacity: int, latency_ms: int, tasks: int, only: tuple[str, ...]) -> None:
    """Measure all contenders, or those of ``only``."""
    limit = tasks * capacity * 1000 / latency_ms
    settings = ("--capacity", str(capacity), "--latency-ms", str(latency_ms))
    settings += ("--parallelism", str(tasks))
    command = f"python -m benchmarks.{NAME} --events {events} {' '.join(settings[:4])}"
    results: list[Result] = []
    absent: dict[str, str] = {}
    failed = False
    DATA.mkdir(parents=True, exist_ok=True)
    for contender in CONTENDERS:
        if only and contender.name not in only:
            continue
        if contender.interpreter(os.environ) is None:
            absent[contender.name] = contender.why_skipped()
            continue
        try:
            result = run(contender.with_options(settings), DATA, events, events * (events - 1) // 2)
        except ContenderFailed as failure:
            absent[contender.name] = f"FAILED. {failure}"
            failed = True
            continue
        result.share = round(result.events_per_s / limit, 3)
        results.append(_results.stamp(result, command))
    order = [contender.name for contender in CONTENDERS]
    known = _results.save(NAME, results, order, partial=bool(only))
    title = f"Calls of {latency_ms} ms, {capacity} at a time in each of {tasks} tasks"
    _results.show(f"{title}: at most {limit:,.0f}/s, {_results.machine()}", known, absent)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
