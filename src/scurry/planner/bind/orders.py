"""What rows can be ordered by."""

from __future__ import annotations

from scurry.common.data_types import (
    ArrayType,
    DataType,
    MapType,
    MultisetType,
    RowType,
    VariantType,
)
from scurry.planner.errors import SqlValidationError
from scurry.sql import ast

__all__ = ["check_order"]


def check_order(kind: DataType, item: ast.OrderItem) -> None:
    """Refuse an item of ORDER BY whose values are neither less nor greater than each other."""
    if isinstance(kind, VariantType | ArrayType | MapType | MultisetType | RowType):
        name = kind.type_name()
        message = f"ORDER BY takes no {name}: its values are neither less nor greater"
        part = "JSON_STRING" if isinstance(kind, VariantType) else "a part"
        advice = f"Order by {part} of it, or by another column."
        raise SqlValidationError(message, item.expression.span, advice)
