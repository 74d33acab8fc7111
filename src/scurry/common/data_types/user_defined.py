"""Types that a program makes of its own classes, kept in a column as another type.

A subclass says with ``sql_type`` which type the column has, and with ``serialize`` and
``deserialize`` how an object becomes a value of it and back.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from scurry.common.data_types.data_type import DataType

__all__ = ["UserDefinedType"]


class UserDefinedType(DataType):
    """The base class of such types; two are equal if they are of one class."""

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """The type of the column that holds the values."""
        raise NotImplementedError(f"{cls.__name__} must say its sql_type().")

    @classmethod
    def module(cls) -> str:
        """The Python module of the type."""
        raise NotImplementedError(f"{cls.__name__} must say its module().")

    @classmethod
    def java_udt(cls) -> str:
        """Empty: there is no Java class for it."""
        return ""

    def serialize(self, obj: Any) -> Any:
        """An object as a value of `sql_type`."""
        raise NotImplementedError(f"{type(self).__name__} must implement serialize().")

    def deserialize(self, datum: Any) -> Any:
        """The object of a value."""
        raise NotImplementedError(f"{type(self).__name__} must implement deserialize().")

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """The object in the form that its column hands on."""
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        """The object again."""
        found = self.sql_type().from_sql_type(obj)
        return None if found is None else self.deserialize(found)

    def arrow_type(self) -> pa.DataType:
        return self.sql_type().arrow_type()

    def describe(self) -> str:
        return self.sql_type().describe()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self).__name__)
