"""How many records a micro-batch may read, so that no checkpoint is older than was asked for.

Micro-batches follow one another as fast as they can, and each is a checkpoint. So the checkpoint
interval does not say when one starts; it says how long one may take. One that takes longer makes
the next one smaller, in proportion to the time that its records took. The time that a micro-batch
takes without records cannot be made shorter: if that is most of the interval already, micro-batches
are not made smaller at all, because the job would only get slower.

That time is also why full micro-batches that are over soon are made larger, unless the program has
said how large they are: half of a second may be for Spark, whether there are many records or few.
"""

from __future__ import annotations

from collections.abc import Mapping

from scurry.common.configuration import Configuration
from scurry.common.options import execution, tables

#: The share of the interval that must be left for records.
_LEAST_SHARE = 0.25
#: Seconds below which a full micro-batch is followed by a larger one, and above which one that has
#: grown is followed by a smaller one.
_SHORT, _LONG = 0.7, 2.0
#: How many times as large micro-batches may become.
_MOST_GROWTH = 4


class Pace:
    """Adapts the size of micro-batches to an interval in seconds; None is any length. They have at
    most ``most`` records, or ``growing`` to a multiple of that."""

    def __init__(self, most: int, interval: float | None, growing: bool = False) -> None:
        self._most = self._first = most
        self._last = most * _MOST_GROWTH if growing else most
        self._interval = interval
        #: the most records that a micro-batch may read of a source
        self.limit = most

    def after(self, records: int, seconds: float, phases: Mapping[str, float]) -> int:
        """The most records that the next micro-batch may read of a source, after one that read
        ``records`` of one source, at most, and took ``seconds``; ``phases`` are its parts."""
        self._grow(records, seconds)
        if self._interval is None:
            self.limit = self._most
            return self.limit
        working = sum(
            took for name, took in phases.items() if name.split(" ")[0] in ("ingress", "stage")
        )
        left = self._interval - max(0.0, seconds - working)
        if left < self._interval * _LEAST_SHARE:
            self.limit = self._most
        elif working > left:
            self.limit = max(1, int(records * left / working))
        elif records >= self.limit and working < left / 2:
            self.limit = min(self._most, self.limit * 2)
        return self.limit

    def _grow(self, records: int, seconds: float) -> None:
        if records >= self._most and seconds < _SHORT:
            self._most = min(self._last, self._most * 2)
        elif seconds > _LONG:
            self._most = max(self._first, self._most // 2)


def pause_between_batches(configuration: Configuration) -> int | None:
    """The least time between the starts of two micro-batches in ms, None if there is none. With
    mini-batches of tables it is how long these collect rows."""
    own = execution.BATCH_INTERVAL.read(configuration)
    if own is not None or not tables.MINI_BATCH.read(configuration):
        return own
    return tables.MINI_BATCH_LATENCY.read(configuration) or None
