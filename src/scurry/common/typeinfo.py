"""`Types`: the names by which programs ask for types.

``Types.LONG()``, ``Types.LIST(Types.STRING())`` and so on, as in PyFlink; besides,
``Types.DATACLASS(Reading)`` for a dataclass, and ``Types.of(dict[str, int])`` for whatever a Python
annotation says. The classes behind the names live in modules by family and are importable here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scurry.common.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from scurry.common.column_types import DecimalTypeInfo, ZonedTimestampTypeInfo
from scurry.common.row_types import (
    CompositeTypeInfo,
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from scurry.common.scalar_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    PickledBytesTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from scurry.common.type_inference import (
    dataclass_type,
    infer_type,
    return_type_of,
    yield_type_of,
)
from scurry.common.type_information import TypeInformation

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "CompositeTypeInfo",
    "DataclassTypeInfo",
    "DateTypeInfo",
    "DecimalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "NamedTupleTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "ZonedTimestampTypeInfo",
    "return_type_of",
    "yield_type_of",
]


class Types:
    """One factory for each type."""

    @staticmethod
    def STRING() -> TypeInformation:
        """A `str`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BYTE() -> TypeInformation:
        """An `int` of 8 bits."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """A `bool`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def SHORT() -> TypeInformation:
        """An `int` of 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT() -> TypeInformation:
        """An `int` of 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG() -> TypeInformation:
        """An `int` of 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT() -> TypeInformation:
        """A `float` of 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """A `float` of 64 bits."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR() -> TypeInformation:
        """A `str` of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """An `int` without bounds."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """A `decimal.Decimal`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT() -> TypeInformation:
        """An `Instant`."""
        return InstantTypeInfo()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """A `datetime.date`."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """A `datetime.time` without time zone."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """A `datetime.datetime` without time zone."""
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def TIMESTAMP_LTZ() -> ZonedTimestampTypeInfo:
        """A `datetime.datetime` with a time zone; PyFlink has it in tables only."""
        return ZonedTimestampTypeInfo()

    @staticmethod
    def DECIMAL(precision: int, scale: int) -> DecimalTypeInfo:
        """A `decimal.Decimal` of a fixed scale; PyFlink has it in tables only."""
        return DecimalTypeInfo(precision, scale)

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Iterable[TypeInformation]) -> RowTypeInfo:
        """A `Row` of fields without names."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(
        field_names: Iterable[str], field_types: Iterable[TypeInformation]
    ) -> RowTypeInfo:
        """A `Row` of named fields."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Iterable[TypeInformation]) -> TupleTypeInfo:
        """A tuple."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def DATACLASS(cls: type[Any]) -> DataclassTypeInfo:
        """An instance of a dataclass, its fields typed by their annotations."""
        return dataclass_type(cls)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """A list of numbers or booleans; of `BYTE`: `bytes`."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of basic values."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A list of values of any one type."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """A dict."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """A list."""
        return ListTypeInfo(element_type_info)

    @staticmethod
    def of(annotation: Any) -> TypeInformation:
        """The type that a Python annotation stands for, such as ``dict[str, int]``."""
        return infer_type(annotation)
