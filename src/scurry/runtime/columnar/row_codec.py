"""Rows of a relation as bytes, a whole column at a time.

Equal rows have equal bytes, so a row can be looked up, counted and compared by its bytes, and it is
stored as it is held. A row is a bit for each column that says whether it is null, then the columns
of fixed width, then for each other column its length, and at the end the contents of these. Values
of nested types are MessagePack of what they are made of. There is no version in the bytes: the
table that holds them has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from scurry.runtime.columnar.plain_values import column_of_plain, plain_values

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
_LENGTH = 4
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


class RowCodec:
    """Rows of ``schema`` as bytes, and back."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._nulls = (len(schema) + 7) // 8
        self._places: list[tuple[int, int]] = []
        at = self._nulls
        for kind in schema.types:
            width = _width(kind) or _LENGTH
            self._places.append((at, width))
            at += width
        self._head = at
        self._varying = [n for n, kind in enumerate(schema.types) if not _width(kind)]

    def encode(self, columns: Sequence[pa.Array]) -> list[bytes]:
        """The bytes of each row."""
        count = len(columns[0]) if columns else 0
        head = np.zeros((count, self._head), dtype=np.uint8)
        ends: list[tuple[Bytes, Any, Any]] = []
        for number, column in enumerate(columns):
            at, width = self._places[number]
            if column.null_count:
                null = column.is_null().to_numpy(zero_copy_only=False)
                head[:, number >> 3] |= null.astype(np.uint8) << (number & 7)
            if number in self._varying:
                data, starts, lengths = _contents(column)
                head[:, at : at + width] = lengths.astype("<u4").view(np.uint8).reshape(-1, 4)
                ends.append((data, starts, lengths))
            else:
                head[:, at : at + width] = _fixed(column, width)
        if not ends:
            raw, size = head.tobytes(), self._head
            return [raw[at : at + size] for at in range(0, count * size, size)]
        return _joined(head, ends)

    def decode(self, rows: Sequence[bytes]) -> list[pa.Array]:
        """The columns behind bytes."""
        raw = np.frombuffer(b"".join(rows), dtype=np.uint8)
        lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
        starts = np.cumsum(lengths) - lengths
        if self._varying:
            head = raw[starts[:, None] + np.arange(self._head)]
        else:
            head = raw.reshape(len(rows), self._head)
        made: list[pa.Array] = []
        begin = starts + self._head
        for number, kind in enumerate(self.schema.types):
            at, width = self._places[number]
            null = (head[:, number >> 3] >> (number & 7)) & 1
            validity = None
            if null.any():
                validity = pa.py_buffer(np.packbits(null == 0, bitorder="little").tobytes())
            cell = np.ascontiguousarray(head[:, at : at + width])
            if number in self._varying:
                sizes = cell.view("<u4").reshape(-1).astype(np.int64)
                made.append(_varying(kind, raw, begin, sizes, validity))
                begin = begin + sizes
            elif pa.types.is_boolean(kind):
                bits = pa.py_buffer(np.packbits(cell.reshape(-1), bitorder="little").tobytes())
                made.append(pa.Array.from_buffers(kind, len(rows), [validity, bits]))
            else:
                made.append(pa.Array.from_buffers(kind, len(rows), [validity, pa.py_buffer(cell)]))
        return made


def _width(kind: pa.DataType) -> int:
    """How many bytes a value has, 0 if that differs from value to value."""
    if pa.types.is_boolean(kind):
        return 1
    if pa.types.is_null(kind) or pa.types.is_nested(kind):
        return 0
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0


def _fixed(column: pa.Array, width: int) -> Bytes:
    """The bytes of values of fixed width, zeros for nulls."""
    if pa.types.is_boolean(column.type):
        flags: Bytes = column.fill_null(False).to_numpy(zero_copy_only=False).astype(np.uint8)
        return flags.reshape(-1, 1)
    raw = np.frombuffer(column.buffers()[1], dtype=np.uint8)
    values = raw[column.offset * width : (column.offset + len(column)) * width]
    found: Bytes = values.reshape(-1, width)
    if column.null_count:
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        found = found * valid[:, None].astype(np.uint8)
    return found


def _contents(column: pa.Array) -> tuple[Bytes, Any, Any]:
    """The bytes of values that differ in length, and where each begins and how long it is."""
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        column = _packed(column)
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)
    offsets = offsets[column.offset : column.offset + len(column) + 1].astype(np.int64)
    lengths = np.diff(offsets)
    if column.null_count:
        lengths = lengths * column.is_valid().to_numpy(zero_copy_only=False)
    data = column.buffers()[2]
    raw: Bytes = np.frombuffer(data if data is not None else b"", dtype=np.uint8)
    return raw, offsets[:-1], lengths


def _joined(head: Bytes, ends: list[tuple[Bytes, Any, Any]]) -> list[bytes]:
    """Rows made of their heads and of contents that follow."""
    count, size = head.shape
    totals = np.full(count, size, dtype=np.int64)
    for _, _, lengths in ends:
        totals += lengths
    bounds = np.concatenate(([0], np.cumsum(totals)))
    whole = np.empty(int(bounds[-1]), dtype=np.uint8)
    whole[bounds[:-1, None] + np.arange(size)] = head
    begin = bounds[:-1] + size
    for data, starts, lengths in ends:
        whole[_ranges(begin, lengths)] = data[_ranges(starts, lengths)]
        begin = begin + lengths
    raw, edges = whole.tobytes(), bounds.tolist()
    return [raw[a:b] for a, b in pairwise(edges)]


def _ranges(starts: Any, lengths: Any) -> Any:
    """The numbers of all ranges, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def _varying(kind: pa.DataType, raw: Bytes, begin: Any, sizes: Any, validity: Any) -> pa.Array:
    data = raw[_ranges(begin, sizes)]
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    plain = pa.types.is_string(kind) or pa.types.is_binary(kind)
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    made = pa.Array.from_buffers(kind if plain else pa.binary(), len(sizes), buffers)
    return made if plain else _unpacked(made, kind)


def _packed(column: pa.Array) -> pa.Array:
    """Values of a nested type as MessagePack."""
    values = [None if value is None else _pack(value) for value in plain_values(column)]
    return pa.array(values, pa.binary())


def _unpacked(column: pa.Array, kind: pa.DataType) -> pa.Array:
    values = [None if value is None else _unpack(value) for value in column.to_pylist()]
    return column_of_plain(values, kind)
