"""A source over the rows of a relation that the program already has, such as those of VALUES."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.types import RowKind
from scurry.connectors.collection import SequenceEnumerator
from scurry.functions.source import Json, Source, SourceBatch, SourceEnumerator

_READ_ROWS = 65_536


class RelationSource(Source):
    """The rows of ``columns`` in order, as one partition; ``kinds`` says what each of them does to
    the table, None if all are insertions."""

    max_tasks = 1
    columnar = True

    def __init__(
        self,
        columns: pa.RecordBatch | pa.Table,
        kinds: Sequence[RowKind] | None = None,
        changelog: ChangelogMode = ChangelogMode.RETRACT,
    ) -> None:
        """``changelog`` is the mode if there are kinds."""
        self._columns = pa.table(columns).combine_chunks()
        self._kinds = None if kinds is None else np.array([k.value for k in kinds], dtype=np.int8)
        self.relation = self._columns.schema
        self.changelog = ChangelogMode.INSERT_ONLY if kinds is None else changelog

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return SequenceEnumerator(self._columns.num_rows)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        start, end = what
        for at in range(start, end, _READ_ROWS):
            size = min(_READ_ROWS, end - at)
            (columns,) = self._columns.slice(at, size).to_batches()
            kinds = None if self._kinds is None else self._kinds[at : at + size]
            yield SourceBatch(columns=columns, kinds=kinds)
