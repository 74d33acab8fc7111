"""Timers: a queue per operator, slot and time domain, durable, in order of time.

Stored timers lie in the local store under their timestamp, so the due ones are the head of a range
scan and a million future timers cost nothing. They are read ahead in blocks, because the watermark
may move with every record; what the store holds does not change within a micro-batch. Timers set
during the micro-batch are put in order when the first of them is due: sorted, if there are many of
them beside those that wait already, in a heap if there are few. All of them are merged as time
passes.

A timer that a commit has stored need not be read again: up to :data:`_KEPT` of them stay in memory.
The slot's store says with :meth:`TimerQueue.forget` when what is in memory is no longer what is
stored.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Container, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.runtime.batch import MAX_WATERMARK
from scurry.state.codecs.encoding import decode_key, encode
from scurry.state.freezing import Leftovers
from scurry.state.journal import Group, RecordReader
from scurry.state.rescaling import by_key_group
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import address

_BIAS = 1 << 63
#: The two clocks that timers can follow.
EVENT, PROCESSING = "event", "processing"
#: A timer's time, and where its key lives.
Place = tuple[int, bytes]
#: A stored timer and its key.
Stored = tuple[Place, Any]
_FIRST_BLOCK, _LARGEST_BLOCK = 16, 4096
_FEW = 64
#: How many stored timers stay in memory; each takes about 200 bytes.
_KEPT = 65_536
_LONG_ADDRESS = 300
_CACHED_ADDRESSES = 100_000
_NEVER = MAX_WATERMARK + 1
_place_of = itemgetter(0)
#: Later than all timers.
_LAST: Place = (_NEVER, b"")
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
        #: no timer is due before this time; may be too early, never too late
        self.next_due = _NEVER
        self._store = store
        self._max_parallelism = max_parallelism
        #: new timers that are not in any order yet, and when the first of them is due
        self._fresh: list[Place] = []
        self._fresh_due = _NEVER
        #: new timers in order, the first of them last, and few that have come later
        self._line: list[Place] = []
        self._heap: list[Place] = []
        self._set: dict[Place, Any] = {}
        self._gone: dict[Place, None] = {}
        #: what has become of timers since the queue was frozen, None if it is not
        self._since: dict[Place, Any] | None = None
        #: those of them that were gone and have been set again: what is stored of them meanwhile
        #: is not looked at
        self._again: set[Place] = set()
        self._begun = False
        self._stored = StoredTimers(name, store, on_read)
        self._addresses: dict[Any, bytes] = {}

    def begin(self) -> None:
        """A micro-batch starts: see when the first stored timer is due."""
        if not self._begun:
            self._begun = True
            self._stored.begin(self._gone)
            if self._stored.ahead:
                self.next_due = min(self.next_due, self._stored.ahead[-1][0][0])

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
            if self._since.get(place) is _GONE:
                self._again.add(place)
            self._since[place] = key
        self._fresh.append(place)
        if time < self._fresh_due:
            self._fresh_due = time
            if time < self.next_due:
                self.next_due = time

    def delete(self, time: int, key: Any) -> None:
        """Forget a timer, set in this micro-batch or earlier."""
        place = (time, self._addresses.get(key) or self._where(key))
        self._set.pop(place, None)
        if self._since is not None:
            self._since[place] = _GONE
        if self._store.get(self.name, _row(place)) is not None:
            if place not in self._gone:
                self._stored.delete(place)
            self._gone[place] = None

    def pop_due(self, time: int) -> tuple[int, Any] | None:
        """The earliest timer at or before ``time``, removed; None if there is none."""
        if self._fresh_due <= time:
            self._put_in_order()
        heap, line = self._heap, self._line
        due = None
        while due is None:
            ahead = self._stored.ahead
            new = line[-1] if line else _LAST
            in_heap = bool(heap) and heap[0] < new
            if in_heap:
                new = heap[0]
            if ahead and ahead[-1][0] <= new:
                if ahead[-1][0][0] > time:
                    break
                due = self._take_stored()
            elif new[0] <= time:
                if in_heap:
                    heappop(heap)
                else:
                    line.pop()
                key = self._set.pop(new, _GONE)
                # a timer that was deleted, or that fired as a stored one, still has its place
                if key is not _GONE:
                    due = new[0], key
                    if self._since is not None:
                        self._since[new] = _GONE
            else:
                break
        ahead = self._stored.ahead
        upcoming = self._fresh_due
        if line and line[-1][0] < upcoming:
            upcoming = line[-1][0]
        if heap and heap[0][0] < upcoming:
            upcoming = heap[0][0]
        if ahead and ahead[-1][0][0] < upcoming:
            upcoming = ahead[-1][0][0]
        self.next_due = upcoming
        return due

    def _put_in_order(self) -> None:
        """The first of the timers that are in no order is due."""
        fresh, line = self._fresh, self._line
        self._fresh, self._fresh_due = [], _NEVER
        if len(line) > 4 * len(fresh) + _FEW:
            for place in fresh:
                heappush(self._heap, place)
        else:
            line.extend(fresh)
            line.sort(reverse=True)

    def _take_stored(self) -> tuple[int, Any] | None:
        """The next stored timer, removed; None if it has been deleted."""
        place, key = self._stored.take(self._gone)
        if key is _GONE:
            return None
        self._gone[place] = None
        self._set.pop(place, None)
        if self._since is not None:
            self._since[place] = _GONE
        return place[0], key

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit, as bytes."""
        gone = [place for place in self._gone if place not in self._set]
        rows = [_row(place) for place in gone] + [_row(place) for place in self._set]
        if rows:
            nothing: list[bytes | None] = [None] * len(gone)
            yield self.name, rows, nothing + [encode(key) for key in self._set.values()]

    def settle(self) -> None:
        """The changes are in the store now."""
        self._stored.add(self._set)
        self._clear()
        if len(self._addresses) > _CACHED_ADDRESSES:
            self._addresses.clear()

    def forget(self) -> None:
        """Drop all that is in memory, because the store may have changed."""
        self._stored.forget()
        self._clear()

    def _clear(self) -> None:
        for held in (self._fresh, self._line, self._heap, self._set, self._gone, self._again):
            held.clear()
        self._fresh_due = _NEVER
        self._since = None
        self._begun = False
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
        since, left = self._since, Leftovers(self._set, self._gone)
        left.add(self._fresh, self._line, self._heap)
        assert since is not None
        if len(self._set) > _KEPT:
            self._stored.forget()
        else:
            self._stored.add(
                {
                    place: key
                    for place, key in self._set.items()
                    if place not in since or place in self._again
                }
            )
        self._fresh, self._line, self._heap = [], [], []
        self._set, self._gone = {}, {}
        self._clear()
        self._set = {place: key for place, key in since.items() if key is not _GONE}
        self._gone = dict.fromkeys(place for place, key in since.items() if key is _GONE)
        self._line = sorted(self._set, reverse=True)
        if self._line:
            self.next_due = self._line[-1][0]
        self.begin()
        return left

    def pending(self) -> list[tuple[int, Any]]:
        """All timers in order, for tests and for showing state."""
        found = {timer_of(row): decode_key(record) for row, record in self._store.scan(self.name)}
        for place in self._gone:
            found.pop(place, None)
        found.update(self._set)
        return [(place[0], found[place]) for place in sorted(found)]


