"""Reading ahead: what runs have below the keys that are about to be handled, many keys at a time.

To find all records of one key in runs takes as long as to find those of some hundred. The keys of a
micro-batch are announced before any of them is handled. When the first of them is asked for that is
not in memory, it is fetched together with those that follow. So a function that never reads fetches
nothing, and no more is in memory than a few blocks of records, which are decoded when they are
used.

A key may have a million records of which one is wanted. How many there are is known before any is
read: where there are many, single records are looked up instead, until so many of them have been
that reading all would have taken no longer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import compress
from typing import Any

import numpy as np

from scurry.state.journal import LONGEST, stored_key
from scurry.state.runs.below import Below, Found
from scurry.state.runs.key_rows import Marks
from scurry.state.slot_records import SlotRecords
from scurry.state.tables.table import LONGEST_PREFIX

#: Keys, and rows below them, that are fetched at a time.
_KEYS, _ROWS = 16_384, 131_072
#: Rows of a key up to which they are fetched without being asked for.
_FEW = 64
#: Rows that are held, in all blocks.
_HELD = 1 << 20
#: Rows that can be fetched together in the time that a single record takes.
_WORTH = 8

#: Ends of addresses below this length are stored as they are, whatever their prefix.
_SHORT = LONGEST - LONGEST_PREFIX


class ReadAhead:
    """Records of one table in runs, by key."""

    def __init__(
        self,
        name: str,
        store: SlotRecords,
        prefixes: Callable[[list[Any]], list[bytes]],
        take_in: Callable[[list[Any], Below], Marks] | None = None,
    ) -> None:
        """``take_in`` is given what was found of keys that were fetched together. It says of which
        of them it has taken everything, so that it does not have to be kept here."""
        self._name = name
        self._take_in = take_in
        self._store = store
        self._prefixes = prefixes
        #: announced keys in the order in which they will come
        self._order: list[Any] = []
        #: of so many of them, where each comes first, of those announced last
        self._places: dict[Any, int] = {}
        self._placed = 0
        #: about where the key is that will be asked for next, as a rule
        self._next = 0
        #: announced keys that have been fetched, be it that what was found is still here or not
        self._met: set[Any] = set()
        #: the records of a key, or how many there are if those are not few
        self._found: dict[Any, Found] = {}
        #: keys that were fetched together, and how many rows that were
        self._blocks: deque[tuple[list[Any], int]] = deque()
        self._rows = 0
        #: how many single records of a key were looked up
        self._singles: dict[Any, int] = {}

    def announce(self, keys: list[Any]) -> None:
        """These keys are about to be handled, in this order."""
        self._order.extend(keys)

    def record(self, key: Any, rest: bytes) -> bytes | None:
        """The record of ``key`` whose address ends in ``rest``, None if there is none."""
        found = self._found.get(key)
        if found is None:
            found = self._of(key)
        if isinstance(found, int):
            asked = self._singles[key] = self._singles.get(key, 0) + 1
            if asked * _WORTH < found:
                return self._store.get(self._name, self._prefixes([key])[0] + rest)
            found = self.all_of(key)
            self._keep([key], [found])
        return found.get(rest if len(rest) < _SHORT else self._stored_rest(key, rest))

    def _stored_rest(self, key: Any, rest: bytes) -> bytes:
        """What follows the prefix of ``key`` in the address that is stored for a long one."""
        (prefix,) = self._prefixes([key])
        return stored_key(prefix + rest)[len(prefix) :]

    def all_of(self, key: Any) -> dict[bytes, bytes]:
        """All records of a key, by what follows its prefix in their addresses."""
        found = self._of(key)
        if isinstance(found, int):
            (found,) = self._store.below_many(self._name, self._prefixes([key])).all()
            assert isinstance(found, dict)
        return found

    def _of(self, key: Any) -> Found:
        found = self._found.get(key)
        if found is None:
            keys = self._next_from(key)
            below = self._store.below_many(self._name, self._prefixes(keys), _FEW, _ROWS)
            del keys[len(below) :]
            self._met.update(keys)
            kept = np.ones(len(keys), dtype=np.bool_)
            if len(keys) > 1:
                self._next += len(keys)
                if self._take_in is not None:
                    # the first is the one that was asked for
                    kept[1:] = ~self._take_in(keys, below)[1:]
            found, *_ = records = below.of(kept)
            self._keep(list(compress(keys, kept.tolist())), records)
        return found

    def _next_from(self, key: Any) -> list[Any]:
        """``key``, and the keys that will come after it, as far as they are known."""
        place = None if key in self._met else self._place_of(key)
        if place is None:
            return [key]
        self._next = place
        following = dict.fromkeys(self._order[place : place + _KEYS])
        if self._met.isdisjoint(following):
            return list(following)
        return [other for other in following if other not in self._met]

    def _place_of(self, key: Any) -> int | None:
        """Where a key that has not been fetched comes first, None if it was not announced."""
        order, met = self._order, self._met
        while self._next < len(order) and order[self._next] in met:
            self._next += 1
        if self._next < len(order) and order[self._next] == key:
            return self._next
        places = range(len(order) - 1, self._placed - 1, -1)
        self._places.update(zip(reversed(order), places, strict=False))
        self._placed = len(order)
        return self._places.get(key)

    def _keep(self, keys: list[Any], found: list[Found]) -> None:
        self._found.update(zip(keys, found, strict=True))
        rows = sum(len(one) for one in found if not isinstance(one, int))
        self._blocks.append((keys, rows))
        self._rows += rows
        while self._rows > _HELD and len(self._blocks) > 1:
            gone, rows = self._blocks.popleft()
            self._rows -= rows
            for key in gone:
                self._found.pop(key, None)

    def forget(self) -> None:
        """What runs have is no longer what was read."""
        for held in (self._order, self._places, self._met, self._found, self._blocks):
            held.clear()
        self._singles.clear()
        self._rows = self._placed = self._next = 0
