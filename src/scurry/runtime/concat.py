"""Batches one behind the other, as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import MIN_WATERMARK, TIMES, Batch, Longs
from scurry.runtime.kinds import Kinds
from scurry.runtime.parts import Parts


def concat(batches: Sequence[Batch]) -> Batch:
    """One batch of all records, in the order given; records without keys among others with keys
    have None."""
    if len(batches) == 1:
        return batches[0]
    whole = _whole(batches)
    if all(batch.key_column is not None for batch in batches):
        whole.key_column = np.concatenate([batch.key_column for batch in batches])
    elif any(batch.keys is not None for batch in batches):
        keys: list[Any] = []
        for batch in batches:
            keys.extend([None] * batch.size if batch.keys is None else batch.keys)
        whole.keys = keys
    for name in TIMES:
        if any(getattr(batch, name) is not None for batch in batches):
            setattr(whole, name, np.concatenate([_filled(batch, name) for batch in batches]))
    if any(batch.kind_column is not None for batch in batches):
        whole.kind_column = np.concatenate([_kinds_or_inserts(batch) for batch in batches])
    return whole


def _kinds_or_inserts(batch: Batch) -> Kinds:
    kinds = batch.kinds
    return np.zeros(batch.size, dtype=np.int8) if kinds is None else kinds


def _whole(batches: Sequence[Batch]) -> Batch:
    """The records alone: as columns if all batches have the same, as parts if only some do."""
    if all(batch.columns is None for batch in batches):
        return Batch(list(chain.from_iterable(batch.rows for batch in batches)))
    groups: list[list[Batch]] = []
    numbers = [_group(batch, groups) for batch in batches]
    pieces = tuple(map(_joined, groups))
    if len(pieces) == 1:
        return pieces[0]
    owners = np.repeat(numbers, [batch.size for batch in batches])
    index = np.empty(len(owners), dtype=np.int64)
    index[np.argsort(owners, kind="stable")] = np.arange(len(owners))
    return Batch(None, parts=Parts(pieces, index))


def _group(batch: Batch, groups: list[list[Batch]]) -> int:
    """The number of the group that ``batch`` goes into, which is made if there is none."""
    for number, group in enumerate(groups):
        if _alike(group[0], batch):
            group.append(batch)
            return number
    groups.append([batch])
    return len(groups) - 1


def _alike(one: Batch, other: Batch) -> bool:
    """Whether one batch can hold the records of both as they are."""
    if one.columns is None or other.columns is None or one.codec is None or other.codec is None:
        return one.columns is None and other.columns is None
    return one.codec.form == other.codec.form and one.columns.schema.equals(other.columns.schema)


def _joined(pieces: list[Batch]) -> Batch:
    first = pieces[0]
    if first.columns is None:
        return Batch(list(chain.from_iterable(piece.rows for piece in pieces)))
    if len(pieces) == 1:
        return Batch(None, columns=first.columns, codec=first.codec, kinds=first.kind_column)
    columns = pa.concat_batches([piece.columns for piece in pieces])
    kinds = None
    if any(piece.kind_column is not None for piece in pieces):
        kinds = np.concatenate([_kinds_or_inserts(piece) for piece in pieces])
    return Batch(None, columns=columns, codec=first.codec, kinds=kinds)


def _filled(batch: Batch, name: str) -> Longs:
    column: Longs | None = getattr(batch, name)
    if column is None:
        return np.full(batch.size, MIN_WATERMARK, dtype=np.int64)
    return column
