"""Partitionings: which slot of the next stage a record goes to.

All of them are functions of the record, or of its place in the input, so a batch that is run again
spreads its records in exactly the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from scurry.common.errors import KeyTypeError, ProgramError
from scurry.common.keys import KeySlots, freeze, freeze_all, stable_hash_int64
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.failures import ElementFailed, apply_all
from scurry.runtime.key_columns import KeyColumn, key_column
from scurry.runtime.picking import pick
from scurry.runtime.selectors import Picked, no_key

Spread = Iterator[tuple[int, Batch]]


class Destination(NamedTuple):
    """Where records go, and who sends them."""

    slots: int
    max_parallelism: int
    #: the sending task's number
    sender: int
    #: a number that changes from one micro-batch, or round of one, to the next
    turn: int


class Partitioning(ABC):
    """Distributes a batch over slots. ``name`` is what ``explain()`` calls it."""

    name: str

    @abstractmethod
    def spread(self, batch: Batch, to: Destination) -> Spread:
        """Pairs of slot and the records for it."""


class Forward(Partitioning):
    """To the slot of the same number."""

    name = "forward"

    def spread(self, batch: Batch, to: Destination) -> Spread:
        yield to.sender % to.slots, batch


class Global(Partitioning):
    """Everything to slot 0."""

    name = "global"

    def spread(self, batch: Batch, to: Destination) -> Spread:
        yield 0, batch


class Broadcast(Partitioning):
    """Everything to every slot."""

    name = "broadcast"

    def spread(self, batch: Batch, to: Destination) -> Spread:
        for slot in range(to.slots):
            yield slot, batch


class Rebalance(Partitioning):
    """Round robin."""

    name = "rebalance"

    def spread(self, batch: Batch, to: Destination) -> Spread:
        # the first slot changes from turn to turn, or small batches would favour slot 0
        turns = _places(batch) + to.sender + to.turn
        yield from _by_slot(batch, turns % to.slots, to.slots)


class Shuffle(Partitioning):
    """To a slot that looks random but is the same in every run."""

    name = "shuffle"

    def spread(self, batch: Batch, to: Destination) -> Spread:
        chosen = stable_hash_int64(_places(batch) + to.turn) % np.uint64(to.slots)
        yield from _by_slot(batch, chosen.astype(np.int64), to.slots)


class Custom(Partitioning):
    """Where the user's function says, given the record's key."""

    name = "custom"

    def __init__(self, partition: Callable[[Any, int], int], select: Callable[[Any], Any]) -> None:
        self._partition = partition
        self._select = select

    def spread(self, batch: Batch, to: Destination) -> Spread:
        def choose(row: Any) -> int:
            slot = self._partition(self._select(row), to.slots)
            if isinstance(slot, (int, np.integer)) and 0 <= slot < to.slots:
                return int(slot)
            raise ProgramError(
                f"The partitioner returned {slot!r}; it must return a whole number from 0 to "
                f"{to.slots - 1}."
            )

        chosen = apply_all(choose, batch.rows)
        yield from _by_slot(batch, np.array(chosen, dtype=np.int64), to.slots)


class ByKey(Partitioning):
    """By the key's key group; the keys travel along.

    ``picked`` are the fields that the selector picks, if it does nothing else.
    """

    name = "hash"

    def __init__(self, select: Callable[[Any], Any], picked: Picked | None = None) -> None:
        self._select = select
        self._picked = picked
        self._slots: KeySlots | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_slots": None}

    def _slots_at(self, to: Destination) -> KeySlots:
        if self._slots is None:
            self._slots = KeySlots(to.slots, to.max_parallelism)
        return self._slots

    def key_column(self, batch: Batch) -> KeyColumn | None:
        """The keys of a batch, if they are fields of records that are held as columns."""
        try:
            return key_column(batch, self._picked)
        except KeyTypeError:
            # which record it is shows when keys are looked at one by one
            return None

    def slots_of(self, keys: Longs | list[Any], to: Destination) -> Longs:
        """The slots of keys of such a column."""
        slots = self._slots_at(to)
        if isinstance(keys, np.ndarray):
            return slots.of_ints(keys)
        return _numbered(list(map(slots.__getitem__, keys)), slots)

    def spread(self, batch: Batch, to: Destination) -> Spread:
        slots = self._slots_at(to)
        found = self.key_column(batch)
        if found is None:
            keyed = batch.alias()
            keyed.keys, chosen = self._route(batch)
            yield from _by_slot(keyed, chosen, to.slots)
            return
        for slot, part, places in _parts(batch, _slots(found, slots), to.slots):
            codes = found.codes[places]
            part.keys = None if found.names is None else pick(found.names, codes)
            part.key_column = codes if found.names is None else None
            yield slot, part

    def _route(self, batch: Batch) -> tuple[list[Any], Longs]:
        assert self._slots is not None
        chosen = apply_all(self._select, batch.rows)
        try:
            keys = freeze_all(chosen)
            slots = list(map(self._slots.__getitem__, keys))
        except KeyTypeError as failure:
            raise ElementFailed(_without_key(chosen, batch, self._slots)) from failure
        return keys, _numbered(slots, self._slots)


class OneKey(ByKey):
    """All records have the key 0, so that one slot gets them."""

    def __init__(self) -> None:
        super().__init__(no_key)

    def key_column(self, batch: Batch) -> KeyColumn | None:
        return KeyColumn(np.zeros(batch.size, dtype=np.int64))


def _slots(found: KeyColumn, slots: KeySlots) -> Longs:
    """The slots of records with those keys."""
    if found.hashes is None:
        return slots.of_ints(found.codes)
    return slots.of_hashes(found.hashes())[found.codes]


def _numbered(chosen: list[int], slots: KeySlots) -> Longs:
    """Numbers of slots as an array; by way of bytes, where they fit, in half the time."""
    if slots.parallelism <= 256:
        return np.frombuffer(bytes(chosen), dtype=np.uint8)
    return np.array(chosen, dtype=np.int64)


def _without_key(keys: list[Any], batch: Batch, slots: KeySlots) -> Any:
    """The first record whose key cannot be one."""
    for row, key in zip(batch.rows, keys, strict=True):
        try:
            slots[freeze(key)]
        except KeyTypeError:
            return row
    raise AssertionError("all of them are keys")


def _places(batch: Batch) -> Longs:
    return np.arange(batch.size, dtype=np.int64) if batch.tick is None else batch.tick


def _parts(batch: Batch, chosen: Longs, slots: int) -> Iterator[tuple[int, Batch, Longs]]:
    if slots == 1:
        places = np.arange(batch.size, dtype=np.int64)
        yield 0, batch.alias(), places
        return
    for slot in range(slots):
        places = np.flatnonzero(chosen == slot)
        if len(places):
            yield slot, batch.take(places, compact=True), places


def _by_slot(batch: Batch, chosen: Longs, slots: int) -> Spread:
    for slot, part, _ in _parts(batch, chosen, slots):
        yield slot, part
