"""What windows hold: all their elements, or the one value these were combined into.

Contents live in durable tables under a :class:`WindowKey`. For windows that merge, the key names
the window under which contents were first stored, so that a growing session moves nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from scurry.common.values import Combined, Contents, Element, Merge
from scurry.common.windows import WindowKey
from scurry.functions.transforms import AggregateFunction
from scurry.runtime.batch import NO_TIMESTAMP
from scurry.state.slot_store import SlotStore
from scurry.state.tables.list_table import ListTable
from scurry.state.tables.table import MISSING, StateTable
from scurry.windowing.evictors import TimestampedValue
from scurry.windowing.spec import WindowSpec

#: Stands for a window that holds nothing; None may be what elements were combined into.
NOTHING: Contents = type("Nothing", (), {"__repr__": lambda self: "NOTHING"})()
#: The tables of contents by key and window.
ELEMENTS, VALUES = "#window-elements", "#window-values"


class WindowContents(ABC):
    """The contents of the windows of one operator and slot."""

    @abstractmethod
    def add(self, place: WindowKey, value: object, stamp: int) -> None:
        """Put an element into a window."""

    @abstractmethod
    def get(self, place: WindowKey) -> Contents:
        """What the window holds, or :data:`NOTHING`."""

    @abstractmethod
    def clear(self, place: WindowKey) -> None:
        """Empty the window."""

    @abstractmethod
    def merge(self, into: WindowKey, merged: list[WindowKey]) -> None:
        """Move the contents of ``merged``, in that order, into a window."""


class ListContents(WindowContents):
    """All elements, in the order they came; what a batch adds to a window is one record."""

    def __init__(self, uid: str, store: SlotStore) -> None:
        name = f"{uid}\x1f{ELEMENTS}"
        self._table = store.part(
            name, lambda: ListTable(name, store.records, store.max_parallelism, lambda: store.epoch)
        )

    def add(self, place: WindowKey, value: object, stamp: int) -> None:
        self._table.add(place, value)

    def get(self, place: WindowKey) -> Contents:
        return self._table.get(place) or NOTHING

    def clear(self, place: WindowKey) -> None:
        self._table.replace(place, [])

    def replace(self, place: WindowKey, values: list[Element]) -> None:
        """Make ``values`` the window's contents."""
        self._table.replace(place, values)

    def merge(self, into: WindowKey, merged: list[WindowKey]) -> None:
        for place in merged:
            for value in self._table.get(place):
                self._table.add(into, value)
            self._table.replace(place, [])


class StampedContents(ListContents):
    """All elements with their timestamps, as evictors want them."""

    def add(self, place: WindowKey, value: object, stamp: int) -> None:
        self._table.add(place, TimestampedValue(value, None if stamp == NO_TIMESTAMP else stamp))


class CombinedContents(WindowContents):
    """One value: elements are combined as they come."""

    def __init__(self, uid: str, store: SlotStore) -> None:
        self._table: StateTable = store.table(uid, VALUES)

    def _held(self, place: WindowKey) -> tuple[Combined] | None:
        held = self._table.live.get(place, MISSING)
        box: tuple[Combined] | None = self._table.load(place) if held is MISSING else held
        return box

    def _hold(self, place: WindowKey, box: tuple[Combined] | None) -> None:
        # the box tells a combined None from nothing
        self._table.live[place] = box
        self._table.dirty[place] = None

    def clear(self, place: WindowKey) -> None:
        if self._held(place) is not None:
            self._hold(place, None)

    def merge(self, into: WindowKey, merged: list[WindowKey]) -> None:
        held = self._held(into)
        for place in merged:
            other = self._held(place)
            if other is not None:
                held = other if held is None else (self._merged(held[0], other[0]),)
                self._hold(place, None)
        self._hold(into, held)

    @abstractmethod
    def _merged(self, one: Combined, other: Combined) -> Combined: ...


class ReducedContents(CombinedContents):
    """Elements reduced to one of their kind."""

    def __init__(self, uid: str, store: SlotStore, reduce: Merge) -> None:
        super().__init__(uid, store)
        self._reduce = reduce

    def add(self, place: WindowKey, value: object, stamp: int) -> None:
        held = self._held(place)
        self._hold(place, (value if held is None else self._reduce(held[0], value),))

    def get(self, place: WindowKey) -> Contents:
        held = self._held(place)
        return NOTHING if held is None else held[0]

    def _merged(self, one: Combined, other: Combined) -> Combined:
        return self._reduce(one, other)


class AggregatedContents(CombinedContents):
    """Elements added to an accumulator."""

    def __init__(self, uid: str, store: SlotStore, function: AggregateFunction) -> None:
        super().__init__(uid, store)
        self._function = function

    def add(self, place: WindowKey, value: object, stamp: int) -> None:
        held = self._held(place)
        accumulator = self._function.create_accumulator() if held is None else held[0]
        self._hold(place, (self._function.add(value, accumulator),))

    def get(self, place: WindowKey) -> Contents:
        held = self._held(place)
        return NOTHING if held is None else held[0]

    def _merged(self, one: Combined, other: Combined) -> Combined:
        return self._function.merge(one, other)


def contents_for(spec: WindowSpec, uid: str, store: SlotStore) -> WindowContents:
    """The contents that the windows of ``spec`` have."""
    if spec.evictor is not None:
        return StampedContents(uid, store)
    if spec.contents == "list":
        return ListContents(uid, store)
    function = spec.incremental
    assert function is not None
    if isinstance(function, AggregateFunction):
        return AggregatedContents(uid, store, function)
    return ReducedContents(uid, store, function.reduce)
