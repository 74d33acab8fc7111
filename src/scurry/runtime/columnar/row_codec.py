"""Rows of a relation as bytes, a whole column at a time.

Equal rows have equal bytes, so a row can be looked up, counted and compared by its bytes, and it is
stored as it is held. A row is a bit for each column that says whether it is null, then the columns
of fixed width, then for each other column its length, and at the end the contents of these. Values
of nested types are MessagePack of what they are made of. There is no version in the bytes: the
table that holds them has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.runtime.batch import Longs
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
        ends: list[pa.Array] = []
        for number, column in enumerate(columns):
            at, width = self._places[number]
            if column.null_count:
                null = column.is_null().to_numpy(zero_copy_only=False)
                head[:, number >> 3] |= null.astype(np.uint8) << (number & 7)
            if number in self._varying:
                content = _contents(column)
                lengths = pc.binary_length(content).to_numpy(zero_copy_only=False)
                head[:, at : at + width] = lengths.astype("<u4").view(np.uint8).reshape(-1, 4)
                ends.append(content)
            else:
                head[:, at : at + width] = _fixed(column, width)
        if not ends:
            raw, size = head.tobytes(), self._head
            return [raw[at : at + size] for at in range(0, count * size, size)]
        return _joined(head, ends)

    def decode(self, rows: Sequence[bytes]) -> list[pa.Array]:
        """The columns behind bytes."""
        if not rows:
            return [pa.array([], kind) for kind in self.schema.types]
        raw = np.frombuffer(b"".join(rows), dtype=np.uint8)
        ends: Iterator[pa.Array] = iter(())
        head = raw.reshape(len(rows), self._head) if not self._varying else raw
        if self._varying:
            lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
            starts = np.cumsum(lengths) - lengths
            (heads,) = _pieces(raw, starts, [np.full(len(rows), self._head)])
            found = np.frombuffer(heads.buffers()[2], dtype=np.uint8)[: len(rows) * self._head]
            head = found.reshape(len(rows), self._head)
            ends = iter(_pieces(raw, starts + self._head, self._sizes(head)))
        made: list[pa.Array] = []
        for number, kind in enumerate(self.schema.types):
            at, width = self._places[number]
            null = (head[:, number >> 3] >> (number & 7)) & 1
            validity = None
            if null.any():
                validity = pa.py_buffer(np.packbits(null == 0, bitorder="little").tobytes())
            cell = np.ascontiguousarray(head[:, at : at + width])
            if number in self._varying:
                made.append(_varying(kind, next(ends), validity))
            elif pa.types.is_boolean(kind):
                bits = pa.py_buffer(np.packbits(cell.reshape(-1), bitorder="little").tobytes())
                made.append(pa.Array.from_buffers(kind, len(rows), [validity, bits]))
            else:
                made.append(pa.Array.from_buffers(kind, len(rows), [validity, pa.py_buffer(cell)]))
        return made

    def _sizes(self, head: Bytes) -> list[Longs]:
        """The lengths of the contents of each column whose values differ in length."""
        places = (self._places[number][0] for number in self._varying)
        cells = (np.ascontiguousarray(head[:, at : at + _LENGTH]) for at in places)
        return [cell.view("<u4").reshape(-1).astype(np.int64) for cell in cells]


def _pieces(raw: Bytes, starts: Longs, sizes: Sequence[Longs]) -> list[pa.Array]:
    """Pieces of ``raw`` that follow each other from each of ``starts`` on: a column for each of
    ``sizes``. All of them, and what is between, are taken from one array of bytes."""
    bounds = np.empty((len(starts), 1 + len(sizes)), dtype=np.int64)
    bounds[:, 0] = starts
    for number, size in enumerate(sizes):
        bounds[:, number + 1] = bounds[:, number] + size
    offsets = pa.py_buffer(np.append(bounds.reshape(-1), len(raw)))
    buffers = [None, offsets, pa.py_buffer(raw)]
    whole = pa.LargeBinaryArray.from_buffers(pa.large_binary(), bounds.size, buffers)
    every = np.arange(len(starts)) * bounds.shape[1]
    return [whole.take(pa.array(every + number)) for number in range(len(sizes))]


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


def _contents(column: pa.Array) -> pa.Array:
    """The bytes of values that differ in length, none for nulls."""
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        column = _packed(column)
    if pa.types.is_string(column.type):
        column = column.cast(pa.binary())
    found = column.cast(pa.large_binary())
    return found.fill_null(b"") if column.null_count else found


def _joined(head: Bytes, ends: list[pa.Array]) -> list[bytes]:
    """Rows made of their heads and of contents that follow."""
    count, size = head.shape
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int64) * size)
    heads = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), count, [None, offsets, pa.py_buffer(head)]
    )
    # not made once: for its first scalar Arrow imports pandas, which would make starts slower
    nothing = pa.scalar(b"", pa.large_binary())
    found: list[bytes] = pc.binary_join_element_wise(heads, *ends, nothing).to_pylist()
    return found


def _varying(kind: pa.DataType, content: pa.Array, validity: Any) -> pa.Array:
    plain = pa.types.is_string(kind) or pa.types.is_binary(kind)
    _, offsets, data = content.cast(pa.binary()).buffers()
    buffers = [validity, offsets, data]
    made = pa.Array.from_buffers(kind if plain else pa.binary(), len(content), buffers)
    return made if plain else _unpacked(made, kind)


def _packed(column: pa.Array) -> pa.Array:
    """Values of a nested type as MessagePack."""
    values = [None if value is None else _pack(value) for value in plain_values(column)]
    return pa.array(values, pa.binary())


def _unpacked(column: pa.Array, kind: pa.DataType) -> pa.Array:
    values = [None if value is None else _unpack(value) for value in column.to_pylist()]
    return column_of_plain(values, kind)
