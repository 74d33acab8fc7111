"""Combining before a hop: records of the same key and slice of time travel as one row of partials.

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

from scurry.functions.window_aggregates import Aggregates
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs, pick
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
from scurry.runtime.partitioners import KeyColumn
from scurry.windowing.spec import WindowSpec

#: The column of the starts of slices.
_START = "start"
#: Records of a batch below which combining them is not worth the trouble.
_LEAST = 256
#: Records that a key and slice must have, on average, for combining to be worth its time.
_SHARE = 3


class Combined(NamedTuple):
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
    def records(self) -> int:
        """How many records they stand for."""
        return int(self.columns["n"].sum())

    def by_slot(self, chosen: Longs) -> Iterator[tuple[int, Combined]]:
        """The rows for each slot, given the slot of each row."""
        for slot in np.unique(chosen).tolist():
            rows = np.flatnonzero(chosen == slot)
            keys = self.keys
            mine = keys[rows] if isinstance(keys, np.ndarray) else pick(keys, rows)
            yield slot, Combined(mine, take(self.columns, rows))


def combining(windowing: WindowSpec) -> bool:
    """Whether the elements of vectorised windows may be combined before they travel."""
    assigner: Any = windowing.assigner
    late_ones_count = windowing.allowed_lateness == 0 and windowing.late_tag is None
    return late_ones_count and not windowing.merging and assigner.slide <= assigner.size


class Combiner:
    """Combines records on their way to the windows of one operator."""

    def __init__(self, windowing: WindowSpec) -> None:
        assigner: Any = windowing.assigner
        self._size: int = assigner.size
        self._slide: int = assigner.slide
        self._offset: int = assigner.offset
        self._step = gcd(self._size, self._slide)
        function = windowing.incremental
        assert isinstance(function, Aggregates)
        self._measures = Measures(function.aggregates)

    def split(self, batch: Batch, keys: KeyColumn | None) -> tuple[Combined | None, Batch]:
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
    ) -> Combined:
        codes = keys.codes
        if kept is not None:
            numbers, codes = numbers[kept], codes[kept]
        (numbers, codes), inverse = groups_of(numbers, codes)
        columns = combine(self._measures.of(batch, kept), inverse, len(codes))
        columns[_START] = numbers * self._step + self._offset
        return Combined(codes if keys.names is None else pick(keys.names, codes), columns)


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


def pack_combined(parts: Sequence[Combined]) -> bytes:
    """Partials as bytes."""
    whole = _joined(parts)
    keys = pack_keys(whole.keys)
    return len(keys).to_bytes(4, "big") + keys + pack_columns(whole.columns)


def unpack_combined(blobs: Sequence[bytes]) -> Combined:
    """The partials behind the bytes of one :func:`pack_combined` or more."""
    parts = []
    for blob in blobs:
        end = 4 + int.from_bytes(blob[:4], "big")
        columns = unpack_columns(memoryview(blob)[end:])
        parts.append(Combined(KeyCodes.unpack(blob[4:end]), columns))
    return _joined(parts)


def _joined(parts: Sequence[Combined]) -> Combined:
    columns = concat([part.columns for part in parts], [len(part.starts) for part in parts])
    arrays = [part.keys for part in parts if isinstance(part.keys, np.ndarray)]
    if len(arrays) == len(parts):
        return Combined(np.concatenate(arrays), columns)
    lists = (p.keys.tolist() if isinstance(p.keys, np.ndarray) else p.keys for p in parts)
    return Combined(list(chain.from_iterable(lists)), columns)
