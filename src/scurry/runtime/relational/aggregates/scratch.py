"""Aggregates of rows that are all there at once, such as those of a window that has ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.aggregates.choose import accumulator_of
from scurry.runtime.relational.aggregates.segments import Segments


class ScratchRows:
    """Sets of rows that nobody keeps."""

    retention = 0

    def __init__(self) -> None:
        self.touched: list[RowSet] = []
        self._sets: dict[Any, RowSet] = {}

    def now(self) -> int:
        """No time passes here."""
        return 0

    def of(self, keys: list[Any]) -> list[RowSet]:
        """The rows of each of ``keys``."""
        for key in keys:
            if key not in self._sets:
                self._sets[key] = RowSet(key, self, [])
        return [self._sets[key] for key in keys]

    def packed(self, page: Any, count: int) -> bytes:
        """Never asked for."""
        raise AssertionError("nobody keeps these rows")


def aggregate_rows(
    calls: Sequence[AggregateCall],
    columns: pa.RecordBatch,
    starts: Longs,
    signs: Longs | None = None,
) -> list[pa.Array]:
    """The results of ``calls`` for each group of rows; groups follow each other and begin at
    ``starts``. With ``signs``, those of -1 are rows taken back."""
    last = pa.array(np.append(starts[1:], columns.num_rows) - 1)
    return [running_results(call, columns, starts, signs).take(last) for call in calls]


def running_results(
    call: AggregateCall, columns: pa.RecordBatch, starts: Longs, signs: Longs | None = None
) -> pa.Array:
    """The result after each row of its group."""
    count = len(starts)
    rows = Segments(
        columns, np.arange(columns.num_rows), starts, np.arange(count), signs, list(range(count))
    )
    one = accumulator_of(call, columns.schema, signs is not None, 0, lambda *_: ScratchRows())
    held = {name: _zeros(kind, count) for name, kind in one.fields.items()}
    return one.scan(rows, rows.counted(call, one.takes_nulls), held).after


def _zeros(kind: Any, count: int) -> Any:
    return np.full(count, None, dtype=object) if kind is object else np.zeros(count, dtype=kind)
