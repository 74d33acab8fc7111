"""Columns of numbers as numpy arrays, and back: what sums and extremes are computed on.

Decimals are whole numbers of their smallest unit, Python's, which never overflow; timestamps, dates
and times are the whole numbers that Arrow holds for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.columnar.plain_values import number_type

Array = np.ndarray[Any, Any]


def numeric(kind: pa.DataType) -> bool:
    """Whether values of ``kind`` are numbers here."""
    held = number_type(kind)
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(test(held) for test in tests)


def dtype_of(kind: pa.DataType) -> Any:
    """The numpy type that values of ``kind`` are computed in."""
    held = number_type(kind)
    if pa.types.is_decimal(held):
        return object
    return np.dtype(held.to_pandas_dtype()) if pa.types.is_floating(held) else np.int64


def numbers(column: pa.Array) -> Array:
    """The values of a column; 0 for null."""
    kind = column.type
    if pa.types.is_decimal(kind):
        return _unscaled(column)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif number_type(kind) != kind:
        column = column.cast(number_type(kind))
    found: Array = column.fill_null(0).to_numpy(zero_copy_only=False)
    return found if found.dtype.kind == "f" else found.astype(np.int64)


def column_of(values: Array, kind: pa.DataType, null: Array) -> pa.Array:
    """A column of type ``kind``; whole numbers of fewer bits are what is left of them."""
    if pa.types.is_decimal(kind):
        return _decimals(values, kind, null)
    held = number_type(kind)
    if pa.types.is_boolean(kind):
        return pa.array(values.astype(bool), mask=null)
    made = pa.array(values.astype(held.to_pandas_dtype()), held, mask=null)
    return made if held == kind else made.cast(kind)


def _unscaled(column: pa.Array) -> Array:
    words = np.frombuffer(column.buffers()[1], dtype="<i8").reshape(-1, 2)
    words = words[column.offset : column.offset + len(column)]
    low, high = words[:, 0], words[:, 1]
    if not column.null_count and bool((high == low >> 63).all()):
        return low.astype(object)
    mask = (1 << 64) - 1
    pairs = zip(low.tolist(), high.tolist(), column.is_valid().to_pylist(), strict=True)
    made = np.empty(len(column), dtype=object)
    made[:] = [(above << 64) | (below & mask) if valid else 0 for below, above, valid in pairs]
    return made


def _decimals(values: Array, kind: pa.DataType, null: Array) -> pa.Array:
    """Numbers of units as decimals; null where they have too many digits."""
    limit = 10**kind.precision
    gone = [
        bool(no) or not -limit < value < limit
        for value, no in zip(values.tolist(), null.tolist(), strict=True)
    ]
    raw = b"".join(
        bytes(16) if no else int(value).to_bytes(16, "little", signed=True)
        for value, no in zip(values.tolist(), gone, strict=True)
    )
    valid = np.packbits(~np.array(gone, dtype=bool), bitorder="little").tobytes()
    buffers = [pa.py_buffer(valid), pa.py_buffer(raw)]
    return pa.Array.from_buffers(kind, len(values), buffers)
