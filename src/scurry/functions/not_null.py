"""What a table's NOT NULL columns ask of the rows that are written to it.

The check runs in workers, so it is defined where a worker finds it without importing the Table API:
that takes a worker about a second, in each stage of a job.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.errors import TypeMismatchError, shorten
from scurry.common.options import tables


class NotNull:
    """Whether rows have values where they must; either they are dropped, or the job ends."""

    def __init__(self, places: Sequence[int], names: Sequence[str], table: str, drop: bool) -> None:
        self._places = tuple(places)
        self._names = tuple(names)
        self._table = table
        self._drop = drop

    def __call__(self, columns: pa.RecordBatch, context: Any) -> pa.Array:
        whole = np.ones(columns.num_rows, dtype=bool)
        for place in self._places:
            column = columns.column(place)
            if not column.null_count:
                continue
            if not self._drop:
                (row,) = columns.slice(column.is_valid().index(False).as_py(), 1).to_pylist()
                raise TypeMismatchError(
                    f"the column {self._names[place]!r} of {self._table} is NOT NULL, and a row "
                    f"has no value for it: {shorten(row)}. Leave such rows out of the query, or "
                    f"set '{tables.NOT_NULL_ENFORCER.key}' to 'DROP'"
                )
            whole &= column.is_valid().to_numpy(zero_copy_only=False)
        return pa.array(whole)
