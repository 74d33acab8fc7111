"""Rows in the order of ORDER BY, as whole numbers: a lesser number comes first, equal ones compare
as equal. The numbers hold for the rows that were given together, and are small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import Longs
from scurry.runtime.relational.aggregates.numbers import numbers, numeric


def dense(values: Any) -> Longs:
    """The number of each value among the distinct values, in their order."""
    found: Longs = np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)
    return found


def order_codes(columns: Sequence[pa.Array], order: Sequence[SortKey]) -> Longs:
    """The numbers of the rows of ``columns``, which are put in order by some of them."""
    made = np.zeros(len(columns[0]), dtype=np.int64)
    for key in order:
        codes = _of_column(columns[key.index], key)
        made = dense(made * (int(codes.max(initial=0)) + 1) + codes)
    return made


def _of_column(column: pa.Array, key: SortKey) -> Longs:
    codes = _of_values(column)
    high = int(codes.max(initial=0)) + 1
    codes = codes + 1 if key.ascending else high - codes
    if column.null_count:
        null = column.is_null().to_numpy(zero_copy_only=False)
        codes = np.where(null, high + 1 if key.nulls_last else 0, codes)
    return codes


def _of_values(column: pa.Array) -> Longs:
    """The numbers of values; any number for null."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        ranks = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
        found: Longs = ranks.to_numpy(zero_copy_only=False).astype(np.int64)
        return found
    if pa.types.is_null(kind):
        return np.zeros(len(column), dtype=np.int64)
    if not (pa.types.is_boolean(kind) or pa.types.is_decimal(kind) or numeric(kind)):
        raise TypeError(f"rows cannot be put in order by values of type {kind}")
    values = numbers(column)
    # 0.0 and -0.0 are one, and what is not a number is above all numbers, as in Java
    return dense(values + 0.0 if values.dtype.kind == "f" else values)
