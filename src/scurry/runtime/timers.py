"""Timers: a queue per operator, slot and time domain, durable, in order of time.

Stored timers lie in the local store under their timestamp, so the due ones are the head of a range
scan and a million future timers cost nothing. They are read ahead in blocks, because the watermark
may move with every record; what the store holds does not change within a micro-batch. Timers set
during the micro-batch wait in a heap. Both are merged as time passes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.runtime.batch import MAX_WATERMARK
from scurry.state.codecs.encoding import decode_key, encode
from scurry.state.freezing import Leftovers
from scurry.state.journal import Change, RecordReader, in_groups
from scurry.state.rescaling import by_key_group
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import address

_BIAS = 1 << 63
#: The two clocks that timers can follow.
EVENT, PROCESSING = "event", "processing"
#: A timer's time, and where its key lives.
Place = tuple[int, bytes]
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 4096
_LONG_ADDRESS = 300
_CACHED_ADDRESSES = 100_000
_NEVER = MAX_WATERMARK + 1
#: Stands for the key of a timer that is not set any more.
_GONE: Any = type("Gone", (), {"__repr__": lambda self: "GONE"})()


class TimerQueue:
    """Timers of one operator and slot in one time domain, ordered by time, key group and key."""

    redistribute = staticmethod(by_key_group(at=8))

    def __init__(
        self,
        name: str,
        store: RecordReader,
        max_parallelism: int,
        domain: str = EVENT,
        on_read: Callable[[list[Any]], None] = lambda keys: None,
    ) -> None:
        self.name = name
        self.domain = domain
        #: told the keys of stored timers some time before they fire
        self._on_read = on_read
        #: no timer is due before this time; may be too early, never too late
        self.next_due = _NEVER
        self._store = store
        self._max_parallelism = max_parallelism
        self._heap: list[Place] = []
        self._set: dict[Place, Any] = {}
        self._gone: dict[Place, None] = {}
        #: what has become of timers since the queue was frozen, None if it is not
        self._since: dict[Place, Any] | None = None
        self._begun = False
        #: stored timers with their keys, the next one last, and the row to read on from
        self._ahead: list[tuple[Place, Any]] = []
        self._resume: bytes | None = None
        self._block = _FIRST_BLOCK
        self._addresses: dict[Any, bytes] = {}

    def begin(self) -> None:
        """A micro-batch starts: see when the first stored timer is due."""
        if not self._begun:
            self._begun = True
            self._block, self._resume = _FIRST_BLOCK, b""
            self._read_ahead()
            if self._ahead:
                self.next_due = min(self.next_due, self._ahead[-1][0][0])

    def _where(self, key: Any) -> bytes:
        """The bytes that stand for ``key`` in addresses, computed once."""
        where = address(key, self._max_parallelism)
        if len(where) > _LONG_ADDRESS:
            where = where[:2] + b"#" + hashlib.blake2b(where, digest_size=32).digest()
        self._addresses[key] = where
        return where

    def register(self, time: int, key: Any) -> None:
        """Set a timer; setting it twice changes nothing."""
        place = (time, self._addresses.get(key) or self._where(key))
        if place in self._set:
            return
        self._set[place] = key
        if self._since is not None:
            self._since[place] = key
        heappush(self._heap, place)
        if time < self.next_due:
            self.next_due = time

    def delete(self, time: int, key: Any) -> None:
        """Forget a timer, set in this micro-batch or earlier."""
        place = (time, self._addresses.get(key) or self._where(key))
        self._set.pop(place, None)
        if self._since is not None:
            self._since[place] = _GONE
        if self._store.get(self.name, _row(place)) is not None:
            self._gone[place] = None

    def pop_due(self, time: int) -> tuple[int, Any] | None:
        """The earliest timer at or before ``time``, removed; None if there is none."""
        heap, ahead = self._heap, self._ahead
        due = None
        while due is None:
            if ahead and not (heap and heap[0] < ahead[-1][0]):
                if ahead[-1][0][0] > time:
                    break
                due = self._take_stored()
            elif heap and heap[0][0] <= time:
                place = heappop(heap)
                key = self._set.pop(place, self)
                # a timer that was deleted, or that fired as a stored one, is still in the heap
                if key is not self:
                    due = place[0], key
                    if self._since is not None:
                        self._since[place] = _GONE
            else:
                break
        upcoming = heap[0][0] if heap else _NEVER
        if ahead and ahead[-1][0][0] < upcoming:
            upcoming = ahead[-1][0][0]
        self.next_due = upcoming
        return due

    def _take_stored(self) -> tuple[int, Any] | None:
        """The next stored timer, removed; None if it has been deleted."""
        place, key = self._ahead.pop()
        if not self._ahead:
            self._read_ahead()
        if place in self._gone:
            return None
        self._gone[place] = None
        self._set.pop(place, None)
        if self._since is not None:
            self._since[place] = _GONE
        return place[0], key

    def _read_ahead(self) -> None:
        """Fetch the next block of stored timers, each time a larger one."""
        if self._resume is None:
            return
        rows = list(islice(self._store.scan(self.name, self._resume), self._block))
        self._resume = rows[-1][0] + b"\x00" if len(rows) == self._block else None
        self._block = min(4 * self._block, _LARGEST_BLOCK)
        self._ahead.extend((timer_of(row), decode_key(record)) for row, record in reversed(rows))
        self._on_read([key for _, key in self._ahead])

    @in_groups
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
        if len(self._addresses) > _CACHED_ADDRESSES:
            self._addresses.clear()

    def forget(self) -> None:
        """Drop all that is in memory, because the store may have changed."""
        for held in (self._heap, self._set, self._gone, self._ahead):
            held.clear()
        self._since = None
        self._begun = False
        self._resume = None
        self.next_due = _NEVER

    freezes = True

    @property
    def changed(self) -> int:
        """How many timers were set, or are gone, since the last commit."""
        return len(self._set) + len(self._gone)

    def freeze(self) -> None:
        """See :mod:`scurry.state.freezing`: all timers stay where they are, and what becomes of
        them is noted."""
        assert self._since is None
        self._since = {}

    def thaw(self) -> Leftovers:
        """The commit is written: what was noted since is what the next one has to write."""
        since, left = self._since, Leftovers(self._heap, self._set, self._gone)
        assert since is not None
        self._heap, self._set, self._gone = [], {}, {}
        self.forget()
        self._set = {place: key for place, key in since.items() if key is not _GONE}
        self._gone = dict.fromkeys(place for place, key in since.items() if key is _GONE)
        self._heap = list(self._set)
        heapify(self._heap)
        if self._heap:
            self.next_due = self._heap[0][0]
        self.begin()
        return left

    def pending(self) -> list[tuple[int, Any]]:
        """All timers in order, for tests and for showing state."""
        found = {timer_of(row): decode_key(record) for row, record in self._store.scan(self.name)}
        for place in self._gone:
            found.pop(place, None)
        found.update(self._set)
        return [(place[0], found[place]) for place in sorted(found)]


def timer_table(domain: str) -> str:
    """The name of the table of timers in one time domain."""
    return f"#{domain}-timers"


def timer_queue(store: SlotStore, uid: str, domain: str) -> TimerQueue:
    """The timers of operator ``uid`` in one time domain."""
    name = f"{uid}\x1f{timer_table(domain)}"
    arguments = name, store.local, store.max_parallelism, domain
    return store.part(name, lambda: TimerQueue(*arguments, partial(store.prefetch_large, uid)))


def timer_time(timestamp: Any) -> int:
    """``timestamp``, if a timer can be set at it; beyond the end of time is the end of time."""
    if type(timestamp) is int:
        return timestamp if timestamp <= MAX_WATERMARK else MAX_WATERMARK
    if isinstance(timestamp, (int, np.integer)) and not isinstance(timestamp, bool):
        return min(int(timestamp), MAX_WATERMARK)
    raise ProgramError(
        f"A timer needs a whole number of milliseconds, got {timestamp!r} "
        f"({type(timestamp).__name__})."
    )


def _row(place: Place) -> bytes:
    return (place[0] + _BIAS).to_bytes(8, "big") + place[1]


def timer_of(row: bytes) -> Place:
    """The time of a stored timer, and where its key lives."""
    return int.from_bytes(row[:8], "big") - _BIAS, row[8:]
