"""Drivers that were paused, and are woken while another one runs.

A driver that is paused gives no sign of life, so the next one may take its checkpoint over once the
duration of the lease is over. The sleeper is woken when the other has got somewhere. It must then
end by itself, saying why, and what it does on the way must not show in any result.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from tests.faults.process import Driver

#: How long a lease lasts without a sign of life, as the jobs under fault have it.
LEASE = "4 s"
_PATIENCE_SECONDS = 120.0


class Sleepers:
    """The paused drivers of a job; ``root`` holds its log."""

    def __init__(self, root: Path) -> None:
        self._log = root / "driver.log"
        root.mkdir(parents=True, exist_ok=True)
        self._log.touch()
        self._asleep: list[Driver] = []

    def add(self, driver: Driver) -> None:
        """``driver`` has been paused."""
        self._asleep.append(driver)

    def start(self, make: Callable[[], Driver]) -> Driver:
        """Start a driver, again and again as long as it is refused because of a sleeper."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            refused = self._said("is in use")
            driver = _got_going(make())
            if driver.alive or driver.finished or self._said("is in use") == refused:
                return driver
            driver.end()
            if not self._asleep or time.monotonic() > deadline:
                raise SystemExit(f"A driver was refused.\n{self._tail()}")

    def wake(self) -> int:
        """Wake all sleepers, and wait for their end; the restarts that they had."""
        restarts = 0
        for driver in self._asleep:
            told = self._said("has taken over")
            _signal(driver.process.pid, signal.SIGCONT)
            driver.wait_until(lambda: False, _PATIENCE_SECONDS)
            if driver.alive or driver.finished or self._said("has taken over") == told:
                driver.end()
                raise SystemExit(f"A driver that was woken did not give up.\n{self._tail()}")
            driver.end()
            restarts += driver.restarts
        self._asleep = []
        return restarts

    def end(self) -> None:
        """Leave none of them behind."""
        for driver in self._asleep:
            _signal(driver.process.pid, signal.SIGKILL)
            driver.end()
        self._asleep = []

    def _said(self, words: str) -> int:
        return self._log.read_text(errors="replace").count(words)

    def _tail(self) -> str:
        return self._log.read_text(errors="replace")[-6000:]


def _got_going(driver: Driver) -> Driver:
    driver.wait_until(lambda: driver.batch >= 0 or driver.finished)
    return driver


def pause(pid: int) -> None:
    """Stop a driver with its JVM and its workers, wherever they are."""
    _signal(pid, signal.SIGSTOP)


def _signal(pid: int, sign: signal.Signals) -> None:
    """Send ``sign`` to a driver and to all that it has started and that is still there.

    The driver goes first, and may have ended one of its workers before that worker's turn comes.
    """
    for process in _tree(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(sign)


def _tree(pid: int) -> list[psutil.Process]:
    try:
        driver = psutil.Process(pid)
        return [driver, *driver.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def refused(driver: Driver, root: Path) -> bool:
    """Whether ``driver``, just started beside one that runs, is refused and says so."""
    log = root / "driver.log"
    told = log.read_text(errors="replace").count("is in use")
    driver.wait_until(lambda: driver.batch >= 0, _PATIENCE_SECONDS)
    gave_up = not driver.alive and driver.batch < 0
    driver.end()
    return gave_up and log.read_text(errors="replace").count("is in use") > told
