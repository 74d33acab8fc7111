"""What a type of stream elements can tell.

Types are optional in Scurry: an element of unknown type travels pickled. Where the type is known,
`TypeInformation` says how elements look as an Arrow column (faster, and readable outside Python)
and whether a given value conforms, in words fit for an error message.

A column and the element it came from differ in shape: Arrow returns a struct as a dict and a map as
pairs. `to_internal_type` and `from_internal_type` translate a value to what pyarrow takes and back
from what it gives; where `need_conversion` is false, both may be skipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scurry.common.errors import shorten

__all__ = ["TypeInformation", "describe"]


def describe(value: object) -> str:
    """A value and its type, short enough for a message: ``'abc' (str)``."""
    return f"{shorten(value, 80)} ({type(value).__name__})"


class TypeInformation(ABC):
    """The type of stream elements; an immutable value with equality, hash and pickling."""

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """The short name that messages use, such as ``LONG``."""

    @abstractmethod
    def arrow_type(self) -> pa.DataType | None:
        """The Arrow form, or None if elements of this type are pickled."""

    def check(self, value: object) -> str | None:
        """None if the value conforms (None always does), else a sentence on what is wrong."""
        return None if value is None else self._check(value)

    @property
    def element_class(self) -> type | None:
        """The class that elements are built as, or None for scalars and collections."""
        return None

    @property
    def exact(self) -> Callable[[Any], Any] | None:
        """What makes a conforming value, other than None, one of exactly this type: an int is taken
        for a `DOUBLE`, but the element is a float. None if conforming values are kept as they are.
        """
        return None

    def need_conversion(self) -> bool:
        """Whether values differ from what pyarrow takes and gives for `arrow_type`."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The value in the shape that pyarrow takes for `arrow_type`."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The value again, from the shape that pyarrow gives for `arrow_type`."""
        return obj

    @abstractmethod
    def _check(self, value: object) -> str | None:
        """`check` for a value that is not None."""

    @abstractmethod
    def _args(self) -> tuple[Any, ...]:
        """The constructor's arguments: they make up equality, hash and pickled form."""

    def _mismatch(self, value: object, why: str = "") -> str:
        return f"expected {self.label}, got {describe(value)}{why}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypeInformation):
            return NotImplemented
        return type(self) is type(other) and self._args() == other._args()

    def __hash__(self) -> int:
        return hash((type(self), self._args()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._args()

    def __repr__(self) -> str:
        """The type as a program writes it, such as ``Types.LIST(Types.LONG())``."""
        return f"Types.{self.label}({', '.join(map(repr, self._args()))})"

    def __str__(self) -> str:
        """The type as PyFlink prints it, such as ``ListTypeInfo<Long>``."""
        return type(self).__name__
