"""Bounded input under the name it had before sources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """Something with an end that ``create_input`` can read."""

    @abstractmethod
    def source(self) -> Any:
        """The :class:`~scurry.functions.source.Source` that reads it."""

    def get_produced_type(self) -> Any:
        """The type of the elements, if known."""
        return None
