"""Where in a statement an error is: what executes statements knows names, and not their places.

A catalog that has no table ``x`` says so, and cannot point at the word. Whoever executes a
statement can: the error names the word, and the statement's tree knows where each word stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from scurry.common.errors import ScurryError
from scurry.common.spans import Span, located
from scurry.sql import ast
from scurry.sql.ast.node import walk

__all__ = ["placed"]

_QUOTED = re.compile(r"'([^']*)'")
#: the last part of a name with dots in it
_LAST = re.compile(r"\w\.(\w+)\b(?!\.)")
_CARET = re.compile(r"^ *\^+$", re.MULTILINE)


@contextmanager
def placed(statement: ast.Statement) -> Iterator[None]:
    """Errors that show no place show the word of ``statement`` that they are about."""
    try:
        yield
    except ScurryError as failure:
        given = failure.args[0] if len(failure.args) == 1 else None
        if isinstance(given, str) and str(failure) == given and not _CARET.search(given):
            failure.args = (located(given.rstrip("."), _place(statement, given)),)
        raise


def _place(statement: ast.Statement, message: str) -> Span:
    """The first word of the message that stands in the statement; else the statement."""
    places: dict[str, Span] = {}
    for node in walk(statement):
        if isinstance(node, ast.Name):
            places.setdefault(str(node), node.span)
        if isinstance(node, ast.Identifier):
            places.setdefault(node.name, node.span)
        if isinstance(node, ast.StringLiteral):
            places.setdefault(node.value, node.span)
    words = [*_QUOTED.findall(message), *_LAST.findall(message)]
    return next((places[word] for word in words if word in places), statement.span)
