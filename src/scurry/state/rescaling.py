"""Rescaling: the journals of some slots become the journals of other slots.

A job may go on with another parallelism, or as a program whose operators run in other stages. Both
mean the same for its journals: what an operator has in them goes to the slots that the operator has
from now on.

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
from typing import NamedTuple, Protocol

from scurry.common.errors import StateError
from scurry.common.keys import hash_form, slot_of_group
from scurry.state.codecs.records import renumbered
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.codecs.schemas import Renumbering, merge_schemas
from scurry.state.inventory import uid_of_table
from scurry.state.journal import (
    CHUNK_BYTES,
    LONGEST,
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


class Place(NamedTuple):
    """A slot of a stage; stages count from 1."""

    stage: int
    slot: int


#: A record on its way: slot, key, record.
Piece = tuple[int, bytes, bytes | None]
#: The records of gathered tables, by table and key.
Gathered = dict[str, dict[bytes, bytes]]
#: How many bytes may wait for being written, for all slots together.
_WAITING_BYTES = 2 * CHUNK_BYTES
#: Canonical forms begin with a printable character, and the lengths of forms do not.
_FIRST_OF_FORMS = 32


@dataclass(frozen=True)
class Shares:
    """How the records of one operator are dealt out."""

    #: the slot that owns each key group
    owners: tuple[int, ...]
    #: how many slots the operator has
    slots: int
    #: the slot that the records come from
    origin: int
    #: whether there was another number of key groups before
    regroups: bool = False


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
        if shares.regroups:
            keys = [_regrouped(key, at, len(owners)) for key in keys]
        slots = [owners[key[at] << 8 | key[at + 1]] for key in keys]
        return zip(slots, keys, records, strict=True)

    return rule


def _regrouped(address: bytes, at: int, groups: int) -> bytes:
    """The address of a record in a table of another number of key groups. Behind the group stands
    the canonical form of the key, or the number of its bytes and then the form."""
    begin = at + 2
    form = address[begin:]
    if form[0] < _FIRST_OF_FORMS:
        form = form[2 : 2 + int.from_bytes(form[:2], "big")]
    if len(address) > LONGEST - 40 or form[:1] == b"#":
        raise StateError(
            "The number of key groups (max parallelism) cannot be changed: there is state of a key "
            "whose canonical form has hundreds of bytes. Such a key is stored by a digest, which "
            "depends on the number. Go on with the number of key groups that the state was written "
            "with."
        )
    return address[:at] + (hash_form(form) % groups).to_bytes(2, "big") + address[begin:]


def to_everyone(
    keys: list[bytes], records: Sequence[bytes | None], shares: Shares
) -> Iterator[Piece]:
    """The rule of tables that are the same in all slots."""
    if shares.origin == 0:
        for slot in range(shares.slots):
            yield from ((slot, key, record) for key, record in zip(keys, records, strict=True))


@dataclass(frozen=True)
class Deal:
    """Where everything goes: a number of slots, and the stages of operators."""

    #: the slots of the job
    slots: int
    max_parallelism: int
    #: the parallelism of operators
    degrees: Mapping[str, int]
    #: the rule of a table, None if it has to be gathered
    rule_of: Callable[[str], Rule | None]
    #: the stage of each operator that runs in one; what others have left goes nowhere
    stages: Mapping[str, int]
    #: how many stages there are
    depth: int
    #: whether there was another number of key groups before
    regroups: bool = False

    @property
    def places(self) -> list[Place]:
        """All slots of all stages."""
        stages = range(1, self.depth + 1)
        return [Place(stage, slot) for stage in stages for slot in range(self.slots)]

    def stage_of(self, table: str) -> int | None:
        """The stage whose slots have ``table``, None if no operator wants it."""
        return self.stages.get(uid_of_table(table))

    def slots_of(self, table: str) -> int:
        """How many slots have a part of ``table``."""
        return min(self.degrees.get(uid_of_table(table), self.slots), self.slots)

    def shares(self, table: str, origin: int) -> Shares:
        """How the records that slot ``origin`` has of ``table`` are dealt out."""
        slots = self.slots_of(table)
        return Shares(_owners(slots, self.max_parallelism), slots, origin, self.regroups)


@cache
def _owners(slots: int, groups: int) -> tuple[int, ...]:
    return tuple(slot_of_group(group, slots, groups) for group in range(groups))


#: The stage that a table goes to, its rule and its shares.
_Way = tuple[int, Rule | None, Shares]


class Splitter:
    """Deals out the journal of slot ``origin``; the entries for the new slots go to ``write``."""

    def __init__(
        self,
        origin: Place,
        deal: Deal,
        write: Callable[[Place, bytes], None],
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
        self._waiting: dict[int, list[list[Change]]] = {}
        self._bytes = 0
        self._ways: dict[str, _Way | None] = {}

    def take(self, seq: int, blob: bytes) -> None:
        """The next entry of the journal, and its number."""
        for group in unpack_groups(blob):
            if self._counts(seq, group[0]):
                self.take_group(group)

    def take_group(self, group: Group) -> None:
        """Changes of one table, or what is in it."""
        table, keys, records = group
        if table not in self._ways:
            self._ways[table] = self._way(table)
        way = self._ways[table]
        if way is None:
            return
        stage, rule, shares = way
        if rule is None:
            self._gather(table, keys, records)
            return
        numbers = self._renumbering.get(table)
        if numbers is not None:
            records = [None if r is None else renumbered(r, numbers) for r in records]
        waiting = self._waiting.setdefault(stage, [[] for _ in range(self._deal.slots)])
        for slot, key, record in rule(keys, records, shares):
            waiting[slot].append((table, key, record))
        self._bytes += bytes_of(group)
        if self._bytes >= _WAITING_BYTES:
            self.finish()

    def _way(self, table: str) -> _Way | None:
        """What becomes of ``table``, None if nothing does."""
        stage = 0 if table == SCHEMAS else self._deal.stage_of(table)
        if stage is None:
            return None
        return stage, self._deal.rule_of(table), self._deal.shares(table, self.origin.slot)

    def _gather(self, table: str, keys: list[bytes], records: Sequence[bytes | None]) -> None:
        held = self.gathered.setdefault(table, {})
        for key, record in zip(keys, records, strict=True):
            if record is None:
                held.pop(key, None)
            else:
                held[key] = record

    def finish(self) -> None:
        """Write what is waiting."""
        for stage, slots in self._waiting.items():
            for slot, changes in enumerate(slots):
                if changes:
                    self._write(Place(stage, slot), pack(list(grouped(changes))))
        self._waiting = {}
        self._bytes = 0


@dataclass
class Settlement:
    """What can be said once the journals of all slots have been read."""

    #: by new slot: records of the tables that were gathered
    entries: dict[Place, list[Change]]
    #: by slot before: where records name another version of their schema from now on; if there
    #: are any, the journals have to be dealt out again
    renumbering: dict[Place, Renumbering] = field(default_factory=dict)


def settle(gathered: Mapping[Place, Gathered], deal: Deal) -> Settlement:
    """Deal out the tables that were gathered from the slots before."""
    made = Settlement({place: [] for place in deal.places})
    origins = sorted(gathered)
    rows, made.renumbering = merge_schemas(
        {origin: gathered[origin].get(SCHEMAS, {}) for origin in origins}
    )
    for entries in made.entries.values():
        entries.extend((SCHEMAS, key, record) for key, record in rows.items())
    for table in sorted({name for origin in origins for name in gathered[origin]} - {SCHEMAS}):
        before = {origin.stage for origin in origins if table in gathered[origin]}
        instances = [gathered[o].get(table, {}) for o in origins if o.stage in before]
        stage = deal.stage_of(table)
        assert stage is not None, "what nobody wants is not gathered"
        for slot, states in enumerate(redistribute_records(instances, deal.slots_of(table))):
            entries = made.entries[Place(stage, slot)]
            entries.extend((table, key, record) for key, record in states.items())
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
