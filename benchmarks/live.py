"""How long a record takes: a keyed count under a steady load, live, in micro-batches, in PyFlink.

Records are due at a steady rate, and a record's latency is the time from then until the sink has
its result. All contenders make the records the same way, keep state durably with a checkpoint every
second, and are measured the same way, one after the other, each in a process of its own. With
``--rate 0`` records are made as fast as they are taken, and what counts is how many that is.

Shapes: ``one`` keyed stage, ``two`` of them, ``windows`` of 100 ms with a process function (a
result is due when its window ends, so the wait for that is not in its latency), ``timers``: an
event-time timer for each record, for which only ``--rate 0`` says something. A million keys are
``--shape one --keys 1000000``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from benchmarks import _results
from benchmarks._ending import end_in_order
from benchmarks._harness import ContenderFailed
from benchmarks._memory import JVM, WORKERS, MemoryWatch
from benchmarks._results import OUT, ROOT, Result
from scurry.testing.servers import free_port

NAME = "live"
_SLOTS = 2


@dataclass(frozen=True)
class Contender:
    """A program to measure."""

    name: str
    module: str
    options: tuple[str, ...] = ()
    note: str = ""
    #: seconds from its start until records are due
    start_s: float = 30.0
    #: the variable that names its interpreter, if that is not this one
    interpreter_variable: str = ""
    #: what it cannot keep up with is not asked of it
    most_rate: float = float("inf")
    shapes: tuple[str, ...] = ("one", "two", "windows")

    @property
    def interpreter(self) -> str | None:
        """The interpreter to run it with, None if there is none."""
        variable = self.interpreter_variable
        return os.environ.get(variable) if variable else sys.executable


_OURS = ("one", "two", "windows", "timers")
CONTENDERS = (
    Contender(
        "scurry", "live_scurry", ("execution.engine=live",), "live, 4 ms linger", shapes=_OURS
    ),
    Contender(
        "scurry_no_linger",
        "live_scurry",
        ("execution.engine=live", "execution.live.linger=0 ms"),
        "live, no linger",
        shapes=_OURS,
    ),
    Contender("scurry_micro_batch", "live_scurry", (), "micro-batches", shapes=_OURS),
    Contender(
        "pyflink_thread",
        "live_pyflink",
        note="thread mode, RocksDB, buffers and bundles of 1 ms",
        interpreter_variable="SCURRY_PYFLINK_PYTHON",
        most_rate=20_000,
    ),
    Contender(
        "pyflink_process",
        "live_pyflink",
        ("python.execution-mode=process",),
        "process mode, RocksDB, buffers and bundles of 1 ms",
        interpreter_variable="SCURRY_PYFLINK_PYTHON",
        most_rate=20_000,
    ),
    Contender(
        "flink_sql",
        "live_flink_sql",
        ("execution.buffer-timeout.interval=100 ms",),
        "Flink SQL, RocksDB, buffers of 100 ms, as by default",
        start_s=40.0,
        interpreter_variable="SCURRY_PYFLINK_PYTHON",
        most_rate=20_000,
        shapes=("one", "two"),
    ),
    Contender(
        "flink_sql_1_ms",
        "live_flink_sql",
        note="Flink SQL, RocksDB, buffers of 1 ms",
        start_s=40.0,
        interpreter_variable="SCURRY_PYFLINK_PYTHON",
        most_rate=20_000,
        shapes=("one", "two"),
    ),
    Contender(
        "bytewax",
        "live_bytewax",
        note="two processes, recovery with epochs of a second",
        start_s=8.0,
        interpreter_variable="SCURRY_BYTEWAX_PYTHON",
        shapes=("one", "two"),
    ),
)


def measure(
    contender: Contender, rate: float, keys: int, shape: str, seconds: float, warm: float
) -> Result:
    """Run ``contender``, and look at the records of the last ``seconds``."""
    work = OUT / "work" / contender.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    started = time.time()
    start = started + contender.start_s
    (work / "start").write_text(repr(start))
    (work / "port").write_text(str(free_port()))
    assert contender.interpreter is not None
    command = [contender.interpreter, "-m", f"benchmarks.contenders.{contender.module}"]
    command += ["--work", str(work), "--rate", str(rate), "--keys", str(keys), "--shape", shape]
    command += ["--seconds", str(warm + seconds), "--parallelism", str(_SLOTS)]
    command += [part for option in contender.options for part in ("--option", option)]
    log = OUT / "logs" / f"live-{contender.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": path}
    with log.open("w") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=errors,
            stderr=errors,
            start_new_session=True,
        )
    with MemoryWatch(process.pid) as watch:
        try:
            time.sleep(max(0.0, start + warm + seconds + 1 - time.time()))
        finally:
            memory = (watch.peak_mb(), watch.peak_mb(JVM), watch.peak_mb(WORKERS))
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    result = _look(contender, work, started, start + warm, start + warm + seconds, memory)
    shutil.rmtree(work, ignore_errors=True)
    return result


def _look(
    contender: Contender,
    work: Path,
    started: float,
    begin: float,
    end: float,
    memory: tuple[int, int, int],
) -> Result:
    files = [np.fromfile(path, np.int64) for path in work.glob("latencies-*")]
    found = np.concatenate([each[: len(each) // 2 * 2] for each in files or [np.empty(0)]])
    pairs = found.reshape(-1, 2)
    if not len(pairs):
        raise ContenderFailed("it has written nothing; see its log")
    first = pairs[:, 0].min() / 1e6
    came = pairs[(pairs[:, 0] >= begin * 1e6) & (pairs[:, 0] < end * 1e6)]
    latency = (came[:, 0] - came[:, 1]) / 1000
    p50, p99, most = np.percentile(latency, [50, 99, 100]) if len(latency) else (0, 0, 0)
    return Result(
        contender=contender.name,
        events=len(pairs),
        output_rows=len(came),
        events_per_s=round(len(came) / (end - begin)),
        peak_rss_mb=memory[0],
        jvm_rss_mb=memory[1],
        worker_rss_mb=memory[2],
        first_result_s=round(first - started, 2),
        wall_s=round(end - started, 2),
        note=contender.note,
        p50_ms=round(float(p50), 2),
        p99_ms=round(float(p99), 2),
        max_ms=round(float(most), 2),
    )


def _compare(results: list[Result]) -> None:
    """Say of each how its 99th percentile compares with the live engine's."""
    ours = next((result.p99_ms for result in results if result.contender == "scurry"), None)
    for result in results:
        if ours and result.p99_ms and result.contender != "scurry" and "; p99" not in result.note:
            result.note += f"; p99 {result.p99_ms / ours:,.1f} times that of scurry"


