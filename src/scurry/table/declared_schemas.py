"""The schema of a table as it was declared, with the types that the planner has found.

A table of a catalog that is read as it is shows all of its declaration: computed columns and those
of metadata, the watermark, the primary key. What a query makes of it has columns and nothing else.
"""

from __future__ import annotations

from scurry.common.data_types import RowType
from scurry.planner.time_attributes import plain
from scurry.sql.unparse import unparse
from scurry.table.catalog.resolved_schema import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from scurry.table.expression_core import ExpressionCore
from scurry.table.resolved_expression import ResolvedExpression
from scurry.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedComputedColumn,
    UnresolvedMetadataColumn,
)

__all__ = ["declared_text", "resolved_as_declared"]


def resolved_as_declared(schema: Schema, row_type: RowType) -> ResolvedSchema:
    """The declaration ``schema`` of a table whose columns have the types of ``row_type``."""
    columns = tuple(_column(one, row_type) for one in schema.columns)
    marks = tuple(
        WatermarkSpec(
            one.column,
            ResolvedExpression(
                declared_text(one.expression), plain(row_type[one.column].data_type)
            ),
        )
        for one in schema.watermarks
        if one.column in row_type.field_names()
    )
    key = schema.primary_key
    made = None if key is None else UniqueConstraint.primary_key(key.name, key.columns)
    return ResolvedSchema(columns, marks, made)


def _column(column: UnresolvedColumn, row_type: RowType) -> Column:
    kind = row_type[column.name].data_type
    if isinstance(column, UnresolvedComputedColumn):
        expression = ResolvedExpression(declared_text(column.expression), kind)
        return ComputedColumn(column.name, kind, column.comment, expression)
    if isinstance(column, UnresolvedMetadataColumn):
        return MetadataColumn(column.name, kind, column.comment, column.key, column.virtual)
    return PhysicalColumn(column.name, kind, column.comment)


def declared_text(written: str | ExpressionCore) -> str:
    """The expression of a column or a watermark; texts are shown as they were written."""
    return unparse(written.node) if isinstance(written, ExpressionCore) else written
