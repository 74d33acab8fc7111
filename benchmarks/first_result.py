"""From the start of the process to the first result: a small keyed job with state.

Every round starts all contenders one after the other, each in a new process; the median counts, the
note tells the fastest and the slowest. The first round only warms the disk.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import click
from rich.console import Console

from benchmarks import _results
from benchmarks._ending import end_in_order
from benchmarks._memory import JVM, WORKERS, MemoryWatch
from benchmarks._results import ROOT, Result
from benchmarks.contenders._first import EVENTS, FIRST, KEYS
from scurry.engine.spark.class_archive import create_archive

NAME = "first_result"
_FLINK = "SCURRY_PYFLINK_PYTHON"


@dataclass(frozen=True)
class Contender:
    """A program to start, and what to say about it."""

    name: str
    arguments: tuple[str, ...]
    note: str
    #: names the environment variable that names its interpreter
    interpreter_variable: str = ""

    @property
    def interpreter(self) -> str | None:
        """The Python that runs it, if there is one."""
        if not self.interpreter_variable:
            return sys.executable
        return os.environ.get(self.interpreter_variable) or None


CONTENDERS = (
    Contender("scurry", ("first_flink_api", "scurry"), "default settings, class archive made"),
    Contender("scurry_live", ("first_flink_api", "scurry", "live"), "live, class archive made"),
    Contender("pyspark_tws", ("first_pyspark",), "transformWithState, RocksDB, two partitions"),
    Contender("pyflink", ("first_flink_api", "pyflink"), "default settings", _FLINK),
)


def first_result(contender: Contender) -> tuple[float, MemoryWatch]:
    """Seconds from the start of the process to its first result."""
    module, *arguments = contender.arguments
    command = [str(contender.interpreter), "-m", f"benchmarks.contenders.{module}", *arguments]
    work = tempfile.mkdtemp(prefix="scurry-bench-")
    # workers have to find the modules of a contender too
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # as in an activated environment: PyFlink starts its workers with "python"
    programs = os.pathsep.join([os.path.dirname(command[0]), os.environ["PATH"]])
    began = time.perf_counter()
    with (
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": work, "PYTHONPATH": path, "PATH": programs},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process,
        MemoryWatch(process.pid) as watch,
    ):
        try:
            assert process.stdout is not None
            if not any(line.strip() == FIRST for line in process.stdout):
                raise click.ClickException(f"{contender.name} ended without a result.")
            return time.perf_counter() - began, watch
        finally:
            watch.end_tree()
            process.kill()
            shutil.rmtree(work, ignore_errors=True)


def _result(contender: Contender, seconds: list[float], watch: MemoryWatch) -> Result:
    """The figures in the form that all benchmarks share; the rate has the start in it."""
    middle = statistics.median(seconds)
    spread = f"{min(seconds):.2f} to {max(seconds):.2f} s in {len(seconds)} starts"
    return Result(
        contender=contender.name,
        events=EVENTS,
        output_rows=EVENTS,
        events_per_s=round(EVENTS / middle, 1),
        peak_rss_mb=watch.peak_mb(),
        jvm_rss_mb=watch.peak_mb(JVM),
        worker_rss_mb=watch.peak_mb(WORKERS),
        first_result_s=round(middle, 2),
        wall_s=round(middle, 2),
        keys=KEYS,
        note=f"{spread}; {contender.note}",
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--rounds", default=7, show_default=True)
@click.option("--only", multiple=True, help="run just this one; may be given again")
def main(rounds: int, only: tuple[str, ...]) -> None:
    """Measure, print and save."""
    end_in_order()
    wanted = [contender for contender in CONTENDERS if not only or contender.name in only]
    present = [contender for contender in wanted if contender.interpreter]
    absent = {
        contender.name: f"not run: {contender.interpreter_variable} names no interpreter"
        for contender in wanted
        if not contender.interpreter
    }
    create_archive()
    seconds: dict[str, list[float]] = {contender.name: [] for contender in present}
    watches: dict[str, MemoryWatch] = {}
    for number in range(rounds + 1):
        for contender in present:
            taken, watches[contender.name] = first_result(contender)
            Console(stderr=True).print(f"round {number}: {contender.name} {taken:.2f} s")
            if number:
                seconds[contender.name].append(taken)
    command = f"python -m benchmarks.{NAME} --rounds {rounds}"
    results = [
        _results.stamp(_result(one, seconds[one.name], watches[one.name]), command)
        for one in present
    ]
    order = [contender.name for contender in CONTENDERS]
    known = _results.save(NAME, results, order, partial=bool(only))
    _results.show(f"First result of a small job, {_results.machine()}", known, absent)


if __name__ == "__main__":
    main()
