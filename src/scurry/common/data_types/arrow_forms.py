"""From Arrow types to data types: what columns that came from elsewhere are in SQL."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.types as kinds

from scurry.common.data_types.atomic import DecimalType
from scurry.common.data_types.data_type import DataType
from scurry.common.data_types.factory import DataTypes
from scurry.common.data_types.nested import RowField, RowType
from scurry.common.errors import TypeMismatchError

__all__ = ["data_type_from_arrow", "row_type_from_arrow"]

_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[], DataType]], ...] = (
    (kinds.is_boolean, DataTypes.BOOLEAN),
    (kinds.is_int8, DataTypes.TINYINT),
    (kinds.is_int16, DataTypes.SMALLINT),
    (kinds.is_uint8, DataTypes.SMALLINT),
    (kinds.is_int32, DataTypes.INT),
    (kinds.is_uint16, DataTypes.INT),
    (kinds.is_int64, DataTypes.BIGINT),
    (kinds.is_uint32, DataTypes.BIGINT),
    (kinds.is_uint64, lambda: DecimalType(20, 0)),
    (kinds.is_float16, DataTypes.FLOAT),
    (kinds.is_float32, DataTypes.FLOAT),
    (kinds.is_float64, DataTypes.DOUBLE),
    (kinds.is_string, DataTypes.STRING),
    (kinds.is_large_string, DataTypes.STRING),
    (kinds.is_string_view, DataTypes.STRING),
    (kinds.is_binary, DataTypes.BYTES),
    (kinds.is_large_binary, DataTypes.BYTES),
    (kinds.is_date, DataTypes.DATE),
    (kinds.is_null, DataTypes.NULL),
)


def data_type_from_arrow(arrow: pa.DataType, nullable: bool = True) -> DataType:
    """The data type of an Arrow column; its `arrow_type` may be another, to which it is cast."""
    return _from_arrow(arrow).with_nullability(nullable)


def row_type_from_arrow(schema: pa.Schema) -> RowType:
    """The row type of record batches with that schema."""
    return RowType(_field(field) for field in schema)


def _field(field: pa.Field) -> RowField:
    return RowField(field.name, data_type_from_arrow(field.type, field.nullable))


def _from_arrow(arrow: pa.DataType) -> DataType:
    for matches, make in _SIMPLE:
        if matches(arrow):
            return make()
    if kinds.is_dictionary(arrow):
        return _from_arrow(arrow.value_type)
    if kinds.is_time(arrow):
        return DataTypes.TIME(_DIGITS[arrow.unit])
    if kinds.is_timestamp(arrow):
        digits = _DIGITS[arrow.unit]
        return DataTypes.TIMESTAMP_LTZ(digits) if arrow.tz else DataTypes.TIMESTAMP(digits)
    if kinds.is_decimal(arrow):
        return DecimalType(arrow.precision, max(arrow.scale, 0))
    return _nested(arrow)


def _nested(arrow: pa.DataType) -> DataType:
    if kinds.is_fixed_size_binary(arrow):
        return DataTypes.BINARY(arrow.byte_width)
    if kinds.is_list(arrow) or kinds.is_large_list(arrow) or kinds.is_fixed_size_list(arrow):
        return DataTypes.ARRAY(_from_arrow(arrow.value_type))
    if kinds.is_map(arrow):
        return DataTypes.MAP(_from_arrow(arrow.key_type), _from_arrow(arrow.item_type))
    if kinds.is_struct(arrow):
        return RowType(_field(arrow.field(at)) for at in range(arrow.num_fields))
    raise TypeMismatchError(f"columns of the Arrow type {arrow} have no form in SQL")
