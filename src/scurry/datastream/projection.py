"""``project``: some fields of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.typeinfo import TupleTypeInfo, TypeInformation
from scurry.functions import MapFunction


class Projection(MapFunction):
    """Keeps the fields at ``indexes``."""

    def __init__(self, indexes: Sequence[int]) -> None:
        if not indexes or any(not isinstance(i, int) or i < 0 for i in indexes):
            raise ProgramError(
                f"project takes field positions counted from 0, got {tuple(indexes)!r}."
            )
        self._indexes = tuple(indexes)

    def type_of(self, whole: TypeInformation | None) -> TypeInformation | None:
        """The type of what is kept, if the elements are known to be tuples."""
        if not isinstance(whole, TupleTypeInfo):
            return None
        types = whole.field_types()
        if max(self._indexes) >= len(types):
            raise ProgramError(
                f"project was given the field positions {self._indexes!r}, but the tuples have "
                f"{len(types)} fields, counted from 0."
            )
        return TupleTypeInfo(types[i] for i in self._indexes)

    def map(self, value: Any) -> Any:
        return tuple(value[i] for i in self._indexes)
