"""Types of arrays, lists and maps.

Flink tells three sorts of arrays apart by how the JVM stores them. In Python all of them are lists,
except the primitive array of bytes, which is `bytes`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scurry.common.scalar_types import BasicType, BasicTypeInfo
from scurry.common.type_information import TypeInformation

__all__ = [
    "BasicArrayTypeInfo",
    "ListTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PrimitiveArrayTypeInfo",
]


class ListTypeInfo(TypeInformation):
    """A list whose items are all of one type; a tuple is taken too and comes back as a list."""

    __slots__ = ("elem_type",)

    def __init__(self, element_type: TypeInformation) -> None:
        self.elem_type = element_type

    @property
    def label(self) -> str:
        return "LIST"

    def arrow_type(self) -> pa.DataType | None:
        item = self.elem_type.arrow_type()
        return None if item is None else pa.list_(item)

    def _check(self, value: object) -> str | None:
        if not isinstance(value, list | tuple):
            return self._mismatch(value)
        for index, item in enumerate(value):
            if fault := self.elem_type.check(item):
                return f"item {index}: {fault}"
        return None

    @property
    def exact(self) -> Callable[[Any], Any]:
        return self._exact

    def _exact(self, items: Any) -> Any:
        exact = self.elem_type.exact
        if exact is None:
            return items if type(items) is list else list(items)
        return [None if item is None else exact(item) for item in items]

    def need_conversion(self) -> bool:
        return self.elem_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None or not self.need_conversion():
            return obj
        return [self.elem_type.to_internal_type(item) for item in obj]

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None or not self.need_conversion():
            return obj
        return [self.elem_type.from_internal_type(item) for item in obj]

    def _args(self) -> tuple[Any, ...]:
        return (self.elem_type,)

    def __str__(self) -> str:
        return f"{type(self).__name__}<{self.elem_type}>"


class BasicArrayTypeInfo(ListTypeInfo):
    """A list of basic values, any of which may be None."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "BASIC_ARRAY"


class ObjectArrayTypeInfo(ListTypeInfo):
    """A list of values of any one type."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "OBJECT_ARRAY"


class PrimitiveArrayTypeInfo(ListTypeInfo):
    """A list of numbers or booleans; with `BYTE` it is `bytes`."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "PRIMITIVE_ARRAY"

    def _is_bytes(self) -> bool:
        return self.elem_type == BasicTypeInfo(BasicType.BYTE)

    def arrow_type(self) -> pa.DataType | None:
        return pa.binary() if self._is_bytes() else super().arrow_type()

    def _exact(self, items: Any) -> Any:
        return bytes(items) if self._is_bytes() else super()._exact(items)

    def _check(self, value: object) -> str | None:
        if not self._is_bytes():
            return super()._check(value)
        if isinstance(value, bytes | bytearray):
            return None
        return self._mismatch(value, ", where bytes belong")


class MapTypeInfo(TypeInformation):
    """A dict with keys of one type and values of one type; no key is None."""

    __slots__ = ("_key_type_info", "_value_type_info")

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    @property
    def label(self) -> str:
        return "MAP"

    def arrow_type(self) -> pa.DataType | None:
        key, value = self._key_type_info.arrow_type(), self._value_type_info.arrow_type()
        return None if key is None or value is None else pa.map_(key, value)

    def _check(self, value: object) -> str | None:
        if not isinstance(value, dict):
            return self._mismatch(value)
        for key, item in value.items():
            if key is None:
                return "a key of MAP is None"
            if fault := self._key_type_info.check(key):
                return f"key {key!r}: {fault}"
            if fault := self._value_type_info.check(item):
                return f"value of key {key!r}: {fault}"
        return None

    @property
    def exact(self) -> Callable[[Any], Any] | None:
        value = self._value_type_info.exact
        if value is None:
            return None
        return lambda pairs: {k: None if v is None else value(v) for k, v in pairs.items()}

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        key, value = self._key_type_info, self._value_type_info
        return [(key.to_internal_type(k), value.to_internal_type(v)) for k, v in obj.items()]

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        pairs = obj.items() if isinstance(obj, dict) else obj
        key, value = self._key_type_info, self._value_type_info
        return {key.from_internal_type(k): value.from_internal_type(v) for k, v in pairs}

    def _args(self) -> tuple[Any, ...]:
        return self._key_type_info, self._value_type_info

    def __str__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"
