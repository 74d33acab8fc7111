"""The hash of keys that are Arrow columns, a whole column at a time.

It is the hash of :func:`scurry.common.keys.stable_hash`, number for number, which
``docs/design/hash.md`` specifies: a key is in the same key group whether it was hashed as a column
or as a Python object. Canonical forms are put together by Arrow, and their checksums are computed
for all rows at once. Where a type has no such way its values are formed one by one, so who has many
equal values gives the distinct ones only.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.key_forms import canonical
from scurry.common.keys import mix_all, stable_hash, stable_hash_int64

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
_Bytes = np.ndarray[Any, np.dtype[np.uint8]]

#: Forms up to this number of bytes are summed side by side, longer ones by zlib, one by one.
_SHORT = 64
_ADLER = 65521
#: From Arrow's days since 1970 to Python's ordinals of dates.
_FIRST_DAY = 719_163


_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)


def hash_column(column: pa.Array) -> Hashes:
    """The hash of each value of a column, as a key of its own."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type) and kind != pa.uint64() and not column.null_count:
        return stable_hash_int64(column.to_numpy(zero_copy_only=False).astype(np.int64))
    if any(is_number(column.type) for is_number in _NUMBERS):
        # whole numbers of 64 bits are hashed as such, decimals and floats that are whole included,
        # other numbers by their forms
        return _one_by_one(column)
    return _hash_forms(_forms(column))


def hash_tuples(columns: Sequence[pa.Array]) -> Hashes:
    """The hashes of the tuples that rows of ``columns`` are."""
    begin, colon, nothing = map(_bytes, (b"t", b":", b""))
    pieces: list[Any] = [begin]
    for column in columns:
        forms = _forms(column)
        pieces += [_binary(pc.binary_length(forms)), colon, forms]
    return _hash_forms(pc.binary_join_element_wise(*pieces, nothing))


def _bytes(text: bytes) -> pa.Scalar:
    """``text`` for Arrow. Made when it is needed: for its first scalar Arrow imports pandas, which
    would make every start slower."""
    return pa.scalar(text, pa.large_binary())


def _one_by_one(column: pa.Array) -> Hashes:
    values = column.to_pylist()
    return np.fromiter(map(stable_hash, values), dtype=np.uint64, count=len(values))


def _forms(column: pa.Array) -> pa.Array:
    """The canonical forms of a column's values."""
    kind = column.type
    if pa.types.is_boolean(kind):
        return _tagged(b"i", _binary(column.cast(pa.int8())))
    if pa.types.is_integer(kind):
        return _tagged(b"i", _binary(column))
    if pa.types.is_date32(kind):
        ordinals = pc.add(column.cast(pa.int32()).cast(pa.int64()), _FIRST_DAY)
        return _tagged(b"a", _binary(ordinals))
    if pa.types.is_timestamp(kind) and kind.tz is None and kind.unit != "ns":
        return _forms_of_moments(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _tagged(b"s", column.cast(pa.large_string()).cast(pa.large_binary()))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return _tagged(b"b", column.cast(pa.large_binary()))
    return pa.array([canonical(value) for value in column.to_pylist()], pa.large_binary())


def _forms_of_moments(column: pa.Array) -> pa.Array:
    """The forms of dates with times: as ISO has them, then nanoseconds, which there are none of."""
    micros = column.cast(pa.timestamp("us"))
    texts = pc.strftime(micros, "%Y-%m-%dT%H:%M:%S").cast(pa.large_string())
    whole = pc.ends_with(texts, ".000000")
    texts = pc.if_else(whole, pc.utf8_slice_codeunits(texts, 0, -7), texts)
    return _tagged(b"d", _and_zero(texts.cast(pa.large_binary())))


def _and_zero(forms: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(forms, _bytes(b"0"), _bytes(b""))


def _binary(numbers: pa.Array) -> pa.Array:
    return numbers.cast(pa.large_string()).cast(pa.large_binary())


def _tagged(tag: bytes, content: pa.Array) -> pa.Array:
    forms = pc.binary_join_element_wise(_bytes(tag), content, _bytes(b""))
    return forms.fill_null(pa.scalar(b"n", pa.large_binary())) if content.null_count else forms


def _hash_forms(forms: pa.Array) -> Hashes:
    _, places, content = forms.buffers()
    ends = np.frombuffer(places, dtype=np.int64)[forms.offset : forms.offset + len(forms) + 1]
    data = np.frombuffer(content, dtype=np.uint8)[: ends[-1]] if len(forms) and content else _EMPTY
    starts, lengths = ends[:-1], np.diff(ends)
    checked = _crc32(data, starts, lengths).astype(np.uint64)
    return mix_all(checked | (_adler32(data, starts, lengths) << np.uint64(32)))


_EMPTY: _Bytes = np.zeros(0, dtype=np.uint8)


def _table() -> np.ndarray[Any, np.dtype[np.uint32]]:
    """CRC-32 of single bytes, with neither the first nor the last complement."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> np.uint32(1) ^ np.uint32(0xEDB88320), table >> 1)
    return table.astype(np.uint32)


_TABLE = _table()


def _crc32(data: _Bytes, starts: Any, lengths: Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """``zlib.crc32`` of each piece of ``data``."""
    order = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[order], lengths[order]
    long = int(np.searchsorted(-lengths, -_SHORT))
    sums = np.full(len(lengths), 0xFFFFFFFF, dtype=np.uint32)
    rest, places, sizes = sums[long:], starts[long:], lengths[long:]
    for at in range(int(sizes[0]) if len(sizes) else 0):
        # pieces are in the order of their lengths, so those that reach as far come first
        count = int(np.searchsorted(-sizes, -at))
        part = rest[:count]
        low = (part ^ data[places[:count] + at]) & np.uint32(0xFF)
        rest[:count] = _TABLE[low] ^ (part >> np.uint32(8))
    rest ^= np.uint32(0xFFFFFFFF)
    for at, (start, size) in enumerate(zip(starts[:long], lengths[:long], strict=True)):
        sums[at] = zlib.crc32(data[start : start + size].tobytes())
    found = np.empty_like(sums)
    found[order] = sums
    return found


def _adler32(data: _Bytes, starts: Any, lengths: Any) -> Hashes:
    """``zlib.adler32`` of each piece of ``data``: the sum of its bytes, and that of the sums after
    each byte, from differences of running totals."""
    bytes_before = np.concatenate(([0], np.cumsum(data, dtype=np.int64)))
    weighted = data * np.arange(len(data), dtype=np.int64)
    weights_before = np.concatenate(([0], np.cumsum(weighted)))
    ends = starts + lengths
    total = bytes_before[ends] - bytes_before[starts]
    low = (1 + total) % _ADLER
    high = (lengths + ends * total - (weights_before[ends] - weights_before[starts])) % _ADLER
    found: Hashes = (low | (high << 16)).astype(np.uint64)
    return found
