"""Inner joins of streams whose rows never go: whole batches at once.

Each row meets the rows of the other side that came before it: those that are kept
(:mod:`scurry.runtime.columnar.row_runs`) and those of the same batch. A pair stands in the place of
the later of its rows; the partners of a row are in the order in which they came.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.keys import stable_hash, stable_hash_int64
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.row_runs import Hashes, RowRuns, Run
from scurry.runtime.key_columns import key_column
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import take_all
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: How the names of the tables of the two sides begin.
RUNS_OF_ROWS = "#runs"


_SIDES = "left", "right"


class Side(NamedTuple):
    """The rows of one input in a batch that can have partners."""

    columns: pa.RecordBatch
    hashes: Hashes
    #: their places in the batch
    places: Longs


class AppendJoinOperator(KeyedRelationalOperator):
    """Joins two streams of insertions on equal keys."""

    state_kind: ClassVar[str] = "runs of rows of two sides"
    two_inputs = True

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        condition: Any,
        null_equal: tuple[bool, ...],
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._condition = condition
        self._null_equal = null_equal or (False,) * len(keys[0])
        types = [[one.field(n).type for n in mine] for one, mine in zip(inputs, keys, strict=True)]
        # whole numbers are told apart by their hashes
        self._sure = all(pa.types.is_integer(kind) for kind in (*types[0], *types[1]))
        self._sure = self._sure and len(keys[0]) == 1

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store = store_of(context)
        names = [f"{self.spec.uid}\x1f{RUNS_OF_ROWS} {side}" for side in _SIDES]
        self._runs = [
            store.part(name, partial(RowRuns, name, store, columns))
            for name, columns in zip(names, self.inputs, strict=True)
        ]

    def begin(self, watermark: int) -> None:
        for runs in self._runs:
            runs.begin()

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        sides = [self._rows_of(batch, ports, port) for port in (0, 1)]
        left, right = sides
        pieces = [
            (take_all(left.columns.columns, rows), take_all(run.columns.columns, found), causes)
            for run, rows, found in self._runs[1].find(left.hashes)
            for causes in (left.places[rows],)
        ]
        pieces += [
            (take_all(run.columns.columns, found), take_all(right.columns.columns, rows), causes)
            for run, rows, found in self._runs[0].find(right.hashes)
            for causes in (right.places[rows],)
        ]
        pieces += self._within(left, right)
        for runs, side in zip(self._runs, sides, strict=True):
            if len(side.hashes):
                runs.add(side.hashes, side.columns)
        if pieces:
            self._send_pairs(batch, pieces)

    def _within(self, left: Side, right: Side) -> list[Any]:
        """The pairs of rows of this batch."""
        if not len(left.hashes) or not len(right.hashes):
            return []
        order = np.argsort(right.hashes, kind="stable")
        run = Run(right.hashes[order], right.columns)
        low = np.searchsorted(run.hashes, left.hashes, "left")
        counts = np.searchsorted(run.hashes, left.hashes, "right") - low
        total = int(counts.sum())
        if not total:
            return []
        before = np.cumsum(counts) - counts
        rows = np.repeat(np.arange(len(left.hashes)), counts)
        found = order[np.repeat(low - before, counts) + np.arange(total)]
        causes = np.maximum(left.places[rows], right.places[found])
        # for a right row the partners are left rows, in the order in which these came
        taken = take_all(left.columns.columns, rows), take_all(right.columns.columns, found)
        return [(*taken, causes)]

    def _send_pairs(self, batch: Batch, pieces: list[Any]) -> None:
        lefts, rights, causes = zip(*pieces, strict=True)
        columns = [pa.concat_arrays(parts) for parts in zip(*lefts, strict=True)]
        columns += [pa.concat_arrays(parts) for parts in zip(*rights, strict=True)]
        order = np.argsort(np.concatenate(causes), kind="stable")
        origin = np.concatenate(causes)[order]
        columns = take_all(columns, order)
        kept = self._true(columns)
        if kept is not None:
            columns, origin = take_all(columns, kept), origin[kept]
        if len(origin):
            self.send(batch, columns, origin)

    def _true(self, columns: list[pa.Array]) -> Longs | None:
        """The pairs whose keys are equal indeed and for which the condition is true; None if all
        are."""
        mask = None
        if not self._sure:
            mask = self._equal(columns)
        if self._condition is not None:
            table = pa.RecordBatch.from_arrays(columns, schema=self.columns)
            true = self.truth(self._condition, table)
            mask = true if mask is None else mask & true
        return None if mask is None or mask.all() else np.flatnonzero(mask)

    def _equal(self, columns: list[pa.Array]) -> Any:
        mask = np.ones(len(columns[0]), dtype=bool)
        width = len(self.inputs[0])
        for mine, other in zip(*self.keys, strict=True):
            left, right = columns[mine], columns[width + other]
            if left.type != right.type:
                right = right.cast(left.type, safe=False)
            same = (
                pc.equal(left, right) if not pa.types.is_nested(left.type) else _same(left, right)
            )
            nulls = pc.and_(left.is_null(), right.is_null())
            mask &= pc.or_kleene(same, nulls).fill_null(False).to_numpy(zero_copy_only=False)
        return mask

    def _rows_of(self, batch: Batch, ports: Longs, port: int) -> Side:
        part, places = batch.of_port(ports, port)
        columns = self.columns_of(part, port) if len(places) else None
        if columns is None:
            empty = pa.RecordBatch.from_arrays(
                [pa.array([], kind) for kind in self.inputs[port].types], schema=self.inputs[port]
            )
            return Side(empty, np.zeros(0, dtype=np.uint64), places)
        hashes = self._hashes(part, port)
        alone = np.zeros(len(places), dtype=bool)
        for index, equal in zip(self.keys[port], self._null_equal, strict=True):
            if not equal and columns.column(index).null_count:
                alone |= columns.column(index).is_null().to_numpy(zero_copy_only=False)
        if alone.any():
            kept = np.flatnonzero(~alone)
            return Side(columns.take(pa.array(kept)), hashes[kept], places[kept])
        return Side(columns, hashes, places)

    def _hashes(self, part: Batch, port: int) -> Hashes:
        """The hashes of keys: those by which rows found their way here."""
        if part.key_column is not None:
            return stable_hash_int64(part.key_column)
        found = key_column(part, self.picked[port])
        if found is None:
            assert part.keys is not None
            return np.array([stable_hash(key) for key in part.keys], dtype=np.uint64)
        if found.hashes is None:
            return stable_hash_int64(found.codes)
        return np.asarray(found.hashes(), dtype=np.uint64)[found.codes]


def _same(left: pa.Array, right: pa.Array) -> pa.Array:
    pairs = zip(left.to_pylist(), right.to_pylist(), strict=True)
    return pa.array([one == other for one, other in pairs], pa.bool_())
