"""Between plain values, as JSON and CSV have them, and values of columns.

Reading follows Flink's JSON format: a text that spells a number is taken for one, anything can be
text, bytes are base64, dates and times are texts in SQL's form (``2024-01-31 12:00:00``) or in that
of ISO 8601 (``2024-01-31T12:00:00``). A decimal that does not fit its column is NULL.
"""

from __future__ import annotations

import base64
import calendar
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import msgspec
import pyarrow as pa

from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    BooleanType,
    CharacterStringType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from scurry.common.errors import ProgramError

Read = Callable[[Any], Any]
SQL = "SQL"
ISO = "ISO-8601"
_NANOS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def reader(data_type: DataType, standard: str = SQL, lenient: bool = False) -> Read:
    """What turns a plain value into one that Arrow takes for the type. With ``lenient`` a value
    that cannot be one becomes None, otherwise it raises."""
    inner = _reader(data_type, standard, lenient)

    def read(value: Any) -> Any:
        if value is None:
            return None
        try:
            return inner(value)
        except (ValueError, TypeError, ArithmeticError) as wrong:
            if lenient:
                return None
            raise ValueError(f"{value!r} is no {data_type.describe()}") from wrong

    return read


def _reader(data_type: DataType, standard: str, lenient: bool) -> Read:
    if isinstance(data_type, BooleanType):
        return lambda v: v if isinstance(v, bool) else as_text(v).strip().lower() == "true"
    if isinstance(data_type, IntegralType):
        return _integer(data_type.bits)
    if isinstance(data_type, DecimalType):
        return lambda value: fitted(Decimal(str(_number(value))), data_type)
    if isinstance(data_type, FractionalType):
        return lambda value: float(_number(value))
    if isinstance(data_type, CharacterStringType):
        return as_text
    if isinstance(data_type, BinaryStringType):
        return lambda value: base64.b64decode(as_text(value), validate=True)
    if isinstance(data_type, DateType):
        return lambda value: date.fromisoformat(as_text(value).strip())
    if isinstance(data_type, TimeType):
        return lambda value: time.fromisoformat(as_text(value).strip().removesuffix("Z"))
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return _timestamp(data_type, standard)
    return _nested_reader(data_type, standard, lenient)


def _nested_reader(data_type: DataType, standard: str, lenient: bool) -> Read:
    if isinstance(data_type, ArrayType):
        item = reader(data_type.element_type, standard, lenient)
        return lambda value: list(map(item, _of(value, list)))
    if isinstance(data_type, MapType):
        key = reader(data_type.key_type, standard, lenient)
        item = reader(data_type.value_type, standard, lenient)
        return lambda value: [(key(k), item(v)) for k, v in _of(value, dict).items()]
    if isinstance(data_type, MultisetType):
        key = reader(data_type.element_type, standard, lenient)
        return lambda value: [(key(k), int(v)) for k, v in _of(value, dict).items()]
    if isinstance(data_type, RowType):
        fields = [(f.name, reader(f.data_type, standard, lenient)) for f in data_type]
        return lambda value: {name: read(_of(value, dict).get(name)) for name, read in fields}
    raise ProgramError(f"This format cannot hold values of type {data_type}.")


