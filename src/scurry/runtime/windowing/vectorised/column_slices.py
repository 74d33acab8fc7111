"""Partials of aligned windows by slice of time: the state of the vectorised operator.

What a micro-batch adds to a slice is one record, whatever the number of keys, and earlier records
of the slice are not read for that. When a slice has many records, they are replaced by one. When no
window needs the slice any more, its records are deleted. In memory a slice is a list of parts,
which are combined when a window fires.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.key_codes import KeyCodes, Keys, groups_of_keys, pack_keys
from scurry.runtime.columnar.partials import (
    Columns,
    combine,
    concat,
    groups_of,
    pack_columns,
    take,
    unpack_columns,
)
from scurry.runtime.picking import pick
from scurry.runtime.windowing.slices import SliceIndex, row_of
from scurry.state.journal import Change, in_groups
from scurry.state.rescaling import Piece, Shares
from scurry.state.slot_store import SlotStore

#: Parts of a slice that are worth combining: in memory, and in the store.
_MANY = 16
#: Keys that are numbered although no open slice has them.
_IDLE_KEYS = 100_000
#: Gives for codes from before a renumbering the codes since.
Translate = Callable[[Longs], Longs]


class Part(NamedTuple):
    """Rows of different keys."""

    codes: Longs
    columns: Columns


class CodedKeys(ABC):
    """State that holds keys as codes."""

    def __init__(self, max_parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        self.keys = KeyCodes(max_parallelism)

    def codes_of(self, batch: Batch) -> Longs:
        """The codes of a batch's keys."""
        if batch.key_column is not None and not self.keys.numbered:
            return batch.key_column
        assert batch.keys is not None
        return self.codes_of_keys(batch.keys)

    def codes_of_keys(self, keys: Keys) -> Longs:
        """The codes of keys."""
        if isinstance(keys, np.ndarray):
            return keys if not self.keys.numbered else self.codes_of_keys(keys.tolist())
        found = self.keys.codes(keys)
        if found is None:
            self._renumber()
            found = self.keys.codes(keys)
            assert found is not None
        return found

    def read(self, records: list[bytes]) -> list[Part]:
        """Stored rows, when nothing is held yet."""
        found = [_unpacked(record) for record in records]
        if not all(isinstance(keys, np.ndarray) for keys, _ in found):
            self.keys.number()
        parts = []
        for keys, columns in found:
            if isinstance(keys, np.ndarray) and not self.keys.numbered:
                parts.append(Part(keys, columns))
            else:
                plain = keys.tolist() if isinstance(keys, np.ndarray) else keys
                codes = self.keys.codes(plain)
                assert codes is not None
                parts.append(Part(codes, columns))
        return parts

    def packed(self, part: Part) -> bytes:
        """Rows as they are stored."""
        return _packed(self.keys.pack(part.codes), part.columns)

    def _renumber(self) -> None:
        """Number the keys, from the beginning."""
        old, self.keys = self.keys, KeyCodes(self._max_parallelism)
        self.keys.number()

        def translate(codes: Longs) -> Longs:
            made = self.keys.codes(old.keys(codes))
            assert made is not None
            return made

        self._translate(translate)

    def _tidy(self, rows: int) -> None:
        """Forget keys that are not in use."""
        if self.keys.size > _IDLE_KEYS + 2 * rows:
            self._renumber()

    @abstractmethod
    def _translate(self, translate: Translate) -> None:
        """Replace all codes that are held."""

    @staticmethod
    def redistribute(
        keys: list[bytes], records: Sequence[bytes | None], shares: Shares
    ) -> Iterator[Piece]:
        """A record has rows of many keys, so it is cut; and as records of several slots can have
        the same place, what they become is told apart by the slot they come from."""
        origin = shares.origin.to_bytes(2, "big")
        owners = np.array(shares.owners)
        for place, record in zip(keys, records, strict=True):
            if record is None:
                yield from ((slot, place + origin, None) for slot in range(shares.slots))
                continue
            held, columns = _unpacked(record)
            chosen = owners[groups_of_keys(held, len(owners))]
            for slot in np.unique(chosen).tolist():
                rows = np.flatnonzero(chosen == slot)
                share = _packed(pack_keys(_picked(held, rows)), take(columns, rows))
                yield slot, place + origin, share


