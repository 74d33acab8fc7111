"""Operators that keep one row for each key: deduplication, and the changelog behind upserts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    milliseconds,
)
from scurry.runtime.relational.rows_out import RowsOut
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class RowOfKeyOperator(KeyedRelationalOperator):
    """One that keeps a row for each key."""

    state_kind: ClassVar[str] = "a row of each key"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        update_before: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._update_before = update_before
        self._codec = RowCodec(inputs[0])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._state = self.values_of_keys({"time": np.int64, "row": object})

    def _replaced(self, out: RowsOut, at: int, old: bytes | None, new: bytes) -> None:
        """Send that ``new`` takes the place of ``old``, which may be none."""
        if old is None:
            out.add(INSERT, at, new)
            return
        if self._update_before:
            out.add(UPDATE_BEFORE, at, old)
        out.add(UPDATE_AFTER, at, new)

    def _send_out(self, out: RowsOut, batch: Batch) -> None:
        made = out.batch(batch, self.columns, self.codec)
        if made is not None:
            self.emit(made)


class DeduplicateOperator(RowOfKeyOperator):
    """The first or last row of each key, by a time column or by arrival."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        update_before: bool,
        keep_last: bool,
        time: int | None,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms, update_before)
        self._keep_last = keep_last
        self._time = time

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        _, keep_last, time = arguments
        return {"keeps": "last" if keep_last else "first", "time": f"${time}" if time else "none"}

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        places = self._state.positions(keys.keys)
        if self._time is None and not self._keep_last:
            self._first_come(batch, columns, keys.codes, places)
            return
        if self._time is None:
            times = [0] * batch.size
        else:
            times = milliseconds(columns.column(self._time)).to_pylist()
        rows = self._codec.encode(columns.columns)
        held: list[Any] = self._state.column("row")[places].tolist()
        known: list[int] = self._state.column("time")[places].tolist()
        out = RowsOut([self._codec])
        changed: set[int] = set()
        for at, (code, row, time) in enumerate(zip(keys.codes.tolist(), rows, times, strict=True)):
            old = held[code]
            if old is not None and not self._wins(time, known[code], old, row):
                continue
            self._replaced(out, at, old, row)
            held[code], known[code] = row, time
            changed.add(code)
        self._keep(places, held, known, changed)
        self._send_out(out, batch)

    def _wins(self, time: int, known: int, old: bytes, row: bytes) -> bool:
        """Whether a row takes the place of the one that is there."""
        if self._time is None:
            return bool(self.retention_ms) or old != row
        return time >= known if self._keep_last else time < known

    def _keep(self, places: Any, held: list[Any], known: list[int], changed: set[int]) -> None:
        codes = np.array(sorted(changed), dtype=np.int64)
        where = places[codes]
        for code, place in zip(codes.tolist(), where.tolist(), strict=True):
            self._state.column("row")[place] = held[code]
        self._state.column("time")[where] = [known[code] for code in codes.tolist()]
        self._state.touch(where)

    def _first_come(self, batch: Batch, columns: pa.RecordBatch, codes: Any, places: Any) -> None:
        """The first row of each key that has none yet: an append stream."""
        _, first = np.unique(codes, return_index=True)
        fresh = np.sort(first[~self._state.alive[places[codes[first]]]])
        if not len(fresh):
            return
        where = places[codes[fresh]]
        self._state.column("row")[where] = b""
        self._state.touch(where)
        self.send(batch, columns.take(pa.array(fresh)).columns, fresh)


class ChangelogNormalizeOperator(RowOfKeyOperator):
    """Makes a whole changelog of upserts and deletions by key."""

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        places = self._state.positions(keys.keys)
        rows = self._codec.encode(columns.columns)
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        held: list[Any] = self._state.column("row")[places].tolist()
        out = RowsOut([self._codec])
        changed: set[int] = set()
        for at, (code, row, kind) in enumerate(zip(keys.codes.tolist(), rows, listed, strict=True)):
            old = held[code]
            if kind in (INSERT, UPDATE_AFTER):
                changed.add(code)
                if old == row and not self.retention_ms:
                    continue
                self._replaced(out, at, old, row)
                held[code] = row
            elif old is not None:
                out.add(DELETE, at, old)
                held[code] = None
                changed.add(code)
        self._keep(places, held, changed)
        self._send_out(out, batch)

    def _keep(self, places: Any, held: list[Any], changed: set[int]) -> None:
        there = np.array([c for c in sorted(changed) if held[c] is not None], dtype=np.int64)
        gone = np.array([c for c in sorted(changed) if held[c] is None], dtype=np.int64)
        for code in there.tolist():
            self._state.column("row")[places[code]] = held[code]
        self._state.touch(places[there])
        self._state.clear(places[gone])
