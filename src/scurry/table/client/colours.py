"""The colours of SQL at the prompt."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from prompt_toolkit.document import Document
from prompt_toolkit.lexers import Lexer

from scurry.functions.builtin import BUILT_INS
from scurry.sql.keywords import RESERVED

__all__ = ["FUNCTIONS", "WORDS", "SqlColours", "pieces_of", "unfinished"]

#: The names of functions that are called by a name.
FUNCTIONS = frozenset(entry.name for entry in BUILT_INS if entry.name.isidentifier())
_NOT_RESERVED = """
    CATALOG CUMULATE DATABASE DESCRIPTOR ENFORCED HOP IF JOB JOBS KEY METADATA OVERWRITE PARTITIONED
    PLAN SESSION STATEMENT STOP SYSTEM_TIME TABLES TEMPORARY TUMBLE USE VIEW VIEWS WATERMARK
"""
#: Words of statements, whether they are reserved or not.
WORDS = RESERVED | frozenset(_NOT_RESERVED.split())
_PIECE = re.compile(
    r"(?:--|//)[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|`[^`]*(?:`|\Z)|\d+(?:\.\d+)?|\w+|\s+|.",
    re.DOTALL,
)


class SqlColours(Lexer):
    """Colours keywords, functions, texts, numbers and comments, over several lines."""

    def lex_document(self, document: Document) -> Callable[[int], Any]:
        lines: list[list[tuple[str, str]]] = [[]]
        for piece in pieces_of(document.text):
            style = _style(piece)
            first, *more = piece.split("\n")
            lines[-1].append((style, first))
            lines += [[(style, part)] for part in more]
        return lambda number: lines[number] if number < len(lines) else []


def pieces_of(text: str) -> list[str]:
    """Words, texts, comments, blanks and signs, one after the other; the last may have no end."""
    return _PIECE.findall(text)


def unfinished(text: str) -> bool:
    """Whether a text ends within a string, a quoted name or a comment."""
    last = (pieces_of(text) or [""])[-1]
    if last.startswith(("--", "//")):
        return True
    if last.startswith("/*"):
        return len(last) < 4 or not last.endswith("*/")
    quotes = last.count(last[:1])
    return last[:1] in ("'", "`") and quotes % 2 == 1


def _style(piece: str) -> str:
    if piece.startswith(("--", "//", "/*")) and not piece.startswith("/*+"):
        return "ansibrightblack"
    if piece.startswith("'"):
        return "ansigreen"
    if piece[:1].isdigit():
        return "ansicyan"
    if piece.upper() in WORDS:
        return "ansiblue bold"
    return "ansimagenta" if piece.upper() in FUNCTIONS else ""