class StoredTimers:
    """The first of the timers that are in the store, in memory."""

    def __init__(
        self, name: str, store: RecordReader, on_read: Callable[[list[Any]], None]
    ) -> None:
        self._name = name
        self._store = store
        #: told the keys of stored timers some time before they fire
        self._on_read = on_read
        #: the next timers, the first of them last; empty only if nothing more is stored
        self.ahead: list[Stored] = []
        #: later ones, each list in the same order, and later than those before it
        self._later: deque[list[Stored]] = deque()
        #: those of them that have been deleted
        self._deleted: set[Place] = set()
        #: the row to read on from, None if all that is stored is in memory
        self._resume: bytes | None = b""
        self._block = _FIRST_BLOCK
        #: how many of the next timers nobody has been told of
        self._untold = 0

    def begin(self, gone: Container[Place]) -> None:
        """A micro-batch starts, in which ``gone`` are not set any more."""
        self._block, self._untold = _FIRST_BLOCK, len(self.ahead)
        self._go_on(gone)

    def take(self, gone: Container[Place]) -> Stored:
        """The next timer; :data:`_GONE` is the key of one that has been deleted."""
        stored = self.ahead.pop()
        if len(self.ahead) <= self._untold:
            self._go_on(gone)
        if stored[0] in self._deleted:
            self._deleted.discard(stored[0])
            return stored[0], _GONE
        return stored

    def delete(self, place: Place) -> None:
        """A timer that is stored, and has not fired, is deleted."""
        if self._is_known(place):
            self._deleted.add(place)

    def add(self, timers: dict[Place, Any]) -> None:
        """A commit has stored ``timers``, and removed those that have fired or were deleted."""
        if len(timers) > _KEPT:
            self.forget()
            return
        if self._deleted:
            self._deleted.difference_update(timers)
        fresh = [each for each in timers.items() if self._is_known(each[0])]
        if not fresh:
            return
        fresh.sort(key=_place_of, reverse=True)
        if not self.ahead:
            self.ahead = fresh
        elif self._last() < fresh[-1][0]:
            self._later.append(fresh)
        else:
            self._merge(fresh)
        while self._later and len(self.ahead) + sum(map(len, self._later)) > _KEPT:
            self._later.pop()
            self._end()

    def _merge(self, fresh: list[Stored]) -> None:
        every = dict(fresh)
        for some in (self.ahead, *self._later):
            every.update(some)
        self._later.clear()
        self.ahead = sorted(every.items(), key=_place_of, reverse=True)
        # so that each commit takes time in proportion to what it has changed
        most = min(_KEPT, _LARGEST_BLOCK + 4 * len(fresh))
        if len(self.ahead) > most:
            del self.ahead[:-most]
            self._end()

    def _end(self) -> None:
        """What is in memory ends here; the rest will be read."""
        last = self._last()
        self._resume = _row(last) + b"\x00"
        self._deleted = {place for place in self._deleted if place <= last}

    def _last(self) -> Place:
        return (self._later[-1] if self._later else self.ahead)[0][0]

    def _is_known(self, place: Place) -> bool:
        return self._resume is None or _row(place) < self._resume

    def _go_on(self, gone: Container[Place]) -> None:
        """Have the next block of timers in memory, each time a larger one, and tell of it."""
        if not self.ahead and self._later:
            self.ahead = self._later.popleft()
        while not self.ahead and self._resume is not None:
            rows = list(islice(self._store.scan(self._name, self._resume), self._block))
            self._resume = rows[-1][0] + b"\x00" if len(rows) == self._block else None
            found = [(timer_of(row), record) for row, record in reversed(rows)]
            self.ahead = [
                (place, decode_key(record)) for place, record in found if place not in gone
            ]
        told = self.ahead[-self._block :]
        self._block = min(4 * self._block, _LARGEST_BLOCK)
        self._untold = len(self.ahead) - len(told)
        if told:
            self._on_read([key for _, key in told])

    def forget(self) -> None:
        """Nothing is known of what is stored."""
        self.ahead = []
        self._later.clear()
        self._deleted.clear()
        self._resume = b""


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
