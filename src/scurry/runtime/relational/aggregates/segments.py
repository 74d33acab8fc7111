"""Segments: the rows of a batch sorted by group, and running values within each group.

The rows of a segment belong to one group and follow each other in the order of the input. A running
value starts with what the group held before, and has a value after each row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Longs
from scurry.runtime.relational.relation import true_places

Array = np.ndarray[Any, Any]
#: Rows of a segment, on average, above which segments are gone through one by one.
_FEW = 16
Mask = np.ndarray[Any, np.dtype[np.bool_]]


def stable_order(codes: Longs, distinct: int) -> Longs:
    """How to sort by ``codes``, which are below ``distinct``; rows of one code stay in order."""
    if distinct <= 1 << 16:
        codes = codes.astype(np.uint16)  # numpy sorts short numbers by radix
    return codes.argsort(kind="stable")


class Segments:
    """Rows in order of their groups. ``starts`` are where segments begin; ``groups`` says for each
    segment which group it is of, ``signs`` for each row whether it comes (1) or goes (-1)."""

    def __init__(
        self,
        columns: pa.RecordBatch,
        order: Longs,
        starts: Longs,
        groups: Longs,
        signs: Longs | None,
        keys: list[Any],
    ) -> None:
        self.size = len(order)
        self.order = order
        self.starts = starts
        self.ends = np.append(starts[1:], self.size)
        self.groups = groups
        self.keys = keys
        self.segment = np.repeat(np.arange(len(starts)), self.ends - starts)
        self.signs = signs
        self._source = columns
        self._columns: dict[int, pa.Array] = {}
        self._known: dict[str, Array] = {}

    def of_segments(self, what: str, compute: Callable[[], Array]) -> Array:
        """Something that several aggregates need to know of each segment, computed once."""
        if what not in self._known:
            self._known[what] = compute()
        return self._known[what]

    @property
    def last(self) -> Longs:
        """The last row of each segment."""
        return self.ends - 1

    def column(self, index: int) -> pa.Array:
        """A column of the input, in this order."""
        if index not in self._columns:
            self._columns[index] = self._source.column(index).take(pa.array(self.order))
        return self._columns[index]

    def counted(self, call: AggregateCall, nulls: bool = False) -> Mask | None:
        """The rows that count for ``call``: its filter is true and, without ``nulls``, none of its
        arguments is null. None if all of them do."""
        masks = []
        if call.filter is not None:
            masks.append(true_places(self.column(call.filter)))
        for index in call.arguments if not nulls else ():
            column = self.column(index)
            if column.null_count:
                masks.append(column.is_valid().to_numpy(zero_copy_only=False))
        return np.logical_and.reduce(masks) if masks else None

    def ones(self, mask: Mask | None) -> Longs:
        """1 for rows that come, -1 for those that go, 0 for those that do not count."""
        signs = np.ones(self.size, dtype=np.int64) if self.signs is None else self.signs
        return signs if mask is None else signs * mask

    def total(self, values: Array, before: Array) -> Array:
        """The running sum of ``values``, added to what there was ``before`` each segment. Whole
        numbers of 64 bits wrap around; floats are added in order."""
        if values.dtype != np.int64:
            return self.running(np.add, values, before)
        summed = np.cumsum(values)
        offset = before - (summed[self.starts] - values[self.starts])
        made: Array = summed + offset[self.segment]
        return made

    def extremes(self, values: Array, before: Array, least: bool) -> Array:
        """The least or greatest of all values of the segment so far and of ``before``; all are
        whole numbers of 64 bits."""
        if _FEW * len(self.starts) < self.size:
            return self.running(np.minimum if least else np.maximum, values, before)
        known, ranks = np.unique(np.concatenate([values, before]), return_inverse=True)
        high = len(known) - 1
        ranks = high - ranks if least else ranks
        reached = self.highest(ranks[: self.size], ranks[self.size :])
        return known[high - reached if least else reached]

    def highest(self, ranks: Array, before: Array) -> Array:
        """The highest of all ranks of the segment so far and of ``before``; ranks are small whole
        numbers, none of them negative."""
        width = 1 + int(max(ranks.max(initial=0), before.max(initial=0)))
        # the ranks of a segment lie above those of all segments before it, so that one pass does
        offset = self.segment * width
        made = ranks + offset
        first = before + np.arange(len(self.starts)) * width
        made[self.starts] = np.maximum(made[self.starts], first)
        reached: Array = np.maximum.accumulate(made) - offset
        return reached

    def running(self, combine: np.ufunc, values: Array, before: Array) -> Array:
        """What ``combine`` makes of all values of the segment so far and of ``before``."""
        made = values.copy()
        long = np.flatnonzero(self.ends - self.starts > 1)
        # floats beyond all bounds are infinite, as in Java
        with np.errstate(over="ignore", invalid="ignore"):
            made[self.starts] = combine(before, made[self.starts])
            for start, end in zip(
                self.starts[long].tolist(), self.ends[long].tolist(), strict=True
            ):
                combine.accumulate(made[start:end], out=made[start:end])
        return made
