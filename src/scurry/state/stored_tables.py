"""What a journal says that tables hold, for whoever wants to look without running the job.

A slot that goes on with its state replays the journal into a local store. Here the tables that are
asked for are replayed into dicts, and nothing is written anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import msgspec

from scurry.common.advice import WAYS_OUT
from scurry.common.any_paths import AnyPath
from scurry.common.errors import StateError
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.journal import Group, Head, Journal, stored_keys, unpack_groups
from scurry.state.runs.files import RunDirectory
from scurry.state.runs.runs import RunTable

#: The records of a table, by address.
Records = dict[bytes, bytes]


@dataclass(frozen=True)
class StoredJournal:
    """A journal that nobody writes to: its head, what reads its entries, and where its runs are."""

    head: Head
    read: Callable[[int], bytes]
    runs: AnyPath

    @classmethod
    def of(cls, journal: Journal) -> StoredJournal | None:
        """A journal as it is now, None if nothing was committed to it."""
        head = journal.head()
        return None if head is None else cls(head, journal.read, journal.runs)

    def tables(self, wanted: Collection[str]) -> dict[str, Records]:
        """The records of the tables ``wanted``, as of the last commit; a table without any is
        empty."""
        head, found = self.head, {name: Records() for name in wanted}
        for seq in range(head.first, head.next):
            for name, keys, records in self._entry(seq):
                if name in found and head.counts(seq, name):
                    _apply(found[name], stored_keys(keys), records)
        for name in found.keys() & head.runs.keys():
            found[name] = self._large(name)
        return found

    @cached_property
    def schemas(self) -> Records:
        """What is written down about the states of the slot, see
        :mod:`scurry.state.codecs.schemas`."""
        return self.tables([SCHEMAS])[SCHEMAS]

    def _entry(self, seq: int) -> list[Group]:
        try:
            return unpack_groups(self.read(seq))
        except (OSError, ValueError, msgspec.MsgspecError) as failure:
            raise StateError(
                f"An entry of the log that belongs to {self.runs} cannot be read ({failure}): the "
                "checkpoint or savepoint is damaged. `scurry savepoint verify` names the files of "
                f"a savepoint that are. Put the files back. {WAYS_OUT}"
            ) from failure

    def _large(self, name: str) -> Records:
        try:
            blocks = RunTable.open(RunDirectory(self.runs), self.head.runs[name]).blocks()
            return {key: record for block in blocks for key, record in zip(*block, strict=True)}
        except OSError as failure:
            raise StateError(
                f"State in {self.runs} cannot be read ({failure}): the checkpoint or savepoint is "
                f"damaged. Put the files back. {WAYS_OUT}"
            ) from failure


def _apply(table: Records, keys: list[bytes], records: Collection[bytes | None]) -> None:
    for key, record in zip(keys, records, strict=True):
        if record is None:
            table.pop(key, None)
        else:
            table[key] = record
