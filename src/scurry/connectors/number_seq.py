"""A source of the whole numbers from one to another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

_READ_ROWS = 65_536


class NumberSequenceSource(Source):
    """All whole numbers from ``start`` to ``end``, both included.

    The range is cut into as many partitions as the job is parallel; within a partition the numbers
    come in order.
    """

    columnar = True
    changelog = ChangelogMode.INSERT_ONLY

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ProgramError(
                f"NumberSequenceSource counts upwards: start {start} is greater than end {end}."
            )
        self.start = start
        self.end = end

    @property
    def type_info(self) -> TypeInformation | None:
        return Types.LONG()

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _NumberEnumerator(self.start, self.end, parallelism)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        start, end = what
        for at in range(start, end, _READ_ROWS):
            numbers = np.arange(at, min(at + _READ_ROWS, end), dtype=np.int64)
            columns = pa.RecordBatch.from_arrays([pa.array(numbers)], names=["value"])
            yield SourceBatch(columns=columns)


class _NumberEnumerator(SourceEnumerator):
    def __init__(self, start: int, end: int, parallelism: int) -> None:
        total = end - start + 1
        cuts = [start + total * at // parallelism for at in range(parallelism + 1)]
        self._partitions = list(pairwise(cuts))
        self._left = total

    def partitions(self) -> list[str]:
        return [str(at) for at in range(len(self._partitions))]

    def initial_position(self) -> Json:
        return {str(at): first for at, (first, _) in enumerate(self._partitions)}

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        share = max(1, max_records // len(self._partitions))
        after = dict(position)
        ranges = []
        for name, at in position.items():
            last = self._partitions[int(name)][1]
            end = min(last, at + share)
            if end > at:
                ranges.append(ReadRange(name, [at, end]))
                after[name] = end
        self._left = sum(self._partitions[int(name)][1] - at for name, at in after.items())
        return ReadPlan(after, ranges, finished=self._left == 0)

    def gauges(self) -> dict[str, int]:
        return {LAG: self._left}
