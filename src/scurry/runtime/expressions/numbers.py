"""Arithmetic on columns, with Java's and Flink's meaning.

Integers wrap around, and their division cuts the fraction off. Dividing integers or decimals by
zero fails; floating-point numbers become infinite. The result of decimal arithmetic has the type
that the planner gave it: it is rounded, halves away from zero, and NULL if it has more digits than
the type holds.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from scurry.common.data_types import (
    DayTimeIntervalType,
    DecimalType,
    IntervalType,
    NumericType,
    as_decimal,
)
from scurry.functions.expressions import Call
from scurry.runtime.expressions.errors import EvaluationError
from scurry.runtime.expressions.frames import Datum, Frame, as_array
from scurry.runtime.expressions.kernels import Evaluate, kernel
from scurry.runtime.expressions.python_values import apply
from scurry.runtime.expressions.times import add_interval

__all__ = ["fitted_decimal", "rounded", "zero_of"]

EXACT = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP)
DIVISION = decimal.Context(prec=38, rounding=decimal.ROUND_HALF_UP)


def fitted_decimal(value: decimal.Decimal, precision: int, scale: int) -> decimal.Decimal | None:
    """The number rounded to a scale, None if it then has more digits than the precision."""
    made = value.quantize(decimal.Decimal(1).scaleb(-scale), context=EXACT)
    return made if len(made.as_tuple().digits) <= precision or not made else None


def _decimal_call(call: Call, compute: Callable[..., decimal.Decimal]) -> Evaluate:
    """Decimal arithmetic one pair of values at a time, exactly."""
    result = call.type
    assert isinstance(result, DecimalType)
    precision, scale, kind = result.precision, result.scale, result.arrow_type()

    def value(left: decimal.Decimal, right: decimal.Decimal) -> decimal.Decimal | None:
        return fitted_decimal(compute(left, right), precision, scale)

    return lambda rows, left, right: apply(value, (left, right), rows, kind)


def _natural(call: Call, arrow: Callable[..., Any]) -> bool:
    """Whether Arrow's own result type, which loses nothing, is that of the call."""
    left, right = (as_decimal(operand.type) for operand in call.operands)
    probe = [pa.scalar(None, t.arrow_type()) for t in (left, right)]
    try:
        return bool(arrow(*probe).type == call.type.arrow_type())
    except pa.ArrowInvalid:
        return False


def _arithmetic(arrow: Callable[..., Any], exact: Callable[..., Any]) -> Callable[[Call], Evaluate]:
    def build(call: Call) -> Evaluate:
        if isinstance(call.type, DecimalType) and not _natural(call, arrow):
            return _decimal_call(call, exact)
        return lambda rows, left, right: arrow(left, right)

    return build


_ADD = _arithmetic(pc.add, EXACT.add)
_SUBTRACT = _arithmetic(pc.subtract, EXACT.subtract)
_MULTIPLY = _arithmetic(pc.multiply, EXACT.multiply)


@kernel("+")
def _plus(call: Call) -> Evaluate:
    if isinstance(call.type, NumericType | IntervalType):
        return _ADD(call)
    months = not isinstance(call.operands[1].type, DayTimeIntervalType)
    return lambda rows, left, right: add_interval(rows, left, right, months, 1)


@kernel("-")
def _minus(call: Call) -> Evaluate:
    if isinstance(call.type, NumericType | IntervalType):
        return _SUBTRACT(call)
    months = not isinstance(call.operands[1].type, DayTimeIntervalType)
    return lambda rows, left, right: add_interval(rows, left, right, months, -1)


@kernel("*")
def _times(call: Call) -> Evaluate:
    if isinstance(call.type, IntervalType):
        kind = call.type.arrow_type()
        return lambda rows, left, right: pc.cast(
            pc.trunc(pc.multiply(left, right.cast(pa.float64()))), kind, safe=False
        )
    return _MULTIPLY(call)


def zero_of(kind: pa.DataType) -> pa.Scalar:
    """Zero as a number of a type."""
    return pa.scalar(decimal.Decimal(0) if kinds.is_decimal(kind) else 0, kind)


def _refuse_zero(dividend: Datum, divisor: Datum) -> None:
    zero = pc.equal(divisor, zero_of(divisor.type))
    wrong = pc.and_(zero, pc.is_valid(dividend))
    if (wrong if isinstance(wrong, pa.Scalar) else pc.any(wrong)).as_py():
        raise EvaluationError("division by zero")


def _quotient(left: Datum, right: Datum) -> Datum:
    """Java's integer division: towards zero; the least integer by -1 is itself."""
    safe = pc.if_else(pc.or_kleene(pc.equal(right, 0), pc.equal(right, -1)), 1, right)
    whole = pc.divide(left, safe.cast(right.type))
    return pc.if_else(pc.equal(right, -1), pc.negate(left), whole)


@kernel("/")
def _divide(call: Call) -> Evaluate:
    if isinstance(call.type, DecimalType):
        exact = _decimal_call(call, DIVISION.divide)
        return _checked(exact)
    if kinds.is_integer(call.type.arrow_type()):
        return _checked(lambda rows, left, right: _quotient(left, right))
    return lambda rows, left, right: pc.divide(left, right)


@kernel("%")
def _modulo(call: Call) -> Evaluate:
    if isinstance(call.type, DecimalType):
        return _checked(_decimal_call(call, EXACT.remainder))
    return _checked(
        lambda rows, left, right: pc.subtract(left, pc.multiply(_quotient(left, right), right))
    )


def _checked(compute: Evaluate) -> Evaluate:
    def evaluate(rows: Frame, left: Datum, right: Datum) -> Datum:
        _refuse_zero(left, right)
        return compute(rows, left, right)

    return evaluate


def rounded(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Decimals rounded to the scale of `kind`, NULL where they do not fit into it."""
    if kinds.is_decimal(column.type) and column.type.scale > kind.scale:
        column = pc.round(column, kind.scale, "half_towards_infinity")
    wide = column.cast(pa.decimal256(76, kind.scale))
    limit = decimal.Decimal(10) ** (kind.precision - kind.scale)
    bound = pa.scalar(limit, pa.decimal256(76, kind.scale))
    fits = pc.less(pc.abs(wide), bound)
    return pc.if_else(fits, wide, pa.scalar(None, wide.type)).cast(kind)


def numpy_double(name: str, compute: Callable[..., Any]) -> None:
    """Registers a function of NumPy's over columns of doubles."""

    def build(call: Call) -> Evaluate:
        def evaluate(rows: Frame, *values: Datum) -> pa.Array:
            columns = [as_array(value, rows.count) for value in values]
            nulls = np.zeros(rows.count, dtype=bool)
            for column in columns:
                if column.null_count:
                    nulls |= column.is_null().to_numpy(zero_copy_only=False)
            plain = [c.fill_null(1.0).to_numpy(zero_copy_only=False) for c in columns]
            with np.errstate(all="ignore"):
                made = compute(*plain)
            return pa.array(made, pa.float64(), mask=nulls if nulls.any() else None)

        return evaluate

    kernel(name)(build)
