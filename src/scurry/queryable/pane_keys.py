"""The keys that have windows, in the order in which they are scanned.

The tables of windows lie as slots write them: by key group, or by slice of time, or with many keys
in one record. So that keys can be asked for in order, all keys of a micro-batch are listed by the
first scan that sees it, and kept until there is another one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import lmdb
import numpy as np

from scurry.common.keys import form_of
from scurry.common.windows import WindowKey
from scurry.engine.queryable.ordered import ordered
from scurry.engine.queryable.view import listed
from scurry.runtime.columnar.key_codes import KeyCodes
from scurry.runtime.windowing.contents import ELEMENTS, VALUES
from scurry.runtime.windowing.run_slices import SLICED_RUNS
from scurry.runtime.windowing.slices import (
    SESSION_COLUMNS,
    SLICED_COLUMNS,
    SLICED_ELEMENTS,
    SLICED_VALUES,
)
from scurry.state.codecs.encoding import decode_key
from scurry.state.codecs.records import head_of

#: Tables whose records have rows of many keys, and those that are sorted by slice, then by key.
COLUMNS = (SLICED_COLUMNS, SESSION_COLUMNS)
BY_SLICE = (SLICED_ELEMENTS, SLICED_VALUES, SLICED_RUNS)
#: What the view puts in front of an address: the slot.
_SLOT = 2


class PaneKeys:
    """The keys of one micro-batch that may have windows; some of these may be over."""

    def __init__(self, txn: lmdb.Transaction, content: str, number: bytes) -> None:
        """``content`` is the table that windows are kept in, ``number`` that of its records."""
        found = {ordered(form_of(key)): key for key in _keys(txn, content, number)}
        self._places = sorted(found)
        self._keys = found

    def between(self, start: bytes, end: bytes, within: bytes) -> Iterator[tuple[bytes, Any]]:
        """Keys with their places from ``start`` up to, but without, ``end`` (if there is one), as
        far as their places begin with ``within``."""
        for at in range(bisect_left(self._places, start), len(self._places)):
            place = self._places[at]
            if not place.startswith(within) or (end and place >= end):
                return
            yield place, self._keys[place]


def _keys(txn: lmdb.Transaction, content: str, number: bytes) -> Iterator[Any]:
    """Every key, once or more."""
    if content in COLUMNS:
        for _, record in listed(txn, number):
            keys = KeyCodes.unpack(record[4 : 4 + int.from_bytes(record[:4], "big")])
            yield from keys.tolist() if isinstance(keys, np.ndarray) else keys
        return
    begin = _SLOT + (8 if content in BY_SLICE else 0)
    seen = set[bytes]()
    for place, record in listed(txn, number):
        known = place[begin : begin + 4 + int.from_bytes(place[begin + 2 : begin + 4], "big")]
        if known not in seen:
            seen.add(known)
            yield _key_of(record, content)


def _key_of(record: bytes, content: str) -> Any:
    if content in (ELEMENTS, VALUES):
        key = head_of(record)[0]
        return key[0] if type(key) is WindowKey else key
    return decode_key(record[4 : 4 + int.from_bytes(record[:4], "big")])
