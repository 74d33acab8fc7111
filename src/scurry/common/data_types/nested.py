"""Types that are made of other types: arrays, maps, multisets, rows, and values kept as bytes.

A multiset's column is a map from each element to how often it occurs. A `RawType` is a value that
SQL carries without looking into it, pickled.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import pyarrow as pa

from scurry.common.data_types.data_type import DataType
from scurry.common.errors import TypeMismatchError
from scurry.common.type_information import describe
from scurry.common.types import Row

__all__ = [
    "ArrayType",
    "ListViewType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "RawType",
    "RowField",
    "RowType",
]


def _typed(value: object, role: str) -> DataType:
    if not isinstance(value, DataType):
        raise TypeMismatchError(
            f"{role} must be a type such as DataTypes.BIGINT(), got {describe(value)}"
        )
    return value


class ArrayType(DataType):
    """Lists of values of one type."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = _typed(element_type, "the element type of an ARRAY")

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.element_type,)

    def arrow_type(self) -> pa.DataType:
        return pa.list_(self.element_type.arrow_type())

    def describe(self) -> str:
        return f"ARRAY<{self.element_type}>"

    def _args(self) -> tuple[Any, ...]:
        return (self.element_type,)

    def need_conversion(self) -> bool:
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """The elements, each in its own form."""
        return obj and [self.element_type.to_sql_type(one) for one in obj]

    def from_sql_type(self, obj: Any) -> Any:
        """The elements again."""
        return obj and [self.element_type.from_sql_type(one) for one in obj]


class MapType(DataType):
    """Maps from keys of one type to values of another."""

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = _typed(key_type, "the key type of a MAP")
        self.value_type = _typed(value_type, "the value type of a MAP")

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.key_type, self.value_type)

    def arrow_type(self) -> pa.DataType:
        return pa.map_(self.key_type.arrow_type(), self.value_type.arrow_type())

    def describe(self) -> str:
        return f"MAP<{self.key_type}, {self.value_type}>"

    def _args(self) -> tuple[Any, ...]:
        return (self.key_type, self.value_type)

    def need_conversion(self) -> bool:
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """The entries, keys and values each in their own form."""
        key, value = self.key_type.to_sql_type, self.value_type.to_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        """The entries again."""
        key, value = self.key_type.from_sql_type, self.value_type.from_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}


