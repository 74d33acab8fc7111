"""What rows can be ordered by."""

from __future__ import annotations

from scurry.common.data_types import DataType, VariantType
from scurry.planner.errors import SqlValidationError
from scurry.sql import ast

__all__ = ["check_order"]


def check_order(kind: DataType, item: ast.OrderItem) -> None:
    """Refuse an item of ORDER BY whose values are neither less nor greater than each other."""
    if isinstance(kind, VariantType):
        message = "ORDER BY takes no VARIANT: its values are neither less nor greater"
        advice = "Order by JSON_STRING of it, or by another column."
        raise SqlValidationError(message, item.expression.span, advice)
