"""Packing columns of 64-bit numbers (keys, times, fields) before a batch travels.

Beside each record travel its key, timestamp, watermark and place: up to five numbers of 8 bytes,
often more than the record itself. A column of such numbers is sent in the first of these forms that
fits:

* as a *reference*, if it is equal to a field of the records or to a column packed before it (the
  timestamp is often a field, the place often the watermark);
* as *steps*, the first number and the differences between neighbours, if all differences fit into
  1, 2 or 4 bytes (numbers of records count upwards by one);
* as it is.

Columns of fewer than 64 numbers are always sent as they are. Fields of the records that are columns
of 64-bit numbers are sent as steps too, where these fit.
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
    """Split ``fields`` into those sent as steps and the rest.

    Returns a list with the steps of each field, None for a field of the rest, and the rest.
    """
    steps: list[Any] = [None] * fields.num_columns
    if fields.num_rows >= _FEW:
        for at, column in _whole_numbers(fields):
            steps[at] = _as_steps(column)
    return steps, fields.select([at for at, packed in enumerate(steps) if packed is None])


def unpack_fields(schema: pa.Schema, steps: list[Any], rest: pa.RecordBatch) -> pa.RecordBatch:
    """The fields that :func:`pack_fields` made ``steps`` and ``rest`` of, in their order."""
    others = iter(rest.columns)
    columns = [next(others) if packed is None else pa.array(_numbers(packed)) for packed in steps]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class LongsPacker:
    """Packs the columns of one batch, one call after the other. A column may be sent as a reference
    to a column packed before, by its name, or to one of ``fields``, by its number."""

    def __init__(self, fields: pa.RecordBatch | None) -> None:
        self._known: list[tuple[Any, Longs]] = _whole_numbers(fields)

    def pack(self, name: str, column: Longs | None) -> Any:
        """The packed form of ``column``; None if ``column`` is None."""
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
    """Reads what a :class:`LongsPacker` has packed: the same columns in the same order, with the
    same ``fields``."""

    def __init__(self, fields: pa.RecordBatch | None) -> None:
        self._fields = fields
        self._known: dict[str, Longs] = {}

    def read(self, name: str, packed: Any) -> Longs | None:
        """The column that was packed under ``name``; None if ``packed`` is None."""
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
    # A difference that does not fit into 64 bits wraps around, and so does the sum that undoes it.
    steps = column[1:] - column[:-1]
    least, most = steps.min(), steps.max()
    for form in _STEPS:
        bounds = np.iinfo(form)
        if bounds.min <= least and most <= bounds.max:
            return int(column[0]), form, steps.astype(form).tobytes()
    return None
