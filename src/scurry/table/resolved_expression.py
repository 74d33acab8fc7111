"""Expressions whose type is known, such as those of watermarks and computed columns."""

from __future__ import annotations

from typing import Any

from scurry.common.data_types import DataType
from scurry.sql import ast
from scurry.sql.parser import parse_expression
from scurry.sql.unparse import unparse
from scurry.table.expression import Expression

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression):
    """An expression with its text in SQL, its type, and the typed tree. Two of them are equal if
    text and type are."""

    def __init__(self, text: str, data_type: DataType, tree: Any = None) -> None:
        super().__init__(parse_expression(text))
        self._text = text
        self._data_type = data_type
        self._tree = tree

    @property
    def tree(self) -> Any:
        """The typed tree, as the planner has it."""
        return self._tree

    def get_output_data_type(self) -> DataType:
        """The type of the expression's values."""
        return self._data_type

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """The operands, where the planner has typed them."""
        found = []
        for node, tree in zip(_operands(self.node), _trees(self._tree), strict=False):
            found.append(ResolvedExpression(unparse(node), tree.type, tree))
        return found

    def as_serializable_string(self) -> str:
        """The expression in SQL."""
        return self._text

    def as_summary_string(self) -> str:
        """The expression in SQL."""
        return self._text

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> Any:
        if isinstance(other, ResolvedExpression):
            return (self._text, self._data_type) == (other._text, other._data_type)
        return super().__eq__(other)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self._text, self._data_type))


def _operands(node: ast.Expression) -> list[ast.Expression]:
    return [one for one in node.children() if isinstance(one, ast.Expression)]


def _trees(tree: Any) -> tuple[Any, ...]:
    return tuple(getattr(tree, "operands", ()) or ())
