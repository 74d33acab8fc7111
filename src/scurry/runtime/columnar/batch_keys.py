"""The keys of a batch, numbered from 0, each of them once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.partials import groups_of
from scurry.runtime.key_columns import key_column
from scurry.runtime.selectors import Picked


class BatchKeys(NamedTuple):
    """``keys[codes[i]]`` is the key of record i; no two of ``keys`` are equal."""

    codes: Longs
    keys: list[Any]


def picked_columns(indexes: tuple[int, ...]) -> Picked | None:
    """The fields of keys that are columns."""
    return Picked(indexes, composed=len(indexes) > 1) if indexes else None


def batch_keys(batch: Batch, picked: Picked | None) -> BatchKeys:
    """The keys of ``batch``, which are the columns ``picked`` if it has any."""
    if batch.key_column is not None:
        return _of_numbers(batch.key_column)
    found = key_column(batch, picked)
    if found is None:
        assert batch.keys is not None
        return _of_objects(batch.keys)
    if found.names is None:
        return _of_numbers(found.codes)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(found.names))}
    if len(numbers) == len(found.names):
        return BatchKeys(found.codes, found.names)
    same = np.fromiter(map(numbers.__getitem__, found.names), np.int64, len(found.names))
    return BatchKeys(same[found.codes], list(numbers))


def _of_numbers(keys: Longs) -> BatchKeys:
    if not len(keys):
        return BatchKeys(keys, [])
    (distinct,), inverse = groups_of(keys)
    return BatchKeys(inverse, distinct.tolist())


def _of_objects(keys: list[Any]) -> BatchKeys:
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return BatchKeys(
        np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys)), list(numbers)
    )
