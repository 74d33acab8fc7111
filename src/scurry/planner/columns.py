"""The columns of a relation."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.data_types import DataType


@dataclass(frozen=True)
class Column:
    """A column of a relation."""

    name: str
    type: DataType


Columns = tuple[Column, ...]
