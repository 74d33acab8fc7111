"""The command line of a benchmark in which contenders read the same events: who runs, on how many
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
    """The command that measures all contenders, or those of its option ``--only``."""
    names = [contender.name for contender in contenders]

    @click.command(name, help=about.splitlines()[0])
    @click.option(
        "--events", default=10_000_000, show_default=True, help="rounded up to whole files"
    )
    @click.option("--keys", default=10_000, show_default=True)
    @click.option(
        "--only",
        multiple=True,
        type=click.Choice(names),
        help="run just this one; may be given again",
    )
    def main(events: int, keys: int, only: tuple[str, ...]) -> None:
        wanted = [contender for contender in contenders if not only or contender.name in only]
        line = f"python -m benchmarks.{name} --events {events} --keys {keys}"
        results, absent = _measure(wanted, events, keys, checksum)
        for result in results:
            _results.stamp(result, line)
        known = _results.save(name, results, names, partial=bool(only))
        _results.show(f"{title}, {keys:,} keys, {_results.machine()}", known, absent)
        sys.exit(1 if any(reason.startswith(_FAILED) for reason in absent.values()) else 0)

    return main


_FAILED = "FAILED"


def _measure(
    contenders: Sequence[Contender], events: int, keys: int, checksum: Checksum
) -> tuple[list[Result], dict[str, str]]:
    """The results of those that ran, and for the others why there is none."""
    results: list[Result] = []
    absent: dict[str, str] = {}
    for contender in contenders:
        if contender.interpreter(os.environ) is None:
            absent[contender.name] = contender.why_skipped()
            continue
        try:
            results.append(_run(contender, events, keys, checksum))
        except ContenderFailed as failure:
            absent[contender.name] = f"{_FAILED}. {failure}"
    return results, absent


def _run(contender: Contender, wanted: int, keys: int, checksum: Checksum) -> Result:
    events = _data.whole_files(contender.events(wanted))
    make = _data.csv if contender.reads_csv else _data.parquet
    result = run(contender, make(DATA, events, keys), events, checksum(events, keys))
    result.keys = keys
    if events < wanted:
        result.note += f"; {events:,} of the events"
    return result
