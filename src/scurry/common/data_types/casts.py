"""Which casts there are, and which of them happen by themselves.

An *implicit* cast stays within a family of types: INT to BIGINT, CHAR to VARCHAR. Functions and
INSERT apply it without being asked. It loses nothing but what the target has no room for: a text
becomes a VARCHAR(3) by being cut, a number a DECIMAL(5, 2) by being rounded. An *explicit* one is
written CAST(x AS t), and may change or refuse the value. The table is Flink's, with
``table.exec.legacy-cast-behaviour`` off.
"""

from __future__ import annotations

from collections.abc import Callable

from scurry.common.data_types.atomic import (
    BinaryType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    NullType,
    VarBinaryType,
    VarCharType,
    VariantType,
)
from scurry.common.data_types.data_type import (
    BinaryStringType,
    CharacterStringType,
    DataType,
    FractionalType,
    IntegralType,
    NumericType,
)
from scurry.common.data_types.nested import ArrayType, MapType, MultisetType, RawType, RowType
from scurry.common.data_types.temporal import (
    DateType,
    IntervalType,
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
)

__all__ = ["supports_explicit_cast", "supports_implicit_cast"]

Rule = Callable[[DataType, DataType], bool]
_STAMPS = (TimestampType, LocalZonedTimestampType)


def supports_implicit_cast(source: DataType, target: DataType) -> bool:
    """Whether values of `source` may stand where one of `target` is wanted, nullability apart."""
    if isinstance(source, NullType) or source.nullable() == target.nullable():
        return True
    if isinstance(target, VarCharType):
        return isinstance(source, CharacterStringType)
    if isinstance(target, VarBinaryType):
        return isinstance(source, BinaryStringType)
    if isinstance(target, CharType | BinaryType):
        return type(source) is type(target)
    if isinstance(target, NumericType):
        return isinstance(source, NumericType) and _widens(source, target)
    if isinstance(target, DateType):
        return isinstance(source, TimestampType)
    if isinstance(target, TimeType):
        return isinstance(source, TimestampType | TimeType)
    if isinstance(target, _STAMPS):
        return isinstance(source, _STAMPS)
    if isinstance(target, IntervalType):
        return _same_interval(source, target)
    return _each_child(source, target, supports_implicit_cast)


def supports_explicit_cast(source: DataType, target: DataType) -> bool:
    """Whether CAST can turn values of `source` into `target`, perhaps failing on some."""
    if isinstance(source, VariantType) or isinstance(target, VariantType):
        return isinstance(source, NullType)
    if supports_implicit_cast(source, target):
        return True
    if isinstance(target, CharacterStringType):
        return not isinstance(source, NullType)
    if isinstance(source, CharacterStringType):
        return not isinstance(target, ArrayType | MapType | MultisetType | RowType | RawType)
    if isinstance(target, BinaryStringType):
        return isinstance(source, BinaryStringType | RawType)
    if isinstance(target, BooleanType):
        return isinstance(source, IntegralType | FractionalType)
    if isinstance(target, NumericType):
        return isinstance(source, NumericType | BooleanType)
    if isinstance(target, DateType | TimeType):
        return isinstance(source, _STAMPS)
    if isinstance(target, _STAMPS):
        return isinstance(source, DateType | TimeType)
    if isinstance(target, ArrayType) and isinstance(source, MultisetType):
        return False
    return _each_child(source, target, supports_explicit_cast)


def _widens(source: NumericType, target: NumericType) -> bool:
    if isinstance(target, IntegralType):
        return isinstance(source, IntegralType) and source.bits <= target.bits
    if isinstance(target, DecimalType):
        return True
    if isinstance(target, FloatType):
        return not isinstance(source, DoubleType)
    return True


def _same_interval(source: DataType, target: IntervalType) -> bool:
    return type(source) is type(target)


def _each_child(source: DataType, target: DataType, allowed: Rule) -> bool:
    if type(source) is not type(target) or len(source.children) != len(target.children):
        return False
    if not source.children:
        return isinstance(source, BooleanType | RowType)
    return all(map(allowed, source.children, target.children))
