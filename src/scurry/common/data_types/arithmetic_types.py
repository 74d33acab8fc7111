"""How many digits the result of decimal arithmetic has.

Flink's rules: an exact result is given as many digits as it can need; where those are more than 38,
digits behind the point go first, but not below six of them. Integers count as decimals of as many
digits as they can have.
"""

from __future__ import annotations

from scurry.common.data_types.atomic import MAX_PRECISION, DecimalType
from scurry.common.data_types.data_type import DataType, IntegralType

__all__ = [
    "as_decimal",
    "average_type",
    "division_type",
    "modulo_type",
    "product_type",
    "rounded_type",
    "sum_type",
    "summed_type",
]

_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_LEAST_SCALE = 6


def as_decimal(data_type: DataType) -> DecimalType:
    """A decimal type that holds every value of an exact numeric type."""
    if isinstance(data_type, DecimalType):
        return data_type
    assert isinstance(data_type, IntegralType), data_type
    return DecimalType(_DIGITS[data_type.bits], 0, data_type.is_nullable)


def _fitted(precision: int, scale: int) -> DecimalType:
    if precision <= MAX_PRECISION:
        return DecimalType(precision, scale)
    digits = precision - scale
    return DecimalType(MAX_PRECISION, max(MAX_PRECISION - digits, min(scale, _LEAST_SCALE)))


def sum_type(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of left + right and left - right."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return _fitted(whole + scale + 1, scale)


def product_type(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of left * right."""
    return _fitted(left.precision + right.precision + 1, left.scale + right.scale)


def division_type(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of left / right."""
    scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
    return _fitted(left.precision - left.scale + right.scale + scale, scale)


def modulo_type(left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of left % right."""
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return _fitted(whole + scale, scale)


def rounded_type(value: DecimalType, digits: int) -> DecimalType:
    """The type of a decimal rounded to so many digits behind the point."""
    if digits >= value.scale:
        return value
    whole = value.precision - value.scale + 1
    if digits < 0:
        return DecimalType(min(MAX_PRECISION, whole), 0)
    return DecimalType(whole + digits, digits)


def summed_type(value: DataType) -> DataType:
    """The type of SUM over a column: integers keep their type, decimals get all 38 digits."""
    if isinstance(value, DecimalType):
        return DecimalType(MAX_PRECISION, value.scale, value.is_nullable)
    return value


def average_type(value: DataType) -> DataType:
    """The type of AVG over a column: an integer for integers, at least six digits for decimals."""
    if isinstance(value, DecimalType):
        scale = max(_LEAST_SCALE, value.scale)
        return DecimalType(MAX_PRECISION, scale, value.is_nullable)
    return value
