"""A source over values the program already has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from scurry.common.copies import own_all
from scurry.common.type_information import TypeInformation
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


class CollectionSource(Source):
    """The elements of a sequence, in order, as one partition."""

    max_tasks = 1

    def __init__(self, elements: Sequence[Any], type_info: TypeInformation | None = None) -> None:
        self._elements = list(elements)
        self._type_info = type_info

    @property
    def type_info(self) -> TypeInformation | None:
        return self._type_info

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return SequenceEnumerator(len(self._elements))

    def read(self, what: Json) -> Iterator[SourceBatch]:
        start, end = what
        for at in range(start, end, _READ_ROWS):
            # an element may be in the list twice, and be read again after a failure
            yield SourceBatch(rows=own_all(self._elements[at : min(at + _READ_ROWS, end)]))


class SequenceEnumerator(SourceEnumerator):
    """Walks positions 0 to ``size``, so many per micro-batch, as one partition."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._planned = 0

    def initial_position(self) -> Json:
        return 0

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        end = self._planned = min(self._size, position + max_records)
        ranges = [ReadRange("0", [position, end])] if end > position else []
        return ReadPlan(end, ranges, finished=end >= self._size)

    def gauges(self) -> dict[str, int]:
        return {LAG: self._size - self._planned}
