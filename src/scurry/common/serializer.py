"""Serializers of your own for elements that are written one after another to a byte stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Any, Generic, TypeVar

__all__ = ["TypeSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads elements; each element must itself tell where it ends.

    Serializers of the same class with the same attributes are equal.
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Append an element to the stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read the next element of the stream."""

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self))
