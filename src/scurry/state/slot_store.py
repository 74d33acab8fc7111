"""The state of one slot: tables above, the local store beside, the journal and runs below.

``begin`` makes sure that the local store holds what the journal says is true, rebuilding it when
their lineages differ. ``commit`` writes what changed to the journal and to the local store under a
fresh lineage. The journal's part becomes true only when Spark commits the micro-batch: if that
never happens, the next ``begin`` finds the old lineage in the journal, a newer one in the local
store, and rebuilds. A zombie task is caught the same way.

A journal that has outgrown the live data is compacted in slices. A *cycle* goes through all live
records in order and writes a few of them to the journal with each commit, in proportion to what the
commit itself wrote; when it is through, everything older than the cycle is dropped, because
whatever is alive was written again since. So no commit has to write all of the state at once.
Large tables have no part in this: :mod:`scurry.state.slot_records` writes and merges their runs.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import accumulate, chain, compress
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from scurry.common.fault_points import fault_point
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.codecs.schemas import SchemaTable
from scurry.state.journal import (
    Group,
    Head,
    Journal,
    bytes_of,
    chunked,
    pack,
    unpack_groups,
)
from scurry.state.local.store import Commit, Store
from scurry.state.runs.key_rows import Order
from scurry.state.slot_records import SlotRecords
from scurry.state.tables.table import CACHE_ENTRIES, StateTable
from scurry.state.tables.ttl import Sweeper

#: A log shorter than this is not worth compacting.
SMALL_LOG = 4 << 20
#: How much larger than the live data, as of the last compaction, the log gets before the next.
_GROWTH = 2.5
#: How much of a compaction a commit writes, compared with what it writes itself.
_SLICE_RATIO = 2
#: A commit writes at least so much of a compaction, in bytes before compression.
_LEAST_SLICE = 16 << 20


class Changing(Protocol):
    """Anything that collects changes during a micro-batch: a table, a timer queue."""

    def changes(self) -> Iterator[Group]:
        """What changed since the last commit."""

    def settle(self) -> None:
        """The changes are committed."""

    def forget(self) -> None:
        """The store below is no longer what was read: drop everything held in memory."""


@runtime_checkable
class Told(Protocol):
    """A table that is told which keys are about to be handled."""

    name: str

    def prefetch(self, keys: list[Any]) -> None:
        """Bring what is stored of ``keys`` into memory, or be ready to."""


class Listed(Protocol):
    """A table whose keys can be listed."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All keys and values, uncommitted changes included."""


P = TypeVar("P", bound=Changing)
#: Told how many bytes of the journal have been read of how many, while a store is rebuilt.
RebuildProgress = Callable[[int, int], None]


