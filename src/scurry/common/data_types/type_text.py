"""Types written as text on their own, as in ``udf(result_type="ARRAY<INT>")``.

This is the little grammar of types alone; types inside of statements are read by the SQL parser.
"""

from __future__ import annotations

import re

from scurry.common.data_types.data_type import DataType
from scurry.common.data_types.names import TYPE_NAMES, type_from_name
from scurry.common.data_types.nested import ArrayType, MapType, MultisetType, RowField, RowType
from scurry.common.data_types.temporal import Resolution, interval
from scurry.common.errors import TypeMismatchError

__all__ = ["data_type_from_text"]

_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|('(?:[^']|'')*')|([A-Za-z_]\w*)|(\d+)|(\S))")
_ZONES = ("WITHOUT TIME ZONE", "WITH LOCAL TIME ZONE", "WITH TIME ZONE")
_NESTED = ("ARRAY", "MAP", "MULTISET", "ROW", "INTERVAL")


def data_type_from_text(text: str) -> DataType:
    """The type that the text says, such as ``ROW<a INT NOT NULL, b ARRAY<STRING>>``."""
    reader = _Reader(text)
    found = reader.type()
    if reader.at < len(reader.tokens):
        raise reader.error("the end")
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [m.group(m.lastindex or 0) for m in _TOKEN.finditer(text)]
        self.at = 0

    def error(self, expected: str) -> TypeMismatchError:
        found = repr(self.tokens[self.at]) if self.at < len(self.tokens) else "the end"
        return TypeMismatchError(f"{self.text!r} is no type: expected {expected}, found {found}")

    def peek(self, words: str) -> bool:
        wanted = words.split()
        return [t.upper() for t in self.tokens[self.at : self.at + len(wanted)]] == wanted

    def accept(self, words: str) -> bool:
        found = self.peek(words)
        self.at += len(words.split()) if found else 0
        return found

    def expect(self, words: str) -> None:
        if not self.accept(words):
            raise self.error(repr(words))

    def type(self) -> DataType:
        kind = next((kind for kind in _NESTED if self.accept(kind)), None)
        found = self._nested(kind) if kind else self._named()
        found = self._nullability(found)
        while self.peek("ARRAY") or self.peek("MULTISET"):
            made = ArrayType(found) if self.accept("ARRAY") else None
            found = self._nullability(made or self._multiset_of(found))
        return found

    def _multiset_of(self, element: DataType) -> DataType:
        self.expect("MULTISET")
        return MultisetType(element)

    def _nullability(self, found: DataType) -> DataType:
        if self.accept("NOT NULL"):
            return found.not_null()
        self.accept("NULL")
        return found

    def _nested(self, kind: str) -> DataType:
        if kind == "INTERVAL":
            return self._interval()
        closing = ")" if kind == "ROW" and self.accept("(") else ">"
        if closing == ">":
            self.expect("<")
        if kind == "ROW":
            return self._row(closing)
        first = self.type()
        if kind == "MAP":
            self.expect(",")
            value = self.type()
            self.expect(closing)
            return MapType(first, value)
        self.expect(closing)
        return ArrayType(first) if kind == "ARRAY" else MultisetType(first)

    def _row(self, closing: str) -> RowType:
        fields: list[RowField] = []
        while not self.accept(closing):
            if fields:
                self.expect(",")
            fields.append(self._field())
        return RowType(fields)

    def _field(self) -> RowField:
        name = self._word()
        data_type = self.type()
        comment = None
        if self.at < len(self.tokens) and self.tokens[self.at].startswith("'"):
            comment = self._word()
        return RowField(name, data_type, comment)

    def _word(self) -> str:
        if self.at >= len(self.tokens):
            raise self.error("a name")
        token = self.tokens[self.at]
        self.at += 1
        quote = token[0]
        return token[1:-1].replace(quote * 2, quote) if quote in "`'" else token

    def _named(self) -> DataType:
        name = self._word().upper()
        for longer in (f"{name} VARYING", f"{name} PRECISION"):
            if longer in TYPE_NAMES and self.accept(longer.split()[1]):
                name = longer
        numbers = self._numbers()
        zone = next((zone for zone in _ZONES if self.accept(zone)), "")
        return type_from_name(f"{name} {zone}", numbers)

    def _numbers(self) -> list[int]:
        numbers: list[int] = []
        if self.accept("("):
            while not self.accept(")"):
                if numbers:
                    self.expect(",")
                numbers.append(self._number())
        return numbers

    def _number(self) -> int:
        word = self._word()
        if not word.isdigit():
            self.at -= 1
            raise self.error("a number")
        return int(word)

    def _interval(self) -> DataType:
        upper = self._resolution()
        return interval(upper, self._resolution() if self.accept("TO") else None)

    def _resolution(self) -> Resolution:
        name = self._word().upper()
        if name not in Resolution.IntervalUnit.__members__:
            self.at -= 1
            raise self.error("a unit such as DAY")
        numbers = self._numbers()
        return Resolution(Resolution.IntervalUnit[name], numbers[0] if numbers else -1)
