"""Sort keys: bytes that are in the order of ORDER BY.

A key is put together from its columns: a byte that puts nulls first or last, then the value in a
form whose bytes sort as the values do: whole numbers with their sign turned, floats by their bits,
texts by their UTF-8. Descending columns have all bits of the value turned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.relational.aggregates.numbers import numbers, numeric

_TURNED = bytes(255 - byte for byte in range(256))
_BIAS = 1 << 127


def sort_keys(columns: Sequence[pa.Array], order: Sequence[SortKey]) -> list[bytes]:
    """The sort key of each row."""
    parts = [_of_column(columns[key.index], key) for key in order]
    if len(parts) == 1:
        return parts[0]
    count = len(columns[0]) if columns else 0
    return list(map(b"".join, zip(*parts, strict=True))) if parts else [b""] * count


def order_words(order: Sequence[SortKey]) -> str:
    """An order in words."""
    return ", ".join(
        f"${key.index}{'' if key.ascending else ' DESC'}{' NULLS LAST' * key.nulls_last}"
        for key in order
    )


def _of_column(column: pa.Array, key: SortKey) -> list[bytes]:
    values = _values(column)
    if not key.ascending:
        values = [value.translate(_TURNED) for value in values]
    null = b"\x02" if key.nulls_last else b"\x00"
    if not column.null_count:
        return [b"\x01" + value for value in values]
    valid = column.is_valid().to_pylist()
    return [b"\x01" + v if there else null for v, there in zip(values, valid, strict=True)]


def _values(column: pa.Array) -> list[bytes]:
    kind = column.type
    if pa.types.is_decimal(kind):
        return [(int(value) + _BIAS).to_bytes(16, "big") for value in numbers(column).tolist()]
    if pa.types.is_boolean(kind) or numeric(kind):
        return _of_numbers(numbers(column))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        found = column.cast(pa.binary()).fill_null(b"").to_pylist()
        return [value.replace(b"\0", b"\0\xff") + b"\0\0" for value in found]
    raise TypeError(f"rows cannot be put in order by values of type {kind}")


def _of_numbers(values: Any) -> list[bytes]:
    if values.dtype.kind == "f":
        doubles = values.astype(np.float64) + 0.0
        bits = doubles.view(np.uint64)
        high = np.uint64(1 << 63)
        keys = np.where(bits & high, ~bits, bits | high)
    else:
        keys = values.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    raw = keys.astype(">u8").tobytes()
    return [raw[at : at + 8] for at in range(0, len(raw), 8)]
