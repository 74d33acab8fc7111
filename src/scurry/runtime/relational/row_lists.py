"""Operators that keep the rows of a key in the order in which they came, or count them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import DELETE, INSERT, UPDATE_AFTER
from scurry.runtime.relational.rows_out import RowsOut
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class SinkMaterializeOperator(KeyedRelationalOperator):
    """Of the rows that there are for each key of a sink the one that came last is what the sink
    holds: when it goes, the one before it takes its place."""

    state_kind: ClassVar[str] = "rows in order of arrival"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._rows = RowCodec(inputs[0])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._sets = self.rows_of_keys("", self.inputs[0], 8, "number")

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        held = self._sets.of(keys.keys)
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        out = RowsOut([self._rows])
        rows = self._rows.encode(columns.columns)
        for at, (code, row, kind) in enumerate(zip(keys.codes.tolist(), rows, listed, strict=True)):
            if kind in (INSERT, UPDATE_AFTER):
                out.add(UPDATE_AFTER if held[code].rows else INSERT, at, row)
                number = 1 + max((entry[1] for entry in held[code].rows.values()), default=0)
                held[code].put(number.to_bytes(8, "big") + row, number)
            else:
                self._goes(out, held[code], row, at)
        made = out.batch(batch, self.columns, self.codec)
        if made is not None:
            self.emit(made)

    def _goes(self, out: RowsOut, held: RowSet, row: bytes, at: int) -> None:
        equal = [stored for stored in held.rows if stored[8:] == row]
        if not equal:
            return
        last, gone = max(held.rows), max(equal)
        held.remove(gone)
        if not held.rows:
            out.add(DELETE, at, row)
        elif gone == last:
            out.add(UPDATE_AFTER, at, max(held.rows)[8:])


class SetOperator(KeyedRelationalOperator):
    """INTERSECT and EXCEPT: how often a row is in the result follows from how often it is in
    each input."""

    state_kind: ClassVar[str] = "counts of rows"
    two_inputs = True

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        kind: str,
        every: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._kind = kind
        self._all = every
        self._rows = RowCodec(columns)

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._state = self.values_of_keys({"left": np.int64, "right": np.int64})

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        rows: list[bytes] = [b""] * batch.size
        numbers: dict[Any, int] = {}
        codes = np.zeros(batch.size, dtype=np.int64)
        for port in (0, 1):
            part, places = batch.of_port(ports, port)
            if not len(places):
                continue
            columns = self.columns_of(part, port)
            for place, row in zip(places.tolist(), self._rows.encode(columns.columns), strict=True):
                rows[place] = row
            keys = batch_keys(part, self.picked[port])
            mine = [numbers.setdefault(key, len(numbers)) for key in keys.keys]
            codes[places] = np.array(mine, dtype=np.int64)[keys.codes]
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        where = self._state.positions(list(numbers))
        counts = [self._state.column(side)[where].tolist() for side in ("left", "right")]
        out = RowsOut([self._rows])
        for at, (port, code, kind) in enumerate(
            zip(ports.tolist(), codes.tolist(), listed, strict=True)
        ):
            before = self._times(counts[0][code], counts[1][code])
            step = 1 if kind in (INSERT, UPDATE_AFTER) else -1
            counts[port][code] = max(0, counts[port][code] + step)
            after = self._times(counts[0][code], counts[1][code])
            if after != before:
                out.add(INSERT if after > before else DELETE, at, rows[at])
        self._keep(where, counts)
        made = out.batch(batch, self.columns, self.codec)
        if made is not None:
            self.emit(made)

    def _keep(self, where: Longs, counts: list[list[int]]) -> None:
        left, right = np.array(counts[0], dtype=np.int64), np.array(counts[1], dtype=np.int64)
        self._state.column("left")[where] = left
        self._state.column("right")[where] = right
        empty = (left == 0) & (right == 0)
        self._state.touch(where[~empty])
        self._state.clear(where[empty])

    def _times(self, left: int, right: int) -> int:
        """How often a row is in the result."""
        if self._all:
            return min(left, right) if self._kind == "intersect" else max(0, left - right)
        return int(left > 0 and (right > 0) == (self._kind == "intersect"))


class LimitOperator(KeyedRelationalOperator):
    """LIMIT without ORDER BY: some rows of an append stream, by number."""

    state_kind: ClassVar[str] = "number of rows"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        offset: int,
        fetch: int | None,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._offset = offset
        self._fetch = fetch

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._state = self.values_of_keys({"n": np.int64})

    def process(self, batch: Batch, port: int = 0) -> None:
        where = self._state.positions([0])
        seen = int(self._state.column("n")[where][0])
        begin = max(0, self._offset - seen)
        end = batch.size
        if self._fetch is not None:
            end = min(end, self._offset + self._fetch - seen)
        self._state.column("n")[where] = seen + batch.size
        self._state.touch(where)
        if begin < end:
            places = np.arange(begin, end)
            columns = self.columns_of(batch).slice(begin, end - begin)
            self.send(batch, columns.columns, places)
