"""Event time of tables: ``WATERMARK FOR ts AS expression``.

The column is each row's timestamp, and the watermark is the greatest value that the expression had
so far: exactly, with no millisecond taken off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.errors import TypeMismatchError
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.event_time import TimestampsOperator
from scurry.runtime.relational.relation import EvaluatingOperator, milliseconds
from scurry.runtime.running import running_max
from scurry.runtime.specs import OperatorSpec


class WatermarkOperator(TimestampsOperator, EvaluatingOperator):
    """Gives rows their timestamps and watermarks."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        rowtime: int,
        watermark: Any,
        idleness_ms: int | None,
    ) -> None:
        EvaluatingOperator.__init__(self, spec, columns, inputs)
        TimestampsOperator.__init__(
            self, spec, WatermarkStrategy("bounded", idleness_ms=idleness_ms)
        )
        self._rowtime = rowtime
        self._watermark = watermark

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        stamps = milliseconds(columns.column(self._rowtime))
        if stamps.null_count:
            name = self.columns.names[self._rowtime]
            raise self.failed(
                TypeMismatchError(
                    f"the rowtime column {name!r} is null in a row, and a row without a time has "
                    "no place in event time; filter such rows out, or give them a time"
                ),
                columns.filter(stamps.is_null()).slice(0, 1).to_pylist()[0],
            )
        timed = batch.caused(columns, self.codec, None, batch.kinds)
        timed.ts = stamps.to_numpy(zero_copy_only=False)
        cells, strategy = self.context.state.cells, self._strategy
        if strategy.idleness_ms is not None:
            cells[self._cell("active")] = self.context.now
        if strategy.kind == "bounded":
            before = cells.get(self._cell("max"), MIN_WATERMARK)
            reached = milliseconds(self.evaluate(self._watermark, columns))
            marks = reached.fill_null(MIN_WATERMARK).to_numpy(zero_copy_only=False)
            running = running_max(np.concatenate(([before], marks)))
            timed.wm = timed.pos = running[:-1]
            cells[self._cell("max")] = int(running[-1])
        else:
            timed.wm = None
        self.emit(timed)

    def _watermarks(self, highest: Longs) -> Longs:
        return highest
