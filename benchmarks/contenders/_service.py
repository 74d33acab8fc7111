"""A service that takes its time, and what asking it costs.

Asking is ``asyncio.sleep``: it costs next to nothing itself, so what is measured is the engine. The
CPU that a worker process has used, by the calls it has made since the first, is written to a file
now and then; whoever started the workers adds the files up.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from pathlib import Path

_EVERY = 250


class SlowService:
    """Answers every question with the question, after ``seconds``."""

    def __init__(self, seconds: float, notes: str) -> None:
        self.seconds = seconds
        self.notes = notes
        self.calls = 0
        self.began = (0.0, 0.0)

    async def ask(self, question: int) -> int:
        """The answer."""
        if not self.calls:
            self.began = (time.time(), time.process_time())
        self.calls += 1
        if self.calls % _EVERY == 0:
            self.write()
        await asyncio.sleep(self.seconds)
        return question

    def write(self) -> None:
        """Note what this process has done so far."""
        note = {
            "first": self.began[0],
            "calls": self.calls,
            "cpu_s": time.process_time() - self.began[1],
        }
        Path(self.notes, f"{os.getpid()}-{id(self)}.json").write_text(json.dumps(note))


def read_notes(directory: Path) -> tuple[float, float]:
    """When the first call was made, and microseconds of CPU per call."""
    notes = [json.loads(file.read_text()) for file in directory.iterdir()]
    calls = sum(note["calls"] for note in notes)
    cpu_us = 1e6 * sum(note["cpu_s"] for note in notes) / calls
    return min(note["first"] for note in notes), round(cpu_us, 1)
