"""Top-N of rows that are updated, and only move up: of each key the first N rows by an order.

A key keeps no more than N rows. The rows of a batch are looked at one by one. While a batch lasts,
rows are numbers: those of the batch have their places in it, those that keys held before follow.
What is sent is a list of such numbers, and becomes columns at once; only rows that are kept when
the batch ends become bytes.

Changes are Flink's: with row numbers, or where the range does not begin at 1, each number that has
another row now is an update; without, the row that drops out is deleted and the one that comes in
is inserted, and a row that comes again in another form is updated. The first row alone (top-1) is
updated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSet
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    take_all,
)
from scurry.runtime.relational.sort_keys import order_words, sort_keys
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Where an entry has a row's number among the rows of its key.
_NUMBER = 1


class Top:
    """The first rows of a key: their sort keys, the rows, and what identifies each of them. A row
    is its number while a batch lasts, and between batches the bytes that are stored."""

    __slots__ = ("identities", "next", "places", "rows")

    def __init__(
        self, places: list[bytes], rows: list[Any], identities: list[bytes], number: int
    ) -> None:
        self.places = places
        self.rows = rows
        self.identities = identities
        #: the number that the next row gets; equal rows are in the order of their numbers
        self.next = number


class Changed:
    """What a batch sends, as numbers of rows."""

    def __init__(self, last: int) -> None:
        self.rows: list[int] = []
        self.kinds: list[int] = []
        self.numbers: list[int] = []
        self.causes: list[int] = []
        self._single = list(range(1, last + 1))
        self._double = list(chain.from_iterable((n, n) for n in self._single))

    def add(self, kind: int, row: int, number: int, cause: int) -> None:
        """One change."""
        self.rows.append(row)
        self.kinds.append(kind)
        self.numbers.append(number)
        self.causes.append(cause)

    def update(self, begin: int, old: list[int], new: list[int], cause: int, both: bool) -> None:
        """From index ``begin`` on there were ``old`` rows, and are as many ``new`` ones now."""
        count = len(old)
        if not both:
            self.rows += new
            self.kinds += [UPDATE_AFTER] * count
            self.numbers += self._single[begin : begin + count]
            self.causes += [cause] * count
            return
        pairs = [0] * (2 * count)
        pairs[::2], pairs[1::2] = old, new
        self.rows += pairs
        self.kinds += [UPDATE_BEFORE, UPDATE_AFTER] * count
        self.numbers += self._double[2 * begin : 2 * (begin + count)]
        self.causes += [cause] * (2 * count)


class Known:
    """Rows that keys held before the batch, and their numbers, which follow those of its rows."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[bytes] = []
        #: by key the numbers of its rows
        self.numbers: dict[int, range] = {}

    def take(self, code: int, top: Top) -> None:
        """From now on the rows of a key are numbers."""
        begin = self.size + len(self.rows)
        self.rows += top.rows
        self.numbers[code] = range(begin, begin + len(top.rows))
        top.rows = list(self.numbers[code])


