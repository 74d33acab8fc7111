"""Combining by slices: records of the same key and slice of time travel as one row of partials.

Built-in aggregates do not depend on the order of their elements. So the records of a batch can be
aggregated where they are, before they travel to the slots of the windows. With many records for
each key and slice next to nothing is left to send, and a key that most records have burdens no
single slot.

The result is the same as if the records had been sent, under two conditions: each record arrives
before any of its windows fires, and of late records only the number matters. So these travel, or
are handled, as single records:

* a record that the watermark of its own channel has passed travels as it is;
* windows that fire again for late elements, or hand them on, are sent no partials at all;
* where channels can be idle there are no partials either, because the watermark of the others may
  then be ahead of a record that is on time in its own channel.

In all other cases the combined watermark is ahead of a record only if the windows had come further
before the micro-batch began. They recognise that by the time of the slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import gcd, log1p
from typing import Any, NamedTuple

import numpy as np

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs
from scurry.runtime.columnar.key_codes import KeyCodes, pack_keys
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.columnar.partials import (
    Columns,
    combine,
    concat,
    groups_of,
    pack_columns,
    take,
    unpack_columns,
)
from scurry.runtime.key_columns import KeyColumn
from scurry.runtime.picking import pick

#: The column of the starts of slices.
_START = "start"
#: Records of a batch below which combining them is not worth the trouble.
_LEAST = 256
#: Records that a key and slice must have, on average, for combining to be worth its time.
_SHARE = 3


class Slices(NamedTuple):
    """Partials: one row for each key and slice."""

    keys: Longs | list[Any]
    columns: Columns

    @property
    def starts(self) -> Longs:
        """The starts of the slices."""
        return self.columns[_START]

    @property
    def partials(self) -> Columns:
        """The columns without the starts."""
        return {name: column for name, column in self.columns.items() if name != _START}

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.starts)

    @property
    def records(self) -> int:
        """How many records they stand for."""
        return int(self.columns["n"].sum())

    def by_slot(self, chosen: Longs) -> Iterator[tuple[int, Slices]]:
        """The rows for each slot, given the slot of each row."""
        for slot in np.unique(chosen).tolist():
            rows = np.flatnonzero(chosen == slot)
            keys = self.keys
            mine = keys[rows] if isinstance(keys, np.ndarray) else pick(keys, rows)
            yield slot, Slices(mine, take(self.columns, rows))


class SliceCombiner:
    """Combines what is on its way to windows of ``size`` that begin every ``slide``, from
    ``offset`` on, all in milliseconds: a :class:`scurry.runtime.combining.Combiner`."""

    def __init__(self, size: int, slide: int, offset: int, measures: Measures) -> None:
        self._size = size
        self._slide = slide
        self._offset = offset
        self._step = gcd(size, slide)
        self._measures = measures

    def split(self, batch: Batch, keys: KeyColumn | None) -> tuple[Slices | None, Batch]:
        """Split ``batch`` into what was combined (None if nothing was) and the records that travel
        as they are. ``keys`` are the keys of the batch, None if they are no column."""
        stamps = batch.ts
        if (
            keys is None
            or stamps is None
            or batch.size < _LEAST
            or not self._within_reach(stamps)
            or not self._measures.plain(batch)
        ):
            return None, batch
        numbers = (stamps - self._offset) // self._step
        if not _shared(numbers, keys.codes):
            return None, batch
        behind = self._behind(batch)
        if behind is None:
            return self._combined(batch, numbers, keys), batch.take(_NONE)
        kept = np.flatnonzero(~behind)
        if not len(kept):
            return None, batch
        rest = batch.take(np.flatnonzero(behind), compact=True)
        return self._combined(batch, numbers, keys, kept), rest

    def _within_reach(self, stamps: Longs) -> bool:
        reach = self._size + self._slide
        low, high = int(stamps.min()), int(stamps.max())
        return MIN_WATERMARK + reach <= low and high <= MAX_WATERMARK - reach

    def _behind(self, batch: Batch) -> Any:
        """Which records come after the first of their windows has fired, None if none do."""
        if batch.wm is None:
            return None
        stamps: Any = batch.ts
        late = np.flatnonzero(stamps <= batch.wm)
        if not len(late):
            # as a window ends at the earliest with the record itself
            return None
        latest = stamps[late] - (stamps[late] - self._offset) % self._slide
        first = latest - (self._size - 1 - (stamps[late] - latest)) // self._slide * self._slide
        behind = np.zeros(batch.size, dtype=bool)
        behind[late] = first + self._size - 1 <= batch.wm[late]
        return behind if behind.any() else None

    def _combined(
        self, batch: Batch, numbers: Longs, keys: KeyColumn, kept: Longs | None = None
    ) -> Slices:
        codes = keys.codes
        if kept is not None:
            numbers, codes = numbers[kept], codes[kept]
        (numbers, codes), inverse = groups_of(numbers, codes)
        columns = combine(self._measures.of(batch, kept), inverse, len(codes))
        columns[_START] = numbers * self._step + self._offset
        return Slices(codes if keys.names is None else pick(keys.names, codes), columns)

    def pack(self, parts: Sequence[Slices]) -> bytes:
        """Partials as bytes, which :func:`unpack_slices` reads."""
        whole = _joined(parts)
        keys = pack_keys(whole.keys)
        return len(keys).to_bytes(4, "big") + keys + pack_columns(whole.columns)


_NONE = np.zeros(0, dtype=np.int64)


def _shared(numbers: Longs, codes: Longs) -> bool:
    """Whether records have so many keys and slices in common that combining them is worthwhile.
    That is judged by how many pairs of key and slice there can be or, if that is not enough, by how
    many places of a table the hashes of the pairs take."""
    size = len(codes)
    at_most = 1
    for column in (numbers, codes):
        at_most *= int(column.max()) - int(column.min()) + 1
    if at_most * _SHARE <= size:
        return True
    bits = (2 * size - 1).bit_length()
    with np.errstate(over="ignore"):
        mixed = (codes * np.int64(-7046029254386353131) + numbers) * np.int64(-4658895280553007687)
    taken = np.zeros(1 << bits, dtype=bool)
    taken[mixed.view(np.uint64) >> np.uint64(64 - bits)] = True
    share = int(np.count_nonzero(taken)) / len(taken)
    return share < 1 and -len(taken) * log1p(-share) * _SHARE <= size


def unpack_slices(blobs: Sequence[bytes]) -> Slices:
    """The partials behind the bytes of one :meth:`SliceCombiner.pack` or more."""
    parts = []
    for blob in blobs:
        end = 4 + int.from_bytes(blob[:4], "big")
        columns = unpack_columns(memoryview(blob)[end:])
        parts.append(Slices(KeyCodes.unpack(blob[4:end]), columns))
    return _joined(parts)


def _joined(parts: Sequence[Slices]) -> Slices:
    columns = concat([part.columns for part in parts], [part.size for part in parts])
    arrays = [part.keys for part in parts if isinstance(part.keys, np.ndarray)]
    if len(arrays) == len(parts):
        return Slices(np.concatenate(arrays), columns)
    lists = (p.keys.tolist() if isinstance(p.keys, np.ndarray) else p.keys for p in parts)
    return Slices(list(chain.from_iterable(lists)), columns)
