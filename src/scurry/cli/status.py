"""The line at the bottom of the terminal while ``scurry run`` runs a job.

It says how far the job is: micro-batches, records, the rate of the last micro-batch, the watermark,
the size of the state, restarts, and for whom it waits. It goes to stderr, so that what the program
prints can be piped on. Where stderr is no terminal it is a plain line now and then, if asked for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from scurry.datastream import StreamExecutionEnvironment

#: Seconds between two lines where there is no terminal.
_PAUSE_SECONDS = 10.0
#: Watermarks beyond this stand for the beginning or the end of the input.
_FAR = 1 << 60


class StatusLine:
    """Shows the progress of whatever job of this process reported last."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._spinner = Spinner("dots", Text("starting"))
        self._told = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the body runs, jobs are watched."""
        StreamExecutionEnvironment.watch(self.on_progress)
        try:
            if self._console.is_terminal:
                # only a terminal can be shared; a pipe has to get what the program prints, as it is
                shared = sys.stdout.isatty()
                with Live(
                    self._spinner, console=self._console, transient=True, redirect_stdout=shared
                ):
                    yield
            else:
                yield
        finally:
            StreamExecutionEnvironment.watch(None)

    def on_progress(self, progress: Any) -> None:
        """Show ``progress``; called after each micro-batch, and when a wait begins or ends."""
        text = describe(progress)
        if self._console.is_terminal:
            self._spinner.update(text=Text(text))
        elif time.monotonic() - self._told >= _PAUSE_SECONDS:
            self._told = time.monotonic()
            self._console.print(text, markup=False, soft_wrap=True)


def describe(progress: Any) -> str:
    """A job's progress in one line."""
    facts = [f"batch {progress.batch}" if progress.batch >= 0 else "starting"]
    if progress.records_read:
        facts.append(f"{progress.records_read:,} read, {progress.records_written:,} written")
    read = sum(count for name, count in progress.last.items() if name.startswith("read:"))
    if read and progress.last_seconds > 0:
        facts.append(f"{read / progress.last_seconds:,.0f}/s")
    marks = [mark for mark in progress.watermarks.values() if abs(mark) < _FAR]
    if marks:
        facts.append(f"watermark {_time(min(marks))}")
    entries = progress.gauges.get("state_entries", 0)
    if entries:
        facts.append(f"{entries:,} state entries")
    if progress.restarts:
        facts.append(f"{progress.restarts} restarts")
    return "  ".join([*facts, *map(str, progress.waiting)])


def _time(milliseconds: int) -> str:
    try:
        when = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return str(milliseconds)
    return when.strftime("%Y-%m-%d %H:%M:%S")
