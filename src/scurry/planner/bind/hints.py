"""Hints of a SELECT: ``/*+ STATE_TTL('orders' = '1d') */``.

Hints that choose between ways to join are accepted and change nothing: there is one way to join two
streams. ``LOOKUP('table' = 'users', 'async' = 'true')`` says how rows of a table are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.errors import ConfigurationError
from scurry.common.time import parse_duration
from scurry.planner.errors import SqlValidationError, unknown
from scurry.sql import ast

#: hints that say how to compute what is computed in one way only
_WITHOUT_EFFECT = (
    "BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN", "EARLY_FIRE",
)  # fmt: skip
_KNOWN = ("STATE_TTL", "LOOKUP", *_WITHOUT_EFFECT)


def state_ttl(hints: tuple[ast.Hint, ...]) -> dict[str, int]:
    """How long state of each table is kept, in milliseconds, by the table's name or alias."""
    found: dict[str, int] = {}
    for hint in hints:
        name = hint.name.name.upper()
        if name not in _KNOWN:
            raise unknown("hint", hint.name.name, _KNOWN, hint.name.span)
        if name == "STATE_TTL":
            found |= _pairs(hint)
    return found


def check_tables(hints: tuple[ast.Hint, ...], known: Sequence[str]) -> None:
    """Every table that STATE_TTL names has to be one of those ``known`` to its SELECT."""
    for hint in hints:
        if hint.name.name.upper() == "STATE_TTL":
            for key in hint.keys:
                if _text(key) not in known:
                    raise unknown("table for STATE_TTL", _text(key), known, key.span)


def _pairs(hint: ast.Hint) -> dict[str, int]:
    if not hint.keys:
        message = "STATE_TTL takes tables and lengths of time"
        raise SqlValidationError(message, hint.span, "Write STATE_TTL('orders' = '1d').")
    pairs = zip(hint.keys, hint.values, strict=True)
    return {_text(key): _duration(value) for key, value in pairs}


def _text(node: ast.Expression) -> str:
    return node.value if isinstance(node, ast.StringLiteral) else node.span.text


def _duration(node: ast.Expression) -> int:
    try:
        return parse_duration(_text(node))
    except ConfigurationError as error:
        raise SqlValidationError(str(error), node.span) from None
