"""Lists and maps in the accumulators of aggregate functions, under PyFlink's names.

    def create_accumulator(self):
        return Row(ListView(), 0)

The accumulator's type says what is in them: ``DataTypes.LIST_VIEW(DataTypes.STRING())``. They are
part of the accumulator, and kept, retracted and restored with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """What lists and maps of accumulators have in common."""

    @abstractmethod
    def clear(self) -> None:
        """Empty it."""


class ListView(DataView, Generic[T]):
    """A list."""

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        """The elements, in the order in which they came."""
        return self._list

    def add(self, value: T) -> None:
        """Put an element behind the others."""
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        """Put elements behind the others."""
        self._list.extend(values)

    def clear(self) -> None:
        self._list = []

    def __iter__(self) -> Iterator[T]:
        return iter(self._list)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._list == other._list

    def __hash__(self) -> int:
        return hash(tuple(self._list))

    def __repr__(self) -> str:
        return f"ListView({self._list!r})"


class MapView(DataView, Generic[K, V]):
    """A map."""

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key, None if it has none."""
        return self._dict.get(key)

    def put(self, key: K, value: V) -> None:
        """Give a key its value."""
        self._dict[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        """Give keys their values."""
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        """Forget a key, if it is there."""
        self._dict.pop(key, None)

    def contains(self, key: K) -> bool:
        """Whether the key has a value."""
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        """Keys with their values."""
        return self._dict.items()

    def keys(self) -> Iterable[K]:
        """The keys."""
        return self._dict.keys()

    def values(self) -> Iterable[V]:
        """The values."""
        return self._dict.values()

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._dict

    def clear(self) -> None:
        self._dict = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    def __hash__(self) -> int:
        return hash(frozenset(self._dict.items()))

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self._dict[key] = value

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return key in self._dict

    def __iter__(self) -> Iterator[K]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return f"MapView({self._dict!r})"