@click.command(help=__doc__.splitlines()[0])
@click.option("--rate", default=5000.0, show_default=True, help="events/s; 0 for all at once")
@click.option("--keys", default=10_000, show_default=True)
@click.option("--shape", type=click.Choice(_OURS), default="one")
@click.option("--seconds", default=15.0, show_default=True, help="seconds that are measured")
@click.option("--warm", default=8.0, show_default=True, help="seconds before them")
@click.option("--only", multiple=True, help="contenders, by name")
def main(
    rate: float, keys: int, shape: str, seconds: float, warm: float, only: tuple[str, ...]
) -> None:
    """Measure the contenders, one after the other."""
    end_in_order()
    console = Console(stderr=True, highlight=False)
    command = f"python -m benchmarks.{NAME} --rate {rate:g} --keys {keys} --shape {shape}"
    results: list[Result] = []
    absent: dict[str, str] = {}
    order = [each.name for each in CONTENDERS]
    name = NAME
    if (rate, keys, shape) != (5000, 10_000, "one"):
        name = f"{NAME}_{shape}_{rate:g}" + ("" if keys == 10_000 else f"_{keys}")
    for contender in CONTENDERS:
        if only and contender.name not in only:
            continue
        if contender.interpreter is None:
            absent[contender.name] = f"skipped: {contender.interpreter_variable} is not set"
            continue
        if shape not in contender.shapes:
            absent[contender.name] = f"skipped: it has no program for the shape {shape!r}"
            continue
        if rate > contender.most_rate:
            absent[contender.name] = f"skipped: it cannot keep up with {rate:,.0f} events/s"
            continue
        console.print(f"  {contender.name} ...")
        try:
            result = measure(contender, rate, keys, shape, seconds, warm)
        except ContenderFailed as failure:
            absent[contender.name] = f"FAILED. {failure}"
            continue
        results.append(_results.stamp(result, command))
        _compare(results)
        _results.save(name, results, order, partial=True)
    known = _results.save(name, results, order, bool(only))
    _results.show(f"{shape} at {rate:,.0f} events/s, {keys:,} keys", known, absent)


if __name__ == "__main__":
    main()
