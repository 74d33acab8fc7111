"""OVER in an order that is not time: a row that comes may change the results of all rows after it.

The rows of each key are kept, in their order; rows that compare as equal are in the order in which
they came. After each change the results of the key's rows are computed anew and compared with those
before; what differs is sent, in the order of the rows. The changes of different keys are handled
together: first the first change of each key, then the second, and so on. Where only what a batch
amounts to is wanted (``net``), all changes of a batch are one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall, Frame, SortKey
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.ordered_frames import OrderedRows, over_results
from scurry.runtime.relational.relation import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from scurry.runtime.relational.rows_out import RowsOut
from scurry.runtime.relational.sort_keys import sort_keys
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: A row in its place: its sort key, its number among the rows of the key, the row.
Placed = tuple[bytes, int, bytes]
#: What is sent: the record that caused it, its kind, the row, its result.
Change = tuple[int, int, bytes, bytes]


class Sorted:
    """The rows of a key in their order, the result of each, and the number of the next row."""

    def __init__(self, rows: list[Placed]) -> None:
        self.rows = rows
        self.results: list[bytes] = []
        self.next = 1 + max((number for _, number, _ in rows), default=0)


class SortedOverOperator(KeyedRelationalOperator):
    """Aggregates over frames of rows that are in order, as rows come and go."""

    state_kind: ClassVar[str] = "rows in order"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        calls: tuple[AggregateCall, ...],
        order: tuple[SortKey, ...],
        frame: Frame,
        net: bool,
        update_before: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._calls, self._order, self._frame = calls, order, frame
        self._net, self._update_before = net, update_before
        self._rows = RowCodec(inputs[0])
        self._made = RowCodec(pa.schema(list(columns)[len(inputs[0]) :]))

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        words = ", ".join(
            f"${key.index}{'' if key.ascending else ' DESC'}{' NULLS LAST' * key.nulls_last}"
            for key in arguments[1]
        )
        return {"order": words}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._sets = self.rows_of_keys("", self.inputs[0], 8, "number")

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        held = self._sets.of(keys.keys)
        lists = self._loaded(held)
        rows = self._rows.encode(columns.columns)
        places = sort_keys(columns.columns, self._order)
        listed = [INSERT] * batch.size if batch.kinds is None else batch.kinds.tolist()
        changes: list[Change] = []
        for turn in self._turns(keys.codes.tolist()):
            before = {code: (list(lists[code].rows), lists[code].results) for code in turn}
            for code, records in turn.items():
                for at in records:
                    came = listed[at] in (INSERT, UPDATE_AFTER)
                    change = _comes if came else _goes
                    change(held[code], lists[code], places[at], rows[at])
            self._compute([lists[code] for code in turn])
            for code, records in turn.items():
                changes += self._changes(records[-1], *before[code], lists[code])
        out = RowsOut([self._rows, self._made])
        for at, kind, row, result in sorted(changes, key=itemgetter(0)):
            out.add(kind, at, row, result)
        made = out.batch(batch, self.columns, self.codec)
        if made is not None:
            self.emit(made)

    def _turns(self, codes: list[int]) -> list[dict[int, list[int]]]:
        """The records of each key, by the turn in which they are handled."""
        turns: list[dict[int, list[int]]] = [{}] if self._net else []
        seen: dict[int, int] = {}
        for at, code in enumerate(codes):
            turn = 0 if self._net else seen.get(code, 0)
            seen[code] = turn + 1
            if turn == len(turns):
                turns.append({})
            turns[turn].setdefault(code, []).append(at)
        return turns

    # --- rows and results

    def _loaded(self, held: list[RowSet]) -> list[Sorted]:
        """The rows of keys in their order, with their results."""
        fresh = [one for one in held if one.note is None or self.retention_ms]
        for one in fresh:
            stored = [row[8:] for row in one.rows]
            columns = self._rows.decode(stored) if stored else []
            places = sort_keys(columns, self._order) if stored else []
            numbers = (entry[1] for entry in one.rows.values())
            one.note = Sorted(sorted(zip(places, numbers, stored, strict=True)))
        self._compute([one.note for one in fresh])
        return [one.note for one in held]

    def _compute(self, lists: list[Sorted]) -> None:
        """Note the results of all rows of some keys."""
        there = [one for one in lists if one.rows]
        for one in lists:
            one.results = []
        if not there:
            return
        placed = [row for one in there for row in one.rows]
        lengths = np.array([len(one.rows) for one in there], dtype=np.int64)
        found = self._results(placed, np.cumsum(lengths) - lengths)
        begin = 0
        for one in there:
            one.results = found[begin : begin + len(one.rows)]
            begin += len(one.rows)

    def _results(self, placed: list[Placed], starts: Any) -> list[bytes]:
        columns = self._rows.decode([row for _, _, row in placed])
        table = pa.RecordBatch.from_arrays(columns, schema=self.inputs[0])
        keys = [key for key, _, _ in placed]
        equal = np.array([a == b for a, b in pairwise(keys)], dtype=bool)
        first = self._order[0] if len(self._order) == 1 else None
        rows = OrderedRows(
            table,
            starts,
            equal,
            None if first is None else columns[first.index],
            first is None or first.ascending,
        )
        try:
            return self._made.encode(over_results(self._calls, rows, self._frame))
        except Exception as failure:
            raise self.failed(failure) from failure

    # --- changes

    def _changes(
        self, at: int, old: list[Placed], results: list[bytes], now: Sorted
    ) -> Iterator[Change]:
        """What differs, in the order of the rows, because of record ``at``."""
        before = dict(zip(old, results, strict=True))
        after = dict(zip(now.rows, now.results, strict=True))
        for placed in sorted({**before, **after}):
            mine, theirs = before.get(placed), after.get(placed)
            if mine == theirs:
                continue
            row = placed[2]
            if theirs is None and mine is not None:
                yield at, DELETE, row, mine
            elif mine is None and theirs is not None:
                yield at, INSERT, row, theirs
            elif mine is not None and theirs is not None:
                if self._update_before:
                    yield at, UPDATE_BEFORE, row, mine
                yield at, UPDATE_AFTER, row, theirs


def _stored(number: int, row: bytes) -> bytes:
    return number.to_bytes(8, "big") + row


def _key(placed: Placed) -> bytes:
    return placed[0]


def _comes(held: RowSet, ordered: Sorted, place: bytes, row: bytes) -> None:
    number, ordered.next = ordered.next, ordered.next + 1
    ordered.rows.insert(bisect_right(ordered.rows, place, key=_key), (place, number, row))
    held.put(_stored(number, row), number)


def _goes(held: RowSet, ordered: Sorted, place: bytes, row: bytes) -> None:
    """A row that is not there cannot go."""
    rows = ordered.rows
    for index in range(bisect_left(rows, place, key=_key), len(rows)):
        if rows[index][0] != place:
            return
        if rows[index][2] == row:
            _, number, _ = rows.pop(index)
            held.remove(_stored(number, row))
            return
