"""Operators on relations that keep nothing: filter and projection, grouping sets, fewer kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.relational.relation import (
    UPDATE_BEFORE,
    EvaluatingOperator,
    RelationalOperator,
    take_all,
)
from scurry.runtime.specs import OperatorSpec


class CalcOperator(EvaluatingOperator):
    """The rows for which the condition is true, and of these the projections. A row keeps its
    place, its times and its kind, also where the number of rows changes."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        condition: Any,
        projections: tuple[Any, ...] | None,
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._condition = condition
        self._projections = projections

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        marks, kinds = batch.wm, batch.kinds
        places = self._kept(batch, columns)
        if places is not None:
            if not len(places):
                return
            columns = columns.take(pa.array(places))
            marks = None if marks is None else marks[places]
            kinds = None if kinds is None else kinds[places]
        made = columns.columns
        if self._projections is not None:
            made = [self.evaluate(one, columns, marks) for one in self._projections]
        self.send(batch, made, places, kinds)

    def _kept(self, batch: Batch, columns: pa.RecordBatch) -> Longs | None:
        """The places of the rows for which the condition holds; None if it holds for all."""
        if self._condition is None:
            return None
        places = np.flatnonzero(self.truth(self._condition, columns, batch.wm))
        return None if len(places) == batch.size else places


class ExpandOperator(RelationalOperator):
    """Each row once for each grouping set: columns that are not in the set are null, and a last
    column has the number of the set."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        grouped: tuple[int, ...],
        sets: tuple[tuple[int, ...], ...],
        ids: tuple[int, ...],
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._grouped = frozenset(grouped)
        self._sets = [frozenset(one) for one in sets]
        self._ids = np.array(ids, dtype=np.int64)

    def process(self, batch: Batch, port: int = 0) -> None:
        count = len(self._sets)
        origin = np.repeat(np.arange(batch.size), count)
        made = []
        for index, column in enumerate(self.columns_of(batch).columns):
            places = pa.array(origin)
            if index in self._grouped:
                kept = np.array([index in one for one in self._sets])
                places = pa.array(origin, mask=np.tile(~kept, batch.size))
            made.append(column.take(places))
        made.append(pa.array(np.tile(self._ids, batch.size)))
        kinds = batch.kinds
        self.send(batch, made, origin, None if kinds is None else kinds[origin])


class DropUpdateBeforeOperator(RelationalOperator):
    """Everything but the old rows of updates."""

    def process(self, batch: Batch, port: int = 0) -> None:
        kinds = batch.kinds
        columns = self.columns_of(batch).columns
        if kinds is None:
            self.send(batch, columns)
            return
        places = np.flatnonzero(kinds != UPDATE_BEFORE)
        if len(places):
            self.send(batch, take_all(columns, places), places, kinds[places])
