"""Programs that are killed when they have done some micro-batches."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def lines_below(directory: Path) -> list[str]:
    parts = [path for path in directory.rglob("*") if path.is_file()]
    visible = [path for path in parts if ".scurry" not in path.parts]
    return [line for path in visible for line in path.read_text().splitlines()]


def run_and_kill(command: list[str], batches: int | None, delay: float) -> bool:
    """Run until so many micro-batches are done, then kill; whether the job finished instead."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src")}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**environment, "SCURRY_MASTER": "local[2]"},
    )
    assert process.stdout is not None
    finished = False
    with process.stdout:
        for line in process.stdout:
            finished = finished or line.startswith("finished")
            batches = None if batches is None else batches - line.startswith("batch")
            if batches == 0:
                time.sleep(delay)
                os.killpg(process.pid, signal.SIGKILL)
                break
    process.wait()
    return finished
