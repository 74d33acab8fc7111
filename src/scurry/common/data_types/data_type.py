"""What every type of a SQL value can tell.

A `DataType` describes the values of a column: which values there are, whether NULL is one of them,
and the Arrow type that holds them while a query runs (`arrow_type`). Types are values themselves:
immutable, comparable, hashable, picklable. ``str`` gives the type as SQL writes it, ``INT NOT
NULL``; `describe` leaves the nullability out.

The families (`NumericType`, `IntegralType`, ...) are classes, so that ``isinstance`` asks for them.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, TypeVar

import pyarrow as pa

T = TypeVar("T", bound="DataType")

__all__ = [
    "AtomicType",
    "BinaryStringType",
    "CharacterStringType",
    "DataType",
    "FractionalType",
    "IntegralType",
    "NumericType",
]


class DataType(ABC):
    """The type of the values of a column; a type is nullable unless it says otherwise."""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @property
    def is_nullable(self) -> bool:
        """Whether NULL is a value of this type."""
        return self._nullable

    def nullable(self: T) -> T:
        """This type with NULL among its values."""
        return self.with_nullability(True)

    def not_null(self: T) -> T:
        """This type without NULL."""
        return self.with_nullability(False)

    def with_nullability(self: T, nullable: bool) -> T:
        """This type, with or without NULL."""
        if nullable == self._nullable:
            return self
        other = copy.copy(self)
        other._nullable = nullable
        return other

    @abstractmethod
    def arrow_type(self) -> pa.DataType:
        """The Arrow type that holds the values of a column of this type."""

    @classmethod
    def type_name(cls) -> str:
        """The name of the kind of type, ``VARCHAR`` for a `VarCharType`."""
        return cls.__name__.removesuffix("Type").upper()

    def bridged_to(self: T, conversion_cls: str) -> T:
        """This type. In Flink it says which Java class holds the values; here there is none."""
        return self

    def need_conversion(self) -> bool:
        """Whether `to_sql_type` makes another value of the values of this type."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """A value of Python's in the form that PyFlink hands on; None stays None."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """The value that `to_sql_type` was given."""
        return obj

    @property
    def children(self) -> tuple[DataType, ...]:
        """The types that this type is made of; none for atomic types."""
        return ()

    @abstractmethod
    def describe(self) -> str:
        """The type in SQL, without its nullability."""

    def _args(self) -> tuple[Any, ...]:
        """What makes up the type, its nullability apart."""
        return ()

    def __str__(self) -> str:
        return self.describe() if self._nullable else f"{self.describe()} NOT NULL"

    def __repr__(self) -> str:
        values = [*map(repr, self._args()), str(self._nullable).lower()]
        return f"{type(self).__name__}({', '.join(values)})"

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and isinstance(other, DataType)
            and self._nullable == other._nullable
            and self._args() == other._args()
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._args(), self._nullable))


class AtomicType(DataType):
    """A type whose values are not made of other values."""


class NumericType(AtomicType):
    """Numbers of any kind."""


class IntegralType(NumericType):
    """Whole numbers of a fixed number of bits, which wrap around as Java's do."""

    bits: int = 0


class FractionalType(NumericType):
    """Numbers with a fraction: decimals, floats and doubles."""


class CharacterStringType(AtomicType):
    """Texts: CHAR and VARCHAR."""

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = length

    def arrow_type(self) -> pa.DataType:
        return pa.string()

    def _args(self) -> tuple[Any, ...]:
        return (self.length,)


class BinaryStringType(AtomicType):
    """Strings of bytes: BINARY and VARBINARY."""

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.length = length

    def arrow_type(self) -> pa.DataType:
        return pa.binary()

    def _args(self) -> tuple[Any, ...]:
        return (self.length,)
