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
from scurry.sql.unparse import unparse
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

    def __str__(self) -> str:
        text = unparse(self._node)
        if self._names:
            text += f" AS {', '.join(self._names)}"
        if self._descending is not None:
            text += " DESC" if self._descending else " ASC"
        return text

    __repr__ = __str__

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

    def __rand__(self, other: Any) -> Expression:
        return self._logical("AND", other, self)

    def __ror__(self, other: Any) -> Expression:
        return self._logical("OR", other, self)

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
        return self._reversed("*", other)

    def __rtruediv__(self, other: Any) -> Expression:
        return self._reversed("/", other)

    def __rmod__(self, other: Any) -> Expression:
        return self._reversed("%", other)

    def __rpow__(self, other: Any) -> Expression:
        return self._function("POWER", other, self)

    def __neg__(self) -> Expression:
        return Expression(ast.Unary("-", self._node, span=here()))

    def __abs__(self) -> Expression:
        return self.abs

    def _binary(self, operator: str, other: Any) -> Expression:
        return Expression(ast.Binary(operator, to_node(self), to_node(other), span=here()))

    def _reversed(self, operator: str, other: Any) -> Expression:
        return Expression(ast.Binary(operator, to_node(other), to_node(self), span=here()))

    def _logical(self, operator: str, left: Any, right: Any) -> Expression:
        operands: list[ast.Expression] = []
        for side in (to_node(left), to_node(right)):
            same = isinstance(side, ast.Logical) and side.operator == operator
            operands.extend(cast(ast.Logical, side).operands if same else (side,))
        return Expression(ast.Logical(operator, tuple(operands), span=here()))

    def between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether this is neither below the one nor above the other."""
        return self._between(lower_bound, upper_bound, negated=False)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Expression:
        """Whether this is below the one or above the other."""
        return self._between(lower_bound, upper_bound, negated=True)

    def _between(self, low: Any, high: Any, negated: bool) -> Expression:
        bounds = to_node(low), to_node(high)
        return Expression(ast.Between(self._node, *bounds, negated, span=here()))

    def like(self, pattern: Any = None, escape: Any = None) -> Expression:
        """Whether the text matches a pattern in which ``%`` is any text and ``_`` any character."""
        sign = None if escape is None else to_node(escape)
        return Expression(ast.Like("LIKE", self._node, to_node(pattern), sign, span=here()))

    def similar(self, pattern: Any = None) -> Expression:
        """Whether the text matches a regular expression of SQL."""
        return Expression(ast.Like("SIMILAR TO", self._node, to_node(pattern), span=here()))

    def then(self, if_true: Any, if_false: Any) -> Expression:
        """The one value if this is true, else the other."""
        when = ast.When((self._node,), to_node(if_true), span=here())
        return Expression(ast.Case(None, (when,), to_node(if_false), span=here()))

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
        return Expression(ast.Is(self._node, what, negated, span=here()))

    def in_(self, first_element_or_table: Any, *remaining_elements: Any) -> Expression:
        """Whether this is one of the values, or a value of the table's only column."""
        from scurry.table.table import Table

        if isinstance(first_element_or_table, Table):
            query = first_element_or_table.as_query()
            return Expression(ast.InQuery(self._node, query, span=here()))
        items = tuple(map(to_node, (first_element_or_table, *remaining_elements)))
        return Expression(ast.InList(self._node, items, span=here()))

    def cast(self, data_type: DataType) -> Expression:
        """This as a value of another type; what cannot be one fails the job."""
        return self._cast(data_type, safe=False)

    def try_cast(self, data_type: DataType) -> Expression:
        """This as a value of another type; what cannot be one is NULL."""
        return self._cast(data_type, safe=True)

    def _cast(self, data_type: DataType, safe: bool) -> Expression:
        if not isinstance(data_type, DataType):
            raise ProgramError(
                f"cast takes a type such as DataTypes.INT(), got {data_type!r} for {self}."
            )
        return Expression(ast.Cast(self._node, data_type, safe, span=here()))

    def alias(self, name: str, *extra_names: str) -> Expression:
        """What the column is called; several names for what gives several columns."""
        for one in (name, *extra_names):
            if not isinstance(one, str) or not one:
                raise ProgramError(f"The alias of {self} is a text, got {one!r}.")
        return Expression(self._node, (name, *extra_names), self._descending)

    def as_argument(self, name: str) -> Expression:
        """The argument of that name in a call."""
        identifier = ast.Identifier(name, span=here())
        return Expression(ast.NamedArgument(identifier, self._node, span=here()))

    @property
    def asc(self) -> Expression:
        """In ``order_by``: the least value first."""
        return Expression(self._node, self._names, False)

    @property
    def desc(self) -> Expression:
        """In ``order_by``: the greatest value first."""
        return Expression(self._node, self._names, True)

    def over(self, alias: Any) -> Expression:
        """The aggregate over the window of that alias, see ``Table.over_window``."""
        if not isinstance(self._node, ast.FunctionCall):
            raise ProgramError(f"over belongs behind an aggregate, and not behind {self}.")
        name = alias
        if isinstance(alias, Expression) and isinstance(alias.node, ast.Name):
            name = str(alias.node)
        if not isinstance(name, str):
            raise ProgramError(f"over takes the alias of a window, such as col('w'), got {alias}.")
        window = ast.Identifier(name, span=here())
        return Expression(replace(self._node, over=window))

    def get(self, name_or_index: str | int) -> Expression:
        """A field of a row, by name or by position from 0 on."""
        if isinstance(name_or_index, int):
            field = ast.Identifier(f"_{name_or_index}", span=here())
            return Expression(ast.FieldAccess(self._node, field, name_or_index, span=here()))
        field = ast.Identifier(name_or_index, span=here())
        return Expression(ast.FieldAccess(self._node, field, span=here()))

    def at(self, index: Any) -> Expression:
        """An element of an array, counted from 1, or the value of a key in a map."""
        return Expression(ast.Item(self._node, to_node(index), span=here()))

    @property
    def flatten(self) -> Expression:
        """The fields of a row as columns; in ``select``."""
        return self._call("FLATTEN")