class ColumnSlices(CodedKeys, SliceIndex):
    """The slices of one operator and slot."""

    def __init__(self, name: str, store: SlotStore) -> None:
        SliceIndex.__init__(self, name, store)
        CodedKeys.__init__(self, store.max_parallelism)
        self._held: dict[int, list[Part]] = {}
        self._fresh: dict[int, list[Part]] = {}
        #: how many records and rows stored slices have
        self._sizes: dict[int, tuple[int, int]] = {}

    def begin(self) -> list[int] | None:
        found = super().begin()
        records = [(start, data) for start in found or () for _, data in self._records(start)]
        for (start, _), part in zip(records, self.read([data for _, data in records]), strict=True):
            self._held.setdefault(start, []).append(part)
            count, rows = self._sizes.get(start, (0, 0))
            self._sizes[start] = count + 1, rows + len(part.codes)
        return found

    def add(self, start: int, part: Part) -> None:
        """Add rows to a slice."""
        parts = self._fresh.setdefault(start, [])
        parts.append(part)
        if len(parts) > _MANY:
            self._fresh[start] = [whole_part(parts)]

    def parts(self, starts: Iterable[int]) -> list[Part]:
        """The rows of several slices."""
        held, fresh = self._held, self._fresh
        return [
            part for start in starts for parts in (held, fresh) for part in parts.get(start, ())
        ]

    def _forget_slice(self, start: int) -> None:
        self._held.pop(start, None)
        self._fresh.pop(start, None)
        self._sizes.pop(start, None)

    @in_groups
    def changes(self) -> Iterator[Change]:
        yield from self._deletions()
        epoch = self._slot.epoch.to_bytes(8, "big")
        for start, parts in self._fresh.items():
            whole = whole_part(parts)
            records, rows = self._sizes.get(start, (0, 0))
            if records >= _MANY:
                everything = whole_part([*self._held[start], whole])
                if rows + len(whole.codes) > 2 * len(everything.codes):
                    for address, _ in self._records(start):
                        yield self.name, address, None
                    self._held[start] = []
                    whole, records, rows = everything, 0, 0
            self._fresh[start] = [whole]
            self._sizes[start] = records + 1, rows + len(whole.codes)
            yield self.name, row_of(start) + epoch, self.packed(whole)

    def settle(self) -> None:
        """The changes are in the store now."""
        assert self._stored is not None
        self._dropped.clear()
        for start, parts in self._fresh.items():
            held = self._held.setdefault(start, [])
            held += parts
            if len(held) > _MANY:
                self._held[start] = [whole_part(held)]
            self._stored.add(start)
        self._fresh.clear()
        self._tidy(sum(len(part.codes) for parts in self._held.values() for part in parts))

    def forget(self) -> None:
        super().forget()
        self._held.clear()
        self._fresh.clear()
        self._sizes.clear()
        self.keys = KeyCodes(self._max_parallelism)

    def _translate(self, translate: Translate) -> None:
        for slices in (self._held, self._fresh):
            for start, parts in slices.items():
                slices[start] = [Part(translate(part.codes), part.columns) for part in parts]


def whole_part(parts: list[Part]) -> Part:
    """Parts combined into one."""
    if len(parts) == 1:
        return parts[0]
    codes = np.concatenate([part.codes for part in parts])
    columns = concat([part.columns for part in parts], [len(part.codes) for part in parts])
    (distinct,), inverse = groups_of(codes)
    return Part(distinct, combine(columns, inverse, len(distinct)))


def _picked(keys: Keys, rows: Longs) -> Keys:
    return keys[rows] if isinstance(keys, np.ndarray) else pick(keys, rows)


def _packed(keys: bytes, columns: Columns) -> bytes:
    return len(keys).to_bytes(4, "big") + keys + pack_columns(columns)


def _unpacked(record: bytes) -> tuple[Keys, Columns]:
    end = 4 + int.from_bytes(record[:4], "big")
    return KeyCodes.unpack(record[4:end]), unpack_columns(memoryview(record)[end:])
