"""What the contenders of the latency benchmark share: options, due times, a file of latencies.

Record *i* of a partition is due at ``start + i / rate``; whoever makes the records puts that time
into them, and whoever receives them at the end notes when they came. Only the standard library is
used, so that any interpreter can run a contender.
"""

from __future__ import annotations

import argparse
import array
import os
import time
from pathlib import Path

#: Seconds between two writes of latencies.
_WRITE_SECONDS = 0.5


def options() -> argparse.ArgumentParser:
    """The options that every contender takes."""
    made = argparse.ArgumentParser()
    made.add_argument("--work", type=Path, required=True, help="empty directory to use")
    made.add_argument(
        "--rate", type=float, required=True, help="events/s in all; 0 for all at once"
    )
    made.add_argument("--keys", type=int, default=10_000)
    made.add_argument("--shape", choices=("one", "two", "windows", "timers"), default="one")
    made.add_argument("--seconds", type=float, required=True, help="how long events are made")
    made.add_argument("--parallelism", type=int, default=2)
    made.add_argument("--interval-ms", type=int, default=1000, help="between checkpoints")
    made.add_argument("--option", action="append", default=[], help="key=value of the engine")
    return made


def key_of(number: int, keys: int) -> int:
    """The key of record ``number``."""
    return (number * 2654435761 & 0xFFFFFFFF) % keys


class Latencies:
    """Notes when records came: pairs of microseconds, when a record came and when it was due."""

    def __init__(self, directory: Path) -> None:
        path = directory / f"latencies-{os.getpid()}-{time.time_ns()}"
        self._file = path.open("ab", buffering=0)
        self._held = array.array("q")
        self._next = 0.0

    def note(self, due: list[int]) -> None:
        """Records came that were due at those times."""
        now = time.time()
        pairs = array.array("q", bytes(16 * len(due)))
        pairs[::2] = array.array("q", [int(now * 1e6)]) * len(due)
        pairs[1::2] = array.array("q", due)
        self._held.extend(pairs)
        if now > self._next:
            self.write()
            self._next = now + _WRITE_SECONDS

    def write(self) -> None:
        """Have all in the file."""
        self._held.tofile(self._file)
        del self._held[:]
