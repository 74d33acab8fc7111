"""Memory over time while a pattern with ``within`` is looked for in very many events.

The rows are those of ``benchmarks/patterns.py``: prices of 10 000 keys, one each millisecond. One
in a hundred begins a match that has an hour to be completed, and few are. Matches that are over
have to go, so memory has to stay as it is once the first hour, of 3.6 million events, has passed.
The job runs on Spark, or in the local engine, in a process of its own; resident sizes of it, its
JVM and its workers are sampled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import psutil

from benchmarks._memory import JVM, MAIN, WORKERS, role
from benchmarks._results import OUT, ROOT, machine
from benchmarks.patterns import written

_PARTS = 10


@click.command(help=__doc__)
@click.option("--events", default=100_000_000, show_default=True)
@click.option("--parallelism", default=2, show_default=True)
@click.option("--engine", type=click.Choice(["spark", "local"]), default="spark", show_default=True)
def main(events: int, parallelism: int, engine: str) -> None:
    """Run the job, and print the memory of each tenth of its time."""
    data = written(events, "parquet")
    with tempfile.TemporaryDirectory(prefix="patterns-") as work:
        command = [sys.executable, "-m", "benchmarks.contenders.patterns_memory_scurry"]
        command += ["--data", str(data), "--work", work, "--parallelism", str(parallelism)]
        command += ["--engine", engine]
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}) as process:
            samples = _sampled(process)
        if process.returncode:
            sys.exit(process.returncode)
        if engine == "spark" and (read := int(Path(work, "read").read_text())) != events:
            sys.exit(f"The job has read {read:,} events of {events:,}.")
    parts = _parts(samples)
    print(
        f"{events:,} events, {engine}, {samples[-1][0]:.0f} s, {machine()}: MB at most, by tenths"
    )
    for name in (MAIN, JVM, WORKERS):
        print(f"  {name:<8}", *(f"{part.get(name, '-'):>6}" for part in parts))
    OUT.mkdir(parents=True, exist_ok=True)
    found = {"events": events, "seconds": samples[-1][0], "parts": parts}
    Path(OUT / "patterns_memory.figures.json").write_text(json.dumps(found, indent=1))


def _sampled(process: subprocess.Popen[bytes]) -> list[tuple[float, dict[str, int]]]:
    """The memory of a process tree, each second until it ends."""
    start, found = time.monotonic(), []
    root = psutil.Process(process.pid)
    while process.poll() is None:
        sizes = dict.fromkeys((MAIN, JVM, WORKERS), 0)
        try:
            for one in [root, *root.children(recursive=True)]:
                part = role(one.name(), one.pid == root.pid)
                if part is not None:
                    sizes[part] += one.memory_info().rss >> 20
        except psutil.Error:
            continue
        found.append((time.monotonic() - start, sizes))
        time.sleep(1)
    return found


def _parts(samples: list[tuple[float, dict[str, int]]]) -> list[dict[str, int]]:
    """The most memory in each tenth of the time."""
    length = samples[-1][0] / _PARTS
    parts: list[dict[str, int]] = [{} for _ in range(_PARTS)]
    for at, sizes in samples:
        part = parts[min(int(at / length), _PARTS - 1)]
        for name, size in sizes.items():
            part[name] = max(size, part.get(name, 0))
    return parts


if __name__ == "__main__":
    main()
