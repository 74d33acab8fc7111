"""Deduplication that keeps the first row of each key: an append stream.

By arrival, the first row that comes is sent at once. By event time, the earliest row is known when
the watermark has passed it: until then it is kept, and an earlier one takes its place. Rows that
are late, because the watermark had reached their time before they came, are dropped and counted.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.best_rows import RowOfKeyOperator, times_of
from scurry.runtime.relational.waiting import WaitingOperator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class FirstRowOperator(RowOfKeyOperator):
    """The row of each key that comes first."""

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"keeps": "first", "time": "none"}

    def process(self, batch: Batch, port: int = 0) -> None:
        keys = batch_keys(batch, self.picked[0])
        places = self._state.positions(keys.keys)
        _, first = np.unique(keys.codes, return_index=True)
        fresh = np.sort(first[~self._state.alive[places[keys.codes[first]]]])
        if not len(fresh):
            return
        where = places[keys.codes[fresh]]
        self._state.column("row")[where] = b""
        self._state.touch(where)
        self.send(batch, self.columns_of(batch).take(pa.array(fresh)).columns, fresh)


class EarliestRowOperator(WaitingOperator):
    """The row of each key whose event time is the least, of equal ones the one that came first."""

    state_kind: ClassVar[str] = "the earliest row of each key"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        time: int,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._time = time
        self._codec = RowCodec(inputs[0])

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"time": f"${arguments[0]}"}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._state = self.values_of_keys(
            {"time": np.int64, "sent": np.bool_, "row": object}, rows=self.inputs[0]
        )

    def process(self, batch: Batch, port: int = 0) -> None:
        if not batch.size:
            return
        times = times_of(self.columns_of(batch).column(self._time))
        passed = self.passed(batch)
        kept = np.flatnonzero(times > passed)
        if len(kept) < batch.size:
            self.context.report.count(f"late:{self.spec.uid}", batch.size - len(kept))
        if len(kept):
            self._take_earliest(batch.take(kept), times[kept])
        self.advance(int(passed[-1]))

    def _take_earliest(self, batch: Batch, times: Longs) -> None:
        """Keep the rows that are earlier than those which their keys have."""
        keys = batch_keys(batch, self.picked[0])
        places = self._state.positions(keys.keys)
        order = np.lexsort((times, keys.codes))
        codes = keys.codes[order]
        least = order[np.append(True, codes[1:] != codes[:-1])]
        where = places[keys.codes[least]]
        known = self._state.alive[where]
        earlier = ~known | (
            ~self._state.column("sent")[where] & (times[least] < self._state.column("time")[where])
        )
        least, where = least[earlier], where[earlier]
        if not len(least):
            return
        rows = np.empty(len(least), dtype=object)
        rows[:] = self._codec.encode(self.columns_of(batch).take(pa.array(least)).columns)
        self._state.column("row")[where] = rows
        self._state.column("time")[where] = times[least]
        self._state.touch(where)
        for code, time in zip(keys.codes[least].tolist(), times[least].tolist(), strict=True):
            self.timers.register(time, keys.keys[code])

    def on_due(self, keys: list[Any], until: int) -> None:
        places = self._state.positions(keys)
        waiting = self._state.alive[places] & ~self._state.column("sent")[places]
        due = places[waiting & (self._state.column("time")[places] <= until)]
        if not len(due):
            return
        times = self._state.column("time")[due]
        order = np.argsort(times, kind="stable")
        rows = self._codec.decode(self._state.column("row")[due[order]].tolist())
        self._state.column("row")[due] = b""
        self._state.column("sent")[due] = True
        self._state.touch(due)
        self.send_timed(rows, times[order])
