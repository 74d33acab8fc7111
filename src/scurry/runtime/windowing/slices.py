"""What tumbling and sliding windows hold, stored by slice of time first and by key second.

A *slice* is a span of time that lies within each window as a whole or not at all; it is named by
its start, in milliseconds. All keys share the boundaries of these windows. So the records of a
slice, of all its keys, are one range of the store, which is read when a window fires and deleted
when no window needs the slice any more. There are only a few open slices at a time, however many
keys there are. No timers are stored: which windows are still to fire follows from the slices that
hold something and from the watermark (:mod:`~scurry.runtime.windowing.agenda`).

Within a micro-batch, what is added gathers in dicts, and becomes records at the commit. A slice
that is begun and dropped within one micro-batch is never written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from scurry.common.values import Element
from scurry.state.codecs.encoding import IMMUTABLE
from scurry.state.freezing import Leftovers
from scurry.state.journal import Change, in_groups
from scurry.state.rescaling import by_key_group
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import MISSING, pack_record, prefix_of, unpack_record

#: The tables of contents by slice and key.
SLICED_ELEMENTS, SLICED_VALUES = "#slice-elements", "#slice-values"
#: The tables of the vectorised operators: partials by slice, and sessions.
SLICED_COLUMNS, SESSION_COLUMNS = "#slice-columns", "#session-columns"
_BIAS = 1 << 63
#: Elements or values kept in memory across micro-batches; beyond it the store is asked again.
KEEP = 500_000
#: What a record was unpacked to. Each table reads what it has written itself.
Held = Any
#: What a slice has for each key: its elements, their value, or runs of values.
Cells = dict[object, Any]


class SliceIndex(ABC):
    """Knows which slices of one operator have records in a slot's store, and deletes slices."""

    def __init__(self, name: str, store: SlotStore) -> None:
        self.name = name
        self._slot = store
        self._store = store.reader
        #: slices that have records in the store; None if it has not been read yet
        self._stored: set[int] | None = None
        self._dropped: set[int] = set()

    def begin(self) -> list[int] | None:
        """The starts of all slices in the store. None if they were read before, and what is in
        memory is still right. Called at the start of each micro-batch."""
        if self._stored is not None:
            return None
        self._stored = set()
        after = -_BIAS
        while after < _BIAS:
            found = next(self._store.scan(self.name, row_of(after)), None)
            if found is None:
                break
            start = start_of(found[0])
            self._stored.add(start)
            after = start + 1
        return sorted(self._stored)

    def _records(self, start: int) -> Iterator[tuple[bytes, bytes]]:
        return self._records_at(row_of(start))

    def _records_at(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        for address, record in self._store.scan(self.name, prefix):
            if not address.startswith(prefix):
                return
            yield address, record

    def drop(self, start: int) -> None:
        """Forget a slice, and delete its records at the next commit. Called when no window needs
        the slice any more."""
        self._forget_slice(start)
        assert self._stored is not None
        if start in self._stored:
            self._stored.discard(start)
            self._dropped.add(start)

    def _deletions(self) -> Iterator[Change]:
        for start in self._dropped:
            for address, _ in self._records(start):
                yield self.name, address, None

    @abstractmethod
    def _forget_slice(self, start: int) -> None: ...

    @abstractmethod
    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""

    def forget(self) -> None:
        """Drop everything held in memory."""
        self._stored = None
        self._dropped.clear()


class SliceTable(SliceIndex):
    """The slices of one operator in a slot, with one record or more for each key.

    The address of a record begins with the slice's start, followed by the key.
    """

    redistribute = staticmethod(by_key_group(at=8))

    def __init__(self, name: str, store: SlotStore) -> None:
        super().__init__(name, store)
        self._max_parallelism = store.max_parallelism
        self._prefixes: dict[object, bytes] = {}
        #: stored slices that are not all in memory
        self._partial: set[int] = set()

    def begin(self) -> list[int] | None:
        found = super().begin()
        if found is not None:
            self._partial = set(found)
        return found

    def prefix(self, key: object) -> bytes:
        """The part of an address that stands for ``key``. The keys of a slice lie in the order of
        these bytes: by key group, then by canonical form."""
        found = self._prefixes.get(key)
        if found is None:
            if len(self._prefixes) > KEEP:
                self._prefixes.clear()
            found = self._prefixes[key] = prefix_of(key, self._max_parallelism)
        return found

    @abstractmethod
    def open(self, start: int) -> Cells:
        """The slice ``start`` as a dict by key, to which elements can be added. It is made if the
        slice is new."""

    @abstractmethod
    def keys(self, start: int) -> set[object]:
        """The keys that have something in the slice ``start``."""

    @abstractmethod
    def of_key(self, starts: list[int], key: object, since: int = 0) -> object:
        """What ``key`` has in the slices ``starts``, which are those of one window: of its elements
        those from the number ``since`` on, where elements are numbered."""

    @abstractmethod
    def of_all(self, starts: list[int]) -> Mapping[object, object]:
        """What each key has in the slices ``starts``, which are those of one window."""

    @abstractmethod
    def _load(self, key: object, held: Held, start: int) -> None: ...

    def ensure(self, start: int) -> None:
        """Read the records of the slice ``start`` into memory, unless all of them are there."""
        if start in self._partial:
            self._partial.discard(start)
            for _, record in self._records(start):
                self._load(*unpack_record(record), start)

    def drop(self, start: int) -> None:
        super().drop(start)
        self._partial.discard(start)

    def forget(self) -> None:
        super().forget()
        self._partial.clear()


class ElementSlices(SliceTable):
    """Slices that keep all elements.

    With ``numbered`` an element is a pair of its number of arrival and its value. Windows of
    several slices need that, to hand elements out in the order in which they came.
    """

    def __init__(self, name: str, store: SlotStore, numbered: bool) -> None:
        super().__init__(name, store)
        self._numbered = numbered
        self._fresh: dict[int, dict[object, list[Element]]] = {}
        self._held: dict[int, dict[object, list[Element]]] = {}
        #: slices and keys whose stored elements are to be forgotten
        self._emptied: set[tuple[int, object]] = set()
        #: about how many elements are in :attr:`_held`, not less
        self._kept = 0

    def open(self, start: int) -> dict[object, list[Element]]:
        found = self._fresh.get(start)
        if found is None:
            found = self._fresh[start] = {}
        return found

    def keys(self, start: int) -> set[object]:
        self.ensure(start)
        return {*self._held.get(start, ()), *self._fresh.get(start, ())}

    def empty(self, start: int, key: object) -> None:
        """Forget the elements of a key in a slice, but not that it had some."""
        self.open(start).pop(key, None)
        self._held.setdefault(start, {})[key] = []
        self._emptied.add((start, key))

    def of_key(self, starts: list[int], key: object, since: int = 0) -> list[Element]:
        """The elements of ``key`` in the slices ``starts``, in the order in which they came."""
        found: list[Element] = []
        for start in starts:
            self.ensure(start)
            for slices in (self._held, self._fresh):
                found += slices.get(start, _EMPTY).get(key, ())
        if not self._numbered:
            return found
        found.sort(key=_number)
        return [value for number, value in found if number >= since]

    def of_all(self, starts: list[int]) -> dict[object, list[Element]]:
        """The elements of each key in the slices ``starts``, in the order in which they came. The
        caller must not change the lists."""
        found: dict[object, list[Element]] = {}
        for start in starts:
            self.ensure(start)
            for slices in (self._held, self._fresh):
                for key, values in slices.get(start, _EMPTY).items():
                    before = found.get(key)
                    found[key] = values if before is None else before + values
        if self._numbered:
            for key, values in found.items():
                if len(values) > 1:
                    values = sorted(values, key=_number)
                found[key] = [value for _, value in values]
        return found

    def _load(self, key: object, held: Held, start: int) -> None:
        self._held.setdefault(start, {}).setdefault(key, []).extend(held)

    def _forget_slice(self, start: int) -> None:
        self._fresh.pop(start, None)
        self._held.pop(start, None)
        self._emptied = {place for place in self._emptied if place[0] != start}

    @in_groups
    def changes(self) -> Iterator[Change]:
        yield from self._deletions()
        epoch = self._slot.epoch.to_bytes(8, "big")
        name, prefix = self.name, self.prefix
        for start, key in self._emptied:
            place = row_of(start) + prefix(key)
            for address, _ in self._records_at(place):
                yield name, address, None
            if key not in self._fresh.get(start, _EMPTY):
                yield name, place + epoch, pack_record(key, [])
        for start, keys in self._fresh.items():
            row = row_of(start)
            for key, values in keys.items():
                yield name, row + prefix(key) + epoch, pack_record(key, values)

    def settle(self) -> None:
        """The changes are in the store now."""
        self._hold()
        kept = (len(values) for keys in self._held.values() for values in keys.values())
        self._kept = sum(kept)
        if self._kept > KEEP:
            self._partial |= set(self._held)
            self._held.clear()
            self._kept = 0

    def _hold(self) -> None:
        """What has come since the last commit is what earlier commits have written."""
        assert self._stored is not None
        self._dropped.clear()
        for start, keys in self._fresh.items():
            if not keys:
                continue
            if start not in self._partial:
                self._kept += sum(map(len, keys.values()))
                held = self._held.setdefault(start, keys)
                if held is not keys:
                    for key, values in keys.items():
                        held.setdefault(key, []).extend(values)
            self._stored.add(start)
        self._stored.update(start for start, _ in self._emptied)
        self._emptied.clear()
        self._fresh.clear()

    def forget(self) -> None:
        super().forget()
        self._fresh.clear()
        self._held.clear()
        self._emptied.clear()

    # --- being frozen: all stays in memory, so nothing is read that is not stored yet

    @property
    def freezes(self) -> bool:
        """Whether there is room for the elements, and those that have come belong to slices that
        are whole in memory."""
        return self._kept < KEEP and self._partial.isdisjoint(self._fresh)

    @property
    def changed(self) -> int:
        """How many elements have come, counting no more than one for each slice and key."""
        return sum(map(len, self._fresh.values()))

    def freeze(self) -> None:
        """See :mod:`scurry.state.freezing`."""
        self._hold()

    def thaw(self) -> Leftovers:
        """The commit is written."""
        return Leftovers()


class ValueSlices(SliceTable):
    """Slices that keep one value for each key, into which its elements are combined. Each slice is
    a whole window."""

    def __init__(self, name: str, store: SlotStore) -> None:
        super().__init__(name, store)
        self.values: dict[int, dict[object, object]] = {}
        self.touched: dict[int, dict[object, None]] = {}
        self._left = Leftovers()

    def open(self, start: int) -> dict[object, object]:
        found = self.values.get(start)
        if found is None:
            found = self.values[start] = {}
            self.touched[start] = {}
        self.ensure(start)
        return found

    def keys(self, start: int) -> set[object]:
        return set(self.open(start))

    def _load(self, key: object, held: Held, start: int) -> None:
        self.values[start][key] = held[0] if held else MISSING

    def _forget_slice(self, start: int) -> None:
        self.values.pop(start, None)
        self.touched.pop(start, None)

    def empty(self, start: int, key: object) -> None:
        """Forget the value of a key in a slice, but not that it had one."""
        self.values[start][key] = MISSING
        self.touched[start][key] = None

    def of_key(self, starts: list[int], key: object, since: int = 0) -> object:
        """The value of ``key`` in the only slice of the window."""
        return self.values[starts[0]][key]

    def of_all(self, starts: list[int]) -> dict[object, object]:
        """The value of each key in the only slice of the window."""
        return self.open(starts[0]) if starts else {}

    def touch_mutable(self, start: int, key: object) -> None:
        """Write the value of ``key`` at the commit if user code could have changed it in place.
        Called when user code was given the value."""
        if type(self.values[start][key]) not in IMMUTABLE:
            self.touched[start][key] = None

    @in_groups
    def changes(self) -> Iterator[Change]:
        yield from self._deletions()
        name, prefix = self.name, self.prefix
        for start, keys in self.touched.items():
            row, values = row_of(start), self.values[start]
            for key in keys:
                # a tuple of one value, because None may be the value; an empty one for no value
                box = () if values[key] is MISSING else (values[key],)
                yield name, row + prefix(key), pack_record(key, box)

    def settle(self) -> None:
        """The changes are in the store now."""
        assert self._stored is not None
        self._dropped.clear()
        for start, keys in self.touched.items():
            if keys:
                self._stored.add(start)
                keys.clear()
        if sum(map(len, self.values.values())) > KEEP:
            self._partial |= set(self._stored)
            self.values.clear()
            self.touched.clear()

    def forget(self) -> None:
        super().forget()
        self.values.clear()
        self.touched.clear()

    # --- being frozen: all stays in memory, so nothing is read that is not stored yet

    @property
    def freezes(self) -> bool:
        """Whether there is room for all values."""
        return sum(map(len, self.values.values())) <= KEEP

    @property
    def changed(self) -> int:
        """How many values have changed."""
        return sum(map(len, self.touched.values()))

    def freeze(self) -> None:
        """See :mod:`scurry.state.freezing`."""
        self._left = Leftovers(*self.touched.values())
        for start, keys in self.touched.items():
            if keys:
                assert self._stored is not None
                self._stored.add(start)
        self.touched = {start: {} for start in self.touched}
        self.settle()

    def thaw(self) -> Leftovers:
        """The commit is written."""
        return self._left


_EMPTY: dict[object, list[Element]] = {}


def _number(pair: tuple[int, object]) -> int:
    return pair[0]


def row_of(start: int) -> bytes:
    """The first bytes of all addresses of the slice ``start``: its start, in an order-preserving
    form."""
    return (start + _BIAS).to_bytes(8, "big")


def start_of(address: bytes) -> int:
    """The start of the slice that a record is of."""
    return int.from_bytes(address[:8], "big") - _BIAS
