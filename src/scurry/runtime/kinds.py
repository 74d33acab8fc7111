"""The kinds of records as a column: what each of them does to the table it belongs to.

A changelog is made of insertions, deletions and updates, and a ``Row`` knows which of these it is:
its :class:`~scurry.common.types.RowKind`. Columns of fields have no place for that, so it travels
beside them, as an ``int8`` for each record: the value of its RowKind, 0 for an insertion. Most
streams have insertions only, and no such column: None stands for it.

Rows that are made of columns are given their kinds, and columns that are made of Rows take the
kinds along. An element that is no Row, such as a tuple, cannot say what kind it is, and counts as
an insertion, unless the column says otherwise.
"""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import Any

import numpy as np

from scurry.common.types import Row, RowKind

Kinds = np.ndarray[Any, np.dtype[np.int8]]

_KINDS = tuple(RowKind)
_kind = attrgetter("_kind")
_set_kind = Row._kind.__set__  # type: ignore[attr-defined]


def kinds_of(rows: list[Any]) -> Kinds | None:
    """What ``rows`` say themselves, None if all of them are insertions."""
    classes = set(map(type, rows))
    if Row not in classes:
        return None
    if len(classes) == 1:
        found = list(map(_kind, rows))
    else:
        found = [row._kind if type(row) is Row else RowKind.INSERT for row in rows]
    if set(found) == {RowKind.INSERT}:
        return None
    return np.fromiter((kind.value for kind in found), dtype=np.int8, count=len(found))


def give_kinds(rows: list[Any], kinds: Kinds) -> None:
    """Have freshly made ``rows`` say what kinds they are, if they are Rows."""
    if rows and type(rows[0]) is Row:
        deque(map(_set_kind, rows, map(_KINDS.__getitem__, kinds.tolist())), maxlen=0)


def only_changes(kinds: Kinds | None) -> Kinds | None:
    """``kinds``, or None if all of them are insertions."""
    return kinds if kinds is not None and kinds.any() else None
