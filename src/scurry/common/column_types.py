"""Types that tables have and Flink's Java classes do not: decimals of a fixed scale, and points in
time as `datetime` objects with a time zone.

`BIG_DEC` and `INSTANT` mean nearly the same, and hold values that no Arrow column can hold. These
two have columns, so streams that come from a Spark DataFrame stay columns.

The other three are what elements of a stream become where the stream becomes a table:
:class:`RoundedDecimalTypeInfo` for `BIG_DEC`, :class:`InstantColumnTypeInfo` for `INSTANT`, and
:class:`RawTypeInfo` for what has no column at all.
"""

from __future__ import annotations

import pickle
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from scurry.common.errors import TypeMismatchError
from scurry.common.pickling import dumps
from scurry.common.time import Instant
from scurry.common.type_information import TypeInformation

__all__ = [
    "DecimalTypeInfo",
    "InstantColumnTypeInfo",
    "RawTypeInfo",
    "RoundedDecimalTypeInfo",
    "ZonedTimestampTypeInfo",
]

_MOST_DIGITS = 38


class DecimalTypeInfo(TypeInformation):
    """A `decimal.Decimal` of at most ``precision`` digits, ``scale`` of them behind the point."""

    __slots__ = ("precision", "scale")

    def __init__(self, precision: int, scale: int) -> None:
        if not 1 <= precision <= _MOST_DIGITS or not 0 <= scale <= precision:
            raise TypeMismatchError(
                f"DECIMAL({precision}, {scale}): a decimal has 1 to {_MOST_DIGITS} digits, and at "
                "most all of them behind the point"
            )
        self.precision = precision
        self.scale = scale

    @property
    def label(self) -> str:
        return "DECIMAL"

    def arrow_type(self) -> pa.DataType | None:
        return pa.decimal128(self.precision, self.scale)

    def _check(self, value: object) -> str | None:
        if not isinstance(value, Decimal):
            return self._mismatch(value)
        if not value.is_finite():
            return self._mismatch(value, ", which is no number")
        # neither rounds: a context would
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        behind = -exponent
        while behind > self.scale and digits and digits[-1] == 0:
            digits, behind = digits[:-1], behind - 1
        if behind > self.scale or len(digits) - behind > self.precision - self.scale:
            return self._mismatch(value, f", which does not fit into {self!r}")
        return None

    def _args(self) -> tuple[Any, ...]:
        return self.precision, self.scale


class ZonedTimestampTypeInfo(TypeInformation):
    """A `datetime.datetime` with a time zone: a point in time, to the microsecond. It comes back
    from a column in UTC."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "TIMESTAMP_LTZ"

    def arrow_type(self) -> pa.DataType | None:
        return pa.timestamp("us", "UTC")

    def _check(self, value: object) -> str | None:
        if not isinstance(value, datetime):
            return self._mismatch(value)
        if value.tzinfo is None:
            return self._mismatch(value, ", which has no time zone")
        return None

    def _args(self) -> tuple[Any, ...]:
        return ()


class RoundedDecimalTypeInfo(DecimalTypeInfo):
    """A `decimal.Decimal` of any scale, rounded to that of the column; None if the column has no
    room for it."""

    __slots__ = ()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        context = Context(prec=self.precision, rounding=ROUND_HALF_UP)
        try:
            return obj.quantize(Decimal(1).scaleb(-self.scale), context=context)
        except InvalidOperation:
            return None

    def _check(self, value: object) -> str | None:
        return None if isinstance(value, Decimal) else self._mismatch(value)


class InstantColumnTypeInfo(TypeInformation):
    """An `Instant`, to the nanosecond; from a column it comes back as one."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "INSTANT"

    def arrow_type(self) -> pa.DataType | None:
        return pa.timestamp("ns", "UTC")

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else obj.seconds * 1_000_000_000 + obj.nanos

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else Instant.of_datetime(obj)

    def _check(self, value: object) -> str | None:
        return None if isinstance(value, Instant) else self._mismatch(value)

    def _args(self) -> tuple[Any, ...]:
        return ()


class RawTypeInfo(TypeInformation):
    """Any Python object, pickled into a column of bytes."""

    __slots__ = ()

    @property
    def label(self) -> str:
        return "RAW"

    def arrow_type(self) -> pa.DataType | None:
        return pa.binary()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else dumps(obj)

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else pickle.loads(obj)

    def _check(self, value: object) -> str | None:
        return None

    def _args(self) -> tuple[Any, ...]:
        return ()
