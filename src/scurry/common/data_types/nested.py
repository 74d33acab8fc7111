"""Types that are made of other types: arrays, maps, multisets, rows, and values kept as bytes.

A multiset's column is a map from each element to how often it occurs. A `RawType` is a value that
SQL carries without looking into it, pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from scurry.common.data_types.data_type import DataType
from scurry.common.errors import TypeMismatchError
from scurry.common.type_information import describe

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
        return f"RowField({self.name}, {self.data_type!r})"

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

    def __getitem__(self, key: str | int) -> RowField:
        if isinstance(key, int):
            return self.fields[key]
        found = next((field for field in self.fields if field.name == key), None)
        if found is None:
            raise KeyError(f"there is no field {key!r} among {self.names}")
        return found

    def _args(self) -> tuple[Any, ...]:
        return (self.fields,)


class RawType(DataType):
    """Values of any Python class, pickled; SQL passes them on and looks into none."""

    def arrow_type(self) -> pa.DataType:
        return pa.binary()

    def describe(self) -> str:
        return "RAW"


class ListViewType(ArrayType):
    """A list in the accumulator of an aggregate function, which is kept outside of it."""

    def describe(self) -> str:
        return f"LIST_VIEW<{self.element_type}>"


class MapViewType(MapType):
    """A map in the accumulator of an aggregate function, which is kept outside of it."""

    def describe(self) -> str:
        return f"MAP_VIEW<{self.key_type}, {self.value_type}>"