class SlotStore:
    """All state of the operators that share a slot of a stage."""

    def __init__(
        self,
        local: Store,
        max_parallelism: int,
        cache: int = CACHE_ENTRIES,
        on_rebuild: RebuildProgress | None = None,
        small_log: int = SMALL_LOG,
    ) -> None:
        self.local = local
        self.records = SlotRecords(local)
        self.max_parallelism = max_parallelism
        self.cache = cache
        self._small_log = small_log
        self.rebuilds = 0
        self.on_rebuild = on_rebuild
        #: fills a journal that has no history yet; None if there is nothing to fill it with
        self.initial: Callable[[Journal], Head] | None = None
        self.schemas = SchemaTable(local)
        self.sweepers: dict[str, Sweeper] = {}
        self._parts: dict[str, Changing] = {}
        self._parts_known = 0
        self._tables_of: dict[str, list[Told]] = {}
        self._head: Head | None = None
        self._held: bytes | None = None
        self._settled = True
        #: entries of the log before this one have left nothing behind
        self._dropped = 0
        #: the lineage of the local store
        self._base: bytes | None = None
        #: tables that are dropped with the next commit
        self._gone: set[str] = set()
        #: tables written to by the last commit, and by durable commits before it
        self._written: set[str] = set()
        self._told: set[str] = set()

    def table(self, uid: str, state: str, bulk: bool = False) -> StateTable:
        """The table of state ``state`` of operator ``uid``; ``bulk`` as for :class:`StateTable`."""
        name = f"{uid}\x1f{state}"
        make = partial(StateTable, cache=self.cache, bulk=bulk)
        return self.part(name, lambda: make(name, self.records, self.max_parallelism))

    def part(self, name: str, make: Callable[[], P]) -> P:
        """The part called ``name``, made on first use."""
        if name not in self._parts:
            self._parts[name] = make()
        return cast(P, self._parts[name])

    @property
    def parts(self) -> Iterable[Changing]:
        """All parts made so far."""
        return self._parts.values()

    def listed(self, uid: str, state: str) -> Listed:
        """The table of a state that is in use, of whatever kind, for listing its keys."""
        return cast(Listed, self._parts[f"{uid}\x1f{state}"])

    def prefetch(self, uid: str, keys: list[Any]) -> None:
        """Elements of ``keys`` are about to be handled by operator ``uid``: bring what it will
        read into memory, all at once."""
        for table in self._tables(uid):
            table.prefetch(keys)

    def prefetch_large(self, uid: str, keys: list[Any]) -> None:
        """The same, where reading a single record takes long, for keys that may be asked for."""
        for table in self._tables(uid):
            if self.records.in_runs(table.name):
                table.prefetch(keys)

    def _tables(self, uid: str) -> list[Told]:
        tables = self._tables_of.get(uid)
        if tables is None or self._parts_known != len(self._parts):
            self._parts_known, self._tables_of = len(self._parts), {}
            tables = self._tables_of[uid] = [
                part
                for name, part in self._parts.items()
                if isinstance(part, Told) and name.partition("\x1f")[0] == uid
            ]
        return tables

    def begin(self, journal: Journal) -> bytes:
        """Make the state of the last committed micro-batch readable; returns its notes."""
        self._head = journal.head()
        if self._head is None and self.initial is not None:
            self._head = self.initial(journal)
        expected = None if self._head is None else self._head.lineage
        self.records.open(self._head, journal.runs)
        self.local.check()
        self.local.begin()
        if self.local.lineage() != expected:
            self._rebuild(journal)
            self.local.begin()
        self._base = expected
        self._gone = set()
        if not self._settled or self._held != expected:
            for part in self._everyone():
                part.forget()
            self._told = set()
        else:
            self._told |= self._written
        self._written = set()
        self._settled = False
        if self._head is None:
            return b""
        if self._head.floor > self._dropped:
            self._dropped = self._head.floor
            journal.drop_before(self._dropped)
        return self._head.notes

    def drop(self, uids: Collection[str], journal: Journal) -> None:
        """Let go of all that operators have, after ``begin`` and before anything is read.

        Readers find nothing from now on. The local store gets a lineage of its own until the
        commit: if that never comes about, it is rebuilt, and nothing has happened.
        """
        everything = {*self.local.tables(), *self.records.large_tables}
        self._gone = {name for name in everything if name.partition("\x1f")[0] in uids}
        if self._gone:
            lineage = os.urandom(12)
            while not self.local.apply(Commit(self._base, lineage, (), self._gone)):
                self._rebuild(journal)
            self.local.begin()
            self._base = lineage
            self.records.drop(self._gone)
            self.schemas.drop(self._gone)

    def take_written(self) -> dict[str, str]:
        """The tables that the last commit was the first to write to, as far as this store knows,
        and of which kind each is."""
        return {name: self.schemas.kind_of(name) for name in sorted(self._written)}

    def holds(self, journal: Journal) -> bool:
        """Whether what is in memory is what the journal says is true."""
        head = journal.head()
        return self._settled and self._held == (None if head is None else head.lineage)

    def _everyone(self) -> Iterator[Changing]:
        yield from self._parts.values()
        yield self.schemas

    def _rebuild(self, journal: Journal) -> None:
        self.local.reset()
        if self._head is None:
            return
        self.rebuilds += 1
        self.records.bulky.update(dict.fromkeys(self._head.bulky, Order.KEY))
        self.records.bulky.update(dict.fromkeys(self._head.ranged, Order.PREFIX))
        base: bytes | None = None
        done, total = 0, self._head.log_bytes
        for seq in range(self._head.first, self._head.next):
            step = b"rebuild%d" % seq
            blob = journal.read(seq)
            changes = [g for g in unpack_groups(blob) if self._head.counts(seq, g[0])]
            others, moved, _ = self.records.put(changes, {})
            self.local.apply(Commit(base, step, others, moved))
            base = step
            done += len(blob)
            if self.on_rebuild is not None:
                self.on_rebuild(done, total)
            fault_point("rebuild")
        self.local.apply(Commit(base, self._head.lineage))

    def commit(self, journal: Journal, notes: bytes) -> int:
        """Write what changed; returns how many bytes that took in the checkpoint."""
        old = self._head or Head(b"", 0, 0, 0, 0, b"")
        base = self._base
        self.local.verify()
        changes = list(chain.from_iterable(part.changes() for part in self._everyone()))
        self._written = {name for name, *_ in changes} - self._told - {SCHEMAS}
        unchanged = not (changes or self._gone or self.records.changed) and notes == old.notes
        if unchanged and self._head is not None:
            self._finish(base)
            return 0
        head = Head(
            os.urandom(12),
            *(old.first, old.next, old.snapshot_bytes, old.log_bytes, notes, old.version),
            *(old.cycle, old.cycle_bytes, old.slice_bytes, old.cursor),
            gone={**old.gone, **dict.fromkeys(self._gone, old.next)},
        )
        fault_point("before-journal")
        changes, moved, written = self.records.put(changes, self._judges())
        written += sum(_append(journal, head, pack(piece)) for piece in chunked(changes))
        fault_point("before-local-store")
        trusted = self.local.apply(Commit(base, head.lineage, changes, moved))
        for part in self._everyone():
            part.settle()
        for name in self.records.take_reaped():
            self._parts[name].forget()
        outgrown = head.log_bytes > max(self._small_log, _GROWTH * head.snapshot_bytes)
        if trusted and (head.cycle >= 0 or outgrown or moved or self._gone):
            written += self._compact(journal, head, changes)
        head.gone = {name: seq for name, seq in head.gone.items() if seq > head.first}
        head.floor = old.first
        self.records.describe(head)
        if head.runs and head.first == head.next:
            # who deals out logs takes a slot that has none for one without state
            written += _append(journal, head, pack([]))
        journal.put_head(head)
        self._finish(head.lineage if trusted else b"")
        fault_point("after-journal")
        return written

    def _judges(self) -> dict[str, Callable[[bytes], bool]]:
        """By table: what tells which records have expired, where they go with a compaction."""
        return {
            name: sweeper.judge()
            for name, sweeper in self.sweepers.items()
            if sweeper.in_compaction and self.records.in_runs(name)
        }

    def _finish(self, lineage: bytes | None) -> None:
        self._held = lineage
        self._settled = True
        self.local.confirm()

    def _compact(self, journal: Journal, head: Head, changes: list[Group]) -> int:
        """Write the next slice of a cycle, after what the commit itself wrote; not if another
        attempt has touched the local store."""
        self.local.begin()
        if self.local.lineage() != head.lineage:
            return 0
        if head.cycle < 0:
            head.cycle, head.cycle_bytes, head.slice_bytes = head.next, 0, 0
            head.cursor = ("", b"")
        budget = max(_LEAST_SLICE, _SLICE_RATIO * sum(map(bytes_of, changes)))
        expired: list[Group] = []
        written = 0
        for piece in chunked(self._slice(head, budget, expired)):
            size = _append(journal, head, pack(piece))
            head.slice_bytes += size
            written += size
            fault_point("compaction")
        expired = [group for group in expired if group[1]]
        if expired:
            written += sum(_append(journal, head, pack(piece)) for piece in chunked(expired))
            self.local.apply(Commit(head.lineage, head.lineage, expired))
            for name in {group[0] for group in expired}:
                self._parts[name].forget()
        if head.cursor == _END:
            self._end_cycle(journal, head)
        return written

    def _slice(self, head: Head, budget: int, expired: list[Group]) -> Iterator[Group]:
        """Live records from where the cycle stands, until the budget is used up."""
        table, start = head.cursor
        for name in sorted(self.local.tables()):
            if name < table:
                continue
            sweeper = self.sweepers.get(name)
            judge = sweeper.judge() if sweeper is not None and sweeper.in_compaction else None
            for keys, records in self.local.blocks(name, start if name == table else b""):
                size, fitting = bytes_of((name, keys, records)), len(keys)
                if size > budget:
                    fitting = _within(keys, records, budget)
                budget -= size
                living: Group = name, keys[:fitting], records[:fitting]
                yield living if judge is None else _without_dead(living, judge, expired)
                if fitting < len(keys):
                    head.cursor = (name, keys[fitting])
                    return
        head.cursor = _END

    def _end_cycle(self, journal: Journal, head: Head) -> None:
        for seq in range(head.first, head.cycle):
            journal.remove(seq)
        head.first = head.cycle
        head.log_bytes = head.cycle_bytes
        head.snapshot_bytes = head.slice_bytes
        head.cycle = -1

    @property
    def epoch(self) -> int:
        """A number that grows with every commit that changes something."""
        # the log does not grow with a commit that changes large tables alone
        return 0 if self._head is None else self._head.next + self._head.number

    @property
    def entries(self) -> int:
        """How many records the slot's state holds, as of the last commit."""
        return max(0, self.records.entries - self.schemas.count())

    def close(self, erase: bool = False) -> None:
        """Release the local store."""
        self.local.close(erase)


def _within(keys: list[bytes], records: list[bytes], budget: int) -> int:
    """How many records may be written before ``budget`` bytes are; one more than that, so that a
    large one is written, too."""
    if budget <= 0:
        return 0
    sizes = accumulate(len(k) + len(r) + 8 for k, r in zip(keys, records, strict=True))
    return min(len(keys), bisect_left(list(sizes), budget) + 1)


def _without_dead(group: Group, judge: Callable[[Any], bool], dead: list[Group]) -> Group:
    """``group`` without what ``judge`` condemns; its removal is added to ``dead``."""
    name, keys, records = group
    condemned = list(map(judge, records))
    removed = list(compress(keys, condemned))
    dead.append((name, removed, [None] * len(removed)))
    spared = [not gone for gone in condemned]
    return name, list(compress(keys, spared)), list(compress(records, spared))


#: Stands after the last record of the last table.
_END = ("\U0010ffff", b"")


def _append(journal: Journal, head: Head, blob: bytes) -> int:
    journal.append(head.next, blob)
    head.next += 1
    head.log_bytes += len(blob)
    head.cycle_bytes += len(blob)
    return len(blob)
