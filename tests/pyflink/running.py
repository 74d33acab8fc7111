"""Runs programs written for PyFlink with Scurry, in this process and without a JVM.

Nothing but the imports of a program is changed: ``pyflink`` becomes ``scurry``. What it prints is
compared with what it printed under PyFlink, which `record.py` has kept.
"""

from __future__ import annotations

import contextlib
import io
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from scurry.common.job_client import JobClient
from scurry.common.job_metrics import JobMetrics
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.testing.local import run_local

HERE = Path(__file__).resolve().parent
#: The programs of which it is known what they print under PyFlink.
PROGRAMS = sorted(path.stem for path in (HERE / "expected").glob("*.txt"))


class EndedJob:
    """A job that has run to its end before anybody could ask for it."""

    ended = True
    failure = None

    def __init__(self) -> None:
        self.job_id = uuid.uuid4().hex
        self.totals: dict[str, int] = {}
        self.metrics: dict[str, dict[str, Any]] = {}
        self.job_metrics = JobMetrics(job_id=self.job_id, name="program")
        self.waiting: list[Any] = []

    def wait(self, timeout: float | None = None) -> bool:
        """There is nothing to wait for."""
        return True

    def stop(self) -> None:
        """There is nothing to stop."""


@contextlib.contextmanager
def in_this_process(cuts: int | None = None) -> Iterator[None]:
    """Jobs run to their end at once, in micro-batches of ``cuts`` records."""

    def start(environment: StreamExecutionEnvironment, job_name: str | None = None) -> JobClient:
        run_local(environment, cuts)
        return JobClient(EndedJob())

    with mock.patch.object(StreamExecutionEnvironment, "start", start):
        yield


def source_of(name: str) -> str:
    """A program with its imports changed."""
    text = (HERE / "programs" / f"{name}.py").read_text(encoding="utf-8")
    return re.sub(r"(?m)^(\s*(?:from|import)\s+)pyflink\b", r"\1scurry", text)


def run_program(name: str) -> str:
    """What a program prints."""
    code = compile(source_of(name), f"{name}.py", "exec", dont_inherit=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {"__name__": "__main__", "__file__": f"{name}.py"})
    return printed.getvalue()


def expected(name: str) -> str:
    """What the program printed under PyFlink."""
    return (HERE / "expected" / f"{name}.txt").read_text(encoding="utf-8")
