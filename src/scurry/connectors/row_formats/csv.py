"""Lines of CSV as rows.

A message is one line. Arrays and nested rows lie within a field, their elements separated by
another sign. Quoting and the treatment of odd lines follow Flink's CSV format.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    BooleanType,
    CharacterStringType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegralType,
    RowType,
    TimestampType,
)
from scurry.connectors.csv_fields import csv_fields
from scurry.connectors.row_formats.contract import (
    DecodedRows,
    DecodingFormat,
    EncodingFormat,
    Kinds,
    columns_of,
    each_message,
)
from scurry.connectors.row_formats.values import SQL, read_column, reader, write_column

__all__ = ["CsvDecoding", "CsvEncoding", "CsvSigns"]

_ARROW_READS = (
    BooleanType,
    CharacterStringType,
    DateType,
    DecimalType,
    DoubleType,
    IntegralType,
    TimestampType,
)
#: The shortest text of a timestamp: a date, a space, and a time to the second.
_SECONDS = len("2024-01-31 12:00:00")
#: Longer fields are quoted without a look at what they hold.
_LOOK_AT_MOST = 24


@dataclass(frozen=True)
class CsvSigns:
    """The signs of a CSV text."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    elements: str = ";"
    null: str | None = None


class CsvDecoding(DecodingFormat):
    """Reads each message as one line. ``row_type`` has the fields of a line; with ``wanted`` just
    those of these names become columns, and nobody looks at the others."""

    def __init__(
        self,
        row_type: RowType,
        signs: CsvSigns,
        ignore_parse_errors: bool = False,
        allow_comments: bool = False,
        wanted: Sequence[str] | None = None,
    ) -> None:
        super().__init__(row_type, ignore_parse_errors)
        self._signs = signs
        self._comments = allow_comments
        names = row_type.field_names()
        self._places = [names.index(name) for name in (names if wanted is None else wanted)]
        self._given = RowType([list(row_type)[place] for place in self._places])
        plain = all(isinstance(field.data_type, _ARROW_READS) for field in self._given)
        self._integers = any(isinstance(one.data_type, IntegralType) for one in self._given)
        self._straight = plain and not allow_comments and not signs.escape and bool(self._places)

    def projected(self, wanted: Sequence[str]) -> CsvDecoding:
        """The same for some of the columns."""
        return CsvDecoding(self.row_type, self._signs, self.ignore, self._comments, wanted)

    def decode(self, messages: Sequence[bytes]) -> DecodedRows:
        # a message must not be empty, which Arrow passes over, nor be more than one line
        if self._straight and messages and all(messages):
            data = b"\n".join(messages)
            if data.count(b"\n") == len(messages) - 1 and b"\r" not in data:
                columns = self._by_arrow(data, len(messages))
                if columns is not None:
                    return DecodedRows(columns)
        return self._one_by_one(messages)

    def decode_lines(self, data: bytes) -> DecodedRows | None:
        if not self._straight or b"\r" in data or b"\n\n" in data or data[:1] == b"\n":
            return None
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        columns = self._by_arrow(data, lines) if lines else None
        return None if columns is None else DecodedRows(columns)

    def _by_arrow(self, data: bytes, lines: int) -> pa.RecordBatch | None:
        """The columns of lines of text, None if Arrow does not take them as Flink does."""
        if self._integers and (b"0x" in data or b"0X" in data):
            # to Arrow that may be a number
            return None
        if self._signs.quote and _odd_quotes(data, self._signs.quote):
            # to Arrow the end of a line is the end of a quoted field, too
            return None
        signs, names = self._signs, [f"f{at}" for at in range(len(self.row_type))]
        types = {names[at]: _read_as(self._given[i]) for i, at in enumerate(self._places)}
        try:
            table = pc.read_csv(
                io.BytesIO(data),
                pc.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 64),
                pc.ParseOptions(
                    delimiter=signs.delimiter, quote_char=signs.quote or False, double_quote=True
                ),
                pc.ConvertOptions(
                    check_utf8=True,
                    column_types=types,
                    include_columns=list(types),
                    null_values=[] if signs.null is None else [signs.null],
                    strings_can_be_null=signs.null is not None,
                    quoted_strings_can_be_null=True,
                    true_values=["true", "True", "TRUE"],
                    false_values=["false", "False", "FALSE"],
                ),
            )
            if table.num_rows != lines:
                return None
            (columns,) = table.combine_chunks().to_batches()
            arrays = [
                _moments(column, field.data_type) if pa.types.is_string(column.type) else column
                for column, field in zip(columns.columns, self._given, strict=True)
            ]
        except (pa.ArrowException, UnicodeDecodeError, _OtherwiseWritten):
            return None
        return columns_of(self._given, arrays)

    def _one_by_one(self, messages: Sequence[bytes]) -> DecodedRows:
        kept = list(range(len(messages)))
        if self._comments:
            kept = [at for at in kept if not messages[at].startswith(b"#")]
        given = [messages[at] for at in kept]
        if not self.ignore:
            try:
                columns = self._columns(list(map(self._fields, given)), False)
            except (ValueError, TypeError, ArithmeticError):
                pass
            else:
                origin = np.array(kept, dtype=np.int64)
                return DecodedRows(columns, None, None if len(kept) == len(messages) else origin)
        lines, places = each_message(given, self._read, self.ignore)
        origin = np.array([kept[place] for place in places], dtype=np.int64)
        columns = self._columns(lines, self.ignore)
        return DecodedRows(columns, None, None if len(origin) == len(messages) else origin)

    def _read(self, message: bytes) -> list[Any]:
        values = self._fields(message)
        self._columns([values], self.ignore)
        return values

    def _fields(self, message: bytes) -> list[Any]:
        """The texts of the columns that are wanted."""
        signs = self._signs
        values = csv_fields(message.decode(), signs.delimiter, signs.quote, signs.escape)
        missing = len(self.row_type) - len(values)
        if missing < 0 or (missing and not self.ignore):
            raise ValueError(f"expected {len(self.row_type)} fields, got {len(values)}")
        values.extend([None] * missing)
        if signs.null is not None:
            values = [None if value == signs.null else value for value in values]
        return [values[place] for place in self._places]

    def _columns(self, lines: list[list[Any]], lenient: bool) -> pa.RecordBatch:
        lists: list[Any] = list(zip(*lines, strict=True)) or [()] * len(self._given)
        arrays = [
            self._column(values, field.data_type, lenient)
            for values, field in zip(lists, self._given, strict=True)
        ]
        return columns_of(self._given, arrays)

    def _column(self, values: Sequence[Any], data_type: DataType, lenient: bool) -> pa.Array:
        if isinstance(data_type, ArrayType | RowType | BinaryStringType):
            read = self._nested(data_type, lenient)
            return pa.array(list(map(read, values)), data_type.arrow_type())
        if not isinstance(data_type, CharacterStringType):
            # a text is not what Arrow takes for a number
            read = reader(data_type, SQL, lenient)
            return pa.array(list(map(read, values)), data_type.arrow_type())
        return read_column(values, data_type, SQL, lenient)

    def _nested(self, data_type: DataType, lenient: bool) -> Any:
        if isinstance(data_type, BinaryStringType):
            return lambda text: None if text is None else text.encode()
        types = data_type.children
        elements = self._signs.elements

        def read(text: str | None) -> Any:
            if text is None:
                return None
            parts = text.split(elements) if text else []
            if isinstance(data_type, ArrayType):
                return [reader(types[0], SQL, lenient)(part) for part in parts]
            if len(parts) != len(types):
                raise ValueError(f"expected {len(types)} nested fields, got {len(parts)}")
            assert isinstance(data_type, RowType)
            pairs = zip(data_type, parts, strict=True)
            return {f.name: reader(f.data_type, SQL, lenient)(part) for f, part in pairs}

        return read