class TopRowsOperator(KeyedRelationalOperator):
    """The rows of each key from number ``first`` to number ``last``. ``row_key`` are the columns
    that identify a row; no update puts a row further back."""

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
        row_key: tuple[int, ...],
        update_before: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._order = order
        self._first, self._last = first, last
        self._number = number
        self._numbered = number or first > 1
        self._row_key = row_key
        self._update_before = update_before
        self._rows = RowCodec(inputs[0])
        self._identity = RowCodec(pa.schema([inputs[0].field(at) for at in row_key]))

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        order, first, last = arguments[:3]
        return {"order": order_words(order), "kept rows": str(last), "first": str(first)}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._sets = self.rows_of_keys("", self.inputs[0], 8, "number")

    def process(self, batch: Batch, port: int = 0) -> None:
        if batch.kinds is not None:
            # a row that is updated comes again: its old form says nothing
            batch = batch.take(np.flatnonzero(batch.kinds != UPDATE_BEFORE))
        if not batch.size:
            return
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        held = self._sets.of(keys.keys)
        tops = self._tops(held)
        places = sort_keys(columns.columns, self._order)
        codes = keys.codes.tolist()
        identities = self._identities(columns.columns)
        known = Known(batch.size)
        changed = Changed(self._last)
        for at, (code, identity) in enumerate(zip(codes, identities, strict=True)):
            top = tops[code]
            if code not in known.numbers:
                known.take(code, top)
            if identity in top.identities:
                self._moves(changed, top, places[at], identity, at)
            else:
                self._comes(changed, top, places[at], identity, at)
        self._send_changed(batch, columns, known, changed)
        for code, numbers in known.numbers.items():
            self._drop(held[code], tops[code], known, numbers)
        self._put(columns, [(held[code], tops[code]) for code in known.numbers], known)

    def _tops(self, held: list[RowSet]) -> list[Top]:
        """The rows of keys in their order."""
        unknown = [one for one in held if one.note is None or self.retention_ms]
        stored = [row for one in unknown for row in one.rows]
        columns = self._rows.decode([row[8:] for row in stored])
        places = sort_keys(columns, self._order) if stored else []
        identities = self._identities(columns) if stored else []
        begin = 0
        for one in unknown:
            mine = slice(begin, begin + len(one.rows))
            begin = mine.stop
            numbers = [entry[_NUMBER] for entry in one.rows.values()]
            one.note = _top(places[mine], numbers, stored[mine], identities[mine])
        return [one.note for one in held]

    def _identities(self, columns: Sequence[pa.Array]) -> list[bytes]:
        return self._identity.encode([columns[at] for at in self._row_key])

    def _comes(self, changed: Changed, top: Top, place: bytes, identity: bytes, at: int) -> None:
        """A row comes that the key does not have."""
        full = len(top.places) >= self._last
        if full and place >= top.places[-1]:
            return
        index = bisect_right(top.places, place)
        before = top.rows[index:]
        top.places.insert(index, place)
        top.rows.insert(index, at)
        top.identities.insert(index, identity)
        dropped = top.rows[-1]
        if full:
            del top.places[-1], top.rows[-1], top.identities[-1]
        if not self._numbered:
            self._send_one(changed, dropped if full else None, at)
            return
        begin = max(index, self._first - 1)
        skipped = begin - index
        changed.update(
            begin, before[skipped:], top.rows[begin : index + len(before)], at, self._update_before
        )
        if not full and len(top.rows) >= self._first:
            changed.add(INSERT, top.rows[-1], len(top.rows), at)

    def _send_one(self, changed: Changed, dropped: int | None, at: int) -> None:
        """Send that a row comes in, and perhaps one drops out, where numbers do not matter."""
        if dropped is not None and self._last > 1:
            changed.add(DELETE, dropped, 0, at)
        elif dropped is not None and self._update_before:
            changed.add(UPDATE_BEFORE, dropped, 0, at)
        alone = dropped is not None and self._last == 1
        changed.add(UPDATE_AFTER if alone else INSERT, at, 0, at)

    def _moves(self, changed: Changed, top: Top, place: bytes, identity: bytes, at: int) -> None:
        """A row comes that the key has in another form: it stays where it is, or moves."""
        old = top.identities.index(identity)
        same = top.places[old] == place
        before = top.rows.copy()
        del top.places[old], top.rows[old], top.identities[old]
        new = old if same else bisect_right(top.places, place)
        top.places.insert(new, place)
        top.rows.insert(new, at)
        top.identities.insert(new, identity)
        both = self._update_before
        if not self._numbered:
            changed.update(0, [before[old]], [at], at, both)
            return
        begin, end = max(min(old, new), self._first - 1), max(old, new)
        if new > old:
            changed.update(begin, before[begin : end + 1], top.rows[begin : end + 1], at, both)
        elif begin <= old:
            # the old form goes first, as in Flink, then those that it passes move back
            if both:
                changed.add(UPDATE_BEFORE, before[old], old + 1, at)
            changed.update(begin, before[begin:old], top.rows[begin:old], at, both)
            changed.add(UPDATE_AFTER, top.rows[old], old + 1, at)

    def _send_changed(
        self, batch: Batch, columns: pa.RecordBatch, known: Known, changed: Changed
    ) -> None:
        if not changed.rows:
            return
        chosen = np.array(changed.rows, dtype=np.int64)
        asked = np.unique(chosen[chosen >= batch.size])
        made = list(columns.columns)
        if len(asked):
            stored = [known.rows[at - batch.size][8:] for at in asked.tolist()]
            held = self._rows.decode(stored)
            made = [pa.concat_arrays(pair) for pair in zip(made, held, strict=True)]
            old = chosen >= batch.size
            chosen[old] = batch.size + np.searchsorted(asked, chosen[old])
        made = take_all(made, chosen)
        if self._number:
            made.append(pa.array(changed.numbers, pa.int64()))
        origin = np.array(changed.causes, dtype=np.int64)
        self.send(batch, made, origin, np.array(changed.kinds, dtype=np.int8))

    def _drop(self, held: RowSet, top: Top, known: Known, numbers: range) -> None:
        """Forget the rows of a key that are not among its first ones any more."""
        for number in set(numbers).difference(top.rows):
            held.remove(known.rows[number - known.size])

    def _put(
        self, columns: pa.RecordBatch, touched: list[tuple[RowSet, Top]], known: Known
    ) -> None:
        """Keep the rows of the batch that are among the first ones of their keys when it ends."""
        size = known.size
        new = sorted(row for _, top in touched for row in top.rows if row < size)
        encoded = self._rows.encode(columns.take(pa.array(new, pa.int64())).columns) if new else []
        bytes_of = dict(zip(new, encoded, strict=True))
        for held, top in touched:
            numbers = {}
            for row in sorted(row for row in top.rows if row < size):
                numbers[row] = top.next
                held.put(_stored(top.next, bytes_of[row]), top.next)
                top.next += 1
            top.rows = [
                _stored(numbers[row], bytes_of[row]) if row < size else known.rows[row - size]
                for row in top.rows
            ]


def _top(
    places: list[bytes], numbers: list[int], rows: list[bytes], identities: list[bytes]
) -> Top:
    found = sorted(zip(places, numbers, rows, identities, strict=True))
    return Top(
        [place for place, *_ in found],
        [row for _, _, row, _ in found],
        [identity for *_, identity in found],
        1 + max(numbers, default=0),
    )


def _stored(number: int, row: bytes) -> bytes:
    """A row as it is kept: rows that are equal are told apart by their number."""
    return number.to_bytes(8, "big") + row
