"""Rescaling: the journals of some slots become the journals of another number of slots.

A journal is a sequence of changes, and every change belongs to a key group, to every slot, or to a
table that has to be seen as a whole. So journals are dealt out without being replayed: their
entries are read in order, each change goes to the slot that will own it, and what comes out are
journals that hold the same state once somebody replays them. Nothing but the entry at hand and the
entries being filled is in memory. Large tables, which are not in the journals, are dealt out the
same way, as if they had just been written.

Each kind of table has a *rule*, which says for its records where they go. A table whose records
mean something only together, such as the lists that functions keep beside keys, has none: it is
*gathered* from all slots and dealt out at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from scurry.common.keys import slot_of_group
from scurry.state.codecs.records import renumbered
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.codecs.schemas import Renumbering, merge_schemas
from scurry.state.journal import (
    CHUNK_BYTES,
    Change,
    Group,
    Head,
    Journal,
    bytes_of,
    grouped,
    pack,
    unpack_groups,
)
from scurry.state.operator_state import redistribute_records

#: A record on its way: slot, key, record.
Piece = tuple[int, bytes, bytes | None]
#: The records of gathered tables, by table and key.
Gathered = dict[str, dict[bytes, bytes]]
#: How many bytes may wait for being written, for all slots together.
_WAITING_BYTES = 2 * CHUNK_BYTES


@dataclass(frozen=True)
class Shares:
    """How the records of one operator are dealt out."""

    #: the slot that owns each key group
    owners: tuple[int, ...]
    #: how many slots the operator has
    slots: int
    #: the slot that the records come from
    origin: int


class Rule(Protocol):
    """Where the records of one kind of table go."""

    def __call__(
        self, keys: list[bytes], records: Sequence[bytes | None], shares: Shares
    ) -> Iterator[Piece]:
        """The records with their new slots; a removal goes wherever the record may have gone."""


def by_key_group(at: int = 0) -> Rule:
    """The rule of tables whose keys have their key group ``at`` bytes behind their beginning."""

    def rule(
        keys: list[bytes], records: Sequence[bytes | None], shares: Shares
    ) -> Iterator[tuple[int, bytes, bytes | None]]:
        owners = shares.owners
        slots = [owners[key[at] << 8 | key[at + 1]] for key in keys]
        return zip(slots, keys, records, strict=True)

    return rule


def to_everyone(
    keys: list[bytes], records: Sequence[bytes | None], shares: Shares
) -> Iterator[Piece]:
    """The rule of tables that are the same in all slots."""
    if shares.origin == 0:
        for slot in range(shares.slots):
            yield from ((slot, key, record) for key, record in zip(keys, records, strict=True))


@dataclass(frozen=True)
class Deal:
    """A new number of slots."""

    #: the slots of the job
    slots: int
    max_parallelism: int
    #: the parallelism of operators
    degrees: Mapping[str, int]
    #: the rule of a table, None if it has to be gathered
    rule_of: Callable[[str], Rule | None]

    def slots_of(self, table: str) -> int:
        """How many slots have a part of ``table``."""
        return min(self.degrees.get(table.partition("\x1f")[0], self.slots), self.slots)

    def shares(self, table: str, origin: int) -> Shares:
        """How the records that slot ``origin`` has of ``table`` are dealt out."""
        slots = self.slots_of(table)
        return Shares(_owners(slots, self.max_parallelism), slots, origin)


@cache
def _owners(slots: int, groups: int) -> tuple[int, ...]:
    return tuple(slot_of_group(group, slots, groups) for group in range(groups))


class Splitter:
    """Deals out the journal of slot ``origin``; the entries for the new slots go to ``write``."""

    def __init__(
        self,
        origin: int,
        deal: Deal,
        write: Callable[[int, bytes], None],
        renumbering: Renumbering | None = None,
        counts: Callable[[int, str], bool] = lambda seq, table: True,
    ) -> None:
        """``counts`` is :meth:`scurry.state.journal.Head.counts` of the journal's head."""
        self.origin = origin
        self._counts = counts
        self.gathered: Gathered = {}
        self._deal = deal
        self._write = write
        self._renumbering = renumbering or {}
        self._waiting: list[list[Change]] = [[] for _ in range(deal.slots)]
        self._bytes = 0
        self._ways: dict[str, tuple[Rule | None, Shares]] = {}

    def take(self, seq: int, blob: bytes) -> None:
        """The next entry of the journal, and its number."""
        for group in unpack_groups(blob):
            if self._counts(seq, group[0]):
                self.take_group(group)

    def take_group(self, group: Group) -> None:
        """Changes of one table, or what is in it."""
        table, keys, records = group
        way = self._ways.get(table)
        if way is None:
            way = self._deal.rule_of(table), self._deal.shares(table, self.origin)
            self._ways[table] = way
        rule, shares = way
        if rule is None:
            self._gather(table, keys, records)
            return
        numbers = self._renumbering.get(table)
        if numbers is not None:
            records = [None if r is None else renumbered(r, numbers) for r in records]
        waiting = self._waiting
        for slot, key, record in rule(keys, records, shares):
            waiting[slot].append((table, key, record))
        self._bytes += bytes_of(group)
        if self._bytes >= _WAITING_BYTES:
            self.finish()

    def _gather(self, table: str, keys: list[bytes], records: Sequence[bytes | None]) -> None:
        held = self.gathered.setdefault(table, {})
        for key, record in zip(keys, records, strict=True):
            if record is None:
                held.pop(key, None)
            else:
                held[key] = record

    def finish(self) -> None:
        """Write what is waiting."""
        for slot, changes in enumerate(self._waiting):
            if changes:
                self._write(slot, pack(list(grouped(changes))))
        self._waiting = [[] for _ in range(self._deal.slots)]
        self._bytes = 0


@dataclass
class Settlement:
    """What can be said once the journals of all slots of a stage have been read."""

    #: by slot: records of the tables that were gathered
    entries: list[list[Change]]
    #: by slot before: where records name another version of their schema from now on; if there
    #: are any, the journals have to be dealt out again
    renumbering: dict[int, Renumbering] = field(default_factory=dict)


def settle(gathered: Mapping[int, Gathered], deal: Deal) -> Settlement:
    """Deal out the tables that were gathered from the slots before."""
    made = Settlement([[] for _ in range(deal.slots)])
    origins = sorted(gathered)
    rows, made.renumbering = merge_schemas(
        {origin: gathered[origin].get(SCHEMAS, {}) for origin in origins}
    )
    for entries in made.entries:
        entries.extend((SCHEMAS, key, record) for key, record in rows.items())
    for table in sorted({name for origin in origins for name in gathered[origin]} - {SCHEMAS}):
        instances = [gathered[origin].get(table, {}) for origin in origins]
        for slot, states in enumerate(redistribute_records(instances, deal.slots_of(table))):
            made.entries[slot].extend((table, key, record) for key, record in states.items())
    return made


def take_in(
    journal: Journal,
    blobs: Iterable[bytes],
    base: int,
    notes: bytes,
    bulky: tuple[str, ...],
    ranged: tuple[str, ...],
) -> Head:
    """Make ``blobs`` the content of a journal that has none; its entries count from ``base``, which
    is beyond all numbers that the journals before have used."""
    head = Head(os.urandom(12), base, base, 0, 0, notes, bulky=bulky, ranged=ranged)
    for blob in blobs:
        journal.append(head.next, blob)
        head.next += 1
        head.log_bytes += len(blob)
    journal.put_head(head)
    return head
