"""NEXMark's queries beside Flink SQL: each result is compared with a batch computation first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks._memory import MemoryWatch
from benchmarks._results import DATA, OUT, ROOT, machine
from benchmarks.nexmark import BY_THE_CLOCK, in_spark, queries
from benchmarks.nexmark.check import differences
from benchmarks.nexmark.files import written
from benchmarks.nexmark.report import RESULTS
from scurry.connectors.nexmark import NexmarkShape

#: Who runs: the module, its options, the files that it reads, the variable with its interpreter.
Contender = tuple[str, tuple[str, ...], str, str]
CONTENDERS: dict[str, Contender] = {
    "scurry": ("nexmark_scurry", (), "csv", ""),
    "flink_rocksdb": (
        "nexmark_pyflink",
        ("--backend", "rocksdb"),
        "csv",
        "SCURRY_PYFLINK_PYTHON",
    ),
    "flink_heap": ("nexmark_pyflink", (), "csv", "SCURRY_PYFLINK_PYTHON"),
    # in micro-batches of a million rows, for which there have to be several files
    "spark": ("nexmark_spark", (), "parquet", ""),
}
Seconds = dict[str, float | int | str]
#: The name under which the command stands that runs all queries, beside the seconds of each.
COMMAND = "command"
#: The name under which the most megabytes of a run stand.
MEMORY = "memory"


@click.command(help=__doc__)
@click.option("--events", default=5_000_000, show_default=True, help="of all three tables")
@click.option("--query", "only", multiple=True, help="just this one; may be given again")
@click.option("--contender", "who", multiple=True, type=click.Choice(list(CONTENDERS)))
@click.option("--check/--no-check", default=True, show_default=True)
@click.option("--check-events", default=100_000, show_default=True)
def main(
    events: int, only: tuple[str, ...], who: tuple[str, ...], check: bool, check_events: int
) -> None:
    """Compare, then time, the queries. A run of some queries adds to what earlier runs found."""
    texts = {name: text for name, text in queries().items() if not only or name in only}
    wrong = differences(texts, check_events) if check else {}
    for name, what in wrong.items():
        print(f"{name} differs from the batch computation: {what}", file=sys.stderr)
    shape = NexmarkShape()
    spelt = {name: text for name, text in in_spark().items() if name in texts}
    found = {
        name: run_contender(
            name,
            spelt if name == "spark" else texts,
            lambda form: written(DATA, events, shape, form),
        )
        for name in CONTENDERS
        if not who or name in who
    }
    for name, seconds in found.items():
        seconds[COMMAND] = f"python -m benchmarks.nexmark --events {events} --contender {name}"
    known = _with_earlier(events, found)
    listed = {name: text for name, text in queries().items() if name in known["scurry"]}
    title = f"NEXMark, {events:,} events, {machine()}"
    show_times(f"{title}: seconds", listed, known)
    Console().print(f"by the clock, not compared: {', '.join(sorted(BY_THE_CLOCK))}")
    sys.exit(1 if wrong else 0)


def _with_earlier(events: int, found: dict[str, Seconds]) -> dict[str, Seconds]:
    """What is known of so many events now: what was found, and what was there before."""
    OUT.mkdir(parents=True, exist_ok=True)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known: dict[str, Seconds] = kept.setdefault(str(events), {})
    for name, seconds in found.items():
        earlier = known.setdefault(name, {})
        most = max(int(each.get(MEMORY, 0)) for each in (earlier, seconds))
        earlier.update({**seconds, MEMORY: most})
    RESULTS.write_text(json.dumps(kept, indent=1))
    return {name: known.get(name, {}) for name in CONTENDERS if name in known or name == "scurry"}


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
    failed = False
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
            with MemoryWatch(process.pid) as watch:
                for line in process.stdout:
                    if line.startswith("{"):
                        said = json.loads(line)
                        query = said["query"]
                        found[query] = said.get("seconds", said.get("failed", "?"))
                        failed |= "failed" in said
                        print(f"  {name:<14} {query:<4} {found[query]}", flush=True)
            found[MEMORY] = watch.peak_mb()
            print(f"  {name:<14} at most {found[MEMORY]:,} MB", flush=True)
        if process.returncode:
            print("\n".join((work / "log").read_text().splitlines()[-12:]), file=sys.stderr)
        if process.returncode or failed:
            OUT.mkdir(parents=True, exist_ok=True)
            kept = shutil.copy(work / "log", OUT / f"{module}.log")
            print(f"  {name:<14} failed: what its processes have printed is in {kept}", flush=True)
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
    table.add_section()
    table.add_row("sum", *_sums(texts, found))
    Console(width=120).print(table)


def _sums(texts: dict[str, str], found: dict[str, Seconds]) -> list[str]:
    """The sum of what each ran, and the ratio to it of Scurry's sum of the same queries."""
    ours, *others = found.values()
    cells = [f"{_sum(ours, texts):.2f}"]
    both = [[q for q in texts if _ran(q, ours, theirs)] for theirs in others]
    cells += [f"{_sum(o, b):.2f} of {len(b)}" for o, b in zip(others, both, strict=True)]
    for theirs, shared in zip(others, both, strict=True):
        cells.append(f"{_sum(theirs, shared) / _sum(ours, shared):.2f}x" if shared else "")
    return cells


def _ran(query: str, *times: Seconds) -> bool:
    return all(isinstance(seconds.get(query), float) for seconds in times)


def _sum(times: Seconds, names: Iterable[str]) -> float:
    return sum(float(times[query]) for query in names if _ran(query, times))


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
