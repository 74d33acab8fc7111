"""Constants: numbers, strings, binary strings, dates and times, intervals."""

from __future__ import annotations

import re

from scurry.common.spans import Span
from scurry.sql.ast.expressions import (
    BinaryLiteral,
    IntervalLiteral,
    IntervalOf,
    NumberLiteral,
    StringLiteral,
    TemporalLiteral,
)
from scurry.sql.ast.node import Expression
from scurry.sql.errors import SqlParserError
from scurry.sql.lexer import Kind, Token
from scurry.sql.parser.data_types import TypeParser

_DATES = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_CODE = re.compile(r"\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4})")


class LiteralParser(TypeParser):
    """Parses constants."""

    def number(self) -> Expression:
        """A number."""
        token = self.take()
        return NumberLiteral(token.text, span=self._span(token))

    def text(self) -> StringLiteral:
        """A string; strings that follow each other are one."""
        start = self.start
        parts = [self.string()]
        while self.token.kind is Kind.STRING:
            parts.append(self.take().text)
        return StringLiteral("".join(parts), span=self.since(start))

    def binary(self) -> Expression:
        """``X'CAFE'``."""
        token = self.take()
        digits = token.text
        if len(digits) % 2 or not re.fullmatch("[0-9A-Fa-f]*", digits):
            raise SqlParserError(
                f"X'{digits[:40]}' is no binary string",
                self._span(token),
                advice="Write an even number of the digits 0-9 and A-F.",
            )
        return BinaryLiteral(bytes.fromhex(digits), span=self._span(token))

    def unicode_text(self) -> Expression:
        """``U&'caf\\00e9'``, with another character for the backslash after UESCAPE."""
        token, escape = self.take(), "\\"
        if self.accept("UESCAPE"):
            escape = self.string()
            if len(escape) != 1 or escape in "+'0123456789abcdefABCDEF" or escape.isspace():
                raise SqlParserError(
                    "UESCAPE needs one character that is no hexadecimal digit, "
                    "quote, plus or space",
                    self.since(token.start),
                )
        value = self._decoded(token, escape)
        return StringLiteral(value, span=self.since(token.start))

    def _decoded(self, token: Token, escape: str) -> str:
        parts, place, text = [], 0, token.text
        while (found := text.find(escape, place)) >= 0:
            parts.append(text[place:found])
            place = found + 1
            if text.startswith(escape, place):
                parts.append(escape)
                place += 1
                continue
            code = _CODE.match(text, place)
            number = int(code[1] or code[2], 16) if code else -1
            if code is None or number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise SqlParserError(
                    f"{text[found : found + 8]!r} is no character",
                    self._span(token),
                    advice=f"After {escape} write four hexadecimal digits, or + and six.",
                )
            parts.append(chr(number))
            place = code.end()
        return "".join([*parts, text[place:]])

    def temporal(self) -> Expression:
        """``DATE '...'``, ``TIME '...'``, ``TIMESTAMP '...'``."""
        start, kind = self.start, self.take().word
        if self.accept("WITH"):
            self.expect("LOCAL", "TIME", "ZONE")
            kind = "TIMESTAMP WITH LOCAL TIME ZONE"
        token = self.take()
        _check_temporal(kind, token.text, self._span(token))
        return TemporalLiteral(kind, token.text, span=self.since(start))

    def interval(self) -> Expression:
        """``INTERVAL '1 12' DAY TO HOUR``."""
        start = self.start
        self.expect("INTERVAL")
        negative = self.accept_symbol("-")
        if not negative:
            self.accept_symbol("+")
        if self.token.kind is Kind.STRING:
            text, qualifier = self.string(), self.interval_qualifier()
            return IntervalLiteral(text, qualifier, negative, span=self.since(start))
        if negative:
            raise self.unexpected("a string in '...'")
        count = self._interval_count()
        return IntervalOf(count, self.interval_qualifier(), span=self.since(start))

    def _interval_count(self) -> Expression:
        """What may stand between INTERVAL and its unit besides a string."""
        if self.token.kind is Kind.NUMBER:
            return self.number()
        if self.accept_symbol("("):
            count = self.expression()
            self.expect_symbol(")")
            return count
        if not self.at_name():
            raise self.unexpected("a string in '...'")
        return self.name()


def _check_temporal(kind: str, text: str, span: Span) -> None:
    pattern, example = _FORMS[kind.split(" ")[0]]
    if not re.fullmatch(pattern, text.strip()):
        raise SqlParserError(
            f"'{text[:40]}' is no {kind}", span, advice=f"Write it as {kind} '{example}'."
        )


_CLOCK = r"\d{1,2}:\d{1,2}:\d{1,2}(\.\d*)?"
_FORMS = {
    "DATE": (_DATES.pattern, "2024-01-31"),
    "TIME": (_CLOCK, "12:30:00"),
    "TIMESTAMP": (rf"{_DATES.pattern}( {_CLOCK})?", "2024-01-31 12:30:00.000"),
}
