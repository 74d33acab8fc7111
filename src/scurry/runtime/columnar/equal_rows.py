"""Which rows are equal, a column at a time.

A column becomes whole numbers that are equal where its values are: the bits of values of fixed
width, or the numbers of its distinct values. Rows are sorted by a hash, and neighbours compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from scurry.common.keys import mix_all
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.plain_values import plain_values

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
_pack = msgspec.msgpack.Encoder().encode
_WIDTHS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def hash_order(hashes: Hashes) -> Longs:
    """How to sort by ``hashes``; rows of one hash stay in order."""
    count = len(hashes)
    below = np.uint64((1 << count.bit_length()) - 1)
    # numbers that are all different are sorted faster than places are: the places in the low bits
    heads = hashes & ~below
    mixed = np.sort(heads | np.arange(count, dtype=np.uint64))
    order: Longs = (mixed & below).astype(np.int64)
    heads, sorted_hashes = mixed & ~below, hashes[order]
    if ((heads[1:] == heads[:-1]) & (sorted_hashes[1:] != sorted_hashes[:-1])).any():
        return np.argsort(hashes, kind="stable")
    return order


def distinct(hashes: Hashes) -> Hashes:
    """The hashes that there are, sorted; NumPy's own way hashes them first, which takes longer."""
    hashes = np.sort(hashes)
    return hashes[np.append(True, hashes[1:] != hashes[:-1])] if len(hashes) else hashes


def small_order(numbers: Longs) -> Longs:
    """How to sort by ``numbers``, which are below 2 ** 32 and not negative; rows of one number stay
    in order."""
    mixed = np.sort((numbers << 32) | np.arange(len(numbers)))
    return mixed & 0xFFFF_FFFF


def numbers_of(column: pa.Array) -> list[Longs]:
    """Columns of whole numbers that are equal where the values are; null is equal to null."""
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        values = [None if value is None else _pack(value) for value in plain_values(column)]
        column = pa.array(values, pa.binary())
    elif pa.types.is_boolean(kind) or (pa.types.is_primitive(kind) and kind.bit_width in _WIDTHS):
        return _bits(column)
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
    found = column.dictionary_encode(null_encoding="encode").indices
    return [found.to_numpy(zero_copy_only=False).astype(np.int64)]


def _bits(column: pa.Array) -> list[Longs]:
    found: list[Longs] = []
    if column.null_count:
        found.append(column.is_null().to_numpy(zero_copy_only=False).astype(np.int64))
    if pa.types.is_boolean(column.type):
        return [*found, column.fill_null(False).to_numpy(zero_copy_only=False).astype(np.int64)]
    kind = _WIDTHS[column.type.bit_width]
    values = np.frombuffer(column.buffers()[1], dtype=kind)[column.offset :][: len(column)]
    values = values.astype(np.int64)
    return [*found, np.where(found[0] == 1, 0, values) if found else values]


def equal_ids(numbers: Sequence[Longs], size: int) -> Longs:
    """A number for each of ``size`` rows: the same for rows that are equal in all columns."""
    hashes = np.zeros(size, dtype=np.uint64)
    for column in numbers:
        hashes = mix_all(hashes + column.view(np.uint64))
    order = hash_order(hashes)
    same = hashes[order[1:]] == hashes[order[:-1]]
    alike = np.ones(max(size - 1, 0), dtype=bool)
    for column in numbers:
        alike &= column[order[1:]] == column[order[:-1]]
    if (same & ~alike).any():
        return _sorted_ids(numbers)
    return _numbered(order, same)


def _sorted_ids(numbers: Sequence[Longs]) -> Longs:
    """The same where different rows have one hash."""
    order = np.lexsort(tuple(numbers))
    alike = np.ones(len(order) - 1, dtype=bool)
    for column in numbers:
        alike &= column[order[1:]] == column[order[:-1]]
    return _numbered(order, alike)


def _numbered(order: Longs, same: Any) -> Longs:
    ids = np.zeros(len(order), dtype=np.int64)
    ids[order[1:]] = np.cumsum(~same)
    return ids
