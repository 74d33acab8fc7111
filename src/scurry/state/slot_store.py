"""The state of one slot: tables above, the local store beside, the journal below.

``begin`` makes sure that the local store holds what the journal says is true, rebuilding it when
their lineages differ. ``commit`` writes what changed to the journal and to the local store under a
fresh lineage. The journal's part becomes true only when Spark commits the micro-batch: if that
never happens, the next ``begin`` finds the old lineage in the journal, a newer one in the local
store, and rebuilds. A zombie task is caught the same way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Protocol, TypeVar, cast

from scurry.common.fault_points import fault_point
from scurry.state.journal import Change, Head, Journal, chunked, pack, unpack
from scurry.state.local import LocalStore
from scurry.state.table import StateTable

#: A log shorter than this is not worth compacting.
SMALL_LOG = 4 << 20


class Changing(Protocol):
    """Anything that collects changes during a micro-batch: a table, a timer queue."""

    def changes(self) -> Iterator[Change]:
        """What changed since the last commit."""

    def settle(self) -> None:
        """The changes are committed."""

    def forget(self) -> None:
        """The store below is no longer what was read: drop everything held in memory."""


class Listed(Protocol):
    """A table whose keys can be listed."""

    def items(self) -> Iterable[tuple[Any, Any]]:
        """All keys and values, uncommitted changes included."""


P = TypeVar("P", bound=Changing)


class SlotStore:
    """All state of the operators that share a slot of a stage."""

    def __init__(self, local: LocalStore, max_parallelism: int, small_log: int = SMALL_LOG) -> None:
        self.local = local
        self.max_parallelism = max_parallelism
        self._small_log = small_log
        self.rebuilds = 0
        self._parts: dict[str, Changing] = {}
        self._head: Head | None = None
        self._held: bytes | None = None
        self._settled = True

    def table(self, uid: str, state: str) -> StateTable:
        """The table of state ``state`` of operator ``uid``."""
        name = f"{uid}\x1f{state}"
        return self.part(name, lambda: StateTable(name, self.local, self.max_parallelism))

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

    def begin(self, journal: Journal) -> bytes:
        """Start a micro-batch from the journal's truth; returns the notes of the last commit."""
        self._head = journal.head()
        expected = None if self._head is None else self._head.lineage
        self.local.check()
        self.local.begin()
        if self.local.lineage() != expected:
            self._rebuild(journal)
            self.local.begin()
        if not self._settled or self._held != expected:
            for part in self._parts.values():
                part.forget()
        self._settled = False
        return b"" if self._head is None else self._head.notes

    def _rebuild(self, journal: Journal) -> None:
        self.local.reset()
        if self._head is None:
            return
        self.rebuilds += 1
        base: bytes | None = None
        for seq in range(self._head.first, self._head.next):
            step = b"rebuild%d" % seq
            self.local.apply(unpack(journal.read(seq)), base, step)
            base = step
            fault_point("rebuild")
        self.local.apply((), base, self._head.lineage)

    def commit(self, journal: Journal, notes: bytes) -> int:
        """Write what changed; returns how many bytes that took in the journal."""
        old = self._head or Head(b"", 0, 0, 0, 0, b"")
        base = self._head.lineage if self._head else None
        self.local.verify()
        changes = list(chain.from_iterable(part.changes() for part in self._parts.values()))
        if not changes and self._head is not None and notes == old.notes:
            self._finish(base)
            return 0
        head = Head(os.urandom(12), old.first, old.next, old.snapshot_bytes, old.log_bytes, notes)
        written = 0
        fault_point("before-journal")
        for piece in chunked(changes):
            blob = pack(piece)
            journal.append(head.next, blob)
            head.next += 1
            head.log_bytes += len(blob)
            written += len(blob)
        fault_point("before-local-store")
        trusted = self.local.apply(changes, base, head.lineage)
        if trusted and head.log_bytes > max(self._small_log, 2 * head.snapshot_bytes):
            written += self._compact(journal, head)
        journal.put_head(head)
        for part in self._parts.values():
            part.settle()
        self._finish(head.lineage if trusted else b"")
        fault_point("after-journal")
        return written

    def _finish(self, lineage: bytes | None) -> None:
        self._held = lineage
        self._settled = True
        self.local.confirm()

    def _compact(self, journal: Journal, head: Head) -> int:
        """Replace the log by a snapshot; not if another attempt has touched the local store."""
        self.local.begin()
        if self.local.lineage() != head.lineage:
            return 0
        for seq in range(head.first, head.next):
            journal.remove(seq)
        head.first = head.next
        head.snapshot_bytes = 0
        for piece in chunked(self.local.everything()):
            blob = pack(piece)
            journal.append(head.next, blob)
            head.next += 1
            head.snapshot_bytes += len(blob)
            fault_point("compaction")
        head.log_bytes = head.snapshot_bytes
        return head.snapshot_bytes

    @property
    def epoch(self) -> int:
        """A number that grows with every commit that changes something."""
        return 0 if self._head is None else self._head.next

    @property
    def entries(self) -> int:
        """How many records the slot's state holds, as of the last commit."""
        return self.local.entries

    def close(self, erase: bool = False) -> None:
        """Release the local store."""
        self.local.close(erase)
