"""Runs the contenders of a benchmark that are wanted and can run, keeps and shows the results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from benchmarks import _data, _results
from benchmarks._ending import end_in_order
from benchmarks._harness import Contender, ContenderFailed
from benchmarks._results import Result


def run_all(
    name: str,
    title: str,
    contenders: Sequence[Contender],
    run: Callable[[Contender, int, int], Result],
    events: int,
    keys: int,
    only: Sequence[str],
    module: str = "",
) -> None:
    """Measure ``contenders``, or those of ``only``; ends the process with 1 if one failed.
    ``module`` is what to run to get the same again, if it is not called like the results."""
    end_in_order()
    results: list[Result] = []
    absent: dict[str, str] = {}
    failed = False
    command = f"python -m benchmarks.{module or name} --events {events} --keys {keys}"
    for contender in contenders:
        if only and contender.name not in only:
            continue
        if contender.interpreter(os.environ) is None:
            absent[contender.name] = contender.why_skipped()
            continue
        given = contender.events(events)
        if not contender.reads_csv:
            given = _data.whole_files(given)
        try:
            result = run(contender, given, keys)
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
