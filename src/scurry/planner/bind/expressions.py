"""Expressions: a syntax tree and a scope give a typed tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.data_types import (
    BooleanType,
    DataType,
    DataTypes,
    NullType,
    NumericType,
    RowField,
    RowType,
)
from scurry.common.spans import Span
from scurry.functions.builtin import resolve, resolve_cast
from scurry.functions.builtin.signatures import cast_to
from scurry.functions.expressions import Call, Expression, Literal
from scurry.planner.bind.calls import CallBinder
from scurry.planner.bind.data_types import bind_interval, bind_type
from scurry.planner.bind.literals import bind_literal, units_of, whole_number
from scurry.planner.bind.scope import field_at, field_of
from scurry.planner.bind.subqueries import Subquery
from scurry.planner.errors import SqlValidationError, at
from scurry.planner.gaps import refuse
from scurry.sql import ast

_TRUE = DataTypes.BOOLEAN(False)
#: the comparison that is true where another is false
_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class ExpressionBinder(CallBinder):
    """Binds expressions over one scope."""

    def bind(self, node: ast.Expression) -> Expression:
        """The typed tree of an expression."""
        literal = bind_literal(node)
        if literal is not None:
            return literal
        handler = _HANDLERS.get(type(node))
        if handler is None:
            message = f"{type(node).__name__} cannot stand here"
            raise SqlValidationError(message, node.span)
        with at(node.span):
            return handler(self, node)

    def condition(self, node: ast.Expression, where: str) -> Expression:
        """An expression that must be true or false."""
        found = self.bind(node)
        if not isinstance(found.type, BooleanType | NullType):
            message = f"{where} needs a condition, but this is {found.type.describe()}"
            raise SqlValidationError(message, node.span, "Compare it with something.")
        return cast_to(found, _TRUE.nullable()) if isinstance(found.type, NullType) else found

    # --- operators --------------------------------------------------------------------------------

    def _name(self, node: ast.Name) -> Expression:
        return self.scope.resolve(node)

    def _star(self, node: ast.Star) -> Expression:
        raise SqlValidationError("* cannot stand here", node.span, "Name the columns.")

    def _unary(self, node: ast.Unary) -> Expression:
        operand = self.bind(node.operand)
        if node.operator == "-" and isinstance(operand, Literal) and _is_number(operand):
            if isinstance(operand.value, int):
                value, kind = whole_number(-operand.value, node)
                return Literal(value, kind, span=node.span)
            return Literal(-operand.value, operand.type, span=node.span)
        name = node.operator if node.operator == "NOT" else f"{node.operator}x"
        return resolve(name, (operand,), span=node.span)

    def _binary(self, node: ast.Binary) -> Expression:
        if node.operator.startswith("MULTISET") or node.operator.endswith(" OF"):
            raise refuse("multiset-operator", node.span, node.operator)
        if node.operator == "OVERLAPS":
            pairs = (*self._pair(node.left), *self._pair(node.right))
            return resolve("OVERLAPS", pairs, span=node.span)
        return self._compared(node.operator, self.bind(node.left), self.bind(node.right), node.span)

    def _pair(self, node: ast.Expression) -> tuple[Expression, ...]:
        if not isinstance(node, ast.RowConstructor) or len(node.items) != 2:
            raise SqlValidationError("OVERLAPS needs pairs: (start, end)", node.span)
        return tuple(map(self.bind, node.items))

    def _compared(
        self, operator: str, left: Expression, right: Expression, span: Span
    ) -> Expression:
        """Rows are compared field by field."""
        rows = _row_items(left), _row_items(right)
        if operator in ("=", "<>") and rows[0] and rows[1]:
            if len(rows[0]) != len(rows[1]):
                raise SqlValidationError("The rows have different numbers of fields", span)
            parts = [
                self._compared("=", one, other, span)
                for one, other in zip(rows[0], rows[1], strict=True)
            ]
            equal = conjunction(parts)
            return equal if operator == "=" else resolve("NOT", (equal,), span=span)
        return resolve(operator, (left, right), span=span)

    def _logical(self, node: ast.Logical) -> Expression:
        operands = [self.condition(one, node.operator) for one in node.operands]
        return resolve(node.operator, operands, span=node.span)

    def _is(self, node: ast.Is) -> Expression:
        operand = self.bind(node.operand)
        if node.what in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
            name = f"IS {'NOT ' if node.negated else ''}{node.what}"
            return resolve(name, (operand,), span=node.span)
        if node.what in ("A SET", "EMPTY"):
            raise refuse("multiset-operator", node.span, f"IS {node.what}")
        found = resolve(f"IS {node.what}", (operand,), span=node.span)
        return self._negated(found, node.negated, node.span)

    def _negated(self, found: Expression, negated: bool, span: Span) -> Expression:
        return resolve("NOT", (found,), span=span) if negated else found

    def _between(self, node: ast.Between) -> Expression:
        name = "NOT BETWEEN" if node.negated else "BETWEEN"
        operands = (self.bind(node.operand), self.bind(node.low), self.bind(node.high))
        return resolve(f"{name} SYMMETRIC" if node.symmetric else name, operands, span=node.span)

    def _like(self, node: ast.Like) -> Expression:
        if node.operator in ("ILIKE", "RLIKE"):
            raise refuse("like-variant", node.span, node.operator)
        operands = [self.bind(node.operand), self.bind(node.pattern)]
        if node.escape is not None:
            operands.append(self.bind(node.escape))
        found = resolve(node.operator, operands, span=node.span)
        return self._negated(found, node.negated, node.span)

    def _in_list(self, node: ast.InList) -> Expression:
        left, items = self.bind(node.operand), [self.bind(item) for item in node.items]
        if _row_items(left):
            parts = [self._compared("=", left, item, node.span) for item in items]
            found = parts[0] if len(parts) == 1 else resolve("OR", parts, span=node.span)
        else:
            found = resolve("IN", (left, *items), span=node.span)
        return self._negated(found, node.negated, node.span)

    def _case(self, node: ast.Case) -> Expression:
        operands: list[Expression] = []
        for when in node.whens:
            operands += [self._when(node, when), self.bind(when.result)]
        default = Literal(None, NullType()) if node.default is None else self.bind(node.default)
        return resolve("CASE", (*operands, default), span=node.span)

    def _when(self, node: ast.Case, when: ast.When) -> Expression:
        if node.operand is None:
            return self.condition(when.conditions[0], "WHEN")
        subject = self.bind(node.operand)
        tests = [self._compared("=", subject, self.bind(one), one.span) for one in when.conditions]
        return tests[0] if len(tests) == 1 else resolve("OR", tests, span=when.span)

    def _cast(self, node: ast.Cast) -> Expression:
        target = bind_type(node.type) if isinstance(node.type, ast.TypeNode) else node.type
        assert isinstance(target, DataType)
        return resolve_cast(self.bind(node.operand), target, node.safe, span=node.span)

    def _interval_of(self, node: ast.IntervalOf) -> Expression:
        kind = bind_interval(node.qualifier)
        count = self.bind(node.count)
        unit = units_of(node.qualifier.start)
        if isinstance(count, Literal) and isinstance(count.value, int):
            return Literal(count.value * unit, kind, span=node.span)
        return resolve("*", (Literal(unit, kind), count), span=node.span)

    # --- constructors and parts -------------------------------------------------------------------

    def _row(self, node: ast.RowConstructor) -> Expression:
        row = resolve("ROW", [self.bind(item) for item in node.items], span=node.span)
        if not node.names:
            return row
        assert isinstance(row, Call)
        pairs = zip(node.names, row.operands, strict=True)
        named = RowType([RowField(name, operand.type) for name, operand in pairs], False)
        return Call(row.function, row.operands, named, row.deterministic, span=row.span)

    def _array(self, node: ast.ArrayConstructor) -> Expression:
        if node.kind != "ARRAY":
            raise refuse("multiset-operator", node.span, "MULTISET[...]")
        return resolve("ARRAY", [self.bind(item) for item in node.items], span=node.span)

    def _map(self, node: ast.MapConstructor) -> Expression:
        return resolve("MAP", [self.bind(item) for item in node.items], span=node.span)

    def _item(self, node: ast.Item) -> Expression:
        operand, index = self.bind(node.operand), self.bind(node.index)
        if isinstance(operand.type, RowType) and isinstance(index, Literal):
            return field_at(operand, index.value - 1, node.span)
        return resolve("ITEM", (operand, index), span=node.span)

    def _field(self, node: ast.FieldAccess) -> Expression:
        operand = self.bind(node.operand)
        if node.position is not None:
            return field_at(operand, node.position, node.span)
        return field_of(operand, node.field)

    # --- queries ----------------------------------------------------------------------------------

    def _in_query(self, node: ast.InQuery) -> Expression:
        found = self._any(node.operand, "=", node.query, node.span)
        return self._negated(found, node.negated, node.span)

    def _any(
        self, operand: ast.Expression, operator: str, written: ast.QueryNode, span: Span
    ) -> Expression:
        """Whether the comparison is true of any row of a query."""
        left = self.bind(operand)
        operands = _row_items(left) or (left,)
        query = self.inner_query(written)
        if query.width != len(operands):
            message = f"The query has {query.width} columns, but {len(operands)} are compared"
            raise SqlValidationError(message, written.span)
        for one, column in zip(operands, query.columns, strict=True):
            resolve(operator, (one, Literal(None, column.type.nullable())), span=span)
        return Subquery("in", query, tuple(operands), DataTypes.BOOLEAN(), operator, span=span)

    def _exists(self, node: ast.Exists) -> Expression:
        return Subquery("exists", self.inner_query(node.query), (), _TRUE, span=node.span)

    def _scalar_query(self, node: ast.ScalarQuery) -> Expression:
        query = self.inner_query(node.query)
        if query.width != 1:
            message = f"The query has {query.width} columns, but one value is needed"
            raise SqlValidationError(message, node.span)
        return Subquery("scalar", query, (), query.type_of(0).nullable(), span=node.span)

    def _quantified(self, node: ast.Quantified) -> Expression:
        """What is true of all rows is what is false of none."""
        if node.quantifier in ("ANY", "SOME"):
            return self._any(node.operand, node.operator, node.query, node.span)
        found = self._any(node.operand, _OPPOSITES[node.operator], node.query, node.span)
        return self._negated(found, True, node.span)

    def _query_constructor(self, node: ast.QueryConstructor) -> Expression:
        raise refuse("query-constructor", node.span)


def _is_number(literal: Literal) -> bool:
    return isinstance(literal.type, NumericType) and literal.value is not None


def _row_items(found: Expression) -> tuple[Expression, ...]:
    """The items of a row that was written as such; none for everything else."""
    written = isinstance(found.type, RowType) and getattr(found, "function", "") == "ROW"
    return found.operands if written else ()


def conjunction(conditions: list[Expression]) -> Expression:
    """All of them; there must be one."""
    if len(conditions) == 1:
        return conditions[0]
    return resolve("AND", conditions, span=conditions[0].span)


_Handler = Callable[[ExpressionBinder, Any], Expression]

_HANDLERS: dict[type[ast.Node], _Handler] = {
    ast.Name: ExpressionBinder._name,
    ast.Star: ExpressionBinder._star,
    ast.Unary: ExpressionBinder._unary,
    ast.Binary: ExpressionBinder._binary,
    ast.Logical: ExpressionBinder._logical,
    ast.Is: ExpressionBinder._is,
    ast.Between: ExpressionBinder._between,
    ast.Like: ExpressionBinder._like,
    ast.InList: ExpressionBinder._in_list,
    ast.InQuery: ExpressionBinder._in_query,
    ast.Exists: ExpressionBinder._exists,
    ast.Quantified: ExpressionBinder._quantified,
    ast.ScalarQuery: ExpressionBinder._scalar_query,
    ast.QueryConstructor: ExpressionBinder._query_constructor,
    ast.Case: ExpressionBinder._case,
    ast.Cast: ExpressionBinder._cast,
    ast.IntervalOf: ExpressionBinder._interval_of,
    ast.RowConstructor: ExpressionBinder._row,
    ast.ArrayConstructor: ExpressionBinder._array,
    ast.MapConstructor: ExpressionBinder._map,
    ast.Item: ExpressionBinder._item,
    ast.FieldAccess: ExpressionBinder._field,
    ast.FunctionCall: ExpressionBinder.call,
    ast.JsonExists: ExpressionBinder.json_exists,
    ast.JsonValue: ExpressionBinder.json_value,
    ast.JsonQuery: ExpressionBinder.json_query,
    ast.JsonObject: ExpressionBinder.json_object,
    ast.JsonArray: ExpressionBinder.json_array,
    ast.JsonArrayAggregate: ExpressionBinder.json_array_aggregate,
    ast.JsonObjectAggregate: ExpressionBinder.json_object_aggregate,
}
