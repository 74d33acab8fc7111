"""Placing what functions emit: every emitted record takes the place of what caused it.

A record emitted for a record stands where that record stood; one emitted by a timer stands at the
timer's own time, before the records that arrived once the watermark had passed it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scurry.runtime.batch import MIN_WATERMARK, NO_TIMESTAMP, TIMER_TICK, Batch, origins


class Output:
    """Collects what calls emit, and which call emitted it, to place it in the stream."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        #: per call: the record's number in the batch, or -(n+1) for the n-th timer fired
        self.source: list[int] = []
        self.ends: list[int] = []
        #: per timer: time, watermark in force, place
        self.fired: list[tuple[int, int, int]] = []

    def batch(self, batch: Batch | None) -> Batch:
        """The emitted records, each in the place of what caused it."""
        origin = origins(self.ends, np.array(self.source, dtype=np.int64))
        if batch is not None and not self.fired:
            return batch.spread(self.values, origin)
        fired = np.array(self.fired or [(0, 0, 0)], dtype=np.int64)
        timer = origin < 0
        which = np.where(timer, -origin - 1, 0)
        record = np.where(timer, 0, origin)
        placed = Batch(self.values)
        columns = (("ts", fired[:, 0]), ("wm", fired[:, 1]), ("pos", fired[:, 2]))
        for name, of_timers in columns:
            of_records = None if batch is None else getattr(batch, name)
            if of_records is None:
                of_records = np.array([NO_TIMESTAMP if name == "ts" else MIN_WATERMARK])
                setattr(placed, name, np.where(timer, of_timers[which], of_records[0]))
            else:
                setattr(placed, name, np.where(timer, of_timers[which], of_records[record]))
        ticks = None if batch is None else batch.tick
        record_ticks = np.zeros(1, dtype=np.int64) if ticks is None else ticks
        placed.tick = np.where(timer, TIMER_TICK, record_ticks[record if ticks is not None else 0])
        return placed


def explained(failure: Exception, function: Any) -> Exception:
    """Says what to return when a function returned something that is not an iterable."""
    trace = failure.__traceback__
    in_engine = trace is not None and trace.tb_next is None
    if isinstance(failure, TypeError) and in_engine and "not iterable" in str(failure):
        return TypeError(
            f"{type(function).__name__} returned something that is {failure}; "
            "yield the results, or return a list of them, or None for nothing"
        )
    return failure
