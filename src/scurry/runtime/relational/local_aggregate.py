"""The first phase of an aggregate: rows of a batch that have equal keys become one row.

It keeps nothing. What it sends for a key stands in the place of the key's last row in the batch, so
the time that the rows carry does not run ahead of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.aggregates.scratch import aggregate_rows
from scurry.runtime.relational.aggregates.segments import stable_order
from scurry.runtime.relational.relation import EvaluatingOperator, take_all
from scurry.runtime.specs import OperatorSpec


class LocalAggregateOperator(EvaluatingOperator):
    """Aggregates the rows of each batch by the columns ``groups``."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        groups: tuple[int, ...],
        calls: tuple[AggregateCall, ...],
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._groups = groups
        self._calls = calls

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        if not batch.size:
            return
        keys = [columns.column(at) for at in self._groups]
        codes, count = group_codes(keys, batch.size)
        order = stable_order(codes, count)
        sorted_codes = codes[order]
        starts = np.flatnonzero(np.append(True, sorted_codes[1:] != sorted_codes[:-1]))
        last = order[np.append(starts[1:], len(order)) - 1]
        try:
            results = aggregate_rows(self._calls, columns.take(pa.array(order)), starts)
        except Exception as failure:
            raise self.failed(failure) from failure
        by_place = np.argsort(last, kind="stable")
        made = [*take_all(keys, last[by_place]), *take_all(results, by_place)]
        self.send(batch, made, last[by_place])


def group_codes(keys: list[pa.Array], size: int) -> tuple[Longs, int]:
    """A number for each row that is the same for rows with equal keys, and how many there are."""
    codes: Longs = np.zeros(size, dtype=np.int64)
    for column in keys:
        numbers, count = _numbered(column)
        _, codes = np.unique(codes * (count + 1) + numbers, return_inverse=True)
    return codes, int(codes.max()) + 1


def _numbered(column: pa.Array) -> tuple[Longs, int]:
    """The number of each value among the distinct ones, and how many these are; null is one."""
    try:
        found = column.dictionary_encode()
    except pa.ArrowNotImplementedError:
        packed = RowCodec(pa.schema([("key", column.type)])).encode([column])
        found = pa.array(packed, pa.binary()).dictionary_encode()
    count = len(found.dictionary)
    indices = found.indices.fill_null(count).to_numpy(zero_copy_only=False)
    return indices.astype(np.int64), count
