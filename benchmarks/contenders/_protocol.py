"""How a contender talks to the harness: options in, one JSON object a line out.

A line with ``progress`` says how many events have come out so far; the one with ``result`` is the
last. Only the standard library is used, so that any interpreter can run a contender.

The *steady rate* is taken between the first and the last mark: for an engine of micro-batches
these are the ends of its first and last batch, so that starting up, compiling and the first batch
are left out of the rate (``first_result_s`` and ``wall_s`` tell about them).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

#: When the harness started the process, in seconds since the epoch.
STARTED_VARIABLE = "SCURRY_BENCH_STARTED"


class Options(argparse.ArgumentParser):
    """The options every contender takes; add its own, then ``parse_args``."""

    def __init__(self) -> None:
        super().__init__()
        self.add_argument("--data", type=Path, required=True, help="directory of input files")
        self.add_argument("--work", type=Path, required=True, help="empty directory to use")
        self.add_argument("--events", type=int, required=True, help="rows in the input")
        self.add_argument("--parallelism", type=int, default=os.cpu_count() or 1)


def padded(count: int, size: int) -> bytes:
    """A count within a value of ``size`` bytes that does not compress to nothing."""
    filler = (count * 0x9E3779B97F4A7C15 + 1) % (1 << 8 * (size - 8))
    return count.to_bytes(8, "big") + filler.to_bytes(size - 8, "big")


def count_of(value: bytes | None) -> int:
    """The count within :func:`padded`'s value, 0 if there is none."""
    return 0 if value is None else int.from_bytes(value[:8], "big")


class Measurement:
    """Marks of one run, and its result."""

    def __init__(self) -> None:
        self._started = float(os.environ.get(STARTED_VARIABLE) or time.time())
        self._marks: list[tuple[float, int]] = []
        self._first_result: float | None = None

    def mark(self, events: int, at: float | None = None) -> None:
        """``events`` have come out by now, or by ``at`` (seconds since the epoch)."""
        self._marks.append((time.time() if at is None else at, events))
        self.show(events)

    def first_result(self, at: float) -> None:
        """The first record came out at ``at``, and not at the first mark."""
        self._first_result = at

    def show(self, events: int) -> None:
        """Let the harness show progress, without taking a mark."""
        _say({"progress": events})

    def finish(
        self,
        *,
        events: int,
        output_rows: int,
        checksum: int | None = None,
        note: str = "",
        cpu_us: float | None = None,
    ) -> None:
        """Report the result. ``checksum`` is the sum of all counts in the output, None if the
        contender does not count; ``note`` adds what was found while running; ``cpu_us`` is the CPU
        of its Python workers per event, if it was measured."""
        first, first_events = self._marks[0]
        last, last_events = self._marks[-1]
        if len(self._marks) == 1:
            first, first_events = self._started, 0
            note = "; ".join(filter(None, (note, "a single batch: the rate includes start-up")))
        result: dict[str, Any] = {
            "events": events,
            "output_rows": output_rows,
            "checksum": checksum,
            "steady_events": last_events - first_events,
            "steady_s": last - first,
            "first_result_s": (self._first_result or self._marks[0][0]) - self._started,
            "note": note,
            "cpu_us": cpu_us,
        }
        _say({"result": result})


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)
