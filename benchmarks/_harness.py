"""Runs contenders one after the other, each in a process of its own, and checks what they report.

A process of its own keeps apart what must not be shared: start-up time, memory, JVM settings, and
interpreters. While a contender runs, the memory of its whole process tree is sampled. Its standard
output carries the protocol (:mod:`benchmarks.contenders._protocol`); everything else goes to a log.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks._memory import JVM, OWN, WORKERS, MemoryWatch
from benchmarks._results import OUT, ROOT, Result
from benchmarks.contenders._protocol import STARTED_VARIABLE

_LOG_LINES = 12


class ContenderFailed(Exception):
    """A contender did not run to its end, or its result is wrong."""


@dataclass(frozen=True)
class Contender:
    """A program to measure.

    ``most_events`` is what a slow one gets of the input at most. ``interpreter_variable`` names the
    environment variable that holds the interpreter it needs; None means this one.
    """

    name: str
    module: str
    options: tuple[str, ...] = ()
    note: str = ""
    most_events: int | None = None
    interpreter_variable: str | None = None
    reads_csv: bool = False
    timeout_s: int = 600

    def interpreter(self, environment: Mapping[str, str]) -> str | None:
        """The interpreter to run it with, None if there is none."""
        if self.interpreter_variable is None:
            return sys.executable
        return environment.get(self.interpreter_variable) or None

    def with_options(self, more: tuple[str, ...]) -> Contender:
        """The same with further options."""
        return replace(self, options=(*self.options, *more))

    def why_skipped(self) -> str:
        """What is missing when there is no interpreter."""
        return f"skipped, because {self.interpreter_variable} does not name an interpreter"

    def events(self, wanted: int) -> int:
        """How many events it gets when ``wanted`` were asked for."""
        return wanted if self.most_events is None else min(wanted, self.most_events)


def run(
    contender: Contender, data: Path, events: int, checksum: int, rows: int | None = None
) -> Result:
    """Run ``contender`` over ``data`` and check its result; raises ContenderFailed. ``rows`` is how
    many rows must come out, one for each event if it is None."""
    interpreter = contender.interpreter(os.environ)
    assert interpreter is not None
    work = OUT / "work" / contender.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    command = [interpreter, "-m", f"benchmarks.contenders.{contender.module}"]
    command += ["--data", str(data), "--work", str(work), "--events", str(events)]
    log = OUT / "logs" / f"{contender.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("w") as errors:
            outcome = _measure(contender, [*command, *contender.options], events, errors)
    except ContenderFailed as failure:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])
        raise ContenderFailed(f"{failure} Its log, {log}, ends:\n{tail}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    check(outcome, events, checksum, rows)
    return _result(contender, outcome)


def check(outcome: dict[str, Any], events: int, checksum: int, rows: int | None = None) -> None:
    """See that what should came out, and that the counts add up."""
    rows = events if rows is None else rows
    for what, expected in (("events", events), ("output_rows", rows), ("checksum", checksum)):
        found = outcome[what]
        if found != expected and not (what == "checksum" and found is None):
            raise ContenderFailed(f"It reports {what} = {found}, expected {expected}.")


def _measure(contender: Contender, command: list[str], events: int, errors: Any) -> dict[str, Any]:
    began = time.time()
    # workers have to find the modules of a contender too
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, STARTED_VARIABLE: repr(began), "PYTHONPATH": path}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
    )
    watch = MemoryWatch(process.pid)
    timed_out = threading.Event()

    def give_up() -> None:
        timed_out.set()
        watch.end_tree()

    late = threading.Timer(contender.timeout_s, give_up)
    late.start()
    try:
        with process, watch:
            result = _listen(contender.name, process, events, errors)
            code = process.wait()
        ended = time.time()
    finally:
        late.cancel()
        watch.end_tree()
    if result is None or code != 0:
        late_by = f"ran out of its {contender.timeout_s} s"
        reason = late_by if timed_out.is_set() else f"ended with {code}"
        raise ContenderFailed(f"The process {reason}.")
    return {
        **result,
        "wall_s": ended - began,
        "peak_rss_mb": watch.peak_mb(),
        "jvm_rss_mb": watch.peak_mb(JVM),
        "worker_rss_mb": watch.peak_mb(WORKERS),
        "worker_own_mb": watch.peak_mb(OWN),
    }


def _listen(
    name: str, process: subprocess.Popen[str], events: int, errors: Any
) -> dict[str, Any] | None:
    """Follow what the process says; its result, if it gave one."""
    result = None
    assert process.stdout is not None
    bar = Progress(
        SpinnerColumn(finished_text=" "),
        TextColumn("{task.description:<26}"),
        BarColumn(30),
        TextColumn("{task.completed:>12,.0f} events"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task(name, total=events)
        for line in process.stdout:
            message = parse(line)
            if "progress" in message:
                bar.update(task, completed=message["progress"])
            elif "result" in message:
                result = message["result"]
            else:
                errors.write(line)
        if result is not None:
            bar.update(task, completed=result["events"])
    return result


def parse(line: str) -> dict[str, Any]:
    """A line of a contender's output as a message; empty if it is something else."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _result(contender: Contender, outcome: dict[str, Any]) -> Result:
    notes = [contender.note, outcome["note"]]
    return Result(
        contender=contender.name,
        events=outcome["events"],
        output_rows=outcome["output_rows"],
        events_per_s=round(outcome["steady_events"] / max(outcome["steady_s"], 1e-6)),
        peak_rss_mb=outcome["peak_rss_mb"],
        jvm_rss_mb=outcome["jvm_rss_mb"],
        worker_rss_mb=outcome["worker_rss_mb"],
        worker_own_mb=outcome.get("worker_own_mb", 0),
        first_result_s=round(outcome["first_result_s"], 2),
        wall_s=round(outcome["wall_s"], 2),
        note="; ".join(note for note in notes if note),
        cpu_us=outcome.get("cpu_us"),
    )
