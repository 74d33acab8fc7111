"""Whether a value is exactly one of a declared type, told quickly.

A value that goes into a state of a declared type is checked against the type when it is written, at
the user's own call. Most values are exactly of the type: an ``int`` where a ``LONG`` was declared.
The functions made here return True for these in a tenth of a microsecond, and such a value is kept
as it is. For any other value they return False, and a slower check finds out whether it is wrong or
has to be converted, such as a whole number where a ``DOUBLE`` was declared. So True must mean that
the value read back from the store will be the same. False only means that the slower check decides.

Such a function is one Python expression, put together from the type and compiled once, as the
standard library does for dataclasses. Functions that call one for each field take five times as
long.
"""

from __future__ import annotations

import datetime as dt
import math
import types
import typing
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo
from scurry.common.row_types import (
    CompositeTypeInfo,
    DataclassTypeInfo,
    RowTypeInfo,
)
from scurry.common.scalar_types import FLOAT_MAX
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row

_BITS = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}
_BY_CLASS: dict[str, type] = {
    "BIG_INT": int,
    "DOUBLE": float,
    "BOOLEAN": bool,
    "BIG_DEC": Decimal,
    "SQL_DATE": dt.date,
    "LOCAL_DATE": dt.date,
}
_WITHOUT_ZONE: dict[str, type] = {
    "SQL_TIME": dt.time,
    "LOCAL_TIME": dt.time,
    "SQL_TIMESTAMP": dt.datetime,
    "LOCAL_DATE_TIME": dt.datetime,
}


def exactness(info: TypeInformation) -> Callable[[Any], bool]:
    """The test for values of the type ``info``."""
    writer = _Writer()
    test: Callable[[Any], bool] = eval(f"lambda v: {writer.test(info, 'v')}", writer.names)
    return test


def is_whole(text: str) -> bool:
    """Whether ``text`` has no half of a surrogate pair, which cannot be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Writer:
    """Writes tests as Python expressions, and keeps what these refer to."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"whole": is_whole, "finite": math.isfinite}
        self._count = 0

    def test(self, info: TypeInformation, v: str) -> str:
        """The test whether the variable ``v`` is exactly of the type."""
        if isinstance(info, PrimitiveArrayTypeInfo) and info._is_bytes():
            return self._is(v, bytes)
        if isinstance(info, ListTypeInfo):
            item = self._variable()
            test = self._or_none(info.elem_type, item)
            return f"{self._is(v, list)} and all([{test} for {item} in {v}])"
        if isinstance(info, MapTypeInfo):
            return self._map(info, v)
        if isinstance(info, RowTypeInfo):
            names = self._name(info._names)
            fields = self._fields(info, f"{v}._values")
            return f"{self._is(v, Row)} and {v}._names == {names}{fields}"
        if isinstance(info, DataclassTypeInfo):
            return self._dataclass(info, v)
        if isinstance(info, CompositeTypeInfo):
            return f"{self._is(v, info.element_class)}{self._fields(info, v)}"
        return self._scalar(info.label, v)

    def _scalar(self, label: str, v: str) -> str:
        if label in _BITS:
            limit = 1 << (_BITS[label] - 1)
            return f"{self._is(v, int)} and -{limit} <= {v} < {limit}"
        if label in ("STRING", "CHAR"):
            single = f" and len({v}) == 1" if label == "CHAR" else ""
            return f"{self._is(v, str)} and ({v}.isascii() or whole({v})){single}"
        if label == "FLOAT":
            most = FLOAT_MAX
            return f"{self._is(v, float)} and (-{most} <= {v} <= {most} or not finite({v}))"
        if label in _BY_CLASS:
            return self._is(v, _BY_CLASS[label])
        if label in _WITHOUT_ZONE:
            return f"{self._is(v, _WITHOUT_ZONE[label])} and {v}.tzinfo is None and not {v}.fold"
        return "False"

    def _map(self, info: MapTypeInfo, v: str) -> str:
        key, item = self._variable(), self._variable()
        keys = self.test(info._key_type_info, key)
        items = self._or_none(info._value_type_info, item)
        return (
            f"{self._is(v, dict)} and all([{keys} for {key} in {v}])"
            f" and all([{items} for {item} in {v}.values()])"
        )

    def _fields(self, info: CompositeTypeInfo, values: str) -> str:
        """What is to be added for the fields of something whose values are a tuple."""
        kinds = info.field_types()
        each = "".join(
            f" and ({self._or_none(kind, name, f'{values}[{at}]')})"
            for at, (kind, name) in enumerate((kind, self._variable()) for kind in kinds)
        )
        return f" and len({values}) == {len(kinds)}{each}"

    def _dataclass(self, info: DataclassTypeInfo, v: str) -> str:
        hints = typing.get_type_hints(info.element_class)
        text = self._is(v, info.element_class)
        for name, kind in zip(info.field_names(), info.field_types(), strict=True):
            field = self._variable()
            # a field that is not declared so cannot be None when it is read back
            optional = types.NoneType in typing.get_args(hints.get(name))
            if optional:
                text += f" and ({self._or_none(kind, field, f'{v}.{name}')})"
            else:
                text += f" and (({field} := {v}.{name}) is not None and {self.test(kind, field)})"
        return text

    def _or_none(self, info: TypeInformation, v: str, bound_to: str = "") -> str:
        first = f"({v} := {bound_to})" if bound_to else v
        return f"{first} is None or {self.test(info, v)}"

    def _is(self, v: str, kind: type) -> str:
        return f"type({v}) is {self._name(kind)}"

    def _name(self, value: Any) -> str:
        self._count += 1
        self.names[f"n{self._count}"] = value
        return f"n{self._count}"

    def _variable(self) -> str:
        self._count += 1
        return f"v{self._count}"
