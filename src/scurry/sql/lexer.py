"""Text to tokens: one pass over the text with one regular expression, in linear time.

Words are case-insensitive as keywords and kept as written as names. Comments (``--``, ``//`` and
``/* */``) vanish, except hints: ``/*+`` and the ``*/`` that ends it are tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from scurry.common.spans import SourceText, Span
from scurry.sql.errors import SqlParserError


class Kind(Enum):
    """What a token is; the values are the words of messages."""

    WORD = "a word"
    QUOTED = "a quoted name"
    NUMBER = "a number"
    STRING = "a string"
    UNICODE = "a unicode string"
    BINARY = "a binary string"
    SYMBOL = "a symbol"
    END = "the end of the text"


@dataclass(frozen=True, slots=True)
class Token:
    """A token: ``text`` is the value of a string or quoted name, otherwise what was written;
    ``word`` is the keyword in capitals, empty for all but words."""

    kind: Kind
    text: str
    word: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""
      (?P<space>\s+|(?:--|//)[^\n]*|/\*(?!\+).*?\*/)
    | (?P<unicode>[Uu]&'(?:[^']|'')*')
    | (?P<binary>[Xx]'(?:[^']|'')*')
    | (?P<string>(?:[Nn]|_[A-Za-z][A-Za-z0-9_\-]*)?'(?:[^']|'')*')
    | (?P<word>[^\W\d][\w$]*)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[Ee][+-]?\d+)?)
    | (?P<symbol>/\*\+|<=|>=|<>|!=|=>|\|\||->|/(?!\*)|[()\[\]{},;.=<>+\-*%?:|^$])
    """,
    re.VERBOSE | re.DOTALL,
)

#: numbers are longer than this by mistake only, and Python does not read all of those
_MOST_DIGITS = 1000
#: beginnings of tokens that the text ends within, with what is missing
_UNFINISHED = {
    "'": ("A string has no end", "Close the string with '; a quote within it is written ''."),
    "`": ("A quoted name has no end or no letters", "Close the name with `."),
    "/*": ("A comment has no end", "Close the comment with */."),
}


def tokenize(source: SourceText) -> list[Token]:
    """The tokens of a text, the last of which is its end."""
    text, place, tokens, in_hint = source.text, 0, [], False
    _check_characters(source)
    while place < len(text):
        if in_hint and text.startswith("*/", place):
            tokens.append(Token(Kind.SYMBOL, "*/", "", place, place + 2))
            place, in_hint = place + 2, False
            continue
        found = _TOKEN.match(text, place)
        if found is None:
            raise _not_a_token(source, place)
        if found.lastgroup != "space":
            tokens.append(_token(source, found))
            in_hint = in_hint or tokens[-1].text == "/*+"
        place = found.end()
    tokens.append(Token(Kind.END, "", "", len(text), len(text)))
    return tokens


def _check_characters(source: SourceText) -> None:
    """Refuse a text that cannot be written as UTF-8."""
    try:
        source.text.encode()
    except UnicodeEncodeError as failure:
        # the message has to be shown, too
        shown = SourceText(source.text.encode("utf-8", "replace").decode(), source.name)
        raise SqlParserError(
            f"{source.text[failure.start]!r} is half of a surrogate pair, which is no character",
            Span(shown, failure.start, failure.start + 1),
            advice="Decode the text properly where it is read, or remove what is broken.",
        ) from None


def _token(source: SourceText, found: re.Match[str]) -> Token:
    kind, text, (start, end) = found.lastgroup, found.group(), found.span()
    if kind == "word":
        return Token(Kind.WORD, text, text.upper(), start, end)
    if kind == "quoted":
        return Token(Kind.QUOTED, text[1:-1].replace("``", "`"), "", start, end)
    if kind == "number":
        _check_number(source, start, end)
        return Token(Kind.NUMBER, text, "", start, end)
    if kind == "symbol":
        return Token(Kind.SYMBOL, text, "", start, end)
    value = text[text.index("'") + 1 : -1].replace("''", "'")
    return Token(Kind[str(kind).upper()], value, "", start, end)


def _check_number(source: SourceText, start: int, end: int) -> None:
    if end - start > _MOST_DIGITS:
        raise SqlParserError(
            f"A number has {end - start} digits",
            Span(source, start, end),
            advice="No type has room for them.",
        )
    after = source.text[end : end + 1]
    if after.isalpha() or after == "_":
        raise SqlParserError(
            f"A number is followed by {after!r}",
            Span(source, end, end + 1),
            advice="Put a space between them, or write a name that begins with a digit in `...`.",
        )


def _not_a_token(source: SourceText, place: int) -> SqlParserError:
    rest = source.text[place : place + 2]
    for begin, (message, advice) in _UNFINISHED.items():
        if rest.startswith(begin):
            return SqlParserError(message, Span(source, place, place + len(begin)), advice=advice)
    span = Span(source, place, place + 1)
    if rest[:1] == '"':
        advice = "Write names in `...` and strings in '...'."
        return SqlParserError("Double quotes mean nothing in Flink's SQL", span, advice=advice)
    return SqlParserError(f"The character {rest[:1]!r} means nothing in SQL", span)
