"""`DataTypes`: where a program gets its types from, under PyFlink's names."""

from __future__ import annotations

from collections.abc import Iterable

from scurry.common.data_types.atomic import (
    MAX_LENGTH,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    NullType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from scurry.common.data_types.data_type import DataType
from scurry.common.data_types.nested import (
    ArrayType,
    ListViewType,
    MapType,
    MapViewType,
    MultisetType,
    RawType,
    RowField,
    RowType,
)
from scurry.common.data_types.temporal import (
    DateType,
    IntervalType,
    LocalZonedTimestampType,
    Resolution,
    TimestampType,
    TimeType,
    interval,
)

_Unit = Resolution.IntervalUnit

__all__ = ["DataTypes"]


class DataTypes:
    """Makes types: ``DataTypes.ARRAY(DataTypes.INT())``."""

    @staticmethod
    def NULL() -> NullType:
        """The type of a bare NULL."""
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Texts of exactly `length` characters."""
        return CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Texts of at most `length` characters."""
        return VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        """Texts of any length."""
        return VarCharType(MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        """Truth values."""
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """Exactly `length` bytes."""
        return BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """At most `length` bytes."""
        return VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        """Bytes of any number."""
        return VarBinaryType(MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """Numbers of `precision` digits, `scale` of them behind the point."""
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """Integers of 8 bits."""
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """Integers of 16 bits."""
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """Integers of 32 bits."""
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """Integers of 64 bits."""
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """Floating-point numbers of 32 bits."""
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """Floating-point numbers of 64 bits."""
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        """Days."""
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """Times of a day."""
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """Wall-clock times with a date."""
        return TimestampType(precision, nullable=nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(
        precision: int = 6, nullable: bool = True
    ) -> LocalZonedTimestampType:
        """Points in time."""
        return LocalZonedTimestampType(precision, nullable=nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Points in time."""
        return LocalZonedTimestampType(precision, nullable=nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """Lists of values of one type."""
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """A list in an accumulator."""
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """Maps from keys of one type to values of another."""
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """A map in an accumulator."""
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Sets that count how often each element is in them."""
        return MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: Iterable[RowField | DataType] = (), nullable: bool = True) -> RowType:
        """Values with fields; fields given as bare types are called ``f0``, ``f1``, ..."""
        fields = (
            RowField(f"f{at}", field) if isinstance(field, DataType) else field
            for at, field in enumerate(row_fields)
        )
        return RowType(fields, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A field of a ROW."""
        return RowField(name, data_type, description)

    @staticmethod
    def RAW() -> RawType:
        """Values of any Python class."""
        return RawType()

    @staticmethod
    def SECOND(precision: int = 6) -> Resolution:
        """The resolution SECOND, with digits behind the point."""
        return Resolution(_Unit.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """The resolution MINUTE."""
        return Resolution(_Unit.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        """The resolution HOUR."""
        return Resolution(_Unit.HOUR)

    @staticmethod
    def DAY(precision: int = 2) -> Resolution:
        """The resolution DAY, with a number of digits."""
        return Resolution(_Unit.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """The resolution MONTH."""
        return Resolution(_Unit.MONTH)

    @staticmethod
    def YEAR(precision: int = 2) -> Resolution:
        """The resolution YEAR, with a number of digits."""
        return Resolution(_Unit.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> IntervalType:
        """Lengths of time from one resolution to another, or in one of them."""
        return interval(upper_resolution, lower_resolution)
