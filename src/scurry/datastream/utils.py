"""What tells the type of its elements."""

from __future__ import annotations

from abc import abstractmethod

from scurry.common.type_information import TypeInformation

__all__ = ["ResultTypeQueryable"]


class ResultTypeQueryable:
    """Implemented by what makes elements of a type that it knows."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the elements."""
