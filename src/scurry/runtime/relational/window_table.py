"""Window table functions: TUMBLE, HOP and CUMULATE add the windows that a row is in as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.relational.relation import (
    RelationalOperator,
    milliseconds,
    take_all,
    timestamps,
)
from scurry.runtime.specs import OperatorSpec

TUMBLE, HOP, CUMULATE = "tumble", "hop", "cumulate"


class WindowTableOperator(RelationalOperator):
    """A row for each window that a row is in. Rows without a time are in no window."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        kind: str,
        time: int | None,
        size: int,
        step: int,
        offset: int,
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._kind = kind
        self._time = time
        self._size = size
        self._step = step
        self._offset = offset

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        places = np.arange(batch.size)
        if self._time is None:
            stamps = np.full(batch.size, self.context.now, dtype=np.int64)
        else:
            column = milliseconds(columns.column(self._time))
            if column.null_count:
                places = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
                column = column.drop_null()
            stamps = column.to_numpy(zero_copy_only=False)
        stamps = self.local_times(stamps)
        within, starts, ends = windows_of(stamps, self._kind, self._size, self._step, self._offset)
        if not len(within):
            return
        kinds = [field.type for field in self.columns][-3:]
        times = [
            timestamps(milli, kind)
            for milli, kind in zip(self.shown_bounds(starts, ends).values(), kinds, strict=True)
        ]
        found = batch.kinds
        if self._kind == TUMBLE and len(within) == batch.size:
            # each row once, as it is
            self.send(batch, [*columns.columns, *times], None, found)
            return
        origin = places[within]
        made = [*take_all(columns.columns, origin), *times]
        self.send(batch, made, origin, None if found is None else found[origin])


def windows_of(
    stamps: Longs, kind: str, size: int, step: int, offset: int
) -> tuple[Longs, Longs, Longs]:
    """The windows of timestamps: for each window which of the timestamps it is of, start, end. The
    windows of a timestamp are in the order of their ends."""
    count = len(stamps)
    if kind == TUMBLE:
        starts = stamps - (stamps - offset) % size
        return np.arange(count), starts, starts + size
    if kind == HOP:
        last = stamps - (stamps - offset) % step
        most = -(-size // step)
        starts = (last[:, None] - np.arange(most - 1, -1, -1) * step).reshape(-1)
        origin = np.repeat(np.arange(count), most)
        inside = stamps[origin] < starts + size
        return origin[inside], starts[inside], starts[inside] + size
    begin = stamps - (stamps - offset) % size
    most = size // step
    ends = (begin[:, None] + np.arange(1, most + 1) * step).reshape(-1)
    origin = np.repeat(np.arange(count), most)
    inside = ends > stamps[origin]
    return origin[inside], begin[origin[inside]], ends[inside]
