"""The hint of lookup joins: ``/*+ LOOKUP('table' = 'users', 'async' = 'true') */``.

It names the table (or its alias) whose rows are looked up, and says how: by calls that are awaited,
in which order results go on, and whether a key that finds nothing is asked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scurry.common.errors import ConfigurationError
from scurry.common.time import parse_duration
from scurry.planner.errors import SqlValidationError, unknown
from scurry.sql import ast

__all__ = ["LookupCalls", "lookup_calls"]

#: Fields of LookupSettings that a hint gives.
LookupCalls = tuple[tuple[str, Any], ...]
_RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")
_EXAMPLE = (
    "Write LOOKUP('table' = 'users', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = "
    "'fixed_delay', 'fixed-delay' = '10s', 'max-attempts' = '3')."
)


def lookup_calls(hints: tuple[ast.Hint, ...]) -> dict[str, tuple[ast.Hint, LookupCalls]]:
    """What the LOOKUP hints say, by the table that each is for; the first for a table counts."""
    found: dict[str, tuple[ast.Hint, LookupCalls]] = {}
    for hint in hints:
        if hint.name.name.upper() == "LOOKUP":
            given = _options(hint)
            if "table" not in given:
                raise SqlValidationError("LOOKUP names no table", hint.span, _EXAMPLE)
            table = _text(given.pop("table"))
            found.setdefault(table, (hint, _calls(hint, given)))
    return found


def _options(hint: ast.Hint) -> dict[str, ast.Expression]:
    pairs = list(zip(hint.keys, hint.values, strict=True)) if hint.keys else []
    for key, _ in pairs:
        if _text(key) not in _KNOWN:
            raise unknown("option of LOOKUP", _text(key), _KNOWN, key.span)
    return {_text(key): value for key, value in pairs}


def _calls(hint: ast.Hint, given: Mapping[str, ast.Expression]) -> LookupCalls:
    missing = [key for key in _RETRY if key not in given]
    if 0 < len(missing) < len(_RETRY):
        message = f"LOOKUP repeats calls only with all of {', '.join(_RETRY)}"
        raise SqlValidationError(message, hint.span, _EXAMPLE)
    read = [(field, read(given[key])) for key, (field, read) in _READ.items() if key in given]
    return tuple((field, value) for field, value in read if field)


def _text(node: ast.Expression) -> str:
    return node.value if isinstance(node, ast.StringLiteral) else node.span.text


def _one_of(**meanings: Any) -> Callable[[ast.Expression], Any]:
    def read(node: ast.Expression) -> Any:
        text = _text(node).lower()
        if text not in meanings:
            choices = " or ".join(f"'{one}'" for one in meanings)
            raise SqlValidationError(f"{_text(node)!r} is not {choices}", node.span)
        return meanings[text]

    return read


def _number(node: ast.Expression) -> int:
    text = _text(node).strip()
    if not text.isdecimal() or int(text) < 1:
        raise SqlValidationError(f"{text!r} is not a whole number from 1 on", node.span)
    return int(text)


def _duration(node: ast.Expression) -> int:
    try:
        return parse_duration(_text(node))
    except ConfigurationError as error:
        raise SqlValidationError(str(error), node.span) from None


_READ: dict[str, tuple[str, Callable[[ast.Expression], Any]]] = {
    "async": ("asynchronous", _one_of(true=True, false=False)),
    "output-mode": ("ordered", _one_of(ordered=True, allow_unordered=False)),
    "capacity": ("capacity", _number),
    "timeout": ("timeout_ms", _duration),
    "retry-predicate": ("", _one_of(lookup_miss=True)),
    "retry-strategy": ("", _one_of(fixed_delay=True)),
    "fixed-delay": ("delay_ms", _duration),
    "max-attempts": ("retries", _number),
    "shuffle": ("", _one_of(true=True, false=False)),
}
_KNOWN = ("table", *_READ)
