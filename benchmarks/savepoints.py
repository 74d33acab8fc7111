"""Savepoints of a large state: how long they take, how long the job stands still, and how long it
takes from the start of a new process until a job that starts from one has its first event.

The same program runs with Scurry and with PyFlink (RocksDB, checkpoints every second): random bytes
for each key, which go on being replaced while the savepoint is taken. Scurry takes one in the file
system of its checkpoint and one in another file system, in memory; Flink takes one of each of its
formats, in the file system of its checkpoints. *Silence* is the longest time
without a hundred further events, in the five seconds before the request and from the request until
the savepoint is there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from benchmarks._results import OUT, ROOT, machine
from benchmarks.contenders.savepoint_flink_api import seen

NAME = "savepoints"
_FLINK = "SCURRY_PYFLINK_PYTHON"
_MEMORY = Path("/dev/shm")


def _told(interpreter: str, arguments: list[str]) -> list[dict[str, Any]]:
    """What a contender says."""
    command = [interpreter, "-m", "benchmarks.contenders.savepoint_flink_api", *arguments]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # as in an activated environment: PyFlink starts its workers with "python"
    programs = os.pathsep.join([os.path.dirname(interpreter), os.environ["PATH"]])
    given = {**os.environ, "PYTHONPATH": path, "PATH": programs}
    done = subprocess.run(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]


def _silence(times: list[float], begin: float, end: float) -> float:
    """The longest pause between two of ``times``, as far as it is between ``begin`` and ``end``."""
    within = [begin, *(at for at in times if begin < at < end), end]
    return max(after - before for before, after in pairwise(within))


def _megabytes(place: Path) -> float:
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6


def measure(package: str, interpreter: str, keys: int, size: int) -> list[dict[str, Any]]:
    """The figures of one contender: one row for each kind of savepoint."""
    work = Path(tempfile.mkdtemp(prefix="savepoints-", dir=OUT))
    other = Path(tempfile.mkdtemp(prefix="savepoints-", dir=_MEMORY))
    try:
        targets = {f"{work}/canonical": "canonical format", f"{work}/native": "native format"}
        if package == "scurry":
            targets = {f"{work}/own": "same file system", str(other): "another file system"}
        shape = ["--keys", str(keys), "--value-bytes", str(size)]
        fill = [package, "--work", str(work / "first"), *shape, "--targets"]
        urls = [target if package == "scurry" else f"file://{target}" for target in targets]
        taken = _told(interpreter, [*fill, *urls])
        times = [at for at, _ in seen(work / "first")]
        rows = []
        for one in taken:
            target = one["target"].removeprefix("file://")
            path = one["path"].removeprefix("file://").removeprefix("file:")
            begin = ["--work", str(work / f"from-{len(rows)}"), *shape, "--savepoint", path]
            [start] = _told(interpreter, [package, *begin])
            if not start["found"]:
                raise SystemExit(f"{package} started from {path} without the state.")
            asked, ready = one["asked"], one["taken"]
            before = _silence(times, asked - 5, asked)
            rows.append(
                {
                    "contender": package,
                    "into": targets[target],
                    "megabytes": _megabytes(Path(path)),
                    "seconds": ready - asked,
                    "silence_before": before,
                    "silence": _silence(times, asked, max(ready, asked + before)),
                    "start_s": start["seconds"],
                }
            )
        return rows
    finally:
        shutil.rmtree(work, ignore_errors=True)
        shutil.rmtree(other, ignore_errors=True)


def _lines(rows: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            *(row["contender"], row["into"], f"{row['megabytes']:,.0f}", f"{row['seconds']:.2f}"),
            *(f"{row['silence_before']:.2f}", f"{row['silence']:.2f}", f"{row['start_s']:.1f}"),
        ]
        for row in rows
    ]


@click.command(help=__doc__.split("\n\n")[0])
@click.option("--keys", default=100_000, show_default=True)
@click.option("--value-bytes", default=10_000, show_default=True)
@click.option("--contender", "only", multiple=True, type=click.Choice(["scurry", "pyflink"]))
def main(keys: int, value_bytes: int, only: tuple[str, ...]) -> None:
    """Measure, print and save."""
    OUT.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for package, interpreter in (("scurry", sys.executable), ("pyflink", os.environ.get(_FLINK))):
        if interpreter and (not only or package in only):
            rows += measure(package, interpreter, keys, value_bytes)
    table = Table(title=f"Savepoints of {keys:,} keys of {value_bytes} bytes, {machine()}")
    heads = ("contender", "kind", "MB", "seconds", "silence before", "silence", "start s")
    for head in heads:
        table.add_column(head, justify="left" if head in heads[:2] else "right")
    for line in _lines(rows):
        table.add_row(*line)
    Console().print(table)
    (OUT / f"{NAME}.figures.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
