"""What a function takes in a place: a family of types, and what other types become there.

Each family has a short name, in which signatures are written: ``string, int [, string]``. A family
answers, for the type of an argument, with the type that the function is given: the same one, a
wider one to which the argument is cast without loss, or None if it does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    BooleanType,
    CharacterStringType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    IntegralType,
    IntervalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    TimestampType,
    TimeType,
    VariantType,
    supports_implicit_cast,
)

__all__ = ["FAMILIES", "Family"]


@dataclass(frozen=True)
class Family:
    """A family: its name as documentation writes it, and what becomes of an argument."""

    label: str
    adapt: Callable[[DataType], DataType | None]


def _kinds(label: str, *classes: type, null_as: DataType | None = None) -> Family:
    """Types of those classes as they are; a bare NULL becomes `null_as`."""

    def adapt(given: DataType) -> DataType | None:
        if isinstance(given, NullType):
            return null_as
        return given if isinstance(given, classes) else None

    return Family(label, adapt)


def _cast_to(label: str, target: DataType) -> Family:
    """Whatever becomes `target` without loss."""

    def adapt(given: DataType) -> DataType | None:
        if not supports_implicit_cast(given, target):
            return None
        return target.with_nullability(given.is_nullable)

    return Family(label, adapt)


def _to_double(given: DataType) -> DataType | None:
    if not isinstance(given, NumericType | NullType):
        return None
    return DataTypes.DOUBLE(given.is_nullable)


def _with_order(given: DataType) -> DataType | None:
    without = (VariantType, ArrayType, MapType, MultisetType, RowType)
    return None if isinstance(given, without) else given


FAMILIES: dict[str, Family] = {
    "any": Family("value", lambda given: given),
    "ordered": Family("value with an order", _with_order),
    "string": _kinds("STRING", CharacterStringType, null_as=DataTypes.STRING()),
    "binary": _kinds("BINARY", BinaryStringType, null_as=DataTypes.BYTES()),
    "boolean": _kinds("BOOLEAN", BooleanType, null_as=DataTypes.BOOLEAN()),
    "numeric": _kinds("NUMERIC", NumericType, null_as=DataTypes.INT()),
    "integer": _kinds("INTEGER", IntegralType, null_as=DataTypes.INT()),
    "exact": _kinds("INTEGER or DECIMAL", IntegralType, DecimalType, null_as=DataTypes.INT()),
    "int": _cast_to("INT", DataTypes.INT()),
    "bigint": _cast_to("BIGINT", DataTypes.BIGINT()),
    "double": Family("NUMERIC", _to_double),
    "date": _kinds("DATE", DateType),
    "time": _kinds("TIME", TimeType),
    "stamp": _kinds("TIMESTAMP", TimestampType, LocalZonedTimestampType),
    "timestamp": _kinds("TIMESTAMP", TimestampType),
    "ltz": _kinds("TIMESTAMP_LTZ", LocalZonedTimestampType),
    "temporal": _kinds(
        "DATE, TIME or TIMESTAMP", DateType, TimeType, TimestampType, LocalZonedTimestampType
    ),
    "point": _kinds("DATE or TIMESTAMP", DateType, TimestampType, LocalZonedTimestampType),
    "interval": _kinds("INTERVAL", IntervalType),
    "duration": _kinds("INTERVAL DAY TO SECOND", DayTimeIntervalType),
    "array": _kinds("ARRAY", ArrayType),
    "map": _kinds("MAP", MapType),
    "multiset": _kinds("MULTISET", MultisetType),
    "row": _kinds("ROW", RowType),
}
