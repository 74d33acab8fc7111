"""Queries: WITH, bodies, set operations, ORDER BY and LIMIT."""

from __future__ import annotations

from dataclasses import replace

from scurry.common.data_types import common_type
from scurry.functions.expressions import InputRef
from scurry.planner.algebra import (
    Aggregate,
    Node,
    Project,
    SetOperation,
    Sort,
    SortItem,
    Union,
)
from scurry.planner.bind.expressions import ExpressionBinder
from scurry.planner.bind.orders import check_order
from scurry.planner.bind.relations import RelationBinder
from scurry.planner.bind.scope import Scope
from scurry.planner.bind.selects import SelectBinder, sorted_node
from scurry.planner.bind.tables import renamed
from scurry.planner.bind.values import as_type, bind_values
from scurry.planner.catalog import Catalog, View
from scurry.planner.errors import SqlValidationError
from scurry.planner.gaps import refuse
from scurry.sql import ast

#: how many views and queries may lie within each other
_MAX_DEPTH = 100


class QueryBinder:
    """Binds queries. Common tables of the queries around are known by name."""

    def __init__(self, catalog: Catalog, depth: int = 0) -> None:
        self._catalog = catalog
        self._common: list[dict[str, Node]] = []
        self._depth = depth
        #: the depth of the query itself, or of the view
        self._outermost = depth + 1

    def _view(self, view: View) -> Node:
        """A view, in which common tables of the query that reads it are not known."""
        return QueryBinder(self._catalog, self._depth).query(view.query)

    def _relations(self) -> RelationBinder:
        return RelationBinder(self._catalog, self.query, self._named, self._view)

    def query(self, node: ast.QueryNode, outer: Scope | None = None) -> Node:
        """The relation of a query; ``outer`` is the scope of the query around it, if it may look
        there."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            message = "Views and queries are nested too deeply; a view may refer to itself"
            raise SqlValidationError(message, node.span)
        node = _within_parentheses(node)
        self._common.append({})
        if node.recursive:
            raise refuse("recursive", node.span)
        for table in node.common_tables:
            self._common[-1][table.name.name] = self._common_table(table)
        found = self._ordered(node, outer)
        if self._depth > self._outermost:
            found = _without_order(found, node)
        self._common.pop()
        self._depth -= 1
        return found

    def _common_table(self, table: ast.CommonTable) -> Node:
        found = self.query(table.query)
        if not table.columns:
            return found
        if len(table.columns) != found.width:
            message = f"{table.name} names {len(table.columns)} columns, but has {found.width}"
            raise SqlValidationError(message, table.name.span)
        return renamed(found, tuple(column.name for column in table.columns))

    def _named(self, name: str) -> Node | None:
        for tables in reversed(self._common):
            if name in tables:
                return tables[name]
        return None

    # --- bodies -----------------------------------------------------------------------------------

    def _ordered(self, node: ast.Query, outer: Scope | None) -> Node:
        offset, fetch = _count(node.offset, "OFFSET") or 0, _count(node.limit, "LIMIT")
        if isinstance(node.body, ast.Select):
            return self._select(node.body, outer).bind(node.order_by, offset, fetch)
        body = self._body(node.body, outer)
        keys = tuple(self._sort_item(item, body) for item in node.order_by)
        return sorted_node(body, keys, offset, fetch)

    def _select(self, node: ast.Select, outer: Scope | None) -> SelectBinder:
        return SelectBinder(node, self._catalog, self._relations(), self.query, outer)

    def _body(self, node: ast.QueryNode, outer: Scope | None) -> Node:
        if isinstance(node, ast.Select):
            return self._select(node, outer).bind()
        if isinstance(node, ast.Values):
            binder = ExpressionBinder(Scope(outer=outer), self._catalog, self.query, None, "VALUES")
            return bind_values(node, binder)
        if isinstance(node, ast.ExplicitTable):
            return self._relations().table(node.name)
        if isinstance(node, ast.SetOperation):
            return self._set_operation(node, outer)
        return self.query(node, outer)

    def _sort_item(self, item: ast.OrderItem, body: Node) -> SortItem:
        """Behind a set operation, only columns of the result can be ordered by."""
        node, names = item.expression, [column.name for column in body.columns]
        last = item.descending if item.nulls is None else item.nulls == "LAST"
        if isinstance(node, ast.NumberLiteral) and node.text.isdigit():
            place = int(node.text) - 1
        elif isinstance(node, ast.Name) and str(node) in names:
            place = names.index(str(node))
        else:
            place = -1
        if not 0 <= place < body.width:
            message = "ORDER BY of these rows takes the name or the number of a column"
            raise SqlValidationError(message, item.span, f"There is {', '.join(names)}.")
        check_order(body.columns[place].type, item)
        return SortItem(place, not item.descending, last)

    # --- set operations ---------------------------------------------------------------------------

    def _set_operation(self, node: ast.SetOperation, outer: Scope | None) -> Node:
        inputs = [self._body(one, outer) for one in node.inputs]
        inputs = self._same_types(inputs, node)
        if node.operator == "UNION":
            union = Union(tuple(inputs), span=node.span)
            if node.all:
                return union
            return Aggregate(union, tuple(range(union.width)), (), span=node.span)
        found = inputs[0]
        for right in inputs[1:]:
            found = SetOperation(found, right, node.operator.lower(), node.all, span=node.span)
        return found

    def _same_types(self, inputs: list[Node], node: ast.SetOperation) -> list[Node]:
        width = inputs[0].width
        for relation, written in zip(inputs, node.inputs, strict=True):
            if relation.width != width:
                message = f"{node.operator} of {width} columns and of {relation.width}"
                raise SqlValidationError(message, written.span)
        types = []
        for at in range(width):
            found = common_type([relation.type_of(at) for relation in inputs])
            if found is None:
                kinds = " and ".join(dict.fromkeys(r.type_of(at).describe() for r in inputs))
                message = f"Column {at + 1} of {node.operator} has no common type: {kinds}"
                raise SqlValidationError(message, node.span, "CAST one of them.")
            types.append(found)
        names = tuple(column.name for column in inputs[0].columns)
        made = []
        for relation in inputs:
            pairs = zip(relation.columns, types, strict=True)
            cast = tuple(as_type(InputRef(at, c.type), t) for at, (c, t) in enumerate(pairs))
            plain = all(isinstance(one, InputRef) for one in cast)
            made.append(renamed(relation, names) if plain else Project(relation, cast, names))
        return made


def _within_parentheses(node: ast.QueryNode) -> ast.Query:
    """A query as one that may have clauses of its own."""
    if not isinstance(node, ast.Query):
        return ast.Query(node, span=node.span)
    clauses = node.common_tables, node.order_by, node.limit, node.offset
    return _within_parentheses(node.body) if not any(clauses) else node


def _without_order(found: Node, node: ast.Query) -> Node:
    """An inner query, whose ORDER BY means nothing without LIMIT or OFFSET, as in Flink."""
    if not node.order_by or node.limit is not None or node.offset is not None:
        return found
    if isinstance(found, Project) and isinstance(found.input, Sort):
        return replace(found, input=found.input.input)
    assert isinstance(found, Sort)
    return found.input


def _count(node: ast.Expression | None, clause: str) -> int | None:
    if node is None:
        return None
    if isinstance(node, ast.NumberLiteral) and node.text.isdigit():
        return int(node.text)
    raise SqlValidationError(f"{clause} takes a number", node.span, "Write a constant.")
