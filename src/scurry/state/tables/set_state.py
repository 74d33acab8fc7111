"""Sets and bags: maps and lists seen from another side.

A set is a map whose keys are the elements, so adding, removing and testing cost one entry each. A
bag is a list whose order nobody asked for: what a micro-batch adds to it is one record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scurry.state.states import BagState, ListState, MapState, SetState


class MappedSetState(SetState[Any]):
    """A set held as the keys of a map."""

    def __init__(self, held: MapState[Any, Any]) -> None:
        self._held = held

    def add(self, value: Any) -> None:
        self._held.put(value, True)

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self._held.put(value, True)

    def remove(self, value: Any) -> None:
        self._held.remove(value)

    def contains(self, value: Any) -> bool:
        return self._held.contains(value)

    def get(self) -> Iterable[Any]:
        return self._held.keys()

    def is_empty(self) -> bool:
        return self._held.is_empty()

    def clear(self) -> None:
        self._held.clear()


class ListedBagState(BagState[Any]):
    """A bag held as a list."""

    def __init__(self, held: ListState[Any]) -> None:
        self._held = held

    def add(self, value: Any) -> None:
        self._held.add(value)

    def add_all(self, values: Iterable[Any]) -> None:
        self._held.add_all(list(values))

    def get(self) -> Iterable[Any]:
        return self._held.get()

    def is_empty(self) -> bool:
        return not self._held.get()

    def clear(self) -> None:
        self._held.clear()
