"""The type that values of several types have in common.

The branches of a CASE, the rows of a UNION, the elements of ARRAY[...] and the two sides of a
comparison need one type that holds all their values. It is nullable if one of them is. Of FLOAT and
DOUBLE the one that comes first is taken, as in Flink.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from scurry.common.data_types.arithmetic_types import as_decimal
from scurry.common.data_types.atomic import (
    MAX_PRECISION,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    NullType,
    VarBinaryType,
    VarCharType,
)
from scurry.common.data_types.data_type import (
    BinaryStringType,
    CharacterStringType,
    DataType,
    IntegralType,
    NumericType,
)
from scurry.common.data_types.nested import ArrayType, MapType, MultisetType, RowField, RowType
from scurry.common.data_types.temporal import (
    DayTimeIntervalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)

__all__ = ["common_type"]


def common_type(types: Iterable[DataType]) -> DataType | None:
    """The narrowest type that holds the values of all `types`, or None if there is none."""
    given = list(types)
    assert given, "there is no common type of nothing"
    nullable = any(t.is_nullable for t in given)
    known = [t.nullable() for t in given if not isinstance(t, NullType)]
    first: DataType | None = known[0] if known else NullType()
    found = reduce(_of_two_or_none, known[1:], first)
    return None if found is None else found.with_nullability(nullable)


def _of_two_or_none(left: DataType | None, right: DataType) -> DataType | None:
    if left is None or left == right:
        return left
    found = _of_two(left.nullable(), right.nullable())
    nullable = left.is_nullable or right.is_nullable
    return None if found is None else found.with_nullability(nullable)


def _of_two(left: DataType, right: DataType) -> DataType | None:
    if left == right:
        return left
    if isinstance(left, NumericType) and isinstance(right, NumericType):
        return _numbers(left, right)
    if isinstance(left, CharacterStringType) and isinstance(right, CharacterStringType):
        return _texts(left, right)
    if isinstance(left, BinaryStringType) and isinstance(right, BinaryStringType):
        return VarBinaryType(max(left.length, right.length))
    return _times(left, right) or _nested(left, right)


def _texts(left: CharacterStringType, right: CharacterStringType) -> DataType:
    longest = max(left.length, right.length)
    if isinstance(left, CharType) and isinstance(right, CharType) and left.length == right.length:
        return CharType(longest)
    return VarCharType(longest)


def _numbers(left: NumericType, right: NumericType) -> DataType:
    if isinstance(left, IntegralType) and isinstance(right, IntegralType):
        return left if left.bits >= right.bits else right
    if isinstance(left, FloatType | DoubleType) or isinstance(right, FloatType | DoubleType):
        if isinstance(left, DecimalType) or isinstance(right, DecimalType):
            return DoubleType()
        return right if isinstance(left, IntegralType) else left
    one, two = as_decimal(left), as_decimal(right)
    scale = max(one.scale, two.scale)
    whole = max(one.precision - one.scale, two.precision - two.scale)
    return DecimalType(min(MAX_PRECISION, whole + scale), min(scale, MAX_PRECISION - whole))


def _times(left: DataType, right: DataType) -> DataType | None:
    if isinstance(left, DayTimeIntervalType) and isinstance(right, DayTimeIntervalType):
        return DayTimeIntervalType()
    if isinstance(left, YearMonthIntervalType) and isinstance(right, YearMonthIntervalType):
        return YearMonthIntervalType()
    if isinstance(left, TimeType) and isinstance(right, TimeType):
        return TimeType(max(left.precision, right.precision))
    stamps = (TimestampType, LocalZonedTimestampType)
    if not isinstance(left, stamps) or not isinstance(right, stamps):
        return None
    digits = max(left.precision, right.precision)
    if LocalZonedTimestampType in (type(left), type(right)):
        return LocalZonedTimestampType(digits)
    return TimestampType(digits)


def _nested(left: DataType, right: DataType) -> DataType | None:
    if type(left) is not type(right) or len(left.children) != len(right.children):
        return None
    merged = list(map(_of_two_or_none, left.children, right.children))
    parts = [part for part in merged if part is not None]
    if len(parts) != len(merged) or not parts:
        return None
    if isinstance(left, ArrayType):
        return ArrayType(parts[0])
    if isinstance(left, MultisetType):
        return MultisetType(parts[0])
    if isinstance(left, MapType):
        return MapType(parts[0], parts[1])
    if isinstance(left, RowType):
        return RowType(map(RowField, left.names, parts))
    return None
