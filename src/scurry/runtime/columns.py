"""Between Python objects and Arrow columns.

A codec knows how the elements of a stream look in both worlds. Scalars are one column called
``value``; tuples, Rows, named tuples and dataclasses are a column per field. Numbers without nulls
go through numpy, which is several times faster than asking Arrow for one Python value at a time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from scurry.common.errors import TypeMismatchError, shorten
from scurry.common.row_types import CompositeTypeInfo, RowTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row

VALUE = "value"
Columns = list[list[Any]]


class ElementCodec:
    """How the elements of one stream become columns and back."""

    def __init__(
        self,
        names: Sequence[str],
        build: Callable[[Columns], list[Any]],
        type_info: TypeInformation | None = None,
    ) -> None:
        self.names = tuple(names)
        self.type_info = type_info
        self._build = build
        self._relation = False

    @property
    def form(self) -> TypeInformation | str:
        """What a receiver needs to make the same codec again: :meth:`of_form`."""
        if self.type_info is not None:
            return self.type_info
        if self._relation:
            return "relation"
        return "tuples" if self._build is _tuples else "rows"

    @classmethod
    def of_form(cls, form: TypeInformation | str, schema: pa.Schema) -> ElementCodec:
        """The codec whose :attr:`form` that is, for columns of ``schema``."""
        if isinstance(form, TypeInformation):
            found = cls.of_type(form)
            assert found is not None, "only types with an Arrow form are sent as columns"
            return found
        made = {"tuples": cls.of_tuples, "relation": cls.of_relation}
        return made.get(form, cls.of_schema)(schema)

    @classmethod
    def of_type(cls, type_info: TypeInformation) -> ElementCodec | None:
        """The codec of a declared type, None if that type has no Arrow form."""
        if type_info.arrow_type() is None:
            return None
        if not isinstance(type_info, CompositeTypeInfo):
            return cls([VALUE], _scalars, type_info)
        return cls(type_info.field_names(), _builder(type_info), type_info)

    @classmethod
    def of_schema(cls, schema: pa.Schema) -> ElementCodec:
        """The codec for columns whose element type nobody declared: Rows, or bare values."""
        names = tuple(schema.names)
        if names == (VALUE,):
            return cls(names, _scalars)
        return cls(names, lambda columns: Row.from_columns(names, columns))

    @classmethod
    def of_relation(cls, schema: pa.Schema) -> ElementCodec:
        """The codec of a relation: Rows, also where there is one column only."""
        names = tuple(schema.names)
        made = cls(names, lambda columns: Row.from_columns(names, columns))
        made._relation = True
        return made

    @classmethod
    def of_tuples(cls, schema: pa.Schema) -> ElementCodec:
        """The codec that reads any columns as plain tuples."""
        return cls(tuple(schema.names), _tuples)

    def makes_fixed(self, columns: pa.RecordBatch) -> bool:
        """Whether the elements behind ``columns`` are such that nobody can change them."""
        whole = self._build is _tuples or self._build is _scalars
        return whole and not any(map(pa.types.is_nested, columns.schema.types))

    def to_rows(self, columns: pa.RecordBatch) -> list[Any]:
        """The elements behind ``columns``."""
        lists = [to_list(column) for column in columns.columns]
        fields = self._field_types()
        if fields is not None:
            for at, field in enumerate(fields):
                if field.need_conversion():
                    lists[at] = [field.from_internal_type(value) for value in lists[at]]
        return self._build(lists)

    def to_columns(self, rows: list[Any]) -> pa.RecordBatch:
        """``rows`` as columns; names the first row that does not fit, if one does not."""
        if self.type_info is None:
            return infer_columns(rows)
        try:
            return self._columns_of(rows)
        except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError) as failure:
            for row in rows:
                complaint = self.type_info.check(row)
                if complaint is not None or row is None:
                    raise TypeMismatchError(
                        f"{complaint or 'None is not a row'}: {shorten(row)}"
                    ) from failure
            raise TypeMismatchError(f"not of type {self.type_info!r}: {failure}") from failure

    def _columns_of(self, rows: list[Any]) -> pa.RecordBatch:
        assert self.type_info is not None
        fields = self._field_types()
        if fields is None or not isinstance(self.type_info, CompositeTypeInfo):
            values = rows
            if self.type_info.need_conversion():
                values = [self.type_info.to_internal_type(row) for row in rows]
            return pa.RecordBatch.from_arrays(
                [pa.array(values, self.type_info.arrow_type())], names=[VALUE]
            )
        split = self.type_info.field_values
        lists: list[Any] = list(zip(*map(split, rows), strict=True)) or [()] * len(fields)
        arrays = []
        for values, field in zip(lists, fields, strict=True):
            if field.need_conversion():
                values = [field.to_internal_type(value) for value in values]
            arrays.append(pa.array(values, field.arrow_type()))
        return pa.RecordBatch.from_arrays(arrays, names=list(self.names))

    def _field_types(self) -> tuple[TypeInformation, ...] | None:
        if isinstance(self.type_info, CompositeTypeInfo):
            return self.type_info.field_types()
        if self.type_info is not None:
            return (self.type_info,)
        return None


def _scalars(columns: Columns) -> list[Any]:
    return columns[0]


def _tuples(columns: Columns) -> list[Any]:
    return list(zip(*columns, strict=True))


def _builder(type_info: CompositeTypeInfo) -> Callable[[Columns], list[Any]]:
    kind = type_info.element_class
    if kind is tuple:
        return _tuples
    if isinstance(type_info, RowTypeInfo):
        names = type_info.field_names()
        return lambda columns: Row.from_columns(names, columns)
    return lambda columns: list(map(kind, *columns))


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6}
#: Seconds from 1970 to the first year that a ``datetime`` can have, and to the one after the last.
_YEAR_1, _YEAR_10000 = -62_135_596_800, 253_402_300_800


def to_list(column: pa.Array) -> list[Any]:
    """A column as Python values, the fast way where there is one."""
    kind = column.type
    if column.null_count == 0 and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return list(column.to_numpy(zero_copy_only=False).tolist())
    if column.null_count == 0 and pa.types.is_timestamp(kind) and _of_datetime(column):
        return list(column.to_numpy(zero_copy_only=False).astype("M8[us]").tolist())
    return list(column.to_pylist())


def _of_datetime(column: pa.Array) -> bool:
    """Whether a column of timestamps has nothing but what a ``datetime`` without zone can be."""
    if column.type.tz is not None or column.type.unit == "ns" or not len(column):
        return False
    numbers = column.cast(pa.int64()).to_numpy()
    per_second = _PER_SECOND[column.type.unit]
    return bool(numbers.min() >= _YEAR_1 * per_second and numbers.max() < _YEAR_10000 * per_second)


def infer_columns(rows: list[Any]) -> pa.RecordBatch:
    """Columns for elements of no declared type, judged by the first of them."""
    first = rows[0] if rows else None
    if isinstance(first, dict):
        return pa.RecordBatch.from_pylist(rows)
    if isinstance(first, Row):
        return pa.RecordBatch.from_pylist([row.as_dict() for row in rows])
    if dataclasses.is_dataclass(first):
        names = [field.name for field in dataclasses.fields(first)]
        return pa.RecordBatch.from_arrays(
            [pa.array([getattr(row, name) for row in rows]) for name in names], names=names
        )
    if isinstance(first, tuple) and first:
        names = list(getattr(first, "_fields", [f"f{i}" for i in range(len(first))]))
        return pa.RecordBatch.from_arrays(
            [pa.array(values) for values in zip(*rows, strict=True)], names=names
        )
    return pa.RecordBatch.from_arrays([pa.array(rows)], names=[VALUE])
