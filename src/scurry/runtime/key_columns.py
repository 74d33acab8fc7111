"""The keys of a batch as numbers, where they are fields of records that are held as columns.

A key is one field, or a tuple of several. Each distinct key gets a number and becomes a Python
object once, however many records have it; hashes are computed on the columns
(:mod:`scurry.common.column_keys`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.common.column_keys import Hashes, hash_column, hash_tuples
from scurry.common.keys import freeze_all
from scurry.runtime.batch import Batch
from scurry.runtime.columns import to_list
from scurry.runtime.picking import Longs
from scurry.runtime.selectors import Picked

#: Numbers of combined fields stay below this.
_ROOM = 1 << 62


class KeyColumn(NamedTuple):
    """The keys of a batch as numbers."""

    codes: Longs
    #: what the numbers stand for: ``names[code]``, or themselves if this is None
    names: list[Any] | None = None
    #: gives the hash of each of the names
    hashes: Callable[[], Hashes] | None = None


def key_column(batch: Batch, picked: Picked | None) -> KeyColumn | None:
    """The keys of ``batch``, given the fields that are picked for a key; None if not all of them
    are columns, or the records do not show them as columns have them."""
    if picked is None:
        return None
    found = [_plain(batch.column(field)) for field in picked.fields]
    columns = [column for column in found if column is not None]
    if len(columns) < len(found):
        return None
    if picked.composed:
        return _of_tuples(columns)
    numbers = whole_numbers(columns[0])
    return _of_values(columns[0]) if numbers is None else KeyColumn(numbers)


def whole_numbers(column: pa.Array | None) -> Longs | None:
    """A column of whole numbers with a sign and without nulls."""
    if column is None or column.null_count or not pa.types.is_integer(column.type):
        return None
    return None if column.type == pa.uint64() else _longs(column)


def _plain(column: pa.Array | None) -> pa.Array | None:
    """A column whose values are what records have in that field."""
    if column is None or pa.types.is_nested(column.type):
        return None
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _of_values(column: pa.Array) -> KeyColumn:
    codes, distinct = _encoded(column)
    return KeyColumn(codes, _frozen(to_list(distinct), [distinct]), partial(hash_column, distinct))


def _of_tuples(columns: Sequence[pa.Array]) -> KeyColumn:
    codes, kinds = _encoded(columns[0])
    fields = [kinds]
    for column in columns[1:]:
        more, kinds = _encoded(column)
        codes, fields = _crossed(codes, fields, more, kinds)
    names: list[Any] = list(zip(*map(to_list, fields), strict=True))
    return KeyColumn(codes, _frozen(names, fields), partial(hash_tuples, fields))


def _frozen(names: list[Any], fields: Sequence[pa.Array]) -> list[Any]:
    """:func:`freeze_all` of keys that have the values of ``fields``."""
    return names if all(_is_itself(field.type) for field in fields) else freeze_all(names)


def _is_itself(kind: pa.DataType) -> bool:
    """Whether a key that is of this type is its own in memory."""
    if pa.types.is_timestamp(kind):
        return kind.tz is None and kind.unit != "ns"
    return bool(pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind))


def _crossed(
    codes: Longs, fields: list[pa.Array], more: Longs, kinds: pa.Array
) -> tuple[Longs, list[pa.Array]]:
    """The numbers of pairs of numbers, and the fields of the pairs that occur."""
    width = max(len(kinds), 1)
    assert len(fields[0]) * width < _ROOM
    numbers, pairs = _encoded(pa.array(codes * width + more))
    left, right = np.divmod(_longs(pairs), width)
    return numbers, [*(field.take(pa.array(left)) for field in fields), kinds.take(pa.array(right))]


def _encoded(column: pa.Array) -> tuple[Longs, pa.Array]:
    """For each value the number of it among the distinct values, and these; null is one."""
    found = column.dictionary_encode(null_encoding="encode")
    return _longs(found.indices), found.dictionary


def _longs(column: pa.Array) -> Longs:
    numbers: Longs = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers
