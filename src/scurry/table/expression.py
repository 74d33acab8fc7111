"""Expressions of the Table API: ``(col("price") * 2).alias("double")``.

The methods by subject: :mod:`scurry.table.expression_math`, :mod:`scurry.table.expression_text`,
:mod:`scurry.table.expression_time`, :mod:`scurry.table.expression_collections`,
:mod:`scurry.table.expression_aggregates`, :mod:`scurry.table.expression_json`; here operators,
comparisons, casts and names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from scurry.common.data_types import DataType
from scurry.common.errors import ProgramError
from scurry.sql import ast
from scurry.table.expression_aggregates import AggregateMethods
from scurry.table.expression_collections import CollectionMethods
from scurry.table.expression_core import here, to_node
from scurry.table.expression_json import (
    JsonExistsOnError,
    JsonMethods,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from scurry.table.expression_math import MathMethods
from scurry.table.expression_summaries import OPERATORS, Called
from scurry.table.expression_text import TextMethods
from scurry.table.expression_time import TimeIntervalUnit, TimeMethods, TimePointUnit

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]


class Expression(
    MathMethods,
    TextMethods,
    TimeMethods,
    CollectionMethods,
    AggregateMethods,
    JsonMethods,
):
    """Something that has a value for each row, or for each group of rows."""

    # comparing expressions builds one, so there is no equality to hash by
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)

    def __getitem__(self, index: Any) -> Expression:
        return self.at(index)

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]
        return self._binary("<>", other)

    def __lt__(self, other: Any) -> Expression:
        return self._binary("<", other)

    def __gt__(self, other: Any) -> Expression:
        return self._binary(">", other)

    def __le__(self, other: Any) -> Expression:
        return self._binary("<=", other)

    def __ge__(self, other: Any) -> Expression:
        return self._binary(">=", other)

    def __and__(self, other: Any) -> Expression:
        return self._logical("AND", self, other)

    def __or__(self, other: Any) -> Expression:
        return self._logical("OR", self, other)

    # PyFlink prints the operands of these two, and of the times below, in the other order
    def __rand__(self, other: Any) -> Expression:
        return self._made(self._logical("AND", other, self).node, "and", self, other)

    def __ror__(self, other: Any) -> Expression:
        return self._made(self._logical("OR", other, self).node, "or", self, other)

    def __invert__(self) -> Expression:
        return self.is_not_true

    def __add__(self, other: Any) -> Expression:
        return self._binary("+", other)

    def __sub__(self, other: Any) -> Expression:
        return self._binary("-", other)

    def __mul__(self, other: Any) -> Expression:
        return self._binary("*", other)

    def __truediv__(self, other: Any) -> Expression:
        return self._binary("/", other)

    def __mod__(self, other: Any) -> Expression:
        return self._binary("%", other)

    def __pow__(self, other: Any) -> Expression:
        return self._call("POWER", other)

    def __radd__(self, other: Any) -> Expression:
        return self._reversed("+", other)

    def __rsub__(self, other: Any) -> Expression:
        return self._reversed("-", other)

    def __rmul__(self, other: Any) -> Expression:
        return self._made(self._reversed("*", other).node, "times", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._reversed("/", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._reversed("%", other)

    def __rpow__(self, other: Any) -> Expression:
        return self._function("POWER", other, self)

    def __neg__(self) -> Expression:
        return self._made(ast.Unary("-", self._node, span=here()), "minusPrefix", self)

    def __abs__(self) -> Expression:
        return self.abs

    def _binary(self, operator: str, other: Any) -> Expression:
        node = ast.Binary(operator, to_node(self), to_node(other), span=here())
        return self._made(node, OPERATORS[operator], self, other)

    def _reversed(self, operator: str, other: Any) -> Expression:
        node = ast.Binary(operator, to_node(other), to_node(self), span=here())
        return self._made(node, OPERATORS[operator], other, self)

    def _logical(self, operator: str, left: Any, right: Any) -> Expression:
        operands: list[ast.Expression] = []
        for side in (to_node(left), to_node(right)):
            same = isinstance(side, ast.Logical) and side.operator == operator
            operands.extend(cast(ast.Logical, side).operands if same else (side,))
        node = ast.Logical(operator, tuple(operands), span=here())
        return self._made(node, OPERATORS[operator], left, right)

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether this is neither below the one nor above the other."""
        return self._between(lower_bound, upper_bound, negated=False)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether this is below the one or above the other."""
        return self._between(lower_bound, upper_bound, negated=True)

    def _between(self, low: Any, high: Any, negated: bool) -> Expression:
        bounds = to_node(low), to_node(high)
        node = ast.Between(self._node, *bounds, negated, span=here())
        return self._made(node, "notBetween" if negated else "between", self, low, high)

    def like(self, pattern: Any = None, escape: Any = None) -> Expression:
        """Whether the text matches a pattern in which ``%`` is any text and ``_`` any character."""
        sign = None if escape is None else to_node(escape)
        node = ast.Like("LIKE", self._node, to_node(pattern), sign, span=here())
        given = (pattern,) if escape is None else (pattern, escape)
        return self._made(node, "LIKE", self, *given)

    def similar(self, pattern: Any = None) -> Expression:
        """Whether the text matches a regular expression of SQL."""
        node = ast.Like("SIMILAR TO", self._node, to_node(pattern), span=here())
        return self._made(node, "similar", self, pattern)

    def then(self, if_true: Any, if_false: Any) -> Expression:
        """The one value if this is true, else the other."""
        when = ast.When((self._node,), to_node(if_true), span=here())
        node = ast.Case(None, (when,), to_node(if_false), span=here())
        return self._made(node, "ifThenElse", self, if_true, if_false)

    def if_null(self, null_replacement: Any) -> Expression:
        """This, or the replacement where this is NULL."""
        return self._call("IFNULL", null_replacement)

    @property
    def is_null(self) -> Expression:
        """Whether this is NULL."""
        return self._is("NULL", negated=False)

    @property
    def is_not_null(self) -> Expression:
        """Whether this is not NULL."""
        return self._is("NULL", negated=True)

    @property
    def is_true(self) -> Expression:
        """Whether this is true, and not NULL."""
        return self._is("TRUE", negated=False)

    @property
    def is_false(self) -> Expression:
        """Whether this is false, and not NULL."""
        return self._is("FALSE", negated=False)

    @property
    def is_not_true(self) -> Expression:
        """Whether this is false or NULL."""
        return self._is("TRUE", negated=True)

    @property
    def is_not_false(self) -> Expression:
        """Whether this is true or NULL."""
        return self._is("FALSE", negated=True)

    def _is(self, what: str, negated: bool) -> Expression:
        name = f"is{'Not' if negated else ''}{what.title()}"
        return self._made(ast.Is(self._node, what, negated, span=here()), name, self)

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression:
        """Whether this is one of the values, or a value of the table's only column."""
        from scurry.table.table import Table

        if isinstance(first_element_or_table, Table):
            query = first_element_or_table.as_query()
            node: ast.Expression = ast.InQuery(self._node, query, span=here())
            return self._made(node, "in", self, first_element_or_table)
        elements = (first_element_or_table, *remaining_elements)
        node = ast.InList(self._node, tuple(map(to_node, elements)), span=here())
        return self._made(node, "in", self, *elements)

    def cast(self, data_type: DataType) -> Expression:
        """This as a value of another type; what cannot be one fails the job."""
        return self._cast(data_type, safe=False)

    def try_cast(self, data_type: DataType) -> Expression:
        """This as a value of another type; what cannot be one is NULL."""
        return self._cast(data_type, safe=True)

    def _cast(self, data_type: DataType, safe: bool) -> Expression:
        if not isinstance(data_type, DataType):
            raise ProgramError(
                f"cast takes a type such as DataTypes.INT(), got {data_type!r} for {self!r}."
            )
        node = ast.Cast(self._node, data_type, safe, span=here())
        return self._made(node, "TRY_CAST" if safe else "cast", self, data_type)

    def alias(self, name: str, *extra_names: str) -> Expression:
        """What the column is called; several names for what gives several columns."""
        for one in (name, *extra_names):
            if not isinstance(one, str) or not one:
                raise ProgramError(f"The alias of {self!r} is a text, got {one!r}.")
        summary = Called("as", (self, name, *extra_names))
        return Expression(self._node, (name, *extra_names), self._descending, summary)

    def as_argument(self, name: str) -> Expression:
        """The argument of that name in a call."""
        identifier = ast.Identifier(name, span=here())
        node = ast.NamedArgument(identifier, self._node, span=here())
        return self._made(node, "ASSIGNMENT", name, self)

    @property
    def asc(self) -> Expression:
        """In ``order_by``: the least value first."""
        return Expression(self._node, self._names, False, Called("asc", (self,)))

    @property
    def desc(self) -> Expression:
        """In ``order_by``: the greatest value first."""
        return Expression(self._node, self._names, True, Called("desc", (self,)))

    def over(self, alias: Any) -> Expression:
        """The aggregate over the window of that alias, see ``Table.over_window``."""
        if not isinstance(self._node, ast.FunctionCall):
            raise ProgramError(f"over belongs behind an aggregate, and not behind {self!r}.")
        name = alias
        if isinstance(alias, Expression) and isinstance(alias.node, ast.Name):
            name = str(alias.node)
        if not isinstance(name, str):
            raise ProgramError(
                f"over takes the alias of a window, such as col('w'), got {alias!r}."
            )
        window = ast.Identifier(name, span=here())
        return self._made(replace(self._node, over=window), "over", self, alias)

    def get(self, name_or_index: str | int) -> Expression:
        """A field of a row, by name or by position from 0 on."""
        if isinstance(name_or_index, int):
            field = ast.Identifier(f"_{name_or_index}", span=here())
            node = ast.FieldAccess(self._node, field, name_or_index, span=here())
        else:
            field = ast.Identifier(name_or_index, span=here())
            node = ast.FieldAccess(self._node, field, span=here())
        return self._made(node, "get", self, name_or_index)

    def at(self, index: Any) -> Expression:
        """An element of an array, counted from 1, or the value of a key in a map."""
        return self._made(ast.Item(self._node, to_node(index), span=here()), "at", self, index)

    @property
    def flatten(self) -> Expression:
        """The fields of a row as columns; in ``select``."""
        return self._call("FLATTEN")
