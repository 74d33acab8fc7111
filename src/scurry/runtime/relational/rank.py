"""Top-N of rows that come and go: of each key those whose number by an order is in a range.

The rows of a key are in memory in their order; rows that compare as equal are in the order in which
they came. What a row changes is sent as Flink does: with row numbers, or where the range does not
begin at 1, each number that has another row now is an update; without, the row that drops out is
deleted and the one that comes in is inserted. Rows that never go are handled by
:mod:`scurry.runtime.relational.top_rows`, which keeps only those in the range.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, ClassVar

import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from scurry.runtime.relational.rows_out import RowsOut
from scurry.runtime.relational.sort_keys import order_words, sort_keys
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: A row in its place: its sort key, its number among the rows of the key, the row.
Placed = tuple[bytes, int, bytes]
_NUMBER = RowCodec(pa.schema([("number", pa.int64())]))


class Ordered:
    """The rows of a key in their order, and the number that the next row gets."""

    def __init__(self, rows: list[Placed]) -> None:
        self.rows = rows
        self.next = 1 + max((number for _, number, _ in rows), default=0)


class RankOperator(KeyedRelationalOperator):
    """The rows of each key from number ``first`` to number ``last``, and not beyond the value of
    the column ``bound``, which is one of the key's. Without ``retracting`` no row ever goes."""

    state_kind: ClassVar[str] = "rows in order"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        order: tuple[SortKey, ...],
        first: int,
        last: int,
        number: bool,
        update_before: bool,
        bound: int | None,
        retracting: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._order = order
        self._first, self._last = first, last
        self._number = number
        self._numbered = number or first > 1
        self._update_before = update_before
        self._bound = bound
        self._retracting = retracting
        self._rows = RowCodec(inputs[0])

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        order, first = arguments[:2]
        return {"order": order_words(order), "kept rows": "all", "first": str(first)}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._sets = self.rows_of_keys("", self.inputs[0], 8, "number")

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        held = self._sets.of(keys.keys)
        lists = self._in_order(held)
        rows = self._rows.encode(columns.columns)
        sorting = sort_keys(columns.columns, self._order)
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        out = RowsOut([self._rows, _NUMBER] if self._number else [self._rows])
        limits = self._limits(columns)
        for at, (code, row, place, kind, last) in enumerate(
            zip(keys.codes.tolist(), rows, sorting, listed, limits, strict=True)
        ):
            if kind in (INSERT, UPDATE_AFTER):
                self._comes(out, held[code], lists[code], place, row, at, last)
            else:
                self._goes(out, held[code], lists[code], place, row, at, last)
        made = out.batch(batch, self.columns, self.codec)
        if made is not None:
            self.emit(made)

    def _limits(self, columns: pa.RecordBatch) -> list[int]:
        """For each row the number of the last row of its key that is sent."""
        if self._bound is None:
            return [self._last] * columns.num_rows
        bounds = columns.column(self._bound).to_pylist()
        return [0 if one is None else min(max(int(one), 0), self._last) for one in bounds]

    def _in_order(self, held: list[RowSet]) -> list[Ordered]:
        """The rows of keys in their order."""
        unknown = [one for one in held if one.note is None or self.retention_ms]
        stored = [row[8:] for one in unknown for row in one.rows]
        places = sort_keys(self._rows.decode(stored), self._order) if stored else []
        begin = 0
        for one in unknown:
            mine = slice(begin, begin + len(one.rows))
            begin = mine.stop
            numbers = (entry[1] for entry in one.rows.values())
            one.note = Ordered(sorted(zip(places[mine], numbers, stored[mine], strict=True)))
        return [one.note for one in held]

    def _comes(
        self, out: RowsOut, held: RowSet, ordered: Ordered, place: bytes, row: bytes, at: int,
        last: int,
    ) -> None:  # fmt: skip
        rows = ordered.rows
        index = bisect_right(rows, place, key=_sort_key)
        if index >= last and not self._retracting:
            return  # no row ever goes that would let it in
        number, ordered.next = ordered.next, ordered.next + 1
        before = rows[index:last]
        rows.insert(index, (place, number, row))
        held.put(_stored(number, row), number)
        if index < last:
            self._send_change(out, index, before, rows[index:last], at)
        if len(rows) > last and not self._retracting:
            _, number, dropped = rows.pop()
            held.remove(_stored(number, dropped))

    def _goes(
        self, out: RowsOut, held: RowSet, ordered: Ordered, place: bytes, row: bytes, at: int,
        last: int,
    ) -> None:  # fmt: skip
        rows = ordered.rows
        index = bisect_left(rows, place, key=_sort_key)
        while index < len(rows) and rows[index][0] == place and rows[index][2] != row:
            index += 1
        if index >= len(rows) or rows[index][0] != place:
            return  # a row that is not there
        before = rows[index:last]
        _, number, _ = rows.pop(index)
        held.remove(_stored(number, row))
        if index < last:
            self._send_change(out, index, before, rows[index:last], at)

    def _send_change(
        self, out: RowsOut, index: int, before: list[Placed], after: list[Placed], at: int
    ) -> None:
        """Send that the rows from ``index`` on, which were ``before``, are ``after`` now."""
        if not self._numbered:
            gone, come = _one_more(before, after), _one_more(after, before)
            if gone is not None:
                out.add(DELETE, at, gone)
            if come is not None:
                out.add(INSERT, at, come)
            return
        for step in range(max(0, self._first - 1 - index), max(len(before), len(after))):
            number = index + step + 1
            old = before[step][2] if step < len(before) else None
            new = after[step][2] if step < len(after) else None
            if old == new:
                continue
            if old is None and new is not None:
                self._add(out, INSERT, at, new, number)
            elif new is None and old is not None:
                self._add(out, DELETE, at, old, number)
            elif old is not None and new is not None:
                if self._update_before:
                    self._add(out, UPDATE_BEFORE, at, old, number)
                self._add(out, UPDATE_AFTER, at, new, number)

    def _add(self, out: RowsOut, kind: int, at: int, row: bytes, number: int) -> None:
        if self._number:
            out.add(kind, at, row, b"\0" + number.to_bytes(8, "little", signed=True))
        else:
            out.add(kind, at, row)


def _sort_key(placed: Placed) -> bytes:
    return placed[0]


def _stored(number: int, row: bytes) -> bytes:
    """A row as it is kept: rows that are equal are told apart by their number."""
    return number.to_bytes(8, "big") + row


def _one_more(rows: list[Placed], others: list[Placed]) -> bytes | None:
    """The row that is among ``rows`` and not among ``others``."""
    known = {placed[1] for placed in others}
    return next((row for _, number, row in rows if number not in known), None)
