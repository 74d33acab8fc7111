"""How plain values, as JSON or CSV give them, become values of declared types.

The rules are those of Flink's JSON format: a text that spells a number is taken for one, anything
can be text, and a boolean is true exactly if it is spelled so. Dates and times are in ISO form,
times and timestamps end in ``Z``; bytes are base64.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import msgspec

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo, PrimitiveArrayTypeInfo
from scurry.common.errors import TypeMismatchError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.scalar_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from scurry.common.time import Instant
from scurry.common.type_information import TypeInformation, describe

Convert = Callable[[Any], Any]
WIDTHS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}


def basic_type(declared: TypeInformation) -> BasicType | None:
    """The kind of a basic type, None for other types."""
    if isinstance(declared, BasicTypeInfo):
        kind: BasicType = declared._basic_type
        return kind
    return None


def is_bytes(declared: TypeInformation) -> bool:
    """Whether values are ``bytes``."""
    return isinstance(declared, PrimitiveArrayTypeInfo) and declared._is_bytes()


def temporal(declared: TypeInformation) -> type | None:
    """``date``, ``time`` or ``datetime``, if values are that."""
    if isinstance(declared, LocalTimeTypeInfo):
        declared = declared._same()
    for kind, python in (
        (DateTypeInfo, date),
        (TimeTypeInfo, time),
        (TimestampTypeInfo, datetime),
    ):
        if isinstance(declared, kind):
            return python
    return None


def naive(moment: datetime) -> datetime:
    """The same moment as a clock in UTC shows it."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def converter(declared: TypeInformation, lenient: bool = False) -> Convert:
    """What turns a plain value into one of the declared type. With ``lenient`` a field that cannot
    be converted becomes None, otherwise it raises."""
    inner = _for_type(declared, lenient)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        try:
            return inner(value)
        except (ValueError, TypeError, ArithmeticError, TypeMismatchError) as wrong:
            if lenient:
                return None
            if isinstance(wrong, TypeMismatchError):
                raise
            raise TypeMismatchError(f"expected {declared.label}, got {describe(value)}") from None

    return convert


def _for_type(declared: TypeInformation, lenient: bool) -> Convert:
    basic = basic_type(declared)
    if basic is not None:
        return _basic(basic)
    if is_bytes(declared):
        return lambda value: base64.b64decode(_text(value), validate=True)
    if temporal(declared) is not None:
        return _TEMPORAL[temporal(declared)]
    if isinstance(declared, CompositeTypeInfo):
        return row_converter(declared, lenient)
    if isinstance(declared, ListTypeInfo):
        item = converter(declared.elem_type, lenient)
        return lambda value: [item(element) for element in _expect(value, list, declared)]
    if isinstance(declared, MapTypeInfo):
        key, item = (converter(part, lenient) for part in declared._args())
        return lambda value: {
            key(name): item(element) for name, element in _expect(value, dict, declared).items()
        }
    return lambda value: value


def row_converter(
    declared: CompositeTypeInfo, lenient: bool = False, need_all: bool = False
) -> Convert:
    """What turns a dict into a row; ``need_all`` refuses one that lacks a field."""
    names = declared.field_names()
    fields = [converter(field, lenient) for field in declared.field_types()]

    def convert(value: Any) -> Any:
        found = _expect(value, dict, declared)
        if need_all:
            for name in names:
                if name not in found:
                    raise TypeMismatchError(f"there is no field {name!r} in {describe(value)}")
        return declared.build(
            [field(found.get(name)) for name, field in zip(names, fields, strict=True)]
        )

    return convert


def _expect(value: Any, kind: type, declared: TypeInformation) -> Any:
    if not isinstance(value, kind):
        raise TypeMismatchError(f"expected {declared.label}, got {describe(value)}")
    return value


def _basic(kind: BasicType) -> Convert:
    if kind in WIDTHS:
        return _integer(WIDTHS[kind])
    return {
        BasicType.STRING: _text,
        BasicType.CHAR: _text,
        BasicType.BOOLEAN: lambda v: v if isinstance(v, bool) else _text(v).lower() == "true",
        BasicType.BIG_INT: _integer(None),
        BasicType.FLOAT: lambda value: float(_number(value)),
        BasicType.DOUBLE: lambda value: float(_number(value)),
        BasicType.BIG_DEC: lambda value: Decimal(str(_number(value))),
        BasicType.INSTANT: lambda value: Instant.of_datetime(_datetime(value, need_zone=True)),
    }[kind]


def _number(value: Any) -> Any:
    return _text(value).strip() if isinstance(value, bool | str) else value


def _integer(bits: int | None) -> Convert:
    def convert(value: Any) -> int:
        number = int(_number(value))
        if bits is not None and not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            raise ValueError(number)
        return number

    return convert


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _datetime(value: Any, need_zone: bool = False) -> datetime:
    text = _text(value)
    if "T" not in text:
        raise ValueError(text)
    found = datetime.fromisoformat(text)
    if need_zone and found.tzinfo is None:
        raise ValueError(text)
    return found


_TEMPORAL: dict[Any, Convert] = {
    date: lambda value: date.fromisoformat(_text(value)),
    time: lambda value: time.fromisoformat(_text(value)).replace(tzinfo=None),
    datetime: lambda value: naive(_datetime(value)),
}
