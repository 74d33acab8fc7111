"""Lookup joins: each row beside what an outer system has for it at this moment."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.functions.lookups import LookupSettings
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.relational.relation import EvaluatingOperator, recast, take_all
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class LookupJoinOperator(EvaluatingOperator):
    """Asks ``lookup`` for the rows of all keys of a batch at once, and again for those that found
    nothing, if the settings say so. Rows whose key has a null find nothing."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        lookup: Any,
        keys: tuple[Any, ...],
        left: bool,
        condition: Any,
        settings: LookupSettings,
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._lookup = lookup
        self._keys = keys
        self._left = left
        self._condition = condition
        self._settings = settings
        self._found = pa.schema(list(columns)[len(inputs[0]) :])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self.start_user_function(self._lookup)

    def close(self) -> None:
        super().close()
        self._lookup.close()

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys, places = self._asked(columns)
        try:
            found, of = self._looked_up(keys)
        except Exception as failure:
            raise self.failed(failure) from failure
        self._send(batch, columns, found, places[of], np.arange(batch.size))

    def _asked(self, columns: pa.RecordBatch) -> tuple[list[pa.Array], Longs]:
        """The keys without nulls, and the rows that they are of."""
        keys = [self.evaluate(key, columns) for key in self._keys]
        there = np.ones(columns.num_rows, dtype=bool)
        for one in keys:
            there &= one.is_valid().to_numpy(zero_copy_only=False)
        places = np.flatnonzero(there)
        return take_all(keys, places), places

    def _looked_up(self, keys: list[pa.Array]) -> tuple[pa.RecordBatch, Longs]:
        """The rows found, and for each the number of its key."""
        names = [f"k{number}" for number in range(len(keys))]
        left = np.arange(len(keys[0]))
        parts, numbers = [], []
        for attempt in range(1 + self._settings.retries):
            if attempt:
                time.sleep(self._settings.delay_ms / 1000)
            wanted = pa.RecordBatch.from_arrays(take_all(keys, left), names=names)
            found, of = self._lookup.lookup(wanted)
            parts.append(found)
            numbers.append(left[np.asarray(of, dtype=np.int64)])
            left = np.setdiff1d(left, numbers[-1])
            if not len(left):
                break
        return _united(parts), np.concatenate(numbers)

    def _send(
        self,
        batch: Batch,
        columns: pa.RecordBatch,
        found: pa.RecordBatch,
        origin: Longs,
        among: Longs,
    ) -> None:
        """Emit some rows, in the order of ``among``, each beside those found for it; ``origin`` is
        the row that each was found for."""
        right = recast(found, self._found).columns
        whole = [*take_all(columns.columns, origin), *right]
        if self._condition is not None:
            table = pa.RecordBatch.from_arrays(whole, schema=self.columns)
            kept = np.flatnonzero(self.truth(self._condition, table))
            whole, origin = take_all(whole, kept), origin[kept]
        missing = np.setdiff1d(among, origin) if self._left else origin[:0]
        nulls = [pa.nulls(len(missing), kind) for kind in self._found.types]
        padding = [*take_all(columns.columns, missing), *nulls]
        united = [pa.concat_arrays(pair) for pair in zip(whole, padding, strict=True)]
        both = np.concatenate([origin, missing])
        if not len(both):
            return
        turns = np.empty(batch.size, dtype=np.int64)
        turns[among] = np.arange(len(among))
        order = np.argsort(turns[both], kind="stable")
        by, kinds = both[order], batch.kinds
        self.send(batch, take_all(united, order), by, None if kinds is None else kinds[by])


def _united(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    columns = [
        pa.concat_arrays(pieces) for pieces in zip(*(one.columns for one in parts), strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=parts[0].schema)
