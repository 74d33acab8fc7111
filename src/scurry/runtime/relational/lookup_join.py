"""Lookup joins: each row beside what an outer system has for it at this moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch
from scurry.runtime.relational.relation import EvaluatingOperator, recast, take_all
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class LookupJoinOperator(EvaluatingOperator):
    """Asks ``lookup`` for the rows of all keys of a batch at once. Rows whose key has a null find
    nothing."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        lookup: Any,
        keys: tuple[Any, ...],
        left: bool,
        condition: Any,
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._lookup = lookup
        self._keys = keys
        self._left = left
        self._condition = condition
        self._found = pa.schema(list(columns)[len(inputs[0]) :])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self.start_user_function(self._lookup)

    def close(self) -> None:
        super().close()
        self._lookup.close()

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        asked = [self.evaluate(key, columns) for key in self._keys]
        names = [f"k{number}" for number in range(len(asked))]
        there = np.ones(batch.size, dtype=bool)
        for one in asked:
            there &= one.is_valid().to_numpy(zero_copy_only=False)
        places = np.flatnonzero(there)
        wanted = pa.RecordBatch.from_arrays(take_all(asked, places), names=names)
        try:
            found, of = self._lookup.lookup(wanted)
        except Exception as failure:
            raise self.failed(failure) from failure
        origin = places[np.asarray(of, dtype=np.int64)]
        right = recast(found, self._found).columns
        whole = [*take_all(columns.columns, origin), *right]
        if self._condition is not None:
            table = pa.RecordBatch.from_arrays(whole, schema=self.columns)
            kept = np.flatnonzero(self.truth(self._condition, table))
            whole, origin = take_all(whole, kept), origin[kept]
        missing = np.setdiff1d(np.arange(batch.size), origin) if self._left else origin[:0]
        nulls = [pa.nulls(len(missing), kind) for kind in self._found.types]
        padding = [*take_all(columns.columns, missing), *nulls]
        united = [pa.concat_arrays(pair) for pair in zip(whole, padding, strict=True)]
        both = np.concatenate([origin, missing])
        order = np.argsort(both, kind="stable")
        kinds = batch.kinds
        if len(order):
            by = both[order]
            self.send(batch, take_all(united, order), by, None if kinds is None else kinds[by])
