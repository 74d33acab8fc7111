"""What is known of the contents of tables and partitions.

The planner has no cost model, so statistics are kept and given back, and change no plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CatalogColumnStatistics", "CatalogTableStatistics"]

#: What stands for a number that nobody knows.
UNKNOWN = -1


@dataclass(frozen=True)
class CatalogTableStatistics:
    """Numbers of a table or of a partition."""

    row_count: int = UNKNOWN
    field_count: int = UNKNOWN
    total_size: int = UNKNOWN
    raw_data_size: int = UNKNOWN
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_row_count(self) -> int:
        """The number of rows."""
        return self.row_count

    def get_field_count(self) -> int:
        """The number of files, under the name that PyFlink has for it."""
        return self.field_count

    def get_total_size(self) -> int:
        """The size in bytes."""
        return self.total_size

    def get_raw_data_size(self) -> int:
        """The size in bytes once it is in memory."""
        return self.raw_data_size

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return dict(self.properties)

    def copy(self) -> CatalogTableStatistics:
        """The same numbers."""
        return CatalogTableStatistics(
            self.row_count,
            self.field_count,
            self.total_size,
            self.raw_data_size,
            dict(self.properties),
        )


@dataclass(frozen=True)
class CatalogColumnStatistics:
    """Numbers of columns: by the name of the column a mapping of what is known, such as
    ``{"id": {"min": 1, "max": 9, "ndv": 9, "null_count": 0}}``."""

    column_statistics_data: Mapping[str, Any] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)

    def get_column_statistics_data(self) -> dict[str, Any]:
        """What is known, by column."""
        return dict(self.column_statistics_data)

    def get_properties(self) -> dict[str, str]:
        """What else is known."""
        return dict(self.properties)

    def copy(self) -> CatalogColumnStatistics:
        """The same numbers."""
        return CatalogColumnStatistics(dict(self.column_statistics_data), dict(self.properties))
