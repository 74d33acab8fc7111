"""Time to live: what has expired, and how it is found and deleted.

Entries carry the time of their last write. An entry expires at that time plus the time to live, by
the clock that the configuration names: processing time, or the watermark. It is the time of writing
that is stored, so another time to live applies to entries that are there already.

Entries that were written while the state had no time to live carry no time. They count as written
when the state was first used with one; the schema of the state keeps that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from scurry.state.codecs.records import MANY_STAMPS, STAMPED, Stamped, stamp_bytes
from scurry.state.journal import RecordReader
from scurry.state.ttl_config import StateTtlConfig

_LEAST_LOOKED_AT = 1000
#: how far a time may lie from zero: what goes beyond stands for ever
_LIMIT = (1 << 63) - 1


@dataclass(frozen=True)
class StateClock:
    """The clocks that expiry goes by; a watermark is None as long as there is none."""

    now: Callable[[], int]
    watermark: Callable[[], int | None]
    #: the timestamp of the element or timer being handled
    timestamp: Callable[[], int | None]


class Expiry:
    """Tells for one state what has expired.

    ``since`` gives the moment from which entries without a time count, None as long as it is not
    known; ``begin`` is told it when it becomes known.
    """

    def __init__(
        self,
        config: StateTtlConfig,
        clock: StateClock,
        since: Callable[[], int | None],
        begin: Callable[[int], None],
    ) -> None:
        visibility = StateTtlConfig.StateVisibility
        self.config = config
        self.show_expired = config.get_state_visibility() is visibility.ReturnExpiredIfNotCleanedUp
        self.on_read = config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
        self._ttl = config.get_ttl().to_milliseconds()
        self._clock = clock
        self._event_time = config.by_event_time
        self._since = since
        self._begin = begin

    def stamp(self) -> int | None:
        """The time of a write that happens now."""
        if not self._event_time:
            return self._clock.now()
        times = (self._clock.timestamp(), self._clock.watermark())
        return max((time for time in times if time is not None), default=None)

    def since(self) -> int | None:
        """When entries without a time count as written."""
        since = self._since()
        now = self._clock.watermark() if self._event_time else self._clock.now()
        # a moment that is still to come is of a clock that was ahead
        ahead = since is not None and now is not None and since > now and not self._event_time
        if now is not None and (since is None or ahead):
            since = now
            self._begin(since)
        return since

    def cutoff(self) -> int | None:
        """Entries written at or before this time have expired; None: nothing has."""
        now = self._clock.watermark() if self._event_time else self._clock.now()
        return None if now is None else max(now - self._ttl, -_LIMIT)

    def expired(self, stamp: int | None) -> bool:
        """Whether an entry of that time has expired."""
        written = self.since() if stamp is None else stamp
        cutoff = self.cutoff()
        return written is not None and cutoff is not None and written <= cutoff

    def wrap(self, value: Any) -> Stamped:
        """A value as it is written now."""
        return Stamped(value, self.stamp())

    def renewed(self, held: Stamped) -> Stamped:
        """A value as it is after being read."""
        stamp = self.stamp()
        return held if stamp == held.stamp or stamp is None else Stamped(held.value, stamp)


class Sweeper:
    """Finds the expired records of one table, a few at a time."""

    def __init__(self, table: str, store: RecordReader, expiry: Expiry) -> None:
        self.table = table
        self.expiry = expiry
        self._store = store
        self._next = b""
        self._found = 0
        strategies = expiry.config.get_cleanup_strategies()
        incremental = strategies.get_incremental_cleanup_strategy()
        self._per_write = 0 if incremental is None else incremental.get_cleanup_size()
        self.in_compaction = (
            strategies.in_full_snapshot()
            or strategies.get_rocksdb_compact_filter_cleanup_strategy() is not None
        )

    @property
    def place(self) -> tuple[bytes, int]:
        """Where the search goes on, and how many were found; see :mod:`scurry.state.freezing`."""
        return self._next, self._found

    @place.setter
    def place(self, place: tuple[bytes, int]) -> None:
        self._next, self._found = place

    def take_found(self) -> int:
        """How many expired records were found since this was last asked."""
        found, self._found = self._found, 0
        return found

    def judge(self) -> Callable[[bytes], bool]:
        """A function that tells whether a record has expired by now."""
        cutoff = self.expiry.cutoff()
        if cutoff is None:
            return lambda record: False
        since = self.expiry.since()
        unstamped = since is not None and since <= cutoff
        limit = stamp_bytes(cutoff)

        def expired(record: bytes) -> bool:
            if record[0] in (STAMPED, MANY_STAMPS):
                return record[1:9] <= limit
            return unstamped

        return expired

    def expired(self, writes: int) -> Iterator[bytes]:
        """Where expired records lie, among the next few after those looked at last time; some
        perhaps twice."""
        if not self._per_write:
            return
        left = max(_LEAST_LOOKED_AT, self._per_write * writes)
        judge, start, wrapped = self.judge(), self._next, not self._next
        while True:
            for address, record in self._store.scan(self.table, self._next):
                if left == 0 or (wrapped and address == start):
                    self._next = address
                    return
                left -= 1
                if judge(record):
                    self._found += 1
                    yield address
            self._next = b""
            if wrapped:
                return
            wrapped = True