class MultisetType(DataType):
    """Sets that count how often each element is in them."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = _typed(element_type, "the element type of a MULTISET")

    @property
    def children(self) -> tuple[DataType, ...]:
        return (self.element_type,)

    def arrow_type(self) -> pa.DataType:
        return pa.map_(self.element_type.arrow_type(), pa.int32())

    def describe(self) -> str:
        return f"MULTISET<{self.element_type}>"

    def _args(self) -> tuple[Any, ...]:
        return (self.element_type,)

    def need_conversion(self) -> bool:
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """The elements, each in its own form."""
        return obj and [self.element_type.to_sql_type(one) for one in obj]

    def from_sql_type(self, obj: Any) -> Any:
        """The elements again."""
        return obj and [self.element_type.from_sql_type(one) for one in obj]


class RowField:
    """A field of a `RowType`: its name, its type, and what it is for."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeMismatchError(f"the name of a field must be a text, got {describe(name)}")
        self.name = name
        self.data_type = _typed(data_type, f"the type of the field {name!r}")
        self.description = description

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return (self.name, self.data_type, self.description)

    def __repr__(self) -> str:
        about = "..." if self.description is None else self.description
        return f"RowField({self.name}, {self.data_type!r}, {about})"

    def need_conversion(self) -> bool:
        """Whether its values have another form within PyFlink."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """A value of the field in the form that PyFlink hands on."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """The value again."""
        return self.data_type.from_sql_type(obj)

    def __str__(self) -> str:
        name = self.name.replace("`", "``")
        return f"`{name}` {self.data_type}" + (f" '{self.description}'" if self.description else "")


class RowType(DataType):
    """Values with named fields. A relation's schema is a row type as well."""

    def __init__(self, fields: Iterable[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = tuple(fields or ())
        for field in self.fields:
            if not isinstance(field, RowField):
                raise TypeMismatchError(
                    f"the fields of a ROW must be made by DataTypes.FIELD(name, type), "
                    f"got {describe(field)}"
                )
        self.names = [field.name for field in self.fields]

    @classmethod
    def of(cls, names: Sequence[str], types: Sequence[DataType], nullable: bool = True) -> RowType:
        """The row type with those names and types."""
        return cls(map(RowField, names, types), nullable)

    @property
    def children(self) -> tuple[DataType, ...]:
        return tuple(field.data_type for field in self.fields)

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """This row type with one field more; types are immutable, so it is another type."""
        if not isinstance(field, RowField):
            field = RowField(field, _typed(data_type, f"the type of the field {field!r}"))
        return RowType([*self.fields, field], self._nullable)

    def field_names(self) -> list[str]:
        """The names of the fields, in order."""
        return list(self.names)

    def field_types(self) -> list[DataType]:
        """The types of the fields, in order."""
        return list(self.children)

    def arrow_type(self) -> pa.DataType:
        return pa.struct([pa.field(f.name, f.data_type.arrow_type()) for f in self.fields])

    def arrow_schema(self) -> pa.Schema:
        """The schema of record batches whose columns are the fields."""
        return pa.schema([pa.field(f.name, f.data_type.arrow_type()) for f in self.fields])

    def describe(self) -> str:
        return f"ROW<{', '.join(map(str, self.fields))}>"

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @overload
    def __getitem__(self, key: str | int) -> RowField: ...

    @overload
    def __getitem__(self, key: slice) -> RowType: ...

    def __getitem__(self, key: str | int | slice) -> RowField | RowType:
        if isinstance(key, slice):
            return RowType(self.fields[key])
        if isinstance(key, int):
            return self.fields[key]
        found = next((field for field in self.fields if field.name == key), None)
        if found is None:
            raise KeyError(f"there is no field {key!r} among {self.names}")
        return found

    def _args(self) -> tuple[Any, ...]:
        return (self.fields,)

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """The kind of the row, and its fields; a row may also be a tuple, a dict or an object."""
        if obj is None:
            return None
        kind = obj.get_row_kind().value if isinstance(obj, Row) else 0
        values = self._values(obj)
        return (kind, *(f.to_sql_type(v) for f, v in zip(self.fields, values, strict=False)))

    def _values(self, obj: Any) -> Iterable[Any]:
        if isinstance(obj, Row) and obj._names is not None:
            return [obj[name] for name in self.names]
        if isinstance(obj, Row | tuple | list):
            return obj
        if isinstance(obj, dict) or hasattr(obj, "__dict__"):
            given = obj if isinstance(obj, dict) else vars(obj)
            return [given.get(name) for name in self.names]
        raise TypeMismatchError(f"a row is needed, got {describe(obj)}")

    def from_sql_type(self, obj: Any) -> Any:
        """A row of the fields; a row stays as it is."""
        if obj is None or isinstance(obj, Row):
            return obj
        values = (f.from_sql_type(v) for f, v in zip(self.fields, obj, strict=True))
        return Row.from_tuples(tuple(self.names), [tuple(values)])[0]


class RawType(DataType):
    """Values of any Python class, pickled; SQL passes them on and looks into none."""

    def arrow_type(self) -> pa.DataType:
        return pa.binary()

    def describe(self) -> str:
        return "RAW"

    def from_sql_type(self, obj: bytes) -> Any:
        """The pickled value."""
        return pickle.loads(obj)


class ListViewType(ArrayType):
    """A list in the accumulator of an aggregate function, which is kept outside of it."""

    def describe(self) -> str:
        return f"LIST_VIEW<{self.element_type}>"

    def __repr__(self) -> str:
        return f"ListViewType({self.element_type!r})"

    def to_sql_type(self, obj: Any) -> Any:
        """Refused: the type is for accumulators."""
        raise _of_accumulators(self)

    def from_sql_type(self, obj: Any) -> Any:
        """Refused: the type is for accumulators."""
        raise _of_accumulators(self)


class MapViewType(MapType):
    """A map in the accumulator of an aggregate function, which is kept outside of it."""

    def describe(self) -> str:
        return f"MAP_VIEW<{self.key_type}, {self.value_type}>"

    def __repr__(self) -> str:
        return f"MapViewType({self.key_type!r}, {self.value_type!r})"

    def to_sql_type(self, obj: Any) -> Any:
        """Refused: the type is for accumulators."""
        raise _of_accumulators(self)

    def from_sql_type(self, obj: Any) -> Any:
        """Refused: the type is for accumulators."""
        raise _of_accumulators(self)


def _of_accumulators(view: DataType) -> TypeMismatchError:
    return TypeMismatchError(f"{view.describe()} is for accumulator types only: use ARRAY or MAP")