class CsvEncoding(EncodingFormat):
    """Writes each row as one line, without its end."""

    def __init__(self, row_type: RowType, signs: CsvSigns) -> None:
        super().__init__(row_type)
        self._signs = signs
        quote = signs.quote or "\r"
        self._safe = chr(max(ord(signs.delimiter), ord(quote), 13) + 1)

    def encode(self, columns: pa.RecordBatch, kinds: Kinds | None) -> list[bytes]:
        lists = [
            self._texts(column, field.data_type)
            for column, field in zip(columns.columns, self.row_type, strict=True)
        ]
        join = self._signs.delimiter.join
        return [join(row).encode() for row in zip(*lists, strict=True)]

    def _texts(self, column: pa.Array, data_type: DataType) -> list[str]:
        null = self._signs.null or ""
        if isinstance(data_type, BinaryStringType):
            values = [None if v is None else v.decode() for v in column.to_pylist()]
        else:
            values = write_column(column, data_type)
        texts = isinstance(data_type, CharacterStringType | ArrayType | RowType)
        found = []
        for value in values:
            text = null if value is None else self._text(value, data_type)
            found.append(self._quoted(text) if texts and value is not None else text)
        return found

    def _text(self, value: Any, data_type: DataType) -> str:
        if isinstance(data_type, BooleanType):
            return "true" if value else "false"
        if isinstance(value, list):
            return self._signs.elements.join(self._inner(one) for one in value)
        if isinstance(value, dict):
            return self._signs.elements.join(map(self._inner, value.values()))
        return f"{value:f}" if isinstance(value, Decimal) else str(value)

    def _inner(self, value: Any) -> str:
        if value is None:
            return self._signs.null or ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    def _quoted(self, text: str) -> str:
        quote = self._signs.quote
        if quote is None or (
            len(text) <= _LOOK_AT_MOST and all(sign >= self._safe for sign in text)
        ):
            return text
        escape = self._signs.escape or quote
        return f"{quote}{text.replace(quote, escape + quote)}{quote}"


class _OtherwiseWritten(Exception):
    """A text that Arrow would take, and Flink would not, or the other way round."""


def _odd_quotes(data: bytes, quote: str) -> bool:
    """Whether the number of quotes in any of the lines is odd."""
    if quote.encode() not in data:
        return False
    signs = np.frombuffer(data, dtype=np.uint8)
    quotes, ends = np.flatnonzero(signs == ord(quote)), np.flatnonzero(signs == ord("\n"))
    before = np.searchsorted(quotes, ends)
    return len(quotes) % 2 == 1 or bool((before % 2).any())


def _read_as(field: Any) -> pa.DataType:
    """As what Arrow reads a field: timestamps as texts, which are looked at before the cast."""
    return (
        pa.string() if isinstance(field.data_type, TimestampType) else field.data_type.arrow_type()
    )


def _moments(texts: pa.Array, data_type: DataType) -> pa.Array:
    """Texts as timestamps, if the type is one. Arrow's own reader also takes a ``T`` between date
    and time, and a date alone."""
    if not isinstance(data_type, TimestampType):
        return texts
    whole = texts.drop_null() if texts.null_count else texts
    if len(whole):
        offsets = np.frombuffer(whole.buffers()[1], dtype=np.int32)
        offsets = offsets[whole.offset : whole.offset + len(whole) + 1]
        signs = np.frombuffer(whole.buffers()[2], dtype=np.uint8)
        if np.diff(offsets).min() < _SECONDS or (signs[offsets[:-1] + 10] != ord(" ")).any():
            raise _OtherwiseWritten
    return texts.cast(data_type.arrow_type())
