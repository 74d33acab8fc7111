"""Types of single values: numbers, text, dates and times, and opaque pickled objects.

The integer and floating types have the widths of Flink's, so a value may be of the right Python
class and still not fit. Numbers without bounds (`BIG_INT`, `BIG_DEC`) and points in time with
nanoseconds (`INSTANT`) have no Arrow form that keeps every value, so they are pickled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from numbers import Integral, Rational, Real
from typing import Any

import pyarrow as pa

from scurry.common.time import Instant
from scurry.common.type_information import TypeInformation

__all__ = [
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "InstantTypeInfo",
    "LocalTimeTypeInfo",
    "PickledBytesTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
]

FLOAT_MAX = 3.4028234663852886e38


class BasicType(Enum):
    """The kinds of `BasicTypeInfo`."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


def _integer(bits: int | None) -> Callable[[Any], str | None]:
    def fault(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, Integral):
            return ""
        if bits is not None and not -(1 << (bits - 1)) <= int(value) < 1 << (bits - 1):
            return f", which does not fit into {bits} bits"
        return None

    return fault


def _floating(exact_bits: int, largest: float) -> Callable[[Any], str | None]:
    def fault(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, Real):
            return ""
        if isinstance(value, Integral):
            exact = abs(int(value)) <= 1 << exact_bits
            return None if exact else ", an integer too large to be kept exactly"
        if isinstance(value, Rational):
            return ""
        number = float(value)
        fits = abs(number) <= largest or not math.isfinite(number)
        return None if fits else ", which is too large"

    return fault


def _instance(*classes: type) -> Callable[[Any], str | None]:
    return lambda value: None if isinstance(value, classes) else ""


def _char(value: Any) -> str | None:
    if not isinstance(value, str):
        return ""
    return None if len(value) == 1 else ", which is not a single character"


_BASIC: dict[BasicType, tuple[pa.DataType | None, Callable[[Any], str | None]]] = {
    BasicType.STRING: (pa.string(), _instance(str)),
    BasicType.BYTE: (pa.int8(), _integer(8)),
    BasicType.BOOLEAN: (pa.bool_(), _instance(bool)),
    BasicType.SHORT: (pa.int16(), _integer(16)),
    BasicType.INT: (pa.int32(), _integer(32)),
    BasicType.LONG: (pa.int64(), _integer(64)),
    BasicType.FLOAT: (pa.float32(), _floating(24, FLOAT_MAX)),
    BasicType.DOUBLE: (pa.float64(), _floating(53, math.inf)),
    BasicType.CHAR: (pa.string(), _char),
    BasicType.BIG_INT: (None, _integer(None)),
    BasicType.BIG_DEC: (None, _instance(Decimal)),
    BasicType.INSTANT: (None, _instance(Instant)),
}


def _single(value: Any) -> float:
    return c_float(value).value


_EXACT: dict[BasicType, Callable[[Any], Any]] = {
    BasicType.FLOAT: _single,
    BasicType.DOUBLE: float,
}


class BasicTypeInfo(TypeInformation):
    """One of the basic kinds, such as a text or a 64-bit integer."""

    __slots__ = ("_basic_type",)

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type

    @property
    def label(self) -> str:
        return self._basic_type.name

    def arrow_type(self) -> pa.DataType | None:
        return _BASIC[self._basic_type][0]

    def _check(self, value: object) -> str | None:
        fault = _BASIC[self._basic_type][1](value)
        return None if fault is None else self._mismatch(value, fault)

    @property
    def exact(self) -> Callable[[Any], Any] | None:
        return _EXACT.get(self._basic_type)

    def _args(self) -> tuple[Any, ...]:
        return (self._basic_type,)

    def __repr__(self) -> str:
        return f"Types.{self.label}()"

    def __str__(self) -> str:
        return self._basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """A `str`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """A `bool`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """An `int` of 8 bits."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """An `int` of 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """An `int` of 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """An `int` of 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """A `float` of 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """A `float` of 64 bits."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """A `str` of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """An `int` without bounds."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """A `decimal.Decimal`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> InstantTypeInfo:
        """An `Instant`."""
        return InstantTypeInfo()


class InstantTypeInfo(BasicTypeInfo):
    """An `Instant`: a point in time, to the nanosecond."""

    __slots__ = ()

    def __init__(self, basic_type: BasicType = BasicType.INSTANT) -> None:
        super().__init__(basic_type)


class DateTypeInfo(TypeInformation):
    """A `datetime.date`."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "SQL_DATE"

    def arrow_type(self) -> pa.DataType | None:
        return pa.date32()

    def _check(self, value: object) -> str | None:
        if isinstance(value, datetime):
            return self._mismatch(value, ", which has a time of day")
        return None if isinstance(value, date) else self._mismatch(value)

    def _args(self) -> tuple[Any, ...]:
        return ()


class TimeTypeInfo(TypeInformation):
    """A `datetime.time` without time zone."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "SQL_TIME"

    def arrow_type(self) -> pa.DataType | None:
        return pa.time64("us")

    def _check(self, value: object) -> str | None:
        if not isinstance(value, time):
            return self._mismatch(value)
        return None if value.tzinfo is None else self._mismatch(value, ", which has a time zone")

    def _args(self) -> tuple[Any, ...]:
        return ()


class TimestampTypeInfo(TypeInformation):
    """A `datetime.datetime` without time zone."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "SQL_TIMESTAMP"

    def arrow_type(self) -> pa.DataType | None:
        return pa.timestamp("us")

    def _check(self, value: object) -> str | None:
        if not isinstance(value, datetime):
            return self._mismatch(value)
        return None if value.tzinfo is None else self._mismatch(value, ", which has a time zone")

    def _args(self) -> tuple[Any, ...]:
        return ()


class SqlTimeTypeInfo:
    """The three SQL types of dates and times."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """A date."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """A time of day."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """A date and time of day."""
        return TimestampTypeInfo()


class LocalTimeTypeInfo(TypeInformation):
    """A date, time or both as a wall clock shows them; Python has the same classes for them."""

    __slots__ = ("_time_type",)

    class TimeType(Enum):
        """Which of the three."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: LocalTimeTypeInfo.TimeType) -> None:
        self._time_type = time_type

    @property
    def label(self) -> str:
        return self._time_type.name

    def _same(self) -> TypeInformation:
        return (DateTypeInfo(), TimeTypeInfo(), TimestampTypeInfo())[self._time_type.value]

    def arrow_type(self) -> pa.DataType | None:
        return self._same().arrow_type()

    def _check(self, value: object) -> str | None:
        same = self._same()
        fault = same.check(value)
        return fault.replace(same.label, self.label, 1) if fault else None

    def _args(self) -> tuple[Any, ...]:
        return (self._time_type,)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo({self._time_type})"


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object; it travels pickled."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "PICKLED_BYTE_ARRAY"

    def arrow_type(self) -> pa.DataType | None:
        return None

    def _check(self, value: object) -> str | None:
        return None

    def _args(self) -> tuple[Any, ...]:
        return ()

    def __str__(self) -> str:
        return "PickledByteArrayTypeInfo"
