"""Columns of whole numbers on their way between stages, in as few bytes as is cheap.

Beside every record travel its key and its times, which would often be more bytes than the record
itself. Most of them say little: a time is a field of the record, the watermark of the channel is
that of the source partition, places count upwards. So a column is sent as a reference to another
that is sent anyway, or as the steps from each number to the next, or, if neither fits, as it is.
Fields of records that are whole numbers are sent as steps, too, where these are short.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Longs

#: Columns shorter than this are sent as they are.
_FEW = 64
#: The forms of steps, the shortest first.
_STEPS = ("i1", "i2", "i4")


def pack_fields(fields: pa.RecordBatch) -> tuple[list[Any], pa.RecordBatch]:
    """For each field its steps, None if it is sent as it is, and the fields of which that is so."""
    steps: list[Any] = [None] * fields.num_columns
    if fields.num_rows >= _FEW:
        for at, column in _whole_numbers(fields):
            steps[at] = _as_steps(column)
    return steps, fields.select([at for at, packed in enumerate(steps) if packed is None])


def unpack_fields(schema: pa.Schema, steps: list[Any], rest: pa.RecordBatch) -> pa.RecordBatch:
    """The fields again."""
    others = iter(rest.columns)
    columns = [next(others) if packed is None else pa.array(_numbers(packed)) for packed in steps]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class LongsPacker:
    """Packs columns of one batch; each may refer to those before it, and to ``fields``."""

    def __init__(self, fields: pa.RecordBatch | None) -> None:
        self._known: list[tuple[Any, Longs]] = _whole_numbers(fields)

    def pack(self, name: str, column: Longs | None) -> Any:
        """What is sent of ``column``; None of None."""
        if column is None:
            return None
        column = np.ascontiguousarray(column, dtype=np.int64)
        if len(column) < _FEW:
            return column.tobytes()
        for reference, known in self._known:
            if np.array_equal(known, column):
                return reference
        self._known.append((name, column))
        return _as_steps(column) or column.tobytes()


class LongsReader:
    """Reads what a :class:`LongsPacker` has packed, in the same order."""

    def __init__(self, fields: pa.RecordBatch | None) -> None:
        self._fields = fields
        self._known: dict[str, Longs] = {}

    def read(self, name: str, packed: Any) -> Longs | None:
        """The column that was packed."""
        if packed is None:
            return None
        found = self._known[name] = self._column(packed)
        return found

    def _column(self, packed: Any) -> Longs:
        if isinstance(packed, bytes):
            return np.frombuffer(packed, dtype=np.int64)
        if isinstance(packed, str):
            return self._known[packed]
        if isinstance(packed, int):
            assert self._fields is not None
            column: Longs = self._fields.column(packed).to_numpy()
            return column
        return _numbers(packed)


def _whole_numbers(fields: pa.RecordBatch | None) -> list[tuple[Any, Longs]]:
    if fields is None:
        return []
    columns: Iterable[tuple[int, pa.Array]] = enumerate(fields.columns)
    return [
        (at, column.to_numpy())
        for at, column in columns
        if column.type == pa.int64() and column.null_count == 0
    ]


def _numbers(packed: tuple[int, str, bytes]) -> Longs:
    """The opposite of :func:`_as_steps`."""
    first, form, content = packed
    steps = np.frombuffer(content, dtype=form)
    column = np.empty(len(steps) + 1, dtype=np.int64)
    column[0], column[1:] = first, steps
    np.cumsum(column, out=column)
    column.flags.writeable = False
    return column


def _as_steps(column: Longs) -> tuple[int, str, bytes] | None:
    # a step that is too long for 64 bits wraps around, there as here
    steps = column[1:] - column[:-1]
    least, most = steps.min(), steps.max()
    for form in _STEPS:
        bounds = np.iinfo(form)
        if bounds.min <= least and most <= bounds.max:
            return int(column[0]), form, steps.astype(form).tobytes()
    return None
