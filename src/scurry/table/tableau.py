"""Rows as a table of characters, in the form that Flink prints them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from scurry.common.data_types import (
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from scurry.common.text_width import width_of
from scurry.common.types import Row
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.texts import sql_text

__all__ = ["Tableau"]

NULL = "<NULL>"
OP = "op"
_DIGITS: dict[type[DataType], int] = {
    BooleanType: 5,
    TinyIntType: 4,
    SmallIntType: 6,
    IntType: 11,
    BigIntType: 20,
    DateType: 10,
}


class Tableau:
    """Lines for rows of a schema. In streaming mode a first column has the kind of each row. A
    column of a query is as wide as its type needs (``by_type``), any other as its contents."""

    def __init__(
        self,
        schema: ResolvedSchema,
        streaming: bool,
        max_width: int = 30,
        zone: str = "UTC",
        by_type: bool = False,
    ) -> None:
        self._schema = schema
        self._by_type = by_type or streaming
        self._streaming = streaming
        self._most = max_width
        self._zone = zone
        names = schema.get_column_names()
        self._names = [OP, *names] if streaming else names

    def lines(self, rows: Iterable[Row]) -> Iterator[str]:
        """The whole print, row by row as they come."""
        if self._by_type:
            yield from self._streamed(rows)
            return
        texts = [self._texts(row) for row in rows]
        if not texts:
            yield "Empty set"
            return
        widths = [max(map(width_of, column)) for column in zip(self._names, *texts, strict=True)]
        rule = _rule(widths)
        yield from (rule, self._line(self._names, widths), rule)
        yield from (self._line(text, widths) for text in texts)
        yield from (rule, _count(len(texts)))

    def _streamed(self, rows: Iterable[Row]) -> Iterator[str]:
        kind = [len(OP)] if self._streaming else []
        widths = [*kind, *map(self._width, self._schema.get_columns())]
        rule = _rule(widths)
        count = 0
        for row in rows:
            if not count:
                yield from (rule, self._line(self._names, widths), rule)
            count += 1
            kinds = [str(row.get_row_kind())] if self._streaming else []
            yield self._line([*kinds, *self._texts(row)], widths)
        if count:
            yield from (rule, _count(count))
        else:
            yield "Empty set"

    def _width(self, column: Any) -> int:
        width = self._type_width(column.data_type)
        return max(width, len(NULL), width_of(column.name))

    def _type_width(self, data_type: DataType) -> int:
        if type(data_type) in _DIGITS:
            return _DIGITS[type(data_type)]
        if isinstance(data_type, DecimalType):
            return data_type.precision + 2
        if isinstance(data_type, TimeType):
            return 8 if data_type.precision == 0 else data_type.precision + 9
        if isinstance(data_type, TimestampType | LocalZonedTimestampType):
            return 19 if data_type.precision == 0 else data_type.precision + 20
        return self._most

    def _texts(self, row: Row) -> list[str]:
        types = self._schema.get_column_data_types()
        null = NULL if self._by_type else ""
        return [
            null if value is None else sql_text(value, kind, self._zone)
            for value, kind in zip(row, types, strict=True)
        ]

    def _line(self, texts: Sequence[str], widths: Sequence[int]) -> str:
        cells = [f" {self._cell(text, width)} " for text, width in zip(texts, widths, strict=True)]
        return f"|{'|'.join(cells)}|"

    def _cell(self, text: str, width: int) -> str:
        if width_of(text) > width:
            text = _cut(text, width)
        pad = " " * (width - width_of(text))
        return pad + text


def _rule(widths: Sequence[int]) -> str:
    return f"+{'+'.join('-' * (width + 2) for width in widths)}+"


def _count(rows: int) -> str:
    return f"{rows} row{'' if rows == 1 else 's'} in set"


def _cut(text: str, width: int) -> str:
    """As much of a text as fits, with three dots behind it."""
    room, kept = width - 3, ""
    for sign in text:
        room -= width_of(sign)
        if room < 0:
            break
        kept += sign
    return kept + "..."
