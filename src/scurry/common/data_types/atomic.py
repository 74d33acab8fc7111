"""Numbers, texts, bytes, truth values and the type of a bare NULL.

Integers have Java's widths. A `DecimalType` holds up to 38 digits. CHAR values are padded when a
value is cast to them; a column of CHAR is a column of texts like any other.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from scurry.common.data_types.data_type import (
    AtomicType,
    BinaryStringType,
    CharacterStringType,
    FractionalType,
    IntegralType,
)
from scurry.common.errors import TypeMismatchError

MAX_LENGTH = 2147483647
MAX_PRECISION = 38

__all__ = [
    "MAX_LENGTH",
    "MAX_PRECISION",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "IntType",
    "NullType",
    "SmallIntType",
    "TinyIntType",
    "VarBinaryType",
    "VarCharType",
    "VariantType",
]


class NullType(AtomicType):
    """The type of NULL where nothing else says what it could have been."""

    def arrow_type(self) -> pa.DataType:
        return pa.null()

    def describe(self) -> str:
        return "NULL"


class BooleanType(AtomicType):
    """TRUE and FALSE; the third truth value, UNKNOWN, is NULL."""

    def arrow_type(self) -> pa.DataType:
        return pa.bool_()

    def describe(self) -> str:
        return "BOOLEAN"


class CharType(CharacterStringType):
    """Texts of exactly `length` characters."""

    def describe(self) -> str:
        return f"CHAR({self.length})"


class VarCharType(CharacterStringType):
    """Texts of at most `length` characters; STRING is the longest of them."""

    def describe(self) -> str:
        return "STRING" if self.length == MAX_LENGTH else f"VARCHAR({self.length})"


class VariantType(AtomicType):
    """JSON that has been parsed; a column holds it as JSON in one form, with sorted keys."""

    def arrow_type(self) -> pa.DataType:
        return pa.string()

    def describe(self) -> str:
        return "VARIANT"


class BinaryType(BinaryStringType):
    """Exactly `length` bytes."""

    def describe(self) -> str:
        return f"BINARY({self.length})"


class VarBinaryType(BinaryStringType):
    """At most `length` bytes; BYTES is the longest of them."""

    def describe(self) -> str:
        return "BYTES" if self.length == MAX_LENGTH else f"VARBINARY({self.length})"


class TinyIntType(IntegralType):
    """Integers of 8 bits."""

    bits = 8

    def arrow_type(self) -> pa.DataType:
        return pa.int8()

    def describe(self) -> str:
        return "TINYINT"


class SmallIntType(IntegralType):
    """Integers of 16 bits."""

    bits = 16

    def arrow_type(self) -> pa.DataType:
        return pa.int16()

    def describe(self) -> str:
        return "SMALLINT"


class IntType(IntegralType):
    """Integers of 32 bits."""

    bits = 32

    def arrow_type(self) -> pa.DataType:
        return pa.int32()

    def describe(self) -> str:
        return "INT"


class BigIntType(IntegralType):
    """Integers of 64 bits."""

    bits = 64

    def arrow_type(self) -> pa.DataType:
        return pa.int64()

    def describe(self) -> str:
        return "BIGINT"


class FloatType(FractionalType):
    """Floating-point numbers of 32 bits."""

    def arrow_type(self) -> pa.DataType:
        return pa.float32()

    def describe(self) -> str:
        return "FLOAT"


class DoubleType(FractionalType):
    """Floating-point numbers of 64 bits."""

    def arrow_type(self) -> pa.DataType:
        return pa.float64()

    def describe(self) -> str:
        return "DOUBLE"


class DecimalType(FractionalType):
    """Decimal numbers of `precision` digits, `scale` of them behind the point."""

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
            raise TypeMismatchError(
                f"there is no type DECIMAL({precision}, {scale}): the precision is between 1 and "
                f"{MAX_PRECISION}, and the scale between 0 and the precision"
            )
        self.precision = precision
        self.scale = scale

    def arrow_type(self) -> pa.DataType:
        return pa.decimal128(self.precision, self.scale)

    def describe(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"

    def _args(self) -> tuple[Any, ...]:
        return (self.precision, self.scale)
