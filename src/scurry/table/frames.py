"""Rows of a result as a DataFrame of pandas, whose columns have the types that PyFlink's have.

They are those that Arrow gives: INT is int32, and float64 where a value is NULL; TIMESTAMP(3) is
datetime64[ms]; rows are dicts, maps lists of pairs. Columns of types that Arrow has no form for
hold the Python values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    AtomicType,
    DataType,
    IntervalType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    VariantType,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["data_frame"]


def data_frame(row_type: RowType, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """A DataFrame of all rows; without any, its columns have no type."""
    import pandas as pd

    columns = list(zip(*rows, strict=True)) or [()] * len(row_type)
    kinds = row_type.field_types()
    made = [_series(list(values), kind) for values, kind in zip(columns, kinds, strict=True)]
    frame = pd.DataFrame(dict(enumerate(made)))
    frame.columns = pd.Index(row_type.field_names())
    return frame


def _series(values: list[Any], kind: DataType) -> pd.Series:
    import pandas as pd

    if not values:
        return pd.Series([], dtype=object)
    if not _has_form(kind):
        return pd.Series(values)
    return pa.array([_formed(one, kind) for one in values], kind.arrow_type()).to_pandas()


def _has_form(kind: DataType) -> bool:
    """Whether Arrow has a form for the values, in which they are as users know them."""
    if isinstance(kind, ArrayType):
        return _has_form(kind.element_type)
    if type(kind) is MapType:
        return _has_form(kind.key_type) and _has_form(kind.value_type)
    if isinstance(kind, RowType):
        return all(_has_form(field.data_type) for field in kind)
    odd = IntervalType | LocalZonedTimestampType | VariantType
    return isinstance(kind, AtomicType) and not isinstance(kind, odd)


def _formed(value: Any, kind: DataType) -> Any:
    """A value as Arrow takes it."""
    if value is None or isinstance(kind, AtomicType):
        return value
    if isinstance(kind, ArrayType):
        return [_formed(one, kind.element_type) for one in value]
    if isinstance(kind, MapType):
        return [(_formed(k, kind.key_type), _formed(v, kind.value_type)) for k, v in value.items()]
    assert isinstance(kind, RowType)
    pairs = zip(kind, value, strict=True)
    return {field.name: _formed(one, field.data_type) for field, one in pairs}
