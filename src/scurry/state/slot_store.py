"""The state of one slot: tables above, the local store beside, the journal and runs below.

A host calls ``begin`` at the start of each micro-batch and ``commit`` at its end; in between,
operators read and write tables.

``begin`` makes the state of the last committed micro-batch readable. It compares the lineage in the
journal's head with that of the local store, and where they differ it rebuilds the local store from
the journal. ``commit`` writes what changed to the journal and to the local store, both under a new
lineage. What it writes to the journal counts only once Spark commits the micro-batch. If Spark
never does, the local store has a lineage that the journal does not know, and the next ``begin``
rebuilds it. The same happens to a local store that a task wrote to after Spark had given it up.

When the journal has outgrown the live data, each commit also writes a part of it anew
(:mod:`scurry.state.log_slices`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

from scurry.common.errors import JobError
from scurry.common.fault_points import fault_point
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.codecs.schemas import SchemaTable
from scurry.state.feeds import SlotFeed
from scurry.state.freezing import Freezing, Leftovers
from scurry.state.journal import (
    Group,
    Head,
    Journal,
    append,
    chunked,
    pack,
    unpack_groups,
)
from scurry.state.local.store import Commit, Size, Store
from scurry.state.log_slices import SMALL_LOG, Compaction
from scurry.state.runs.key_rows import Order
from scurry.state.slot_parts import Changing, Listed, Outcome, Told
from scurry.state.slot_records import SlotRecords
from scurry.state.table_forms import TableForm
from scurry.state.tables.table import CACHE_ENTRIES, StateTable
from scurry.state.tables.ttl import Sweeper

#: Objects that are let go of at a time.
_SHED_AT_ONCE = 2_000


P = TypeVar("P", bound=Changing)
#: Called while a local store is rebuilt, with the bytes of the journal read so far and in all.
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
        #: reads the local store, also what somebody else is writing to it
        self.reader = self.records.pending
        self.max_parallelism = max_parallelism
        self.cache = cache
        self.rebuilds = 0
        self.on_rebuild = on_rebuild
        #: writes the state that a rescaled job begins with to an empty journal, and returns the
        #: journal's head; None if slots begin without state
        self.initial: Callable[[Journal], Head] | None = None
        self.schemas = SchemaTable(local)
        #: by table: how it can be read without its operator, which says so
        self.forms: dict[str, TableForm] = {}
        self.sweepers: dict[str, Sweeper] = {}
        self._compaction = Compaction(local, self.sweepers, self._forget, small_log)
        #: what queries are answered from is fed by this; None if nobody may query
        self.feed: SlotFeed | None = None
        self._parts: dict[str, Changing] = {}
        self._parts_known = 0
        self._tables_of: dict[str, list[Told]] = {}
        self._head: Head | None = None
        #: the head of what the local store holds, as far as this process knows
        self._last: Head | None = None
        self._held: bytes | None = None
        self._settled = True
        #: journal entries before this number have been removed, files included
        self._dropped = 0
        #: the lineage of the local store
        self._base: bytes | None = None
        #: tables that are dropped with the next commit
        self._gone: set[str] = set()
        #: tables written to by the last commit, and by durable commits before it
        self._written: set[str] = set()
        self._told: set[str] = set()
        self._told_sizes: dict[str, Size] = {}
        #: changes of the next commit that are encoded already, None if none are
        self._collected: list[Group] | None = None
        #: the parts that these changes are of, and those that can be frozen
        self._encoded: list[Changing] = []
        self._freezing: list[Freezing] = []
        #: whether somebody else is writing a commit
        self._frozen = False
        #: what commits that were written elsewhere have left
        self._left = Leftovers()

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
        """Read the records of ``keys`` in all tables of operator ``uid`` into memory, at once.
        Called before the operator handles elements of these keys."""
        for table in self._tables(uid):
            table.prefetch(keys)

    def prefetch_large(self, uid: str, keys: list[Any]) -> None:
        """As :meth:`prefetch`, for keys that the operator may ask for or not: only in tables that
        are kept as runs, where reading records one by one takes long."""
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
        """Make the state of the last committed micro-batch readable, and return the notes that
        were committed with it (empty for a slot without state). Called before anything is read."""
        expected = self._open(journal)
        if not self._settled or self._held != expected:
            for part in self._everyone():
                part.forget()
            self.reader.take()
            self._told = set()
        else:
            self._told |= self._written
        return self._begun(journal)

    def _open(self, journal: Journal) -> bytes | None:
        """Have the local store and the runs as the head of ``journal`` says; its lineage."""
        self._head = journal.head()
        if self._head is None and self.initial is not None:
            self._head = self.initial(journal)
        expected = None if self._head is None else self._head.lineage
        self.records.open(self._head, journal.runs)
        self.local.check()
        self.local.begin()
        if self.local.lineage() != expected:
            if self._catch_up(journal):
                # another process may have written to the store meanwhile
                self.local.begin()
            if self.local.lineage() != expected:
                self._rebuild(journal)
                self.local.begin()
        self._last = self._head
        self._base = expected
        self._gone = set()
        return expected

    def _begun(self, journal: Journal) -> bytes:
        self._written = set()
        self._settled = self._frozen = False
        self._collected = None
        if self._head is None:
            return b""
        if self._head.floor > self._dropped:
            self._dropped = self._head.floor
            journal.drop_before(self._dropped)
        return self._head.notes

    # --- commits that somebody else writes, see scurry.state.freezing

    def collect(self) -> int:
        """Get ready for a commit: how many records it will write, if a copy of this process can
        write them, 0 if it cannot. Nothing may change any more until the commit, or until
        :meth:`freeze`."""
        if not self.local.shared or self._gone:
            return 0
        if self._collected is None:
            self._freezing, self._encoded = [], []
            for part in self._everyone():
                if isinstance(part, Freezing) and part.freezes:
                    self._freezing.append(part)
                else:
                    self._encoded.append(part)
            if any(map(self._is_read_by_prefix, self._encoded)):
                return 0
            self._collected = list(chain.from_iterable(part.changes() for part in self._encoded))
        frozen = sum(part.changed for part in self._freezing)
        return frozen + sum(len(keys) for _, keys, _ in self._collected)

    def _is_read_by_prefix(self, part: Changing) -> bool:
        """Whether a table is read in a way that what is pending cannot be put in front of."""
        name = getattr(part, "name", "")
        return self.records.in_runs(name) and self.records.bulky.get(name) is Order.PREFIX

    def read_on(self) -> None:
        """A copy of this process has been made, and has not begun to commit: go on reading what was
        there before. Raises :class:`JobError` if another process has written to the local store
        since :meth:`begin`: what is read then would be what that process has made of it."""
        self.local.begin()
        self._expect_base()

    def reopen(self) -> None:
        """This process is a copy of the one that has opened the store: open it anew, to commit.
        Raises :class:`JobError` if the local store is not the one that was copied."""
        self.local.reopen()
        self._expect_base()

    def _expect_base(self) -> None:
        if self.local.lineage() != self._base:
            raise JobError(
                f"The local state in {self.local.path} was changed by another process while a "
                "checkpoint was made: by a task of an earlier attempt that has not ended yet, as "
                "a rule. The job begins anew at the last checkpoint."
            )

    def freeze(self) -> None:
        """A copy of this process, which has been made just now, commits; here tables keep apart
        what changes from now on. Reads go on as before."""
        assert self._collected is not None
        self.reader.put(self._collected)
        self._collected, self._frozen = None, True
        for part in self._freezing:
            part.freeze()
        for other in self._encoded:
            other.settle()

    def outcome(self) -> Outcome:
        """What the process has to know of the commit that this copy of it has written."""
        sweeps = {name: sweeper.place for name, sweeper in self.sweepers.items()}
        shown = {} if self.feed is None else self.feed.shown
        return Outcome(self._written, self._told_sizes, sweeps, shown)

    def thaw(self, journal: Journal, outcome: Outcome) -> bytes:
        """The commit is written, and ``journal`` has its head: go on from there, as after
        :meth:`begin`, with what has changed since :meth:`freeze`."""
        self._told |= outcome.written
        self._told_sizes = outcome.sizes
        if self.feed is not None:
            self.feed.shown = outcome.shown
        for name, place in outcome.sweeps.items():
            self.sweepers[name].place = place
        self._open(journal)
        for _, *held in self.reader.take():
            self._left.add(*(each for each in held if isinstance(each, list)))
        for part in self._freezing:
            self._left.take(part.thaw())
        return self._begun(journal)

    def shed(self) -> bool:
        """Let go of a little of what is of no more use; whether there is any left."""
        return self._left.shed(_SHED_AT_ONCE)

    def drop(self, uids: Collection[str], journal: Journal) -> None:
        """Drop all state of operators ``uids``. Called after ``begin``, before anything is read.

        From now on readers find nothing of it. Until the commit the local store has a lineage that
        the journal does not know. If the commit never comes about, the next ``begin`` therefore
        rebuilds the local store, and the state is there as before.
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
            for name in self._gone & self._parts.keys():
                self._forget(name)

    def take_written(self) -> dict[str, str]:
        """The tables that the last commit wrote to and no commit before it, as far as this process
        knows, each with its kind. The driver adds them to its inventory of the checkpoint."""
        return {name: self.schemas.kind_of(name) for name in sorted(self._written)}

    def take_types(self) -> dict[str, tuple[Any, int]]:
        """What those of these tables hold that are states of functions: the schema, and how many
        others came before it."""
        found = ((name, self.schemas.type_of(name)) for name in sorted(self._written))
        return {name: known for name, known in found if known is not None}

    def take_forms(self) -> dict[str, TableForm]:
        """How those of these tables can be read whose operators say it."""
        found = ((name, self.forms.get(name)) for name in sorted(self._written))
        return {name: form for name, form in found if form is not None}

    def take_sizes(self) -> dict[str, tuple[int, int]] | None:
        """Records and bytes of each table, None if they are as they were at the last call."""
        sizes = {name: size for name, size in self.records.sizes().items() if name != SCHEMAS}
        if sizes == self._told_sizes:
            return None
        self._told_sizes = sizes
        return dict(sizes)

    def holds(self, journal: Journal) -> bool:
        """Whether what this process has in memory is the state of the journal's last commit."""
        head = journal.head()
        return self._settled and self._held == (None if head is None else head.lineage)

    def _forget(self, name: str) -> None:
        self._parts[name].forget()

    def _everyone(self) -> Iterator[Changing]:
        yield from self._parts.values()
        yield self.schemas

    def _catch_up(self, journal: Journal) -> bool:
        """Read the entries that were written elsewhere since this store was here last; False if
        that is not enough, or if it cannot be told."""
        known, head = self._last, self._head
        if known is None or head is None or self.local.lineage() != known.lineage:
            return False
        same_tables = known.runs.keys() == head.runs.keys() and known.bulky == head.bulky
        dropped = any(known.gone.get(name) != seq for name, seq in head.gone.items())
        if not same_tables or dropped or not journal.extends(known):
            return False
        base = known.lineage
        for seq in range(known.next, head.next):
            step = b"catching up%d" % seq
            groups = [g for g in unpack_groups(journal.read(seq)) if head.counts(seq, g[0])]
            # tables in runs are not in the log
            self.local.apply(Commit(base, step, groups))
            base = step
        self.local.apply(Commit(base, head.lineage))
        return True

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
        """Write what changed since ``begin``, with the slot's ``notes``, and return how many bytes
        that added to the checkpoint. Writes nothing if nothing changed."""
        old = self._head or Head(b"", 0, 0, 0, 0, b"")
        base = self._base
        self.local.verify()
        changes = self._take_changes()
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
        if self.feed is not None:
            self.feed.take(changes, self.records, self.schemas)
        changes, moved, written = self.records.put(changes, self._judges())
        written += self._log(journal, head, changes)
        if self._head is None:
            head.snapshot_bytes = head.log_bytes  # nothing of a first commit is superseded
        fault_point("before-local-store")
        trusted = self.local.apply(Commit(base, head.lineage, changes, moved))
        for part in self._everyone():
            part.settle()
        for name in self.records.take_reaped():
            self._forget(name)
        if trusted and (moved or self._gone or self._compaction.is_due(head)):
            written += self._compaction.write_slice(journal, head, changes)
        head.gone = {name: seq for name, seq in head.gone.items() if seq > head.first}
        head.floor = old.first
        self.records.describe(head)
        if head.runs and head.first == head.next:
            # A rescale deals out the logs of all slots, and takes a slot whose log has no entry
            # for one without state. So the log of a slot that has runs gets an entry, an empty one.
            written += append(journal, head, pack([]))
        journal.put_head(head)
        self._last = head if trusted else None
        self._finish(head.lineage if trusted else b"")
        fault_point("after-journal")
        return written

    def _log(self, journal: Journal, head: Head, changes: list[Group]) -> int:
        """Write ``changes`` to the log; how many bytes they have become."""
        written = 0
        for piece in chunked(changes):
            packed = pack(piece)
            written += append(journal, head, packed)
            if self.feed is not None:
                self.feed.logged(piece, packed)
        if self.feed is not None:
            self.feed.finish(changes)
        return written

    def _take_changes(self) -> list[Group]:
        """All that changed, schemas last."""
        found, self._collected = self._collected, None
        # the other parts were asked before, and must not be asked twice
        parts: Iterable[Changing | Freezing] = self._freezing
        if found is None:
            parts = self._everyone()
        return [*(found or ()), *chain.from_iterable(part.changes() for part in parts)]

    def _judges(self) -> dict[str, Callable[[bytes], bool]]:
        """For each table in runs whose expired records are removed by compaction: a function that
        says whether a record has expired."""
        return {
            name: sweeper.judge()
            for name, sweeper in self.sweepers.items()
            if sweeper.in_compaction and self.records.in_runs(name)
        }

    def _finish(self, lineage: bytes | None) -> None:
        self._held = lineage
        self._settled = True
        self.local.confirm()

    @property
    def epoch(self) -> int:
        """A number that grows with every commit that changes something."""
        # the log does not grow with a commit that changes large tables alone
        committed = 0 if self._head is None else self._head.next + self._head.number
        # the commit that somebody else is writing is one of them
        return committed + self._frozen

    @property
    def entries(self) -> int:
        """How many records the slot's state holds, as of the last commit."""
        return max(0, self.records.entries - self.schemas.count())

    def close(self, erase: bool = False) -> None:
        """Release the local store."""
        self.local.close(erase)
