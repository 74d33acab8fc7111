"""Bound queries: their columns as types and schemas."""

from __future__ import annotations

from scurry.common.data_types import RowType
from scurry.planner.algebra import Node
from scurry.table.schema import Schema, UnresolvedPhysicalColumn

__all__ = ["row_type_of", "schema_of"]


def row_type_of(node: Node) -> RowType:
    """Names and types of a query's columns."""
    columns = node.columns
    return RowType.of([one.name for one in columns], [one.type for one in columns])


def schema_of(node: Node) -> Schema:
    """The same as a schema of physical columns."""
    return Schema(tuple(UnresolvedPhysicalColumn(one.name, one.type) for one in node.columns))
