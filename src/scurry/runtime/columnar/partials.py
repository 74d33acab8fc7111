"""Partials: rows of what aggregates know so far, as numpy columns.

What a column means is in its name: ``n`` counts rows, ``n:f`` those in which field f is not None,
``sum:f`` adds up whole numbers, ``floats:f``, ``limb:f:k`` and ``special:f`` are an exact sum of
floats (:mod:`~scurry.runtime.columnar.exact`), ``min:f`` and ``max:f`` what they say, ``rows:f``
is bytes, to which more are added. A column that rows know nothing about is absent. Whole numbers
that outgrow 64 bits, and least or greatest values that are no numbers, are columns of Python
objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from scurry.functions.window_aggregates import less
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.exact import Array
from scurry.state.codecs.encoding import decode, encode, unknown_format

Columns = dict[str, Array]
_LONGS = np.iinfo(np.int64)
_SAFE = 1 << 62
_VERSION = 1
#: How many rows runs must have, on average, to be looked at as runs.
_RUN = 16
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


def groups_of(*ids: Longs) -> tuple[list[Longs], Longs]:
    """The distinct tuples of several columns, in order, and which of them each row is."""
    wide = [_in_runs(column) for column in ids]
    if any(one is not None for one in wide):
        ranked = [c if one is None else one[1] for c, one in zip(ids, wide, strict=True)]
        ranks, inverse = groups_of(*ranked)
        pairs = zip(ranks, wide, strict=True)
        return [c if one is None else one[0][c] for c, one in pairs], inverse
    shapes = []
    whole: Any = 0
    dense = 1
    for column in ids:
        low = int(column.min())
        span = int(column.max()) - low + 1
        shapes.append((low, span))
        dense *= span
    size = len(ids[0])
    if dense < _SAFE:
        for column, (low, span) in zip(ids, shapes, strict=True):
            whole = whole * span + (column - low)
        if dense <= 8 * size + 1024:
            seen = np.zeros(dense, dtype=bool)
            seen[whole] = True
            found = np.flatnonzero(seen)
            number = np.empty(dense, dtype=np.int64)
            number[found] = np.arange(len(found))
            inverse = number[whole]
        else:
            found, inverse = np.unique(whole, return_inverse=True)
        distinct: list[Longs] = []
        for low, span in reversed(shapes):
            distinct.append(found % span + low)
            found = found // span
        return distinct[::-1], inverse
    order = np.lexsort(ids[::-1])
    fresh = np.ones(size, dtype=bool)
    fresh[1:] = np.logical_or.reduce([c[order][1:] != c[order][:-1] for c in ids])
    inverse = np.empty(size, dtype=np.int64)
    inverse[order] = np.cumsum(fresh) - 1
    return [column[order][fresh] for column in ids], inverse


def _in_runs(column: Longs) -> tuple[Longs, Longs] | None:
    """The distinct values of a column and the rank of each row's, if values are far apart and stand
    in few long runs, as times of windows do; None otherwise. Ranks leave no gaps between them, so
    that rows can be counted in a table instead of being sorted."""
    size = len(column)
    if int(column.max()) - int(column.min()) < size:
        return None
    begins = np.flatnonzero(column[1:] != column[:-1]) + 1
    if len(begins) * _RUN > size:
        return None
    begins = np.concatenate(([0], begins))
    values, ranks = np.unique(column[begins], return_inverse=True)
    return values, np.repeat(ranks, np.diff(begins, append=size))


def combine(columns: Columns, inverse: Longs, groups: int) -> Columns:
    """Rows of the same group combined into one. Counts that are one and the same array stay so."""
    made: Columns = {}
    counts: dict[int, Array] = {}
    with np.errstate(invalid="ignore"):
        for name, column in columns.items():
            counted = name.startswith("n:")
            found = counts.get(id(column)) if counted else None
            made[name] = _combined(name, column, inverse, groups) if found is None else found
            if counted:
                counts[id(column)] = made[name]
    return made


def _combined(name: str, column: Array, inverse: Longs, groups: int) -> Array:
    how = name.partition(":")[0]
    if how in ("min", "max"):
        return _extreme(how, column, inverse, groups)
    if how == "rows":
        return _joined(column, inverse, groups)
    if column.dtype == np.float64:
        special = np.zeros(groups)
        np.add.at(special, inverse, column)
        return special
    if how in ("sum", "limb") and column.dtype != object and len(column):
        largest = max(abs(int(column.min())), abs(int(column.max())))
        if largest * len(column) >= _SAFE:
            column = column.astype(object)
    if column.dtype == object:
        total: Array = np.zeros(groups, dtype=np.int64).astype(object)
    else:
        total = np.zeros(groups, dtype=np.int64)
    np.add.at(total, inverse, column)
    return total


def _joined(column: Array, inverse: Longs, groups: int) -> Array:
    """The bytes of each group, one after the other."""
    lists: list[list[bytes]] = [[] for _ in range(groups)]
    for at, value in zip(inverse.tolist(), column.tolist(), strict=True):
        lists[at].append(value)
    return objects([b"".join(one) for one in lists])


def _extreme(how: str, column: Array, inverse: Longs, groups: int) -> Array:
    least = how == "min"
    if column.dtype == np.int64:
        held: Array = np.full(groups, _LONGS.max if least else _LONGS.min, dtype=np.int64)
        (np.minimum if least else np.maximum).at(held, inverse, column)
    elif column.dtype == np.float64:
        held = np.full(groups, np.nan if least else -np.inf)
        (np.fmin if least else np.maximum).at(held, inverse, column)
    else:
        values: list[Any] = [None] * groups
        for at, value in zip(inverse.tolist(), column.tolist(), strict=True):
            old = values[at]
            if value is not None and (
                old is None or (less(value, old) if least else less(old, value))
            ):
                values[at] = value
        held = objects(values)
    return held


def objects(values: Sequence[Any]) -> Array:
    """A column of Python objects."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def concat(parts: Sequence[Columns], sizes: Sequence[int]) -> Columns:
    """The rows of all parts."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: _concat(name, parts, sizes) for name in names}


def _concat(name: str, parts: Sequence[Columns], sizes: Sequence[int]) -> Array:
    columns = [part.get(name) for part in parts]
    how, _, field = name.partition(":")
    kinds = {column.dtype for column in columns if column is not None}
    if how in ("min", "max"):
        kind = kinds.pop() if len(kinds) == 1 else np.dtype(object)
        if kind.hasobject:
            columns = [_as_objects(part, name, f"n:{field}") for part in parts]
        neutral = _neutral(how, kind)
    else:
        neutral = 0
    pieces = [
        np.full(size, neutral) if column is None else column
        for column, size in zip(columns, sizes, strict=True)
    ]
    return np.concatenate(pieces)


def _neutral(how: str, kind: Any) -> Any:
    """What stands in a column of extremes for no value."""
    if kind.hasobject:
        return None
    if kind == np.float64:
        return np.nan if how == "min" else -np.inf
    return _LONGS.max if how == "min" else _LONGS.min


def _as_objects(part: Columns, name: str, counted: str) -> Array | None:
    column = part.get(name)
    if column is None or column.dtype == object:
        return column
    made = column.astype(object)
    made[part[counted] == 0] = None
    return made


def take(columns: Columns, index: Any) -> Columns:
    """The rows at ``index``."""
    return {name: column[index] for name, column in columns.items()}


def pack_columns(columns: Columns) -> bytes:
    """Columns as bytes."""
    made = [
        (name, "o", encode(column.tolist()))
        if column.dtype == object
        else (name, column.dtype.char, column.tobytes())
        for name, column in columns.items()
    ]
    return _pack((_VERSION, made))


def unpack_columns(data: bytes | memoryview) -> Columns:
    """The columns behind :func:`pack_columns`' bytes."""
    version, made = _unpack(data)
    if version != _VERSION:
        raise unknown_format(bytes([version]))
    return {
        name: objects(decode(raw)) if kind == "o" else np.frombuffer(raw, dtype=kind)
        for name, kind, raw in made
    }
