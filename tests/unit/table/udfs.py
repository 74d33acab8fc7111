"""Functions that statements name."""

from __future__ import annotations

from scurry.table import DataTypes
from scurry.table.udf import udf


@udf(result_type=DataTypes.BIGINT())
def double(x: int) -> int:
    """Twice."""
    return 2 * x
