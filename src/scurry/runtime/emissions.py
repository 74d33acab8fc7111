"""What a call of user code emits, and where in the stream it belongs.

A record emitted for a record stands in that record's place; one emitted by a timer stands at the
timer's own time. Calls are noted as they happen, columns are made once per batch.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from scurry.runtime.batch import MIN_WATERMARK, NO_TIMESTAMP, TIMER_TICK, Batch, origins


class Emissions:
    """Collects what calls emit, and which call emitted it, to place it in the stream."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        #: per call: the record's number in the batch, or -(n+1) for the n-th timer fired
        self.source: list[int] = []
        self.ends: list[int] = []
        #: per timer: time, watermark in force, place
        self.fired: list[tuple[int, int, int]] = []
        #: per call, if the operator decides timestamps itself: that of what the call emitted
        self.stamps: list[int] = []
        #: whether it is known that nothing of this goes to a side output
        self.untagged = False

    def fired_at(self, time: int, watermark: int) -> None:
        """An event-time timer fires, in a stream that stands at ``watermark``: downstream, what it
        emits comes before the watermark that made it due."""
        if time > watermark:
            self.fired.append((time, time - 1, time))
        else:
            self.fired.append((time, watermark, watermark + 1))

    def batch(self, batch: Batch | None) -> Batch:
        """The emitted records, each in the place of what caused it."""
        placed = self._placed(batch)
        if self.stamps:
            placed.ts = origins(self.ends, np.array(self.stamps, dtype=np.int64))
        return placed

    def _placed(self, batch: Batch | None) -> Batch:
        origin = origins(self.ends, np.array(self.source, dtype=np.int64))
        if batch is not None and not self.fired:
            return batch.spread(self.values, origin)
        fired = np.zeros((1, 3), dtype=np.int64)
        if self.fired:
            flat = chain.from_iterable(self.fired)
            fired = np.fromiter(flat, dtype=np.int64, count=3 * len(self.fired)).reshape(-1, 3)
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
