"""Calls: built-in functions, functions of the user's, aggregates, and JSON with its clauses.

Aggregates and functions with OVER belong to the query, not to the expression they stand in: the
binder hands them to whoever collects them, and puts a reference in their place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from scurry.common.data_types import DataTypes, NullType
from scurry.functions.builtin import BUILT_INS, Kind, find, resolve, resolve_cast
from scurry.functions.builtin.signatures import cast_to
from scurry.functions.expressions import Expression, Literal, UdfCall
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.planner.algebra import Node
from scurry.planner.bind.data_types import bind_type
from scurry.planner.bind.scope import Scope
from scurry.planner.catalog import Catalog
from scurry.planner.errors import SqlValidationError, unknown
from scurry.planner.gaps import refuse
from scurry.sql import ast

_STRING = DataTypes.STRING(False)


class Collector(Protocol):
    """Who takes the aggregates and OVER calls that are found in expressions."""

    def aggregate(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """A reference to the result of an aggregate."""

    def over(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """A reference to the result of a function with OVER."""

    def window(self, binder: CallBinder, call: ast.FunctionCall) -> Expression:
        """A reference to a property of the window of GROUP BY."""


class CallBinder(ABC):
    """Binds calls. ``query`` binds queries within expressions, over this scope."""

    def __init__(
        self,
        scope: Scope,
        catalog: Catalog,
        query: Callable[[ast.QueryNode, Scope], Node] | None = None,
        collector: Collector | None = None,
        clause: str = "",
    ) -> None:
        self.scope = scope
        self.catalog = catalog
        #: binds queries within expressions, None where none can stand
        self.queries = query
        #: takes aggregates and calls with OVER, None where none can stand
        self.collector = collector
        #: where the expression stands, for messages about aggregates
        self.clause = clause

    @abstractmethod
    def bind(self, node: ast.Expression) -> Expression:
        """The typed tree of an expression."""

    def inner_query(self, node: ast.QueryNode) -> Node:
        """A query within the expression."""
        if self.queries is None:
            message = f"A query cannot stand in {self.clause or 'this expression'}"
            raise SqlValidationError(message, node.span)
        return self.queries(node, self.scope)

    # --- which function it is ---------------------------------------------------------------------

    def call(self, node: ast.FunctionCall) -> Expression:
        """Any call."""
        if node.semantics:
            raise refuse("pattern-function", node.span)
        if node.over is not None:
            return self._collected(node).over(self, node)
        user = self.user_function(node)
        if user is not None:
            return self._user_call(node, user)
        name = str(node.name).upper()
        built_in = find(name) if len(node.name.parts) == 1 else None
        if built_in is None:
            raise self._unknown(node)
        if built_in.family == "window" and built_in.kind is Kind.WINDOW:
            return self._collected(node).window(self, node)
        if built_in.kind is Kind.AGGREGATE:
            return self._collected(node).aggregate(self, node)
        self._check_plain(node, name)
        if built_in.kind is Kind.WINDOW:
            message = f"{name} needs an OVER clause"
            raise SqlValidationError(message, node.span, f"Write {built_in.syntax}.")
        if built_in.kind is Kind.TABLE:
            message = f"{name} makes a table and cannot be a value"
            raise SqlValidationError(message, node.span, f"Write FROM TABLE({built_in.syntax}).")
        return self._built_in(name, node)

    def user_function(self, node: ast.FunctionCall) -> UserDefinedFunctionWrapper | None:
        """The user's function that is called, None for a built-in one."""
        if isinstance(node.function, UserDefinedFunctionWrapper):
            return node.function
        return self.catalog.find_function(node.name.names)

    def _collected(self, node: ast.FunctionCall) -> Collector:
        if self.collector is not None:
            return self.collector
        what = "A function with OVER" if node.over is not None else f"The aggregate {node.name}"
        advice = "Put it into the select list of a query within FROM."
        raise SqlValidationError(f"{what} cannot stand in {self.clause}", node.span, advice)

    def _check_plain(self, node: ast.FunctionCall, name: str) -> None:
        clauses = (node.quantifier, node.order_by, node.within_group, node.nulls, node.filter)
        if any(clauses):
            message = f"{name} is no aggregate: DISTINCT, FILTER and the like do not apply"
            raise SqlValidationError(message, node.span)

    def _unknown(self, node: ast.FunctionCall) -> SqlValidationError:
        known = [*self.catalog.function_names(), *(entry.name for entry in BUILT_INS)]
        return unknown("function", str(node.name), known, node.name.span)

    # --- functions --------------------------------------------------------------------------------

    def _built_in(self, name: str, node: ast.FunctionCall) -> Expression:
        arguments = self.arguments(node)
        if name in ("FLOOR", "CEIL", "CEILING") and any(
            isinstance(one, ast.Word) for one in node.arguments
        ):
            name = f"{name.removesuffix('ING')} TO"
        if name == "TRIM":
            where, text, *characters = arguments
            given = characters[0] if characters else Literal(" ", _STRING)
            arguments = [where, given, text]
        if name == "UNIX_TIMESTAMP" and not arguments:
            name = "UNIX_TIMESTAMP()"
        return resolve(name, arguments, span=node.span)

    def arguments(self, node: ast.FunctionCall) -> list[Expression]:
        """The arguments of a call of a built-in function; a word is a constant text."""
        return [self._argument(argument) for argument in node.arguments]

    def _argument(self, node: ast.Expression) -> Expression:
        if isinstance(node, ast.Word):
            return Literal(node.name, _STRING, span=node.span)
        if isinstance(node, ast.NamedArgument):
            message = "Arguments of this function have no names"
            raise SqlValidationError(message, node.span, "Give the values in order.")
        if isinstance(node, ast.TableArgument | ast.Descriptor):
            raise refuse("table-argument", node.span)
        if isinstance(node, ast.ModelArgument):
            raise refuse("model", node.span)
        return self.bind(node)

    def _user_call(
        self, node: ast.FunctionCall, function: UserDefinedFunctionWrapper
    ) -> Expression:
        if function.kind in ("aggregate", "table_aggregate"):
            return self._collected(node).aggregate(self, node)
        self._check_plain(node, function.name)
        if function.kind == "table":
            message = f"{function.name} makes a table and cannot be a value"
            raise SqlValidationError(message, node.span, "Write LATERAL TABLE(...) after FROM.")
        operands = [self._argument(argument) for argument in node.arguments]
        overload, types = function.resolve([operand.type for operand in operands])
        cast = tuple(cast_to(o, t) for o, t in zip(operands, types, strict=True))
        result = overload.result_types[0]
        return UdfCall(function, cast, result, function.deterministic, span=node.span)

    # --- JSON -------------------------------------------------------------------------------------

    def json_exists(self, node: ast.JsonExists) -> Expression:
        """``JSON_EXISTS``."""
        operands = [self.bind(node.json), self.bind(node.path)]
        if node.on_error is not None:
            operands.append(_word(node.on_error.kind))
        return resolve("JSON_EXISTS", operands, span=node.span)

    def json_value(self, node: ast.JsonValue) -> Expression:
        """``JSON_VALUE``: the type to return, then what an empty and a wrong result become."""
        returning = DataTypes.STRING() if node.returning is None else bind_type(node.returning)
        operands = [self.bind(node.json), self.bind(node.path), Literal(None, returning)]
        for behavior in (node.on_empty, node.on_error):
            default: Expression = Literal(None, NullType())
            if behavior is not None and behavior.default is not None:
                default = resolve_cast(self.bind(behavior.default), returning, span=behavior.span)
            operands += [_word("NULL" if behavior is None else behavior.kind), default]
        return resolve("JSON_VALUE", operands, span=node.span)

    def json_query(self, node: ast.JsonQuery) -> Expression:
        """``JSON_QUERY``: the type to return, the wrapper, then what becomes of no result."""
        returning = DataTypes.STRING() if node.returning is None else bind_type(node.returning)
        operands = [
            self.bind(node.json),
            self.bind(node.path),
            Literal(None, returning),
            _word(node.wrapper or "WITHOUT"),
            _word("NULL" if node.on_empty is None else node.on_empty.kind),
            _word("NULL" if node.on_error is None else node.on_error.kind),
        ]
        return resolve("JSON_QUERY", operands, span=node.span)

    def json_object(self, node: ast.JsonObject) -> Expression:
        """``JSON_OBJECT``: what becomes of nulls, then keys and values in turn."""
        operands: list[Expression] = [_word(node.on_null or "NULL")]
        for entry in node.entries:
            operands += [self.bind(entry.key), self.bind(entry.value)]
        return resolve("JSON_OBJECT", operands, span=node.span)

    def json_array(self, node: ast.JsonArray) -> Expression:
        """``JSON_ARRAY``: what becomes of nulls, then the values."""
        items = [self.bind(item) for item in node.items]
        return resolve("JSON_ARRAY", [_word(node.on_null or "ABSENT"), *items], span=node.span)

    def json_array_aggregate(self, node: ast.JsonArrayAggregate) -> Expression:
        """``JSON_ARRAYAGG``: without nulls unless they are asked for."""
        return self._json_aggregate(node, "JSON_ARRAYAGG", (node.item,), "ABSENT")

    def json_object_aggregate(self, node: ast.JsonObjectAggregate) -> Expression:
        """``JSON_OBJECTAGG``: with nulls unless they are to be absent."""
        pair = (node.entry.key, node.entry.value)
        return self._json_aggregate(node, "JSON_OBJECTAGG", pair, "NULL")

    def _json_aggregate(
        self,
        node: ast.JsonArrayAggregate | ast.JsonObjectAggregate,
        name: str,
        arguments: tuple[ast.Expression, ...],
        usual: str,
    ) -> Expression:
        written = ast.Name((ast.Identifier(name, span=node.span),), span=node.span)
        nulls = node.on_null or usual
        call = ast.FunctionCall(written, arguments, nulls=nulls, filter=node.filter, span=node.span)
        return self._collected(call).aggregate(self, call)


def _word(text: str) -> Literal:
    return Literal(text, _STRING)
