"""Partitionings: which slot of the next stage a record goes to.

All of them are functions of the record, or of its place in the input, so a batch that is run again
spreads its records in exactly the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.common.errors import KeyTypeError, ProgramError
from scurry.common.keys import KeySlots, freeze, stable_hash_int64
from scurry.runtime.batch import Batch, Longs, pick
from scurry.runtime.columns import to_list
from scurry.runtime.failures import ElementFailed, apply_all
from scurry.runtime.selectors import no_key

Spread = Iterator[tuple[int, Batch]]


class Destination(NamedTuple):
    """Where records go, and who sends them."""

    slots: int
    max_parallelism: int
    #: the sending task's number
    sender: int
    #: the number of the micro-batch
    batch: int


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
        # the first slot changes from batch to batch, or small batches would favour slot 0
        turns = _places(batch) + to.sender + to.batch
        yield from _by_slot(batch, turns % to.slots, to.slots)


class Shuffle(Partitioning):
    """To a slot that looks random but is the same in every run."""

    name = "shuffle"

    def spread(self, batch: Batch, to: Destination) -> Spread:
        chosen = stable_hash_int64(_places(batch) + to.batch) % np.uint64(to.slots)
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


class KeyColumn(NamedTuple):
    """The keys of a batch as numbers."""

    codes: Longs
    #: what the numbers stand for: ``names[code]``, or themselves if this is None
    names: list[Any] | None = None


class ByKey(Partitioning):
    """By the key's key group; the keys travel along.

    ``field`` is the field that the selector picks, if it does nothing else.
    """

    name = "hash"

    def __init__(self, select: Callable[[Any], Any], field: str | int | None = None) -> None:
        self._select = select
        self._field = field
        self._slots: KeySlots | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_slots": None}

    def _slots_at(self, to: Destination) -> KeySlots:
        if self._slots is None:
            self._slots = KeySlots(to.slots, to.max_parallelism)
        return self._slots

    def key_column(self, batch: Batch) -> KeyColumn | None:
        """The keys of a batch, if they are a column of whole numbers or of strings."""
        numbers = self._numbers(batch)
        if numbers is not None:
            return KeyColumn(numbers)
        column = batch.column(self._field)
        if column is None or column.null_count or not pa.types.is_string(column.type):
            return None
        found = column.dictionary_encode()
        return KeyColumn(_longs(found.indices), found.dictionary.to_pylist())

    def _numbers(self, batch: Batch) -> Longs | None:
        """The keys of a batch, if they are a column of whole numbers with a sign."""
        column = batch.column(self._field)
        if column is None or column.null_count or not pa.types.is_integer(column.type):
            return None
        return None if column.type == pa.uint64() else _longs(column)

    def slots_of(self, keys: Longs | list[Any], to: Destination) -> Longs:
        """The slots of keys of such a column."""
        slots = self._slots_at(to)
        if isinstance(keys, np.ndarray):
            return slots.of_ints(keys)
        return np.array(list(map(slots.__getitem__, keys)), dtype=np.int64)

    def spread(self, batch: Batch, to: Destination) -> Spread:
        slots = self._slots_at(to)
        numbers = self._numbers(batch)
        if numbers is not None:
            for slot, part, places in _parts(batch, slots.of_ints(numbers), to.slots):
                part.keys, part.key_column = None, numbers[places]
                yield slot, part
            return
        column = batch.column(self._field)
        keys = apply_all(self._select, batch.rows) if column is None else to_list(column)
        keys, chosen = self._route(keys, batch)
        for slot, part, places in _parts(batch, chosen, to.slots):
            part.keys = pick(keys, places)
            yield slot, part

    def _route(self, keys: list[Any], batch: Batch) -> tuple[list[Any], Longs]:
        assert self._slots is not None
        try:
            chosen = np.array(list(map(self._slots.__getitem__, keys)), dtype=np.int64)
        except (TypeError, KeyTypeError):
            keys, slots = self._route_slowly(keys, batch)
            return keys, np.array(slots, dtype=np.int64)
        if len(chosen) and chosen.min() < 0:
            pairs = zip(keys, (chosen < 0).tolist(), strict=True)
            keys = [freeze(key) if odd else key for key, odd in pairs]
            chosen = np.where(chosen < 0, ~chosen, chosen)
        return keys, chosen

    def _route_slowly(self, keys: list[Any], batch: Batch) -> tuple[list[Any], list[int]]:
        """Some key is not hashable: give it identity by value, or name the record that has it."""
        assert self._slots is not None
        frozen, chosen = [], []
        for row, key in zip(batch.rows, keys, strict=True):
            try:
                frozen.append(freeze(key))
                chosen.append(self._slots[frozen[-1]])
            except KeyTypeError as failure:
                raise ElementFailed(row) from failure
        return frozen, chosen


class OneKey(ByKey):
    """All records have the key 0, so that one slot gets them."""

    def __init__(self) -> None:
        super().__init__(no_key)

    def _numbers(self, batch: Batch) -> Longs | None:
        return np.zeros(batch.size, dtype=np.int64)


def _longs(column: pa.Array) -> Longs:
    numbers: Longs = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers


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
