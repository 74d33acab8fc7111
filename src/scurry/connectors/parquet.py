"""A source over Parquet files, read straight into Arrow columns in the workers.

The unit of reading is the row group. Row groups are dealt out to as many partitions as the job is
parallel, in the order of files and groups, so each partition reads its share in order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from scurry.common.errors import ProgramError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types
from scurry.common.types import Row
from scurry.functions.source import Json, ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator

_READ_ROWS = 65_536


class ParquetSource(Source):
    """The rows of Parquet files: as Rows, as tuples, or as instances of a dataclass.

    ``path`` is a file or a directory of files; ``columns`` selects and orders columns.
    """

    def __init__(
        self,
        path: str | Path,
        columns: list[str] | None = None,
        element: type = Row,
    ) -> None:
        self._files = _files(Path(path))
        self._columns = columns
        self.as_tuples = element is tuple
        self._type: TypeInformation | None = None
        if dataclasses.is_dataclass(element):
            self._type = Types.of(element)
            assert isinstance(self._type, CompositeTypeInfo)
            self._columns = list(self._type.field_names())
        elif element not in (Row, tuple):
            raise ProgramError(
                f"ParquetSource makes Rows, tuples or dataclasses of rows, not {element!r}."
            )

    @property
    def type_info(self) -> TypeInformation | None:
        return self._type

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _RowGroups(self._files, parallelism)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        path, group = what
        reader = _open(path)
        for batch in reader.iter_batches(
            batch_size=_READ_ROWS, row_groups=[group], columns=self._columns
        ):
            if self._columns is not None:
                batch = batch.select(self._columns)
            yield SourceBatch(columns=batch)


class _RowGroups(SourceEnumerator):
    """Deals row groups out to partitions."""

    def __init__(self, files: list[str], parallelism: int) -> None:
        self._shares: list[list[tuple[str, int, int]]] = [[] for _ in range(parallelism)]
        groups: list[tuple[str, int, int]] = []
        for path in files:
            metadata: Any = pq.read_metadata(path)
            groups.extend(
                (path, at, metadata.row_group(at).num_rows) for at in range(metadata.num_row_groups)
            )
        for at, group in enumerate(groups):
            self._shares[at % parallelism].append(group)

    def partitions(self) -> list[str]:
        return [str(at) for at in range(len(self._shares))]

    def initial_position(self) -> Json:
        return [0] * len(self._shares)

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        budget = max(1, max_records // len(self._shares))
        after, ranges = list(position), []
        for partition, groups in enumerate(self._shares):
            taken = 0
            while after[partition] < len(groups) and taken < budget:
                path, group, rows = groups[after[partition]]
                ranges.append(ReadRange(str(partition), [path, group]))
                taken += rows
                after[partition] += 1
        done = all(at >= len(groups) for at, groups in zip(after, self._shares, strict=True))
        return ReadPlan(after, ranges, finished=done)


def _files(path: Path) -> list[str]:
    if path.is_dir():
        found = sorted(str(file) for file in path.rglob("*.parquet"))
    else:
        found = [str(path)] if path.exists() else []
    if not found:
        raise ProgramError(f"ParquetSource found no Parquet file at {str(path)!r}.")
    return found


@lru_cache(maxsize=16)
def _open(path: str) -> pq.ParquetFile:
    return pq.ParquetFile(path)
