"""Columns of any type as plain Python values, and back, without losing anything.

Plain are numbers, texts, bytes, booleans, None, and lists of these: what MessagePack has, and what
Python can compare. Times are the whole numbers that Arrow holds for them, to the nanosecond,
decimals are texts, a row is the list of its fields, and a map a list of pairs.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa


def number_type(kind: pa.DataType) -> pa.DataType:
    """The type of numbers that Arrow holds for times of ``kind``, or ``kind`` itself."""
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    return kind


def plain_values(column: pa.Array) -> list[Any]:
    """The values of a column."""
    kind = column.type
    if pa.types.is_struct(kind):
        fields = [plain_values(field) for field in column.flatten()]
        rows = [list(row) for row in zip(*fields, strict=True)] if fields else [[]] * len(column)
        valid = column.is_valid().to_pylist()
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    if pa.types.is_map(kind):
        pairs = zip(plain_values(column.keys), plain_values(column.items), strict=True)
        return _cut(column, [list(pair) for pair in pairs])
    if pa.types.is_list(kind):
        return _cut(column, plain_values(column.values))
    if pa.types.is_decimal(kind):
        return list(column.cast(pa.string()).to_pylist())
    held = number_type(kind)
    return list((column if held == kind else column.cast(held)).to_pylist())


def _cut(column: pa.Array, elements: list[Any]) -> list[Any]:
    """The lists of a column, given all elements."""
    offsets = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    return [
        elements[offsets[at] : offsets[at + 1]] if there else None for at, there in enumerate(valid)
    ]


def column_of_plain(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The column of type ``kind`` behind :func:`plain_values`."""
    if pa.types.is_struct(kind):
        fields = list(kind)
        empty = [None] * len(fields)
        rows = [empty if value is None else value for value in values]
        children = [
            column_of_plain([row[at] for row in rows], field.type)
            for at, field in enumerate(fields)
        ]
        mask = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_map(kind):
        pairs = _elements(values)
        keys = column_of_plain([pair[0] for pair in pairs], kind.key_type)
        items = column_of_plain([pair[1] for pair in pairs], kind.item_type)
        return pa.MapArray.from_arrays(_offsets(values), keys, items, kind)
    if pa.types.is_list(kind):
        elements = column_of_plain(_elements(values), kind.value_type)
        return pa.ListArray.from_arrays(_offsets(values), elements, kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else Decimal(value) for value in values], kind)
    held = number_type(kind)
    made = pa.array(values, held)
    return made if held == kind else made.cast(kind)


def _elements(values: list[Any]) -> list[Any]:
    return [element for value in values if value is not None for element in value]


def _offsets(values: list[Any]) -> pa.Array:
    sizes = [0 if value is None else len(value) for value in values]
    ends = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    null = np.array([*(value is None for value in values), False], dtype=bool)
    return pa.array(ends, mask=null)
