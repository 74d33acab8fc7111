"""Rows made up column by column, as Flink's ``datagen`` does.

A column is random or counts through a sequence. The value of a row depends on the row's number
alone, so a repeated micro-batch has the same rows: the number and the column's place are hashed,
and everything random is taken from that hash. The clock, which timestamps are relative to, is part
of the plan of a micro-batch for the same reason.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import RowType
from scurry.connectors.datagen import NumberEnumerator, RateLimiterStrategy
from scurry.connectors.tables.column_generators import ColumnGenerator
from scurry.functions.source import Json, ReadPlan, Source, SourceBatch, SourceEnumerator

__all__ = ["RandomRows"]

_READ_ROWS = 65_536
_UNBOUNDED = 1 << 60


class RandomRows(Source):
    """``count`` rows of made-up columns; without an end if that is None and no sequence ends."""

    columnar = True
    changelog = ChangelogMode.INSERT_ONLY

    def __init__(
        self,
        row_type: RowType,
        generators: Sequence[ColumnGenerator],
        count: int | None,
        rows_per_second: float,
    ) -> None:
        self._generators = tuple(generators)
        ends = [one for one in (count, *(g.count for g in generators)) if one is not None]
        self._count = min(ends, default=None)
        self._rate = rows_per_second
        self.bounded = self._count is not None
        self.relation = row_type.arrow_schema()

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        count = _UNBOUNDED if self._count is None else self._count
        limit = RateLimiterStrategy.per_second(self._rate)
        return _TimedNumbers(count, parallelism, limit)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        start, end, step, now = what
        for at in range(start, end, _READ_ROWS * step):
            numbers = np.arange(at, min(end, at + _READ_ROWS * step), step, dtype=np.int64)
            arrays = [
                generator.values(numbers, salt, now)
                for salt, generator in enumerate(self._generators)
            ]
            columns = pa.RecordBatch.from_arrays(arrays, schema=self.relation)
            yield SourceBatch(columns=columns)


class _TimedNumbers(NumberEnumerator):
    """Numbers whose ranges say when they were planned."""

    def _allowed(self, position: int) -> int:
        """What the rate allows for a second comes at once, as in Flink."""
        return super()._allowed(position) + int(self._limit.records_per_second or 0)

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        plan = super().plan(position, max_records)
        now = int(time.time() * 1000)
        ranges = [replace(one, what=[*one.what, now]) for one in plan.ranges]
        return replace(plan, ranges=ranges)
