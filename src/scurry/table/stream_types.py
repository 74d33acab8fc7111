"""Types of streams for the rows of tables."""

from __future__ import annotations

from collections.abc import Callable

from scurry.common.data_types import (
    BigIntType,
    BooleanType,
    CharacterStringType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from scurry.common.row_types import RowTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types

__all__ = ["stream_type"]

_SIMPLE: tuple[tuple[type[DataType], Callable[[], TypeInformation]], ...] = (
    (BooleanType, Types.BOOLEAN),
    (TinyIntType, Types.BYTE),
    (SmallIntType, Types.SHORT),
    (IntType, Types.INT),
    (BigIntType, Types.LONG),
    (FloatType, Types.FLOAT),
    (DoubleType, Types.DOUBLE),
    (CharacterStringType, Types.STRING),
    (DecimalType, Types.BIG_DEC),
    (DateType, Types.SQL_DATE),
    (TimeType, Types.SQL_TIME),
    (TimestampType, Types.SQL_TIMESTAMP),
)


def stream_type(row_type: RowType) -> RowTypeInfo | None:
    """The type of a stream of a table's rows, None if a column has none."""
    found = []
    for field in row_type:
        make = next((one for kind, one in _SIMPLE if isinstance(field.data_type, kind)), None)
        if make is None:
            return None
        found.append(make())
    return RowTypeInfo(found, row_type.field_names())