def _of(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {'an object' if kind is dict else 'an array'}")
    return value


def as_text(value: Any) -> str:
    """A plain value as text: JSON, unless it is a text already."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _number(value: Any) -> Any:
    return as_text(value).strip() if isinstance(value, bool | str) else value


def _integer(bits: int) -> Read:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(value: Any) -> int:
        number = int(_number(value))
        if not least <= number <= most:
            raise ValueError(f"{number} does not fit into {bits} bits")
        return number

    return read


def fitted(number: Decimal, data_type: DecimalType) -> Decimal | None:
    """The number with the type's digits behind the point, None if it has too many before it."""
    with localcontext() as context:
        context.prec = 80
        found = number.quantize(Decimal(1).scaleb(-data_type.scale), ROUND_HALF_UP)
        digits = len(found.as_tuple().digits)
        return found if digits <= data_type.precision else None


def _timestamp(data_type: TimestampType | LocalZonedTimestampType, standard: str) -> Read:
    unit = data_type.arrow_type().unit
    zoned = isinstance(data_type, LocalZonedTimestampType)
    between = "T" if standard == ISO else " "

    def read(value: Any) -> int:
        text = as_text(value).strip()
        if len(text) < 11 or text[10] != between:
            raise ValueError(text)
        whole, _, fraction = text.removesuffix("Z").partition(".")
        moment = datetime.fromisoformat(whole)
        if moment.tzinfo is not None or text.endswith("Z") != zoned:
            raise ValueError(text)
        seconds = calendar.timegm(moment.timetuple())
        if fraction and not fraction.isdigit():
            raise ValueError(text)
        nanos = seconds * 1_000_000_000
        nanos += int(fraction[:9].ljust(9, "0")) if fraction else 0
        return nanos // _NANOS[unit]

    return read


def read_column(values: Sequence[Any], data_type: DataType, standard: str, lenient: bool) -> Any:
    """A column of plain values as an Arrow array; the types that JSON has itself go straight."""
    target = data_type.arrow_type()
    if isinstance(data_type, _DIRECT) and not lenient:
        try:
            return pa.array(values, target)
        except (pa.ArrowException, TypeError, OverflowError):
            pass
    read = reader(data_type, standard, lenient)
    return pa.array(list(map(read, values)), target)


_DIRECT = (BooleanType, IntegralType, CharacterStringType)


def writer(data_type: DataType, standard: str = SQL) -> Read | None:
    """What turns a value of a column, as ``to_pylist`` gives it, into a plain one; None where
    nothing needs to be done. Timestamps are written by :func:`write_column`."""
    if isinstance(data_type, DateType):
        return lambda value: value.isoformat()
    if isinstance(data_type, TimeType):
        return time_text
    if isinstance(data_type, BinaryStringType):
        return lambda value: base64.b64encode(value).decode()
    if isinstance(data_type, TimestampType | LocalZonedTimestampType):
        return _timestamp_writer(data_type, standard)
    return _nested_writer(data_type, standard)


def _nested_writer(data_type: DataType, standard: str) -> Read | None:
    if isinstance(data_type, ArrayType):
        item = _maybe(writer(data_type.element_type, standard))
        return lambda value: list(map(item, value))
    if isinstance(data_type, MapType):
        key = _maybe(writer(data_type.key_type, standard))
        item = _maybe(writer(data_type.value_type, standard))
        return lambda value: {as_text(key(k)): item(v) for k, v in value}
    if isinstance(data_type, MultisetType):
        key = _maybe(writer(data_type.element_type, standard))
        return lambda value: {as_text(key(k)): count for k, count in value}
    if isinstance(data_type, RowType):
        fields = [(f.name, _maybe(writer(f.data_type, standard))) for f in data_type]
        return lambda value: {name: write(value[name]) for name, write in fields}
    return None


def _maybe(write: Read | None) -> Read:
    if write is None:
        return lambda value: value
    return lambda value: None if value is None else write(value)


def time_text(value: time) -> str:
    """A time of day with as many digits behind the point as it needs."""
    text = value.strftime("%H:%M:%S")
    return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text


def _timestamp_writer(data_type: TimestampType | LocalZonedTimestampType, standard: str) -> Read:
    zone = "Z" if isinstance(data_type, LocalZonedTimestampType) else ""
    between = "T" if standard == ISO else " "

    def write(value: Any) -> str:
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        nanos = moment.microsecond * 1000 + getattr(moment, "nanosecond", 0)
        text = moment.strftime(f"%Y-%m-%d{between}%H:%M:%S")
        return (f"{text}.{nanos:09d}".rstrip("0") if nanos else text) + zone

    return write


def write_column(column: pa.Array, data_type: DataType, standard: str = SQL) -> list[Any]:
    """A column as plain values."""
    values = column.to_pylist()
    write = writer(data_type, standard)
    if write is None:
        return list(values)
    return [None if value is None else write(value) for value in values]
