"""Expressions as texts that mean the same when they are read again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from scurry.automaton.conditions import Expressed
from scurry.automaton.errors import MalformedPatternError
from scurry.sql import ast
from scurry.sql.unparse import unparse

__all__ = ["expression_text"]


def expression_text(given: Expressed) -> str:
    """The text of an expression; raises MalformedPatternError if it calls a function of the
    program's, or has a constant that SQL cannot write."""
    if isinstance(given.given, str):
        return given.given
    try:
        return unparse(_written(given.given.node))
    except MalformedPatternError as failure:
        raise MalformedPatternError(
            f"The condition {given.given} of the step {given.step!r} has no text: {failure}"
        ) from None


def _written(node: Any) -> Any:
    """A syntax tree in which constants of Python are as a text would have them."""
    if isinstance(node, ast.Constant):
        return _literal(node)
    if isinstance(node, ast.FunctionCall) and node.function is not None:
        raise MalformedPatternError(f"{node.name} is a function of the program.")
    if isinstance(node, tuple):
        return tuple(map(_written, node))
    if not isinstance(node, ast.Node):
        return node
    held = {one.name: getattr(node, one.name) for one in fields(node) if one.name != "span"}
    nested = {n: _written(v) for n, v in held.items() if isinstance(v, ast.Node | tuple)}
    return replace(node, **nested) if nested else node


def _literal(node: ast.Constant) -> ast.Expression:
    value: Any = node.value
    write = _LITERALS.get(type(value)) if node.type is None else None
    found = None if write is None else write(value)
    if found is None:
        raise MalformedPatternError(f"{value!r} ({type(value).__name__}) is no constant of SQL.")
    return found


def _number(value: Any) -> ast.Expression | None:
    """A number; a float has an exponent, because SQL takes it for a decimal otherwise."""
    if not math.isfinite(value):
        return None
    text = repr(abs(value)) if isinstance(value, int | float) else format(abs(value), "f")
    if isinstance(value, float) and "e" not in text:
        text += "E0"
    found = ast.NumberLiteral(text)
    return ast.Unary("-", found) if value < 0 else found


def _moment(kind: str, value: Any) -> ast.Expression | None:
    zoned = getattr(value, "tzinfo", None) is not None
    return None if zoned else ast.TemporalLiteral(kind, value.isoformat().replace("T", " "))


_LITERALS: dict[type, Callable[[Any], ast.Expression | None]] = {
    bool: ast.BooleanLiteral,
    int: _number,
    float: _number,
    Decimal: _number,
    str: ast.StringLiteral,
    date: lambda value: _moment("DATE", value),
    time: lambda value: _moment("TIME", value),
    datetime: lambda value: _moment("TIMESTAMP", value),
}
