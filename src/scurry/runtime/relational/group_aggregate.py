"""GROUP BY without a window: what each group's row was, and what it is, after every change.

The rows of a batch are sorted by key. For each row the aggregates say what the group's result is
after it; what it was before is the result after the row before. So the changelog of all groups is
computed at once, and then put into the order of the rows that caused it:

* the first row of a group gives ``+I``;
* a row that changes the result gives ``-U`` with the old and ``+U`` with the new result, or ``+U``
  alone where nobody needs the old one, and one that does not change it gives nothing, unless state
  expires: then it is told that the group is alive, as in Flink;
* the row that takes a group's last row back gives ``-D``, and the group is forgotten. A row that
  is taken back and was never there is ignored.

With mini-batches only the net change of each group and batch is sent, or of each number of rows.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import BatchKeys, batch_keys
from scurry.runtime.columnar.row_table import TABLES_OF_ROWS, RowTable
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.aggregates.accumulators import Accumulator, Scanned
from scurry.runtime.relational.aggregates.choose import accumulator_of
from scurry.runtime.relational.aggregates.counted_values import Distinct, ExtremeOfCounted
from scurry.runtime.relational.aggregates.seen_values import SeenValues
from scurry.runtime.relational.aggregates.segments import Mask, Segments, stable_order
from scurry.runtime.relational.keyed import KeyedRelationalOperator, titles_of
from scurry.runtime.relational.relation import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    signs_of,
    take_all,
)
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

_ROWS = "rows"


class GroupAggregateOperator(KeyedRelationalOperator):
    """Aggregates of groups that change as rows come and go."""

    state_kind: ClassVar[str] = "aggregates of groups"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        calls: tuple[AggregateCall, ...],
        retracting: bool,
        update_before: bool,
        mini_batch: bool,
        mini_batch_rows: int = 0,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._calls = calls
        self._retracting = retracting
        self._update_before = update_before
        self._mini_batch = mini_batch
        self._most_rows = mini_batch_rows if mini_batch else 0

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        calls, retracting = arguments[:2]
        said = ", ".join(call.title for call in calls)
        found = {"aggregates": said, "rows can go": str(retracting).lower()}
        if any(call.distinct for call in calls) and not retracting:
            found["distinct values"] = "columns"
        return found

    def open(self, context: TaskContext) -> None:
        super().open(context)
        schema = self.inputs[0]
        self._accumulators: list[Accumulator] = [
            accumulator_of(
                call, schema, self._retracting, number, self.counted_values, self._seen_values
            )
            for number, call in enumerate(self._calls)
        ]
        fields: dict[str, Any] = {_ROWS: np.int64} if self._retracting else {}
        for number, one in enumerate(self._accumulators):
            fields.update({f"{number}.{name}": kind for name, kind in one.fields.items()})
        self._state = self.values_of_keys(fields, titles=titles_of(self._calls, fields, schema))
        for call in self._calls:
            if not call.built_in:
                self.start_user_function(call.function)

    def _seen_values(self, number: int, call: AggregateCall) -> SeenValues:
        """The distinct values of the ``number``-th call."""
        store = store_of(self.context)
        name = f"{self.spec.uid}\x1f{TABLES_OF_ROWS} distinct{number}"
        kept = self.retention_ms

        def opened(schema: pa.Schema) -> RowTable:
            self.describe(name, schema, numbers=["number", "written"] if kept else [])
            made = partial(RowTable, name, store, schema, (), kept > 0, kept, self._now)
            return store.part(name, made)

        schema, keys = self.inputs[0], self.keys[0]
        groups = store.max_parallelism
        return SeenValues(schema, keys, call.arguments, groups, opened, self._now)

    def close(self) -> None:
        super().close()
        for call in self._calls:
            if not call.built_in:
                call.function.close()

    def process(self, batch: Batch, port: int = 0) -> None:
        for part in batch.slices(self._most_rows or max(batch.size, 1)):
            self._take(part)

    def _take(self, batch: Batch) -> None:
        """Aggregate the rows of a batch; what they come to is sent."""
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        signs = signs_of(batch.kinds) if self._retracting else None
        places = self._state.positions(keys.keys)
        order = stable_order(keys.codes, len(keys.keys))
        counts = None
        if self._retracting:
            order, counts = self._row_counts(keys, order, signs, places)
            if not len(order):
                return
        rows = self._segments(columns, keys, order, signs, counts)
        fresh = self._fresh(rows, places)
        try:
            scanned = [self._scan(n, rows, places, fresh) for n in range(len(self._calls))]
        except Exception as failure:
            raise self.failed(failure) from failure
        gone = np.zeros(rows.size, dtype=bool) if counts is None else counts == 0
        if self._mini_batch:
            self._send_net(batch, columns, rows, scanned, fresh, gone)
        else:
            self._send_all(batch, columns, rows, scanned, fresh, gone)
        self._keep(rows, places, scanned, counts)

    # --- which rows count, and of which segment

    def _row_counts(
        self, keys: BatchKeys, order: Longs, signs: Longs | None, places: Longs
    ) -> tuple[Longs, Longs]:
        """The order without the rows that are taken back and were never there, and how many rows
        the group has after each row."""
        held = self._state.column(_ROWS)[places]
        ones = np.ones(len(order), dtype=np.int64) if signs is None else signs[order]
        codes = keys.codes[order]
        counts = _running_counts(ones, codes, held)
        if not (counts < 0).any():
            return order, counts
        kept = _not_ignored(ones, codes, held)
        return order[kept], _running_counts(ones[kept], codes[kept], held)

    def _segments(
        self,
        columns: pa.RecordBatch,
        keys: BatchKeys,
        order: Longs,
        signs: Longs | None,
        counts: Longs | None,
    ) -> Segments:
        """A segment for each group, or for each life of a group that vanishes and comes back."""
        codes = keys.codes[order]
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = codes[1:] != codes[:-1]
        if counts is not None:
            begins[1:] |= counts[:-1] == 0
        starts = np.flatnonzero(begins)
        sorted_signs = None if signs is None else signs[order]
        return Segments(columns, order, starts, codes[starts], sorted_signs, keys.keys)

    def _fresh(self, rows: Segments, places: Longs) -> Mask:
        """The segments whose group did not exist before."""
        again = np.zeros(len(rows.starts), dtype=bool)
        again[1:] = rows.groups[1:] == rows.groups[:-1]
        fresh: Mask = again | ~self._state.alive[places[rows.groups]]
        return fresh

    # --- aggregates

    def _scan(self, number: int, rows: Segments, places: Longs, fresh: Mask) -> Scanned:
        one = self._accumulators[number]
        held = {}
        for name in one.fields:
            column = self._state.column(f"{number}.{name}")[places[rows.groups]]
            column[fresh] = None if column.dtype == object else 0
            held[name] = column
        return one.scan(rows, rows.counted(one.call, one.takes_nulls), held)

    def _keep(
        self, rows: Segments, places: Longs, scanned: list[Scanned], counts: Longs | None
    ) -> None:
        """Remember what groups hold after the batch; forget groups that have no rows."""
        final = np.append(rows.groups[1:] != rows.groups[:-1], True)
        groups = rows.groups[final]
        where = places[groups]
        self._state.touch(where)
        for number, one in enumerate(scanned):
            for name, values in one.final.items():
                self._state.column(f"{number}.{name}")[where] = values[final]
        if counts is None:
            return
        left = counts[rows.last[final]]
        self._state.column(_ROWS)[where] = left
        empty = left == 0
        if empty.any():
            self._state.clear(where[empty])
            keys = [rows.keys[group] for group in groups[empty].tolist()]
            for each in self._accumulators:
                if isinstance(each, (Distinct, ExtremeOfCounted)):
                    each.values.clear(keys)

    # --- changes

    def _send_all(
        self,
        batch: Batch,
        columns: pa.RecordBatch,
        rows: Segments,
        scanned: list[Scanned],
        fresh: Mask,
        gone: Mask,
    ) -> None:
        size = rows.size
        before = np.arange(size) - 1
        before[rows.starts] = size + np.arange(len(rows.starts))
        first = np.zeros(size, dtype=bool)
        first[rows.starts] = fresh
        united = [pa.concat_arrays([one.after, one.before]) for one in scanned]
        changed = self._changed(united, before, first | gone)
        self._send(
            batch, columns, rows.order, united, before, np.arange(size), first, gone, changed
        )

    def _send_net(
        self,
        batch: Batch,
        columns: pa.RecordBatch,
        rows: Segments,
        scanned: list[Scanned],
        fresh: Mask,
        gone: Mask,
    ) -> None:
        begin = np.flatnonzero(np.append(True, rows.groups[1:] != rows.groups[:-1]))
        end = np.append(begin[1:], len(rows.groups)) - 1
        last = rows.last[end]
        first = fresh[begin]
        united = [pa.concat_arrays([one.after, one.before]) for one in scanned]
        before = rows.size + begin
        vanished = gone[last]
        real = ~(first & vanished)
        picked = np.flatnonzero(real)
        last, before = last[picked], before[picked]
        taken = [column.take(pa.array(np.concatenate([last, before]))) for column in united]
        count = len(picked)
        earlier, now = count + np.arange(count), np.arange(count)
        changed = self._changed(taken, earlier, first[picked] | vanished[picked])
        self._send(
            batch,
            columns,
            rows.order[last],
            taken,
            earlier,
            now,
            first[picked],
            vanished[picked],
            changed,
        )

    def _changed(self, united: list[pa.Array], before: Longs, surely: Mask) -> Mask:
        """The rows after which the result is another than before them."""
        size = len(before)
        if self.retention_ms or any(_always_changes(call) for call in self._calls):
            return np.ones(size, dtype=bool)
        changed = surely.copy()
        for column in united:
            if pa.types.is_null(column.type):
                continue
            new, old = column.slice(0, size), column.take(pa.array(before))
            same = pc.equal(new, old) if not pa.types.is_nested(column.type) else _same(new, old)
            both = pc.and_(new.is_null(), old.is_null())
            equal = pc.or_kleene(same, both).fill_null(False)
            changed |= ~equal.to_numpy(zero_copy_only=False)
        return changed

    def _send(
        self,
        batch: Batch,
        columns: pa.RecordBatch,
        causes: Longs,
        results: list[pa.Array],
        old: Longs,
        new: Longs,
        first: Mask,
        gone: Mask,
        changed: Mask,
    ) -> None:
        """Send what happens at each of ``causes``: ``old`` and ``new`` say where in ``results`` its
        results before and after are."""
        by_input = _in_input_order(causes, batch.size)
        causes, old, new = causes[by_input], old[by_input], new[by_input]
        first, gone, changed = first[by_input], gone[by_input], changed[by_input]
        update = ~first & ~gone & changed
        halves = update & self._update_before
        emitted = np.where(first | gone | update, 1, 0) + halves
        at = np.repeat(np.arange(len(causes)), emitted)
        if not len(at):
            return
        second = np.zeros(len(at), dtype=bool)
        second[1:] = at[1:] == at[:-1]
        retracted = gone[at] | (halves[at] & ~second)
        kinds = np.where(update[at], UPDATE_AFTER, np.where(gone[at], DELETE, INSERT))
        kinds = np.where(halves[at] & ~second, UPDATE_BEFORE, kinds).astype(np.int8)
        chosen = pa.array(np.where(retracted, old[at], new[at]))
        origin = causes[at]
        made = take_all([columns.column(index) for index in self.keys[0]], origin)
        made += [column.take(chosen) for column in results]
        self.send(batch, made, origin, kinds)


def _in_input_order(causes: Longs, size: int) -> Longs:
    """How to sort rows of a batch of that ``size``, none of which is there twice."""
    places = np.full(size, -1, dtype=np.int64)
    places[causes] = np.arange(len(causes))
    return places if len(causes) == size else places[places >= 0]


def _always_changes(call: AggregateCall) -> bool:
    """Whether every row changes the result."""
    counts = call.function == "COUNT" and not call.arguments
    return counts and call.filter is None and not call.distinct


def _same(new: pa.Array, old: pa.Array) -> pa.Array:
    pairs = zip(new.to_pylist(), old.to_pylist(), strict=True)
    return pa.array([one == other for one, other in pairs], pa.bool_())


def _running_counts(ones: Longs, codes: Longs, held: Longs) -> Longs:
    """How many rows the group has after each row, in order of groups."""
    summed = np.cumsum(ones)
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))
    lengths = np.diff(np.append(starts, len(codes)))
    offset = held[codes[starts]] - (summed[starts] - ones[starts])
    counts: Longs = summed + np.repeat(offset, lengths)
    return counts


def _not_ignored(ones: Longs, codes: Longs, held: Longs) -> Longs:
    """The rows that come, or go from a group that has rows."""
    counts = dict(enumerate(held.tolist()))
    kept = []
    for at, (one, code) in enumerate(zip(ones.tolist(), codes.tolist(), strict=True)):
        if counts[code] + one >= 0:
            counts[code] += one
            kept.append(at)
    return np.array(kept, dtype=np.int64)
