"""Ctrl-C and SIGTERM end a job in good order.

The first signal lets the micro-batch under way come to its end: the batch is committed, the sinks
are closed, and the program ends with one line and the exit code that shells know for the signal. A
second signal ends the process at once; what was not committed is done again by the next start.

Without a handler of its own a program would be worse off: PySpark's handler for Ctrl-C cancels
Spark's jobs, which makes the micro-batch fail, and SIGTERM would end the driver wherever it is.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Interruption:
    """Which signal a job got, if any."""

    def __init__(self, job: str, stop: Callable[[], Any]) -> None:
        self._job = job
        self._stop = stop
        self.signal: signal.Signals | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Called in the main thread when a signal comes."""
        if self.signal is not None:
            _say(f"Job {self._job!r} was ended at once.")
            os._exit(128 + number)
        self.signal = signal.Signals(number)
        _say(
            f"Job {self._job!r} stops after the micro-batch under way "
            f"({_NAMES[self.signal]}); a second signal ends it at once."
        )
        self._stop()

    def conclude(self) -> None:
        """The job has ended: end the program as the signal asks, if there was one."""
        if self.signal is None:
            return
        _say(f"Job {self._job!r} was stopped; all it has processed is committed.")
        if self.signal is signal.SIGTERM:
            raise SystemExit(128 + self.signal)
        # of this very class: Python ends a script by the signal only then
        interrupted = KeyboardInterrupt(f"job {self._job!r} was stopped")
        _hide_traceback(interrupted)
        raise interrupted


@contextmanager
def interruptible(job: str, stop: Callable[[], Any]) -> Iterator[Interruption]:
    """While the body waits for the end of ``job``, signals call ``stop``. Signals reach the main
    thread only, so in another thread this does nothing."""
    interruption = Interruption(job, stop)
    if threading.current_thread() is not threading.main_thread():
        yield interruption
        return
    before = {number: signal.signal(number, interruption) for number in _SIGNALS}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(line: str) -> None:
    # not by sys.stderr: a second signal may come while it is being written to, which it refuses
    with suppress(OSError):
        os.write(2, f"{line}\n".encode())


def _hide_traceback(of: BaseException) -> None:
    """Print no traceback if the exception ``of`` ends the program: one line about the signal has
    been printed already, and says all there is to say."""
    shown = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if error is not of:
            shown(kind, error, trace)

    sys.excepthook = hook
