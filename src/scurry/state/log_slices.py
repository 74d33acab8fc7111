"""Compaction of a slot's log, one slice with each commit.

The journal grows with each commit. When it is much larger than the live data, a
*cycle* begins: each commit also writes a *slice* of the live records, in the order of tables and
keys, until all have been written. Then every live record is in the journal a second time, so all
entries from before the cycle are removed. A slice is in proportion to what its commit writes
anyway, so no commit has to write all of the state at once. Large tables are not in the journal, and
have no part in this: :mod:`scurry.state.slot_records` writes and merges their runs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, compress
from typing import Any

from scurry.common.fault_points import fault_point
from scurry.common.options.state import COMPACT_ABOVE
from scurry.state.journal import Group, Head, Journal, append, bytes_of, chunked, pack
from scurry.state.local.store import Commit, Store
from scurry.state.tables.ttl import Sweeper

#: A log shorter than this is not worth compacting.
SMALL_LOG = COMPACT_ABOVE.default
#: How much larger than the live data, as of the last compaction, the log gets before the next.
_GROWTH = 2.5
#: How much of a compaction a commit writes, compared with what it writes itself.
_SLICE_RATIO = 2
#: A commit writes at least so much of a compaction, in bytes before compression.
_LEAST_SLICE = 16 << 20
#: The cursor of a cycle that has been through all tables.
_END = ("\U0010ffff", b"")


class Compaction:
    """Compacts the log of one slot, slice by slice."""

    def __init__(
        self,
        local: Store,
        sweepers: Mapping[str, Sweeper],
        forget: Callable[[str], None],
        small_log: int = SMALL_LOG,
    ) -> None:
        """``forget`` has a table drop what it has read; a log shorter than ``small_log`` bytes is
        left as it is."""
        self._local = local
        self._sweepers = sweepers
        self._forget = forget
        self._small_log = small_log

    def is_due(self, head: Head) -> bool:
        """Whether a cycle is under way, or the log has outgrown the live data."""
        outgrown = head.log_bytes > max(self._small_log, _GROWTH * head.snapshot_bytes)
        return head.cycle >= 0 or outgrown

    def write_slice(self, journal: Journal, head: Head, changes: list[Group]) -> int:
        """Write the next slice of the cycle, or the first one of a new cycle, and return its bytes.

        The slice is read from the local store, after the commit's own changes were applied there.
        If another attempt has written to the local store since, no slice is written.
        """
        self._local.begin()
        if self._local.lineage() != head.lineage:
            return 0
        if head.cycle < 0:
            head.cycle, head.cycle_bytes, head.slice_bytes = head.next, 0, 0
            head.cursor = ("", b"")
        budget = max(_LEAST_SLICE, _SLICE_RATIO * sum(map(bytes_of, changes)))
        expired: list[Group] = []
        written = 0
        for piece in chunked(self._slice(head, budget, expired)):
            size = append(journal, head, pack(piece))
            head.slice_bytes += size
            written += size
            fault_point("compaction")
        expired = [group for group in expired if group[1]]
        if expired:
            written += sum(append(journal, head, pack(piece)) for piece in chunked(expired))
            self._local.apply(Commit(head.lineage, head.lineage, expired))
            for name in {group[0] for group in expired}:
                self._forget(name)
        if head.cursor == _END:
            self._end_cycle(journal, head)
        return written

    def _slice(self, head: Head, budget: int, expired: list[Group]) -> Iterator[Group]:
        """The live records from the head's cursor on, up to ``budget`` bytes; moves the cursor.
        Records that have expired are left out, and their removals are added to ``expired``."""
        table, start = head.cursor
        for name in sorted(self._local.tables()):
            if name < table:
                continue
            sweeper = self._sweepers.get(name)
            judge = sweeper.judge() if sweeper is not None and sweeper.in_compaction else None
            for keys, records in self._local.blocks(name, start if name == table else b""):
                size, fitting = bytes_of((name, keys, records)), len(keys)
                if size > budget:
                    fitting = fitting_within(keys, records, budget)
                budget -= size
                living: Group = name, keys[:fitting], records[:fitting]
                yield living if judge is None else without_dead(living, judge, expired)
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


def fitting_within(keys: list[bytes], records: list[bytes], budget: int) -> int:
    """How many records fit into ``budget`` bytes, and one more, so that a record larger than the
    budget is written too; 0 if nothing is left of the budget."""
    if budget <= 0:
        return 0
    sizes = accumulate(len(k) + len(r) + 8 for k, r in zip(keys, records, strict=True))
    return min(len(keys), bisect_left(list(sizes), budget) + 1)


def without_dead(group: Group, judge: Callable[[Any], bool], dead: list[Group]) -> Group:
    """``group`` without the records that ``judge`` says have expired; their removals are added to
    ``dead``."""
    name, keys, records = group
    condemned = list(map(judge, records))
    removed = list(compress(keys, condemned))
    dead.append((name, removed, [None] * len(removed)))
    spared = [not gone for gone in condemned]
    return name, list(compress(keys, spared)), list(compress(records, spared))
