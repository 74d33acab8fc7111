"""Types of streams for the rows of tables, and columns of tables for the elements of streams.

Not every element of a stream has an Arrow form: a `BIG_DEC` has any number of digits, a pickled
object is anything. :func:`column_form` says what such elements become in a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo
from scurry.common.column_types import (
    InstantColumnTypeInfo,
    RawTypeInfo,
    RoundedDecimalTypeInfo,
)
from scurry.common.data_types import (
    ArrayType,
    BigIntType,
    BooleanType,
    CharacterStringType,
    DataType,
    DataTypes,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    MapType,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    data_type_from_arrow,
)
from scurry.common.row_types import CompositeTypeInfo, RowTypeInfo
from scurry.common.scalar_types import PickledBytesTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types

__all__ = ["column_form", "row_type_of", "stream_type"]

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

#: what becomes of types whose values no Arrow column holds as they are; the digits are Flink's
_FORMS: dict[TypeInformation, TypeInformation] = {
    Types.BIG_DEC(): RoundedDecimalTypeInfo(38, 18),
    Types.BIG_INT(): RawTypeInfo(),
    Types.INSTANT(): InstantColumnTypeInfo(),
    PickledBytesTypeInfo(): RawTypeInfo(),
}


def column_form(type_info: TypeInformation | None) -> TypeInformation:
    """A type as the columns of a table hold it; nothing is known of what has no type."""
    if type_info is None:
        return RawTypeInfo()
    if type_info.arrow_type() is not None:
        return type_info
    if type_info in _FORMS:
        return _FORMS[type_info]
    formed = type(type_info)(*map(_formed, type_info._args()))
    return RawTypeInfo() if formed.arrow_type() is None else formed


def _formed(argument: Any) -> Any:
    if isinstance(argument, TypeInformation):
        return column_form(argument)
    if isinstance(argument, tuple):
        return tuple(map(_formed, argument))
    return argument


def row_type_of(form: TypeInformation) -> RowType:
    """The columns of a table whose rows are elements of such a form."""
    if isinstance(form, CompositeTypeInfo):
        kind = _data_type(form)
        assert isinstance(kind, RowType)
        return kind
    return RowType.of(["f0"], [_data_type(form)])


def _data_type(form: TypeInformation) -> DataType:
    if isinstance(form, RawTypeInfo):
        return DataTypes.RAW()
    if isinstance(form, CompositeTypeInfo):
        inner = map(_data_type, form.field_types())
        return RowType(list(map(RowField, form.field_names(), inner)))
    if isinstance(form, MapTypeInfo):
        key, value = map(_data_type, form._args())
        return MapType(key, value)
    if form == Types.SQL_TIME():
        return DataTypes.TIME()
    arrow = form.arrow_type()
    assert arrow is not None, "a form has a column"
    found = data_type_from_arrow(arrow)
    if isinstance(form, ListTypeInfo) and isinstance(found, ArrayType):
        return ArrayType(_data_type(form.elem_type))
    return found


def stream_type(row_type: RowType) -> RowTypeInfo | None:
    """The type of a stream of a table's rows, None if a column has none."""
    found = []
    for field in row_type:
        make = next((one for kind, one in _SIMPLE if isinstance(field.data_type, kind)), None)
        if make is None:
            return None
        found.append(make())
    return RowTypeInfo(found, row_type.field_names())
