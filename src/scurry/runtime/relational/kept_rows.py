"""Operators that keep rows of each key as columns, and look at a whole batch at a time.

The rows that are kept for the keys of a batch are found together
(:mod:`scurry.runtime.columnar.row_table`). They and the rows of the batch are numbered in the order
in which they came: those that were kept come first. An operator says what it sends, which of the
rows that were kept are not needed any more, and which of the batch are. Where the rows of all keys
are too many for memory, the keys are handled in several passes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.equal_rows import distinct, hash_order, numbers_of, small_order
from scurry.runtime.columnar.row_runs import Hashes
from scurry.runtime.columnar.row_table import TABLES_OF_ROWS, FoundRows, RowTable, passes
from scurry.runtime.keyed_state import store_of
from scurry.runtime.kinds import Kinds
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.lifetimes import Mask
from scurry.runtime.relational.relation import take_all
from scurry.runtime.task_context import TaskContext


class Output(NamedTuple):
    """What is sent, in the order of ``places``: which record of the batch caused each row."""

    places: Longs
    kinds: Kinds
    columns: list[pa.Array]


class RowsOfKeys:
    """The rows that were kept for the keys of some records, and those records: numbers of rows."""

    def __init__(
        self, found: FoundRows, columns: pa.RecordBatch, hashes: Hashes, keys: Sequence[int]
    ) -> None:
        """``keys`` are the columns of keys, none if keys are equal where ``hashes`` are."""
        self.found = found
        #: how many rows were kept before
        self.held = len(found.hashes)
        self.size = self.held + len(hashes)
        self.columns: list[pa.Array] = columns.columns
        if self.held:
            pairs = zip(found.columns, columns.columns, strict=True)
            self.columns = [pa.concat_arrays(pair) for pair in pairs]
            hashes = np.concatenate([found.hashes, hashes])
        self.hashes = hashes
        #: the rows by key, those of a key in the order in which they came
        self.order, differ = self._by_key(hashes, keys)
        #: where in ``order`` the rows of each key begin
        self.starts = np.flatnonzero(np.append(True, differ))
        #: the number of each row's key
        self.codes = np.empty(self.size, dtype=np.int64)
        self.codes[self.order] = np.append(0, np.cumsum(differ))

    def _by_key(self, hashes: Hashes, keys: Sequence[int]) -> tuple[Longs, Mask]:
        """The order of rows, and for each but the first whether its key is another than before."""
        order = hash_order(hashes)
        differ: Mask = hashes[order[1:]] != hashes[order[:-1]]
        if keys:
            numbers = [number for key in keys for number in _key_numbers(self.columns[key])]
            if (_unlike(numbers, order) & ~differ).any():
                order = np.lexsort((*numbers, hashes))
                differ = _unlike(numbers, order) | (hashes[order[1:]] != hashes[order[:-1]])
        return order, differ


def _unlike(numbers: Sequence[Longs], order: Longs) -> Mask:
    found: Mask = np.zeros(len(order) - 1, dtype=bool)
    for column in numbers:
        found |= column[order[1:]] != column[order[:-1]]
    return found


def _key_numbers(column: pa.Array) -> list[Longs]:
    """Numbers that are equal where keys are: 0.0 is -0.0, and what is no number is one value."""
    if not pa.types.is_floating(column.type):
        return numbers_of(column)
    return numbers_of(pc.if_else(pc.is_nan(column), float("nan"), pc.add(column, 0.0)))


class KeptRowsOperator(KeyedRelationalOperator):
    """One that keeps rows of each key as columns."""

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, columns = store_of(context), self.inputs[0]
        name = f"{self.spec.uid}\x1f{TABLES_OF_ROWS}"
        numbered = self.retention_ms > 0
        self.describe(name, columns, numbers=["partners", "written"] if numbered else [])
        self._compared = () if told_apart(columns, self.keys[0]) else self.keys[0]
        make = partial(RowTable, name, store, columns, (), numbered, self.retention_ms, self._now)
        self._table = store.part(name, make)

    def begin(self, watermark: int) -> None:
        self._table.begin()

    def process(self, batch: Batch, port: int = 0) -> None:
        if not batch.size:
            return
        columns = self.columns_of(batch)
        hashes = self._hashes(batch)
        sent: list[Output] = []
        parts = passes([self._table], distinct(hashes))
        for part in parts:
            mine, places = columns, np.arange(batch.size)
            if len(parts) > 1:
                places = np.flatnonzero((hashes >= part[0]) & (hashes <= part[-1]))
                mine = columns.take(pa.array(places))
            rows = RowsOfKeys(self._table.find(part), mine, hashes[places], self._compared)
            made = self.changes(rows)
            if made is not None:
                sent.append(made._replace(places=places[made.places]))
            self._table.relax()
        if sent:
            whole = in_order(sent)
            self.send(batch, whole.columns, whole.places, whole.kinds)

    @abstractmethod
    def changes(self, rows: RowsOfKeys) -> Output | None:
        """What the records of ``rows`` send, which are numbered from 0 there; has to call
        :meth:`keep`."""

    def keep(self, rows: RowsOfKeys, kept: Mask) -> None:
        """Of ``rows`` only those ``kept`` are needed from now on."""
        gone = ~kept[: rows.held]
        if gone.any():
            self._table.change(rows.found, gone, ~gone, rows.found.numbers)
        new = rows.held + np.flatnonzero(kept[rows.held :])
        if len(new):
            columns = pa.RecordBatch.from_arrays(take_all(rows.columns, new), schema=self.inputs[0])
            numbers = np.zeros((0, len(new)), dtype=np.int64)
            if self.retention_ms:
                numbers = np.stack([np.zeros_like(new), np.full_like(new, self.context.now)])
            self._table.add(rows.hashes[new], columns, numbers)


def told_apart(schema: pa.Schema, keys: Sequence[int]) -> bool:
    """Whether keys are equal where their hashes are: whole numbers of at most 64 bits are."""
    kinds = [schema.field(index).type for index in keys]
    return len(keys) == 1 and all(pa.types.is_integer(k) and k != pa.uint64() for k in kinds)


def in_order(sent: Sequence[Output]) -> Output:
    """All of ``sent``, in the order of the records that caused it."""
    if len(sent) == 1:
        return sent[0]
    places = np.concatenate([one.places for one in sent])
    order = small_order(places)
    columns: list[Any] = [
        pa.concat_arrays(parts) for parts in zip(*(one.columns for one in sent), strict=True)
    ]
    kinds = np.concatenate([one.kinds for one in sent])
    return Output(places[order], kinds[order], take_all(columns, order))
