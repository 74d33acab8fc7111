"""Expressions as functions of the values of one row, for where rows come one at a time.

Only what is cheap and means the same on single values is made: comparisons, AND, OR and NOT of
three values, tests for null, sums, differences and products of whole numbers and doubles. For
everything else there is no such function, and the expression is evaluated on columns of one row.
The same goes for aggregates of few rows: COUNT, SUM, AVG, MIN and MAX of whole numbers and doubles.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from scurry.common.data_types import (
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DoubleType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from scurry.functions.aggregate_calls import AggregateCall
from scurry.functions.expressions import Call, Expression, InputRef, Literal

#: The value of an expression, given those of the columns.
RowFunction = Callable[[Sequence[Any]], Any]
_BITS: dict[type[DataType], int] = {
    TinyIntType: 8,
    SmallIntType: 16,
    IntType: 32,
    BigIntType: 64,
}
_NUMBERS: tuple[type[DataType], ...] = (*_BITS, DoubleType)
_COMPARED: tuple[type[DataType], ...] = (*_NUMBERS, BooleanType, CharType, VarCharType)
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}


def row_function(tree: Expression) -> RowFunction | None:
    """The function that ``tree`` is of the values of a row, None if there is none."""
    if isinstance(tree, InputRef):
        return operator.itemgetter(tree.index) if _simple(tree.type) else None
    if isinstance(tree, Literal):
        value = tree.value
        return (lambda row: value) if _simple(tree.type) or value is None else None
    if not isinstance(tree, Call):
        return None
    operands = [row_function(one) for one in tree.operands]
    found = [one for one in operands if one is not None]
    if len(found) < len(operands):
        return None
    return _call(tree, found)


def _simple(kind: DataType) -> bool:
    return isinstance(kind, _COMPARED)


def _call(tree: Call, operands: list[RowFunction]) -> RowFunction | None:
    name = tree.function
    if name in _COMPARISONS and len(operands) == 2:
        return _both(_COMPARISONS[name], *operands)
    if name in _ARITHMETIC and len(operands) == 2 and isinstance(tree.type, _NUMBERS):
        return _arithmetic(_ARITHMETIC[name], tree.type, *operands)
    if name == "AND":
        return _connected(operands, False)
    if name == "OR":
        return _connected(operands, True)
    if name == "NOT":
        return _not(operands[0])
    if name in ("IS NULL", "IS NOT NULL"):
        return _is_null(operands[0], name == "IS NULL")
    if name == "CAST":
        return _widened(tree, operands[0])
    return None


def _widened(tree: Call, operand: RowFunction) -> RowFunction | None:
    """A cast that no number fails: whole numbers stay, or become doubles."""
    source, target = _BITS.get(type(tree.operands[0].type)), tree.type
    if source is None or not isinstance(target, _NUMBERS):
        return None
    if source <= _BITS.get(type(target), 0):
        return operand
    if not isinstance(target, DoubleType):
        return None

    def double(row: Sequence[Any]) -> Any:
        value = operand(row)
        return None if value is None else float(value)

    return double


def _both(compare: Callable[[Any, Any], Any], left: RowFunction, right: RowFunction) -> RowFunction:
    def compared(row: Sequence[Any]) -> Any:
        one, other = left(row), right(row)
        return None if one is None or other is None else compare(one, other)

    return compared


def _arithmetic(
    compute: Callable[[Any, Any], Any], kind: DataType, left: RowFunction, right: RowFunction
) -> RowFunction:
    """Whole numbers that become too large begin again at the other end, as they do in columns."""
    bits = _BITS.get(type(kind))
    if bits is None:
        return _both(lambda one, other: compute(float(one), float(other)), left, right)
    return _both(lambda one, other: _turned(compute(one, other), bits), left, right)


def _turned(number: int, bits: int) -> int:
    """A whole number in so many bits."""
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def _connected(operands: list[RowFunction], decisive: bool) -> RowFunction:
    """AND is false if one operand is, OR true; otherwise null if one is."""

    def connected(row: Sequence[Any]) -> Any:
        found: bool | None = not decisive
        for one in operands:
            value = one(row)
            if value is None:
                found = None
            elif value is decisive:
                return decisive
        return found

    return connected


def _not(operand: RowFunction) -> RowFunction:
    def negated(row: Sequence[Any]) -> Any:
        value = operand(row)
        return None if value is None else not value

    return negated


def _is_null(operand: RowFunction, wanted: bool) -> RowFunction:
    return lambda row: (operand(row) is None) is wanted


def values_aggregate(
    call: AggregateCall, arguments: Sequence[Expression]
) -> Callable[[list[Sequence[Any]]], Any] | None:
    """The function that an aggregate is of the values of some rows, None if there is none."""
    if call.distinct or call.filter is not None or not isinstance(call.function, str):
        return None
    if not arguments:
        return len if call.function == "COUNT" else None
    combine = _combining(call)
    code = row_function(arguments[0])
    if combine is None or code is None or len(arguments) != 1:
        return None
    if call.function != "COUNT" and not isinstance(arguments[0].type, _NUMBERS):
        return None

    def aggregate(rows: list[Sequence[Any]]) -> Any:
        return combine([value for row in rows if (value := code(row)) is not None])

    return aggregate


def _combining(call: AggregateCall) -> Callable[[list[Any]], Any] | None:
    name, kind = str(call.function), call.type
    if name == "COUNT":
        return len
    if name in ("MIN", "MAX"):
        choose: Callable[..., Any] = min if name == "MIN" else max
        return lambda values: choose(values, default=None)
    if name not in ("SUM", "AVG"):
        return None
    if pa.types.is_float64(kind):
        mean = name == "AVG"
        return lambda values: _sum(values) / (len(values) if mean else 1) if values else None
    if not pa.types.is_signed_integer(kind):
        return None
    bits = kind.bit_width
    if name == "SUM":
        return lambda values: _turned(sum(values), bits) if values else None
    # the sum is held in 64 bits, and is divided towards zero
    return lambda values: _divided(_turned(sum(values), 64), len(values)) if values else None


def _sum(values: list[float]) -> float:
    """In order, one by one: what ``sum`` gives is more exact in some versions of Python."""
    total = 0.0
    for value in values:
        total += value
    return total


def _divided(total: int, count: int) -> int:
    found = abs(total) // count
    return found if total >= 0 else -found
