"""Messages as one column: texts, bytes, or numbers of a fixed width."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

from scurry.common.data_types import (
    BigIntType,
    BinaryStringType,
    BooleanType,
    CharacterStringType,
    DataType,
    DoubleType,
    FloatType,
    IntType,
    RowType,
    SmallIntType,
    TinyIntType,
)
from scurry.common.errors import ProgramError
from scurry.connectors.row_formats.contract import (
    DecodedRows,
    DecodingFormat,
    EncodingFormat,
    Kinds,
    columns_of,
    each_message,
)

__all__ = ["RawDecoding", "RawEncoding"]

_CODES: dict[type[DataType], str] = {
    BooleanType: "?",
    TinyIntType: "b",
    SmallIntType: "h",
    IntType: "i",
    BigIntType: "q",
    FloatType: "f",
    DoubleType: "d",
}


class _Raw:
    def __init__(self, row_type: RowType, charset: str, big_endian: bool) -> None:
        if len(row_type) != 1:
            raise ProgramError(
                f"The raw format has one column, and the table has {len(row_type)}: "
                f"{', '.join(row_type.field_names())}."
            )
        self._type = row_type[0].data_type
        self._charset = charset
        texts = isinstance(self._type, CharacterStringType | BinaryStringType)
        if not texts and type(self._type) not in _CODES:
            raise ProgramError(f"The raw format cannot hold values of type {self._type}.")
        self._layout = "" if texts else (">" if big_endian else "<") + _CODES[type(self._type)]

    def value(self, message: bytes) -> object:
        if isinstance(self._type, CharacterStringType):
            return message.decode(self._charset)
        if isinstance(self._type, BinaryStringType):
            return message
        if len(message) != struct.calcsize(self._layout):
            raise ValueError(f"{len(message)} bytes are no {self._type.describe()}")
        return struct.unpack(self._layout, message)[0]

    def message(self, value: object) -> bytes:
        if value is None:
            return b""
        if isinstance(value, str):
            return value.encode(self._charset)
        return value if isinstance(value, bytes) else struct.pack(self._layout, value)


class RawDecoding(DecodingFormat):
    """Reads each message as the value of the only column."""

    takes_mark = True

    def __init__(self, row_type: RowType, charset: str = "UTF-8", big_endian: bool = True) -> None:
        super().__init__(row_type)
        self._raw = _Raw(row_type, charset, big_endian)

    def decode(self, messages: Sequence[bytes]) -> DecodedRows:
        values, _ = each_message(messages, self._raw.value, False)
        return DecodedRows(columns_of(self.row_type, [values]))


class RawEncoding(EncodingFormat):
    """Writes the value of the only column."""

    def __init__(self, row_type: RowType, charset: str = "UTF-8", big_endian: bool = True) -> None:
        super().__init__(row_type)
        self._raw = _Raw(row_type, charset, big_endian)

    def encode(self, columns: pa.RecordBatch, kinds: Kinds | None) -> list[bytes]:
        return list(map(self._raw.message, columns.column(0).to_pylist()))
