"""A source of random programs: records in several partitions, some of them silent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from tests.fuzz.records import declared, shaped
from tests.fuzz.steps import Step

from scurry.datastream.functions import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator


class Partitions(Source):
    """Records in several partitions, as objects or as columns, some of them silent."""

    def __init__(self, step: Step) -> None:
        self.partitions = step["partitions"]
        self.shape = step["shape"]
        self.columns = step["kind"] == "columns"
        self.as_tuples = self.shape == "tuple"
        self.ends = step["ends"]

    @property
    def type_info(self) -> Any:
        return declared(self.shape)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return InStep([len(part) for part in self.partitions], self.ends)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        number, start, end = what
        rows = self.partitions[number][start:end]
        stamps = np.array([t for _, t, _ in rows], dtype=np.int64)
        if self.columns:
            arrays = [pa.array([row[at] for row in rows], pa.int64()) for at in range(3)]
            columns = pa.RecordBatch.from_arrays(arrays, names=["k", "t", "v"])
            yield SourceBatch(columns=columns, timestamps=stamps)
        else:
            shapes = [shaped(self.shape, *row) for row in rows]
            yield SourceBatch(rows=shapes, timestamps=stamps)


class InStep(SourceEnumerator):
    """Reads as much of every partition in every micro-batch."""

    def __init__(self, sizes: list[int], ends: bool) -> None:
        self.sizes, self.ends = sizes, ends

    def initial_position(self) -> Any:
        return [0] * len(self.sizes)

    def partitions(self) -> list[str]:
        return [str(number) for number in range(len(self.sizes))]

    def plan(self, position: Any, max_records: int) -> ReadPlan:
        ends = [min(at + max_records, size) for at, size in zip(position, self.sizes, strict=True)]
        ranges = [
            ReadRange(str(number), [number, start, end])
            for number, (start, end) in enumerate(zip(position, ends, strict=True))
            if end > start
        ]
        over = {
            str(n)
            for n, (end, size) in enumerate(zip(ends, self.sizes, strict=True))
            if end == size
        }
        return ReadPlan(
            ends, ranges, finished=ends == self.sizes, ended=frozenset(over if self.ends else ())
        )
