"""The values that groups have had, as columns: what DISTINCT asks for where no row goes.

A row of the table is a group's key and a value. It is kept by a hash of both, so that a batch looks
up the values it brings and none of the others that its groups have, however many these are. The
hash leaves the same rest as that of the key when it is divided by the number of key groups: rows go
where their groups go when a job is rescaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.column_keys import hash_column, hash_tuples
from scurry.common.keys import mix_all, stable_hash
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.equal_rows import Hashes, distinct, equal_ids, numbers_of
from scurry.runtime.columnar.row_table import RowTable
from scurry.runtime.relational.aggregates.segments import Mask, Segments

_ODD = np.uint64(0x9E3779B97F4A7C15)


class SeenValues:
    """The values of the columns ``arguments`` in each group; ``keys`` are the key columns."""

    def __init__(
        self,
        schema: pa.Schema,
        keys: Sequence[int],
        arguments: Sequence[int],
        groups: int,
        opened: Callable[[pa.Schema], RowTable],
        now: Callable[[], int],
    ) -> None:
        self._keys = keys
        self._columns = [*keys, *arguments]
        self._arguments = arguments
        self._groups = np.uint64(groups)
        fields = [schema.field(index) for index in self._columns]
        self._schema = pa.schema([(f"c{n}", field.type) for n, field in enumerate(fields)])
        self._table = opened(self._schema)
        self._now = now

    def unseen(self, rows: Segments, first: Longs) -> Mask:
        """Which of the rows ``first``, no two of which have a group and a value in common, bring
        values that their groups have not had. They have had them from now on."""
        self._table.begin()
        places = pa.array(first)
        columns = [rows.column(index).take(places) for index in self._columns]
        hashes = self._hashes(rows, first, columns[len(columns) - len(self._arguments) :])
        new = ~self._known(hashes, columns)
        added = np.flatnonzero(new)
        if len(added):
            kept = [column.take(pa.array(added)) for column in columns]
            batch = pa.RecordBatch.from_arrays(kept, schema=self._schema)
            self._table.add(hashes[added], batch, self._numbers(len(added)))
        return new

    def _numbers(self, count: int) -> Longs:
        if not self._table.numbered:
            return np.zeros((0, count), dtype=np.int64)
        return np.stack([np.zeros(count, dtype=np.int64), np.full(count, self._now())])

    def _hashes(self, rows: Segments, first: Longs, values: Sequence[pa.Array]) -> Hashes:
        own = rows.of_segments("hashes", lambda: self._hashes_of_keys(rows))[rows.segment[first]]
        mixed = own
        with np.errstate(over="ignore"):
            for value in values:
                mixed = mix_all(mixed * _ODD + _hashes_of(value))
        # one bit less, so that the rest can be put in place of another one
        mixed = mixed >> np.uint64(1)
        return mixed - mixed % self._groups + own % self._groups

    def _hashes_of_keys(self, rows: Segments) -> Hashes:
        """The hash of the key of each segment, as partitioners have it."""
        columns = [rows.column(index).take(pa.array(rows.starts)) for index in self._keys]
        if not columns or any(pa.types.is_nested(column.type) for column in columns):
            found = np.array([stable_hash(key) for key in rows.keys], dtype=np.uint64)
            return found[rows.groups]
        return hash_tuples(columns) if len(columns) > 1 else hash_column(columns[0])

    def _known(self, hashes: Hashes, columns: Sequence[pa.Array]) -> Mask:
        """Which rows are in the table."""
        known = np.zeros(len(hashes), dtype=bool)
        found = self._table.find(distinct(hashes))
        if not len(found.hashes):
            return known
        there = np.sort(found.hashes)
        near = there[np.minimum(there.searchsorted(hashes), len(there) - 1)]
        alike = np.flatnonzero(near == hashes)
        # rows with equal hashes are most likely equal, but need not be
        taken = [column.take(pa.array(alike)) for column in columns]
        pairs = zip(found.columns, taken, strict=True)
        numbers = [n for pair in pairs for n in numbers_of(pa.concat_arrays(pair))]
        ids = equal_ids(numbers, len(there) + len(alike))
        known[alike] = np.isin(ids[len(there) :], ids[: len(there)])
        self._table.relax()
        return known


def _hashes_of(column: pa.Array) -> Any:
    """The hash of each value; of texts each distinct one is hashed once."""
    if pa.types.is_integer(column.type) and not column.null_count:
        return hash_column(column)
    found = column.dictionary_encode(null_encoding="encode")
    return hash_column(found.dictionary)[found.indices.to_numpy(zero_copy_only=False)]
