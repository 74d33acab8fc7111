"""Tables of a catalogue as relations: a scan, computed columns, the watermark."""

from __future__ import annotations

from dataclasses import replace

from scurry.common.data_types import DataType, LocalZonedTimestampType, TimestampType
from scurry.functions.expressions import Expression, InputRef
from scurry.planner.algebra import Column, Node, Project, Scan, Watermark
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.scope import Scope
from scurry.planner.catalog import Catalog, Table, TableColumn
from scurry.planner.errors import SqlValidationError


def bind_table(table: Table, catalog: Catalog) -> Node:
    """All columns of a table, in the order in which they were declared."""
    physical = [column for column in table.columns if not column.computed]
    scanned = tuple(Column(column.name, _declared(column)) for column in physical)
    node: Node = Scan(table, scanned)
    if any(column.computed for column in table.columns):
        node = _with_computed(node, table, catalog)
    return _with_watermark(node, table, catalog)


def _declared(column: TableColumn) -> DataType:
    assert column.type is not None, f"the column {column.name} has no type"
    return column.type


def _with_computed(node: Node, table: Table, catalog: Catalog) -> Node:
    """Computed columns see the physical and metadata columns, as in Flink."""
    scope = Scope.of(table.path[-1], node.columns)
    binder = ExpressionBinder(scope, catalog, clause="a computed column")
    names = [column.name for column in node.columns]
    expressions: list[Expression] = []
    for column in table.columns:
        if column.expression is not None:
            expressions.append(binder.bind(column.expression))
        else:
            at = names.index(column.name)
            expressions.append(InputRef(at, node.type_of(at)))
    return Project(node, tuple(expressions), tuple(column.name for column in table.columns))


def _with_watermark(node: Node, table: Table, catalog: Catalog) -> Node:
    if table.watermark is None:
        return node
    binder = ExpressionBinder(
        Scope.of(table.path[-1], node.columns), catalog, clause="the watermark"
    )
    names = [column.name for column in node.columns]
    span = table.watermark.expression.span
    column = table.watermark.column
    if len(column) > 1 or column[0] not in names:
        raise SqlValidationError(
            f"The watermark of {table.name} is for {'.'.join(column)}, which is no column of it",
            span,
            "Take the field into a computed column, and declare the watermark for that.",
        )
    at = names.index(column[0])
    kind = node.type_of(at)
    if not isinstance(kind, TimestampType | LocalZonedTimestampType) or kind.precision > 3:
        raise SqlValidationError(
            f"The column {column[0]} is {kind.describe()} and cannot be event time",
            span,
            "Event time is TIMESTAMP(3) or TIMESTAMP_LTZ(3); CAST it in a computed column.",
        )
    expression = binder.bind(table.watermark.expression)
    mark = expression.type
    if not isinstance(mark, TimestampType | LocalZonedTimestampType) or mark.precision > 3:
        raise SqlValidationError(
            f"The watermark of {column[0]} is {mark.describe()} and no time",
            span,
            "Write a time of TIMESTAMP(3) or TIMESTAMP_LTZ(3), such as the column minus an "
            "INTERVAL; CAST it if need be.",
        )
    return Watermark(node, at, expression, span=span)


def renamed(node: Node, names: tuple[str, ...]) -> Node:
    """The relation under other names of its columns."""
    if names == tuple(column.name for column in node.columns):
        return node
    refs = tuple(InputRef(at, column.type) for at, column in enumerate(node.columns))
    if isinstance(node, Project):
        return replace(node, names=names)
    return Project(node, refs, names)
