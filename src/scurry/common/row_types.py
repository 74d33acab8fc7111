"""Types of elements that consist of fields: rows, tuples, named tuples and dataclasses.

As Arrow each is a struct. They differ in the class that an element is built as, `element_class`,
and in how its field values are read, `field_values`. The kind of a `Row` (insert, delete, ...) is
no field: whoever writes a changelog as columns carries it in a column of its own.
"""

from __future__ import annotations

import dataclasses
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import pyarrow as pa

from scurry.common.errors import TypeMismatchError
from scurry.common.type_information import TypeInformation, describe
from scurry.common.types import Row

__all__ = [
    "CompositeTypeInfo",
    "DataclassTypeInfo",
    "NamedTupleTypeInfo",
    "RowTypeInfo",
    "TupleTypeInfo",
]


class CompositeTypeInfo(TypeInformation):
    """What all types with fields have in common."""

    __slots__ = ("_inexact", "_names", "_types")

    def __init__(self, names: Iterable[str], types: Iterable[TypeInformation]) -> None:
        self._names = tuple(names)
        self._types = tuple(types)
        for field_type in self._types:
            if not isinstance(field_type, TypeInformation):
                raise TypeMismatchError(
                    f"the field types of {self.label} must be types such as Types.LONG(), "
                    f"got {describe(field_type)}"
                )
        self._inexact = tuple((at, t.exact) for at, t in enumerate(self._types) if t.exact)
        if len(self._names) != len(self._types) or len(set(self._names)) != len(self._names):
            raise TypeMismatchError(
                f"{self.label} needs one distinct name for each field type, got the names "
                f"{list(self._names)!r} for {len(self._types)} types"
            )

    @property
    @abstractmethod
    def element_class(self) -> type:
        """The class that elements are built as."""

    @abstractmethod
    def field_values(self, element: Any) -> Sequence[Any]:
        """The values of a conforming element, in the order of `field_names`."""

    @abstractmethod
    def build(self, values: Iterable[Any]) -> Any:
        """An element of `element_class` with those field values."""

    @property
    def exact(self) -> Callable[[Any], Any]:
        return self.adopt

    def adopt(self, element: Any) -> Any:
        """A conforming element as one of `element_class`."""
        if type(element) is self.element_class:
            return element
        return self.build(self.field_values(element))

    def _exact_values(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values, each of exactly the type of its field; the same tuple if they are already."""
        for at, exact in self._inexact:
            value = values[at]
            if value is not None and (made := exact(value)) is not value:
                values = (*values[:at], made, *values[at + 1 :])
        return values

    def field_names(self) -> tuple[str, ...]:
        """The names, in order; ``f0``, ``f1``, ... where none were given."""
        return self._names

    def field_types(self) -> tuple[TypeInformation, ...]:
        """The types, in the order of `field_names`."""
        return self._types

    def get_field_names(self) -> list[str]:
        """`field_names` as a list."""
        return list(self._names)

    def get_field_types(self) -> list[TypeInformation]:
        """`field_types` as a list."""
        return list(self._types)

    def get_field_index(self, field_name: str) -> int:
        """The position of a field."""
        if field_name not in self._names:
            raise ValueError(f"no field {field_name!r} in {self!r}")
        return self._names.index(field_name)

    def arrow_type(self) -> pa.DataType | None:
        fields = [(n, t.arrow_type()) for n, t in zip(self._names, self._types, strict=True)]
        return None if any(t is None for _, t in fields) else pa.struct(fields)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        values = self.field_values(obj)
        return tuple(t.to_internal_type(v) for t, v in zip(self._types, values, strict=True))

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        values = obj if isinstance(obj, tuple | list) else [obj[name] for name in self._names]
        fields = zip(self._types, values, strict=True)
        return self.build([field_type.from_internal_type(value) for field_type, value in fields])

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(str, self._types))})"

    def _check_fields(self, values: Sequence[Any]) -> str | None:
        for name, field_type, value in zip(self._names, self._types, values, strict=True):
            if fault := field_type.check(value):
                return f"field {name!r}: {fault}"
        return None

    def _check_arity(self, value: object) -> str | None:
        if not isinstance(value, Row | tuple | list):
            return self._mismatch(value)
        if len(value) != len(self._types):
            return self._mismatch(value, f" with {len(value)} fields")
        return None


def _positions(count: int) -> list[str]:
    return [f"f{index}" for index in range(count)]


class RowTypeInfo(CompositeTypeInfo):
    """A `Row`; tuples and lists of the same length are taken too.

    Rows of this type carry its field names, which are ``f0``, ``f1``, ... where none were given.
    """

    __slots__ = ("_named",)

    def __init__(
        self,
        field_types: Iterable[TypeInformation],
        field_names: Iterable[str] | None = None,
    ) -> None:
        types = tuple(field_types)
        self._named = field_names is not None
        super().__init__(_positions(len(types)) if field_names is None else field_names, types)

    @property
    def label(self) -> str:
        return "ROW_NAMED" if self._named else "ROW"

    @property
    def element_class(self) -> type:
        return Row

    def field_values(self, element: Any) -> tuple[Any, ...]:
        if not isinstance(element, Row):
            return tuple(element)
        if self._named and element._names not in (None, self._names):
            return tuple(element.get_fields_by_names(self._names))
        return element._values

    def build(self, values: Iterable[Any]) -> Row:
        row = Row(*values)
        row.set_field_names(self._names)
        return row

    def adopt(self, element: Any) -> Row:
        """A conforming element as a row with the names of this type, and the kind that it had."""
        values = self.field_values(element)
        made = self._exact_values(values)
        if isinstance(element, Row) and made is values and element._names == self._names:
            return element
        row = self.build(made)
        if isinstance(element, Row):
            row.set_row_kind(element.get_row_kind())
        return row

    def _check(self, value: object) -> str | None:
        if fault := self._check_arity(value):
            return fault
        if self._named and isinstance(value, Row) and value._names is not None:
            missing = [name for name in self._names if name not in value._names]
            if missing:
                return self._mismatch(value, f" without field {missing[0]!r}")
        return self._check_fields(self.field_values(value))

    def _args(self) -> tuple[Any, ...]:
        return self._types, self._names if self._named else None

    def __repr__(self) -> str:
        names = f"{list(self._names)!r}, " if self._named else ""
        return f"Types.{self.label}({names}{list(self._types)!r})"

    def __str__(self) -> str:
        if not self._named:
            return super().__str__()
        fields = zip(self._names, self._types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {kind}' for name, kind in fields)})"


class TupleTypeInfo(CompositeTypeInfo):
    """A tuple; rows and lists of the same length are taken too."""

    __slots__ = ()

    def __init__(self, field_types: Iterable[TypeInformation]) -> None:
        types = tuple(field_types)
        super().__init__(_positions(len(types)), types)

    @property
    def label(self) -> str:
        return "TUPLE"

    @property
    def element_class(self) -> type:
        return tuple

    def field_values(self, element: Any) -> Sequence[Any]:
        return tuple(element)

    def build(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(values)

    def adopt(self, element: Any) -> tuple[Any, ...]:
        return self._exact_values(tuple(element))

    def _check(self, value: object) -> str | None:
        return self._check_arity(value) or self._check_fields(self.field_values(value))

    def _args(self) -> tuple[Any, ...]:
        return (self._types,)

    def __repr__(self) -> str:
        return f"Types.TUPLE({list(self._types)!r})"


class NamedTupleTypeInfo(CompositeTypeInfo):
    """A named tuple of exactly that class."""

    __slots__ = ("_class",)

    def __init__(self, cls: type[Any], field_types: Iterable[TypeInformation]) -> None:
        self._class = cls
        super().__init__(cls._fields, field_types)

    @property
    def label(self) -> str:
        return self._class.__name__

    @property
    def element_class(self) -> type:
        return self._class

    def field_values(self, element: Any) -> Sequence[Any]:
        return tuple(element)

    def build(self, values: Iterable[Any]) -> Any:
        return self._class._make(values)

    def _check(self, value: object) -> str | None:
        if type(value) is not self._class:
            return self._mismatch(value)
        return self._check_fields(self.field_values(value))

    def _args(self) -> tuple[Any, ...]:
        return self._class, self._types

    def __repr__(self) -> str:
        return f"Types.of({self._class.__name__})"


class DataclassTypeInfo(CompositeTypeInfo):
    """An instance of exactly that dataclass.

    It has an Arrow form when its fields are all that is needed to make it again: every field is a
    positional parameter of the constructor and there is no ``__post_init__``. Otherwise it is
    pickled.
    """

    __slots__ = ("_class",)

    def __init__(self, cls: type[Any], field_types: Iterable[TypeInformation]) -> None:
        self._class = cls
        super().__init__([field.name for field in dataclasses.fields(cls)], field_types)

    @property
    def label(self) -> str:
        return self._class.__name__

    @property
    def element_class(self) -> type:
        return self._class

    def arrow_type(self) -> pa.DataType | None:
        return super().arrow_type() if self._is_its_fields() else None

    def field_values(self, element: Any) -> Sequence[Any]:
        if len(self._names) == 1:
            return (getattr(element, self._names[0]),)
        return attrgetter(*self._names)(element) if self._names else ()

    def build(self, values: Iterable[Any]) -> Any:
        return self._class(*values)

    def _is_its_fields(self) -> bool:
        parameters = inspect.signature(self._class).parameters.values()
        return (
            not hasattr(self._class, "__post_init__")
            and tuple(p.name for p in parameters) == self._names
            and all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        )

    def _check(self, value: object) -> str | None:
        if type(value) is not self._class:
            return self._mismatch(value)
        return self._check_fields(self.field_values(value))

    def _args(self) -> tuple[Any, ...]:
        return self._class, self._types

    def __repr__(self) -> str:
        return f"Types.DATACLASS({self._class.__name__})"
