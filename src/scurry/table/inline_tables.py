"""Tables of rows that the program already has: lists of tuples, DataFrames."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import (
    ArrayType,
    DataType,
    DataTypes,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    common_type,
    data_type_from_arrow,
)
from scurry.common.errors import ProgramError, TypeMismatchError, shorten
from scurry.common.types import Row
from scurry.connectors.relation import RelationSource
from scurry.plan import nodes
from scurry.plan.node import Node as PlanNode
from scurry.planner.catalog import ScanRequest
from scurry.table.schema import Schema, UnresolvedPhysicalColumn
from scurry.table.session_catalog import InlineTable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["InlineRows", "table_of_elements", "table_of_frame"]


class InlineRows:
    """Reads rows that are held as columns."""

    def __init__(self, columns: pa.Table, kinds: Any = None) -> None:
        self._columns = columns
        self._kinds = kinds

    def scan(self, request: ScanRequest) -> PlanNode:
        """A source of just the columns of the request."""
        names = [column.name for column in request.columns]
        schema = pa.schema([(one.name, one.type.arrow_type()) for one in request.columns])
        picked = self._columns.select(names).cast(schema)
        return nodes.Source(name="Source: rows", source=RelationSource(picked, self._kinds))

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        """Rows of the program cannot be looked up."""
        return None

    def sink(self, source: PlanNode, mode: ChangelogMode) -> PlanNode:
        """Rows of the program cannot be written to."""
        raise ProgramError("A table of the program's own rows cannot be written to.")


def inline_table(row_type: RowType, columns: pa.Table, kinds: Any = None) -> InlineTable:
    """A table of columns."""
    schema = Schema(
        tuple(UnresolvedPhysicalColumn(field.name, field.data_type) for field in row_type)
    )
    mode = ChangelogMode.INSERT_ONLY if kinds is None else ChangelogMode.RETRACT
    return InlineTable(schema, access=InlineRows(columns, kinds), mode=mode)


def table_of_elements(
    elements: Iterable[Any], schema: DataType | Sequence[str] | None
) -> InlineTable:
    """A table of Python rows."""
    if isinstance(elements, str | bytes) or not isinstance(elements, Iterable):
        raise ProgramError(f"from_elements takes rows, got {shorten(elements)}.")
    given = list(elements)
    wanted = tuple(schema.field_names()) if isinstance(schema, RowType) else None
    rows = [_values(element, wanted) for element in given]
    if schema is None and given:
        schema = _names_of(given[0])
    row_type = _row_type(list(rows), schema)
    for at, row in enumerate(rows):
        if len(row) != len(row_type):
            raise ProgramError(
                f"Row {at} has {len(row)} values, and the schema {len(row_type)} columns: "
                f"{shorten(row)}."
            )
    lists: list[Any] = list(zip(*rows, strict=True)) or [()] * len(row_type)
    arrays = []
    for values, field in zip(lists, row_type, strict=True):
        try:
            converted = [to_internal(value, field.data_type) for value in values]
            arrays.append(pa.array(converted, field.data_type.arrow_type()))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as failure:
            raise TypeMismatchError(
                f"A value of the column {field.name!r} is no {field.data_type}: {failure}."
            ) from None
    return inline_table(row_type, pa.table(arrays, schema=row_type.arrow_schema()))


def _names_of(element: Any) -> list[str] | None:
    """The names of the columns that a row brings along."""
    if isinstance(element, Row):
        return None if element._names is None else list(element._names)
    if isinstance(element, dict):
        return sorted(element)
    names = getattr(element, "_fields", None)
    return list(names) if isinstance(element, tuple) and names else None


def _values(element: Any, names: tuple[str, ...] | None = None) -> tuple[Any, ...]:
    """The values of a row; with ``names``, those of the fields that are called so, if it knows."""
    own = _names_of(element)
    if names is not None and own is not None and set(own) == set(names):
        return tuple(element[one if isinstance(element, dict) else own.index(one)] for one in names)
    if isinstance(element, Row):
        return tuple(element)
    if isinstance(element, tuple | list):
        return tuple(element)
    if isinstance(element, dict):
        return tuple(element[name] for name in sorted(element))
    if dataclasses.is_dataclass(element) and not isinstance(element, type):
        return tuple(getattr(element, one.name) for one in dataclasses.fields(element))
    return (element,)


def _row_type(rows: list[Any], schema: DataType | Sequence[str] | None) -> RowType:
    if isinstance(schema, RowType):
        return schema
    if isinstance(schema, DataType):
        return RowType.of(["f0"], [schema])
    if not rows:
        raise ProgramError("from_elements of no rows needs a schema: DataTypes.ROW([...]).")
    width = len(rows[0])
    names = [f"_{at + 1}" for at in range(width)] if schema is None else list(schema)
    if len(names) != width:
        raise ProgramError(f"from_elements: {len(names)} names for {width} columns.")
    lists = list(zip(*rows, strict=True)) if len({len(row) for row in rows}) == 1 else None
    if lists is None:
        raise ProgramError("from_elements: the rows have different numbers of values.")
    return RowType.of(names, [_common(name, one) for name, one in zip(names, lists, strict=True)])


def _common(name: str, values: Sequence[Any]) -> DataType:
    types = [inferred_type(value) for value in values]
    found = common_type([one for one in types if not _vague(one)] or types)
    if found is None or isinstance(found, NullType):
        raise ProgramError(
            f"The type of the column {name!r} cannot be told from its values: give the schema as "
            "DataTypes.ROW([...])."
        )
    return found.nullable()


def _vague(data_type: DataType) -> bool:
    """Whether values of the type, such as an empty list, leave open what is in them."""
    return any(isinstance(one, NullType) for one in data_type.children)


_SIMPLE: dict[type, DataType] = {
    bool: DataTypes.BOOLEAN(),
    int: DataTypes.BIGINT(),
    float: DataTypes.DOUBLE(),
    str: DataTypes.STRING(),
    bytes: DataTypes.BYTES(),
    bytearray: DataTypes.BYTES(),
    decimal.Decimal: DataTypes.DECIMAL(38, 18),
    datetime.date: DataTypes.DATE(),
    datetime.time: DataTypes.TIME(),
    datetime.datetime: DataTypes.TIMESTAMP_LTZ(6),
    datetime.timedelta: DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND()),
    type(None): DataTypes.NULL(),
}


def inferred_type(value: Any) -> DataType:
    """The type of a Python value, as PyFlink infers it."""
    found = _SIMPLE.get(type(value))
    if found is not None:
        return found
    if isinstance(value, Row):
        names = list(value._names or [f"f{at}" for at in range(len(value))])
        return RowType.of(names, [inferred_type(one) for one in value])
    if isinstance(value, tuple):
        names = [f"f{at}" for at in range(len(value))]
        return RowType.of(names, [inferred_type(one) for one in value])
    if isinstance(value, list):
        inner = common_type([inferred_type(one) for one in value] or [DataTypes.NULL()])
        return DataTypes.ARRAY(inner or DataTypes.STRING())
    if isinstance(value, dict):
        keys = common_type(list(map(inferred_type, value)) or [DataTypes.NULL()])
        values = common_type(list(map(inferred_type, value.values())) or [DataTypes.NULL()])
        keys = keys or DataTypes.STRING()
        kind = keys if isinstance(keys, NullType) else keys.not_null()
        return DataTypes.MAP(kind, values or DataTypes.STRING())
    raise ProgramError(
        f"There is no SQL type for {shorten(value)} ({type(value).__name__}): give the schema as "
        "DataTypes.ROW([...])."
    )


def to_internal(value: Any, data_type: DataType) -> Any:
    """A Python value as Arrow takes it for the type."""
    if value is None:
        return None
    if isinstance(data_type, RowType):
        values = _values(value, tuple(data_type.names))
        pairs = zip(data_type, values, strict=True)
        return {field.name: to_internal(one, field.data_type) for field, one in pairs}
    if isinstance(data_type, MapType):
        key, item = data_type.key_type, data_type.value_type
        return [(to_internal(k, key), to_internal(v, item)) for k, v in value.items()]
    if isinstance(data_type, MultisetType):
        return [(to_internal(k, data_type.element_type), v) for k, v in value.items()]
    if isinstance(data_type, ArrayType):
        return [to_internal(one, data_type.element_type) for one in value]
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(milliseconds=1)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(data_type, LocalZonedTimestampType) and isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC)
    return value


def table_of_frame(
    frame: pd.DataFrame, schema: RowType | Sequence[str] | Sequence[DataType] | None
) -> InlineTable:
    """A table of a DataFrame's rows."""
    try:
        columns = pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError, pa.ArrowException) as failure:
        raise ProgramError(f"from_pandas takes a DataFrame: {failure}.") from None
    row_type = _frame_type(columns, schema)
    return inline_table(row_type, columns.rename_columns(row_type.field_names()))


def _frame_type(
    columns: pa.Table, schema: RowType | Sequence[str] | Sequence[DataType] | None
) -> RowType:
    if isinstance(schema, RowType):
        return schema
    names: list[Any] = list(columns.column_names)
    types = [data_type_from_arrow(kind) for kind in columns.schema.types]
    given = list(schema or ())
    if given and len(given) != len(names):
        raise ProgramError(
            f"from_pandas: the schema has {len(given)} columns, the DataFrame {len(names)}."
        )
    if given and all(isinstance(one, str) for one in given):
        names = given
    elif given:
        return RowType.of(names, [one for one in given if isinstance(one, DataType)])
    return RowType.of(names, types)
