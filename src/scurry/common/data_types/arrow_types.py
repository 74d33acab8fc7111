"""Arrow types of data types as PyFlink has them, which programs with Arrow or pandas ask for.

They are not always those of a column here: PyFlink keeps a TIME to its precision, points in time
without a zone, and BINARY at its length.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from scurry.common.data_types.arrow_forms import data_type_from_arrow
from scurry.common.data_types.atomic import BinaryType
from scurry.common.data_types.data_type import DataType
from scurry.common.data_types.nested import ArrayType, MapType, RowType
from scurry.common.data_types.temporal import (
    LocalZonedTimestampType,
    TimestampType,
    TimeType,
    unit_of,
)
from scurry.common.errors import ProgramError

__all__ = ["create_arrow_schema", "from_arrow_type", "to_arrow_type"]


def create_arrow_schema(field_names: Sequence[str], field_types: Sequence[DataType]) -> pa.Schema:
    """The Arrow schema of columns."""
    pairs = zip(field_names, field_types, strict=True)
    return pa.schema([pa.field(name, to_arrow_type(one), one.is_nullable) for name, one in pairs])


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> DataType:
    """The data type of an Arrow type; a timestamp is a TIMESTAMP, whether it has a zone or not."""
    if pa.types.is_timestamp(arrow_type):
        arrow_type = pa.timestamp(arrow_type.unit)
    return data_type_from_arrow(arrow_type, nullable)


def to_arrow_type(data_type: DataType) -> pa.DataType:
    """The Arrow type of a data type."""
    if isinstance(data_type, TimeType):
        unit = _unit(data_type.precision)
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return pa.timestamp(_unit(data_type.precision))
    if isinstance(data_type, BinaryType):
        return pa.binary(data_type.length)
    if isinstance(data_type, MapType):
        return pa.map_(to_arrow_type(data_type.key_type), to_arrow_type(data_type.value_type))
    if isinstance(data_type, ArrayType):
        return pa.list_(to_arrow_type(_plain(data_type.element_type, data_type)))
    if isinstance(data_type, RowType):
        return pa.struct(
            pa.field(
                one.name,
                to_arrow_type(_plain(one.data_type, data_type)),
                one.data_type.is_nullable,
            )
            for one in data_type.fields
        )
    return data_type.arrow_type()


def _unit(precision: int) -> str:
    return "s" if precision == 0 else unit_of(precision)


def _plain(inner: DataType, outer: DataType) -> DataType:
    """What is within arrays and rows, as far as PyFlink has an Arrow type for it."""
    if isinstance(inner, LocalZonedTimestampType | RowType):
        raise ProgramError(
            f"{outer.describe()} has no Arrow type in PyFlink, because of {inner.describe()} "
            "within it. Its column here is that of DataType.arrow_type()."
        )
    return inner
