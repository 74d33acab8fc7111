"""``project``: some fields of tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scurry.common.errors import ProgramError
from scurry.functions import MapFunction


class Projection(MapFunction):
    """Keeps the fields at ``indexes``."""

    def __init__(self, indexes: Sequence[int]) -> None:
        if not indexes or any(not isinstance(i, int) or i < 0 for i in indexes):
            raise ProgramError(
                f"project takes field positions counted from 0, got {tuple(indexes)!r}."
            )
        self._indexes = tuple(indexes)

    def map(self, value: Any) -> Any:
        return tuple(value[i] for i in self._indexes)
