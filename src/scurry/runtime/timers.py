"""Timers: a queue per operator, slot and time domain, durable, in order of time.

Stored timers lie in the local store under their timestamp, so the due ones are the head of a range
scan and a million future timers cost nothing. Timers set during the micro-batch wait in a heap
above. Both are merged as time passes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.runtime.batch import MAX_WATERMARK
from scurry.state.encoding import decode, encode
from scurry.state.journal import Change, RecordReader
from scurry.state.slot_store import SlotStore
from scurry.state.table import address

_BIAS = 1 << 63
#: The two clocks that timers can follow.
EVENT, PROCESSING = "event", "processing"
#: A timer: its time, where its key lives, the key.
Timer = tuple[int, bytes, Any]


class TimerQueue:
    """Timers of one operator and slot in one time domain, ordered by time, key group and key."""

    def __init__(
        self, name: str, store: RecordReader, max_parallelism: int, domain: str = EVENT
    ) -> None:
        self.name = name
        self.domain = domain
        #: no timer is due before this time; may be too early, never too late
        self.next_due = MAX_WATERMARK + 1
        self._store = store
        self._max_parallelism = max_parallelism
        self._heap: list[Timer] = []
        self._set: dict[tuple[int, bytes], Any] = {}
        self._gone: dict[tuple[int, bytes], None] = {}
        self._scanned: int | None = None

    def begin(self) -> None:
        """A micro-batch starts: see when the first stored timer is due."""
        if self._scanned is None:
            self._scanned = -_BIAS - 1
            self._look_ahead()

    def register(self, time: int, key: Any) -> None:
        """Set a timer; setting it twice changes nothing."""
        place = (time, address(key, self._max_parallelism))
        if place in self._set:
            return
        self._set[place] = key
        heapq.heappush(self._heap, (*place, _Opaque(key)))
        if time < self.next_due:
            self.next_due = time

    def delete(self, time: int, key: Any) -> None:
        """Forget a timer, set in this micro-batch or earlier."""
        place = (time, address(key, self._max_parallelism))
        self._set.pop(place, None)
        if self._store.get(self.name, _row(place)) is not None:
            self._gone[place] = None

    def pop_due(self, time: int) -> tuple[int, Any] | None:
        """The earliest timer at or before ``time``, removed; None if there is none."""
        if self._scanned is not None and self._scanned < time:
            self._scan_to(time)
        while self._heap and self._heap[0][0] <= time:
            when, where, held = heapq.heappop(self._heap)
            place = (when, where)
            key = self._set.pop(place, self)
            if key is not self:
                if self._store.get(self.name, _row(place)) is not None:
                    self._gone[place] = None
                return when, key
            if held.stored and place not in self._gone:
                self._gone[place] = None
                return when, held.key
        self._look_ahead()
        return None

    def _scan_to(self, time: int) -> None:
        """Bring stored timers up to ``time`` into the heap."""
        assert self._scanned is not None
        start = _time(self._scanned + 1)
        for row, record in self._store.scan(self.name, start):
            when = int.from_bytes(row[:8], "big") - _BIAS
            if when > time:
                break
            place = (when, bytes(row[8:]))
            if place not in self._set:
                heapq.heappush(self._heap, (*place, _Opaque(decode(record), stored=True)))
        self._scanned = time

    def _look_ahead(self) -> None:
        upcoming = self._heap[0][0] if self._heap else MAX_WATERMARK + 1
        if self._scanned is not None and self._scanned < MAX_WATERMARK:
            for row, _ in self._store.scan(self.name, _time(self._scanned + 1)):
                upcoming = min(upcoming, int.from_bytes(row[:8], "big") - _BIAS)
                break
        self.next_due = upcoming

    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        for place in self._gone:
            if place not in self._set:
                yield self.name, _row(place), None
        for place, key in self._set.items():
            yield self.name, _row(place), encode(key)

    def settle(self) -> None:
        """The changes are in the store now."""
        self.forget()

    def forget(self) -> None:
        """Nothing in memory may be trusted any more."""
        self._heap.clear()
        self._set.clear()
        self._gone.clear()
        self._scanned = None
        self.next_due = MAX_WATERMARK + 1

    def pending(self) -> list[tuple[int, Any]]:
        """All timers in order, for tests and for showing state."""
        found = {
            (int.from_bytes(row[:8], "big") - _BIAS, bytes(row[8:])): decode(record)
            for row, record in self._store.scan(self.name)
        }
        for place in self._gone:
            found.pop(place, None)
        found.update(self._set)
        return [(time, found[time, where]) for time, where in sorted(found)]


def timer_queue(store: SlotStore, uid: str, domain: str) -> TimerQueue:
    """The timers of operator ``uid`` in one time domain."""
    name = f"{uid}\x1f#{domain}-timers"
    return store.part(name, lambda: TimerQueue(name, store.local, store.max_parallelism, domain))


def timer_time(timestamp: Any) -> int:
    """``timestamp``, if a timer can be set at it."""
    if isinstance(timestamp, (int, np.integer)) and not isinstance(timestamp, bool):
        return int(timestamp)
    raise ProgramError(
        f"A timer needs a whole number of milliseconds, got {timestamp!r} "
        f"({type(timestamp).__name__})."
    )


class _Opaque:
    """A key inside a heap entry: never compared, because its place decides before it."""

    __slots__ = ("key", "stored")

    def __init__(self, key: Any, stored: bool = False) -> None:
        self.key = key
        self.stored = stored

    def __lt__(self, other: object) -> bool:
        return False


def _time(time: int) -> bytes:
    return (time + _BIAS).to_bytes(8, "big")


def _row(place: tuple[int, bytes]) -> bytes:
    return _time(place[0]) + place[1]
