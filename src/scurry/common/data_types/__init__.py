"""The types of SQL's values, under PyFlink's names, and how they relate.

- `data_type`, `atomic`, `temporal`, `nested`: the classes; `factory`: `DataTypes` makes them.
- `names`, `type_text`: types from SQL text; `arrow_forms`: types of Arrow columns.
- `common_types`, `arithmetic_types`, `casts`: which type a result has, and what may become what.
"""

from __future__ import annotations

from scurry.common.data_types.arithmetic_types import (
    as_decimal,
    average_type,
    division_type,
    modulo_type,
    product_type,
    rounded_type,
    sum_type,
    summed_type,
)
from scurry.common.data_types.arrow_forms import data_type_from_arrow, row_type_from_arrow
from scurry.common.data_types.atomic import (
    MAX_LENGTH,
    MAX_PRECISION,
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
    VariantType,
)
from scurry.common.data_types.casts import supports_explicit_cast, supports_implicit_cast
from scurry.common.data_types.common_types import common_type
from scurry.common.data_types.data_type import (
    AtomicType,
    BinaryStringType,
    CharacterStringType,
    DataType,
    FractionalType,
    IntegralType,
    NumericType,
)
from scurry.common.data_types.factory import DataTypes
from scurry.common.data_types.names import TYPE_NAMES, type_from_name
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
    DayTimeIntervalType,
    IntervalType,
    LocalZonedTimestampType,
    Resolution,
    TimestampKind,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    ZonedTimestampType,
    interval,
    unit_of,
)
from scurry.common.data_types.type_text import data_type_from_text

__all__ = [
    "MAX_LENGTH",
    "MAX_PRECISION",
    "TYPE_NAMES",
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryStringType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "CharacterStringType",
    "DataType",
    "DataTypes",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "IntervalType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "RowField",
    "RowType",
    "SmallIntType",
    "TimeType",
    "TimestampKind",
    "TimestampType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "VariantType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "as_decimal",
    "average_type",
    "common_type",
    "data_type_from_arrow",
    "data_type_from_text",
    "division_type",
    "interval",
    "modulo_type",
    "product_type",
    "rounded_type",
    "row_type_from_arrow",
    "sum_type",
    "summed_type",
    "supports_explicit_cast",
    "supports_implicit_cast",
    "type_from_name",
    "unit_of",
]
