"""ORDER BY a time column: rows in the order of time, as the watermark passes them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.sort_keys import sort_keys
from scurry.runtime.relational.waiting import WaitingOperator, due_rows
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class TemporalSortOperator(WaitingOperator):
    """All rows in order."""

    state_kind: ClassVar[str] = "rows that wait for their time"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        time: int,
        order: tuple[SortKey, ...],
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._time = time
        self._order = order
        self._rows = RowCodec(inputs[0])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._waiting = self.rows_of_keys("waiting", self.inputs[0], 8, "time", "number")

    def process(self, batch: Batch, port: int = 0) -> None:
        self.take_in(batch, self.columns_of(batch), self._waiting, self._rows, self._time)
        if batch.size:
            self.advance(int(self.passed(batch)[-1]))

    def on_due(self, keys: list[Any], until: int) -> None:
        (held,) = self._waiting.of(keys)
        rows = due_rows(held, until)
        columns = self._rows.decode([row.row for row in rows])
        places = sort_keys(columns, self._order)
        order = sorted(range(len(rows)), key=lambda at: (rows[at].time, places[at], at))
        for row in rows:
            held.remove(row.stored)
        times = np.array([rows[at].time for at in order], dtype=np.int64)
        self.send_timed([column.take(pa.array(order)) for column in columns], times)
