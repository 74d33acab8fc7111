"""Elements as text: what is printed, and what a file of lines holds.

Where the type of a stream is declared, Flink's elements are Java objects, and their text is Java's:
``(a,1)`` for a tuple, ``+I[a, 1]`` for a row, ``true``, ``null``, ``1.0E10``. Programs and the
scripts that read their output count on that. Where no type is declared, the text is Python's own.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np

from scurry.common.collection_types import ListTypeInfo, MapTypeInfo
from scurry.common.row_types import RowTypeInfo, TupleTypeInfo
from scurry.common.scalar_types import (
    BasicType,
    BasicTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
)
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row

__all__ = ["printer_of", "writer_of"]

Writer = Callable[[Any], str]


def writer_of(declared: TypeInformation | None) -> Writer:
    """What writes the elements of a stream whose type was declared as that, or not at all."""
    if declared is None or isinstance(declared, PickledBytesTypeInfo):
        return str
    return _nullable(declared)


def printer_of(declared: TypeInformation | None) -> Writer:
    """The same for printing, where PyFlink writes rows differently: ``+I[a,None]``."""
    if not isinstance(declared, RowTypeInfo):
        return writer_of(declared)
    return lambda row: f"{_kind(row)}[{','.join(map(str, declared.field_values(row)))}]"


def _nullable(declared: TypeInformation) -> Writer:
    write = _writer(declared)
    return lambda value: "null" if value is None else write(value)


def _writer(declared: TypeInformation) -> Writer:
    if isinstance(declared, BasicTypeInfo):
        return _BASIC.get(declared, str)
    if isinstance(declared, TimestampTypeInfo):
        return _timestamp
    if isinstance(declared, MapTypeInfo):
        key, value = map(_nullable, declared._args())
        return lambda m: f"{{{', '.join(f'{key(k)}={value(v)}' for k, v in m.items())}}}"
    if isinstance(declared, ListTypeInfo):
        item = _nullable(declared.elem_type)
        return lambda items: f"[{', '.join(map(item, items))}]"
    if isinstance(declared, TupleTypeInfo | RowTypeInfo):
        return _fields(declared)
    return str


def _fields(declared: TupleTypeInfo | RowTypeInfo) -> Writer:
    writers = [_nullable(field) for field in declared.field_types()]

    def texts(element: Any) -> list[str]:
        values = declared.field_values(element)
        return [write(value) for write, value in zip(writers, values, strict=True)]

    if isinstance(declared, TupleTypeInfo):
        return lambda element: f"({','.join(texts(element))})"
    return lambda row: f"{_kind(row)}[{', '.join(texts(row))}]"


def _kind(row: Any) -> str:
    return str(row.get_row_kind()) if isinstance(row, Row) else "+I"


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _double(value: float) -> str:
    return _floating(repr(float(value)))


def _single(value: float) -> str:
    return _floating(str(np.float32(value)))


def _floating(shortest: str) -> str:
    """The shortest digits of a number as Java writes them: with an exponent from 10 million on and
    below a thousandth."""
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(shortest)
    if special is not None:
        return special
    number = Decimal(shortest)
    if number == 0 or Decimal("1e-3") <= abs(number) < 10_000_000:
        plain = f"{number:f}"
        return plain if "." in plain else f"{plain}.0"
    sign, digits, _ = number.normalize().as_tuple()
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{number.adjusted()}"


def _timestamp(value: datetime) -> str:
    fraction = f"{value.microsecond:06}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


_BASIC: dict[TypeInformation, Writer] = {
    BasicTypeInfo(BasicType.BOOLEAN): _boolean,
    BasicTypeInfo(BasicType.DOUBLE): _double,
    BasicTypeInfo(BasicType.FLOAT): _single,
}
