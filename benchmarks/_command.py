"""The command line of a benchmark whose contenders read the same events: who runs, on how many
events, and what becomes of the results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import click

from benchmarks import _data, _results
from benchmarks._harness import Contender, ContenderFailed, run
from benchmarks._results import DATA, Result

#: From the numbers of events and keys to what all outputs add up to.
Checksum = Callable[[int, int], int]


def command(
    name: str, title: str, contenders: Sequence[Contender], checksum: Checksum, about: str
) -> click.Command:
    """The command that measures contenders that give out one record for each event."""

    def measure(contender: Contender, events: int, keys: int) -> Result:
        make = _data.csv if contender.reads_csv else _data.parquet
        return run(contender, make(DATA, events, keys), events, checksum(events, keys))

    @click.command(name, help=about.splitlines()[0])
    @click.option(
        "--events", default=10_000_000, show_default=True, help="rounded up to whole files"
    )
    @click.option("--keys", default=10_000, show_default=True)
    @click.option(
        "--only",
        multiple=True,
        type=click.Choice([contender.name for contender in contenders]),
        help="run just this one; may be given again",
    )
    def main(events: int, keys: int, only: tuple[str, ...]) -> None:
        run_all(name, f"{title}, {keys:,} keys", contenders, measure, events, keys, only)

    return main


def run_all(
    name: str,
    title: str,
    contenders: Sequence[Contender],
    measure: Callable[[Contender, int, int], Result],
    events: int,
    keys: int,
    only: Sequence[str],
) -> None:
    """Measure ``contenders``, or those of ``only``; ends the process with 1 if one failed."""
    results: list[Result] = []
    absent: dict[str, str] = {}
    failed = False
    command = f"python -m benchmarks.{name} --events {events} --keys {keys}"
    for contender in contenders:
        if only and contender.name not in only:
            continue
        if contender.interpreter(os.environ) is None:
            absent[contender.name] = contender.why_skipped()
            continue
        given = _data.whole_files(contender.events(events))
        try:
            result = measure(contender, given, keys)
        except ContenderFailed as failure:
            absent[contender.name] = f"FAILED. {failure}"
            failed = True
            continue
        result.keys = keys
        if given < events:
            result.note += f"; {given:,} of the events"
        results.append(_results.stamp(result, command))
    order = [contender.name for contender in contenders]
    known = _results.save(name, results, order, partial=bool(only))
    _results.show(f"{title}, {_results.machine()}", known, absent)
    sys.exit(1 if failed else 0)
