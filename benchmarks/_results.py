"""Results of a benchmark: the objects in ``build/bench/<name>.json`` and the table on the terminal.

Every object says by itself when, on what and with which command it was measured, so that a run of
a few contenders can replace just theirs.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import psutil
from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
DATA = OUT / "data"
#: The contender that ratios are relative to.
REFERENCE = "scurry"
_FILE_WIDTH = 140


@dataclass
class Result:
    """One contender's figures. A ``ratio`` of 10 says that Scurry is ten times as fast."""

    contender: str
    events: int
    output_rows: int
    events_per_s: float
    peak_rss_mb: int
    jvm_rss_mb: int
    worker_rss_mb: int
    first_result_s: float
    wall_s: float
    note: str = ""
    ratio: float | None = None
    median_batch_ms: float | None = None
    #: CPU of the Python workers per event, in microseconds
    cpu_us: float | None = None
    #: events/s as a share of what the benchmark's own limit allows
    share: float | None = None
    #: how long records took, in milliseconds
    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    keys: int = 0
    worker_own_mb: int = 0
    command: str = ""
    machine: str = ""
    measured_at: str = ""


def stamp(result: Result, command: str) -> Result:
    """Note when, where and how ``result`` was measured."""
    result.command = command
    result.machine = machine()
    result.measured_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return result


def machine() -> str:
    """The size of this machine."""
    memory = round(psutil.virtual_memory().total / 2**30)
    return f"{os.cpu_count()} cores, {memory} GB"


def save(name: str, results: list[Result], order: list[str], partial: bool) -> list[Result]:
    """Write the results of benchmark ``name``, and return all that are in the file now.

    Ratios are worked out anew. A ``partial`` run leaves the other contenders' results in place,
    as long as they were measured with as many keys, or by the same command.
    """
    measured = {result.contender: result for result in results}
    if partial:
        for kept in load(name):
            if any(kept.keys == r.keys or kept.command == r.command != "" for r in results):
                measured.setdefault(kept.contender, kept)
    known = [measured[contender] for contender in order if contender in measured]
    reference = measured.get(REFERENCE)
    for result in known:
        result.ratio = round(reference.events_per_s / result.events_per_s, 2) if reference else None
    OUT.mkdir(parents=True, exist_ok=True)
    content = json.dumps([asdict(result) for result in known], indent=2)
    _path(name).write_text(content + "\n")
    return known


def load(name: str) -> list[Result]:
    """The results of benchmark ``name``; none if it has not been run."""
    if not _path(name).exists():
        return []
    known = {field.name for field in fields(Result)}
    return [
        Result(**{key: value for key, value in entry.items() if key in known})
        for entry in json.loads(_path(name).read_text())
    ]


def columns(results: list[Result]) -> list[tuple[str, str, list[str]]]:
    """The table of ``results``: heading, alignment and cells of each column."""
    table = [
        ("contender", "left", [result.contender for result in results]),
        ("events", "right", [f"{result.events:,}" for result in results]),
        ("events/s", "right", [f"{result.events_per_s:,.0f}" for result in results]),
        ("Scurry is", "right", [_times(result.ratio) for result in results]),
        ("JVM MB", "right", [f"{result.jvm_rss_mb:,}" for result in results]),
        ("workers MB", "right", [f"{result.worker_rss_mb:,}" for result in results]),
        ("total MB", "right", [f"{result.peak_rss_mb:,}" for result in results]),
        ("first result", "right", [f"{result.first_result_s:.1f} s" for result in results]),
    ]
    if any(result.median_batch_ms is not None for result in results):
        batches = [f"{result.median_batch_ms or 0:.0f} ms" for result in results]
        table.insert(3, ("median batch", "right", batches))
    for name in ("max", "p99", "p50"):
        taken = [getattr(result, f"{name}_ms") for result in results]
        if any(each is not None for each in taken):
            table.insert(3, (name, "right", [f"{each or 0:,.1f} ms" for each in taken]))
    if any(result.cpu_us is not None for result in results):
        cpu = ["" if result.cpu_us is None else f"{result.cpu_us:.1f} us" for result in results]
        table.insert(3, ("CPU/event", "right", cpu))
    if any(result.share is not None for result in results):
        shares = ["" if result.share is None else f"{result.share:.0%}" for result in results]
        table.insert(3, ("of the limit", "right", shares))
    return table


def show(title: str, results: list[Result], absent: dict[str, str]) -> None:
    """Print the table and the notes, then what is missing and why."""
    console = Console(highlight=False, markup=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = _FILE_WIDTH
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1))
    described = columns(results)
    for heading, alignment, _ in described:
        table.add_column(heading, justify="left" if alignment == "left" else "right", no_wrap=True)
    for row in zip(*(cells for _, _, cells in described), strict=True):
        table.add_row(*row)
    console.print(table)
    for result in results:
        console.print(f"  {result.contender}: {result.note}")
    for contender, reason in absent.items():
        console.print(f"  {contender}: {reason}")


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x"


def _path(name: str) -> Path:
    return OUT / f"{name}.json"
