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
from typing import Any

from scurry.state.journal import LONGEST, stored_key
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

Found = dict[bytes, bytes] | int


class ReadAhead:
    """Records of one table in runs, by key."""

    def __init__(
        self,
        name: str,
        store: SlotRecords,
        prefixes: Callable[[list[Any]], list[bytes]],
        on_fetch: Callable[[list[Any], list[Found]], None] | None = None,
    ) -> None:
        """``on_fetch`` is told of all keys that are fetched together, and what was found."""
        self._name = name
        self._on_fetch = on_fetch
        self._store = store
        self._prefixes = prefixes
        self._announced: list[list[Any]] = []
        #: announced keys in the order in which they will come; where each of them comes first
        self._order: list[Any] = []
        self._places: dict[Any, int] = {}
        #: by place: whether the key has been fetched, be it still there or not
        self._met = bytearray()
        #: the records of a key, or how many there are if those are not few
        self._found: dict[Any, Found] = {}
        #: keys that were fetched together, and how many rows that were
        self._blocks: deque[tuple[list[Any], int]] = deque()
        self._rows = 0
        #: how many single records of a key were looked up
        self._singles: dict[Any, int] = {}

    def announce(self, keys: list[Any]) -> None:
        """These keys are about to be handled, in this order."""
        self._announced.append(keys)

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
            (found,) = self._store.below_many(self._name, self._prefixes([key]))
            assert isinstance(found, dict)
        return found

    def _of(self, key: Any) -> Found:
        found = self._found.get(key)
        if found is None:
            keys = self._next_from(key)
            blocks = self._store.below_many(self._name, self._prefixes(keys), _FEW, _ROWS)
            self._keep(keys[: len(blocks)], blocks)
            if self._on_fetch is not None and len(blocks) > 1:
                self._on_fetch(keys, blocks)
            found = blocks[0]
        return found

    def _next_from(self, key: Any) -> list[Any]:
        """``key``, and the keys that will come after it, as far as they are known."""
        for keys in self._announced:
            end = len(self._order) + len(keys)
            self._places.update(zip(reversed(keys), range(end - 1, -1, -1), strict=False))
            self._order.extend(keys)
        self._met.extend(bytes(len(self._order) - len(self._met)))
        self._announced = []
        place = self._places.get(key)
        if place is None or self._met[place]:
            return [key]
        following = dict.fromkeys(self._order[place : place + _KEYS])
        return [other for other in following if other not in self._found]

    def _keep(self, keys: list[Any], found: list[Any]) -> None:
        self._found.update(zip(keys, found, strict=True))
        for place in map(self._places.get, keys):
            if place is not None:
                self._met[place] = True
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
        self._announced, self._order = [], []
        for held in (self._places, self._met, self._found, self._blocks, self._singles):
            held.clear()
        self._rows = 0
