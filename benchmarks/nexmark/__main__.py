"""NEXMark's queries beside Flink SQL: each result is compared with a batch computation first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks._results import DATA, OUT, ROOT, machine
from benchmarks.nexmark import BY_THE_CLOCK, queries
from benchmarks.nexmark.check import differences
from benchmarks.nexmark.files import written
from scurry.connectors.nexmark import NexmarkShape

#: Who runs: the module, its options, the files that it reads, the variable with its interpreter.
Contender = tuple[str, tuple[str, ...], str, str]
CONTENDERS: dict[str, Contender] = {
    "scurry": ("nexmark_scurry", (), "parquet", ""),
    "flink_rocksdb": (
        "nexmark_pyflink",
        ("--backend", "rocksdb"),
        "csv",
        "SCURRY_PYFLINK_PYTHON",
    ),
    "flink_heap": ("nexmark_pyflink", (), "csv", "SCURRY_PYFLINK_PYTHON"),
}
Seconds = dict[str, float | str]


@click.command(help=__doc__)
@click.option("--events", default=5_000_000, show_default=True, help="of all three tables")
@click.option("--query", "only", multiple=True, help="just this one; may be given again")
@click.option("--contender", "who", multiple=True, type=click.Choice(list(CONTENDERS)))
@click.option("--check/--no-check", default=True, show_default=True)
@click.option("--check-events", default=100_000, show_default=True)
def main(
    events: int, only: tuple[str, ...], who: tuple[str, ...], check: bool, check_events: int
) -> None:
    """Compare, then time, the queries."""
    texts = {name: text for name, text in queries().items() if not only or name in only}
    wrong = differences(texts, check_events) if check else {}
    for name, what in wrong.items():
        print(f"{name} differs from the batch computation: {what}", file=sys.stderr)
    shape = NexmarkShape()
    found = {
        name: run_contender(name, texts, lambda form: written(DATA, events, shape, form))
        for name in CONTENDERS
        if not who or name in who
    }
    show_times(f"NEXMark, {events:,} events, {machine()}: seconds", texts, found)
    Console().print(f"by the clock, not compared: {', '.join(sorted(BY_THE_CLOCK))}")
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "nexmark.json").write_text(json.dumps({"events": events, "seconds": found}, indent=1))
    sys.exit(1 if wrong else 0)


def run_contender(
    name: str,
    texts: dict[str, str],
    files: Callable[[str], Path],
    *more: str,
    contenders: Mapping[str, Contender] = CONTENDERS,
) -> Seconds:
    """The seconds that each query takes; ``files`` writes the data in a form, ``more`` are further
    options for the contender."""
    module, options, form, variable = contenders[name]
    interpreter = os.environ.get(variable) if variable else sys.executable
    if not interpreter:
        return dict.fromkeys(texts, f"skipped: {variable} names no interpreter")
    data = files(form)
    work = Path(tempfile.mkdtemp(prefix="nexmark-"))
    (work / "queries.json").write_text(json.dumps(texts))
    command = [interpreter, "-m", f"benchmarks.contenders.{module}", "--data", str(data)]
    command += ["--work", str(work), "--queries", str(work / "queries.json"), *options, *more]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    found: Seconds = {}
    try:
        with subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=(work / "log").open("w"),
            text=True,
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("{"):
                    said = json.loads(line)
                    found[said["query"]] = said.get("seconds", said.get("failed", "?"))
                    print(f"  {name:<14} {said['query']:<4} {found[said['query']]}", flush=True)
        if process.returncode:
            print("\n".join((work / "log").read_text().splitlines()[-12:]), file=sys.stderr)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return found


def show_times(title: str, texts: dict[str, str], found: dict[str, Seconds]) -> None:
    """Print the seconds of all contenders, and how they compare."""
    table = Table(title=title)
    for column in ("query", *found, *(f"Scurry is, of {name}" for name in list(found)[1:])):
        table.add_column(column, justify="right")
    for name in texts:
        table.add_row(name, *_cells(name, found))
    shared = [q for q in texts if all(isinstance(times.get(q), float) for times in found.values())]
    totals: dict[str, Seconds] = {
        name: {"sum": sum(float(times[q]) for q in shared)} for name, times in found.items()
    }
    table.add_section()
    table.add_row(f"sum of {len(shared)}", *_cells("sum", totals))
    Console(width=120).print(table)


def _cells(name: str, found: dict[str, Seconds]) -> list[str]:
    times = [seconds.get(name) for seconds in found.values()]
    cells = [f"{t:.2f}" if isinstance(t, float) else "failed" for t in times]
    ours = times[0]
    for theirs in times[1:]:
        both = isinstance(ours, float) and isinstance(theirs, float) and ours
        cells.append(f"{float(theirs) / float(ours):.2f}x" if both and theirs and ours else "")
    return cells


if __name__ == "__main__":
    main()
