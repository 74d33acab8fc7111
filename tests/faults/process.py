"""A process that runs a job under fault, seen from outside.

The program prints ``batch <number> <restarts>`` after every micro-batch, ``waiting <text>`` when it
waits for a server, and ``finished`` when the job has ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from scurry.common.fault_points import VARIABLE

REPOSITORY = Path(__file__).parents[2]
#: how long a job may take to complete a micro-batch, a start from nothing included
PATIENCE_SECONDS = 180.0
_NONE: Mapping[str, str] = MappingProxyType({})


class Driver:
    """``python -m <module> <arguments>``, and what it has said so far. ``root`` holds its log, and
    the directory ``faults`` in which points are armed."""

    def __init__(
        self, root: Path, module: str, *arguments: str, variables: Mapping[str, str] = _NONE
    ) -> None:
        path = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY)])
        self.batch, self.restarts = -1, 0
        self.finished = False
        self.waits: list[str] = []
        self.log = (root / "driver.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": path, VARIABLE: str(root / "faults"), **variables},
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                word, _, rest = line.strip().partition(" ")
                if word == "batch":
                    self.batch, self.restarts = map(int, rest.split())
                elif word == "waiting":
                    self.waits.append(rest)
                self.finished = self.finished or word == "finished"

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def wait_until(self, condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> bool:
        """Wait for a condition, the end of the process or the end of patience."""
        deadline = time.monotonic() + seconds
        while not condition() and self.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        return condition()

    def end(self) -> None:
        """Leave nothing of the process behind."""
        if self.alive:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()
