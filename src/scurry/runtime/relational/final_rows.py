"""What a changelog amounts to, sent once, when the input ends: the results of batch execution."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import MAX_WATERMARK, Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.relation import INSERT, UPDATE_AFTER
from scurry.runtime.relational.sort_keys import sort_keys
from scurry.runtime.relational.waiting import WaitingOperator, next_number
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: When the input has ended.
_END = MAX_WATERMARK - 1
#: Where an entry has how often the row is there, and its number among the rows of its key.
_COUNT, _NUMBER = 1, 2


class FinalRowsOperator(WaitingOperator):
    """Keeps the rows that there are, and sends them at the end, in order if one is given."""

    state_kind: ClassVar[str] = "rows until the end"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        order: tuple[SortKey, ...],
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._order = order
        self._rows = RowCodec(inputs[0])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._sets = self.rows_of_keys("", self.inputs[0], 0, "count", "number")

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        held = self._sets.of(keys.keys)
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        rows = self._rows.encode(columns.columns)
        for row, code, kind in zip(rows, keys.codes.tolist(), listed, strict=True):
            mine = held[code]
            entry = mine.rows.get(row)
            step = 1 if kind in (INSERT, UPDATE_AFTER) else -1
            if entry is None:
                # a row may be taken back before it comes, where inputs meet in no fixed order
                mine.put(row, step, next_number(mine))
                continue
            entry[_COUNT] += step
            if entry[_COUNT]:
                mine.changed(entry)
            else:
                mine.remove(row)
        for key in keys.keys:
            self.timers.register(_END, key)

    def on_due(self, keys: list[Any], until: int) -> None:
        found: list[tuple[int, int, bytes]] = []
        for at, held in enumerate(self._sets.of(keys)):
            for row, entry in held.rows.items():
                found += [(at, entry[_NUMBER], row)] * max(0, entry[_COUNT])
            held.clear()
        found.sort()
        rows = [row for _, _, row in found]
        if not rows:
            return
        columns = self._rows.decode(rows)
        places = sort_keys(columns, self._order)
        order = pa.array(sorted(range(len(rows)), key=lambda at: (places[at], at)))
        times = np.full(len(rows), _END, dtype=np.int64)
        self.send_timed([column.take(order) for column in columns], times)
