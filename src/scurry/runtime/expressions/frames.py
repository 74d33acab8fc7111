"""The rows that an expression is evaluated on, and some of them.

CASE evaluates a branch for the rows that need it only, so that ``CASE WHEN b <> 0 THEN a / b END``
does not fail. A `Frame` is therefore columns plus a choice of rows; a column is gathered when it is
first asked for, and columns that a branch does not read are never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa

from scurry.runtime.expressions.context import EvaluationContext

__all__ = ["Datum", "Frame", "as_array", "broadcast"]

#: a column, or one value that stands for a whole column
Datum: TypeAlias = pa.Array | pa.Scalar


class Frame:
    """Some rows of a batch."""

    def __init__(
        self,
        columns: Sequence[pa.Array],
        count: int,
        context: EvaluationContext,
        chosen: pa.Array | None = None,
    ) -> None:
        self.columns = columns
        self.count = count
        self.context = context
        self.chosen = chosen
        self._gathered: dict[int, pa.Array] = {}

    @classmethod
    def of(cls, batch: pa.RecordBatch, context: EvaluationContext) -> Frame:
        """All rows of a batch."""
        return cls(batch.columns, batch.num_rows, context)

    def column(self, index: int) -> pa.Array:
        """The column at `index`, for the chosen rows."""
        if self.chosen is None:
            return self.columns[index]
        if index not in self._gathered:
            self._gathered[index] = self.columns[index].take(self.chosen)
        return self._gathered[index]

    def watermarks(self) -> pa.Array:
        """The watermark at each of the chosen rows."""
        found = self.context.watermarks
        if found is None:
            return pa.nulls(self.count, pa.int64())
        return found if self.chosen is None else found.take(self.chosen)

    def take(self, places: pa.Array) -> Frame:
        """The rows at those places of this frame."""
        chosen = places if self.chosen is None else self.chosen.take(places)
        return Frame(self.columns, len(places), self.context, chosen)


def broadcast(value: pa.Scalar, count: int) -> pa.Array:
    """A column of one value."""
    if not value.is_valid:
        return pa.nulls(count, value.type)
    return pa.repeat(value, count)


def as_array(datum: Datum, count: int) -> pa.Array:
    """A datum as a column of `count` rows."""
    if isinstance(datum, pa.Scalar):
        return broadcast(datum, count)
    return datum.combine_chunks() if isinstance(datum, pa.ChunkedArray) else datum
