"""The expressions that a node has, and the node with others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

from scurry.functions.expressions import Expression
from scurry.planner.algebra import Node, TableFunctionCall, Unnested


def expressions_of(node: Node) -> list[Expression]:
    """All expressions of a node itself, not of its inputs."""
    values = (getattr(node, one.name) for one in fields(node))
    return [found for value in values for found in _found(value)]


def _found(value: Any) -> Iterator[Expression]:
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _found(one)
    elif isinstance(value, Unnested):
        yield value.operand
    elif isinstance(value, TableFunctionCall):
        yield from value.operands


def with_expressions(node: Node, change: Callable[[Expression], Expression]) -> Node:
    """The node with ``change`` applied to each of its own expressions."""
    changed = {}
    for one in fields(node):
        value = getattr(node, one.name)
        made = _changed(value, change)
        if made is not value:
            changed[one.name] = made
    return replace(node, **changed) if changed else node


def _changed(value: Any, change: Callable[[Expression], Expression]) -> Any:
    if isinstance(value, Expression):
        return change(value)
    if isinstance(value, tuple) and any(isinstance(one, Expression) for one in value):
        made = tuple(map(change, value))
        same = all(new is old for new, old in zip(made, value, strict=True))
        return value if same else made
    if isinstance(value, Unnested):
        return replace(value, operand=change(value.operand))
    if isinstance(value, TableFunctionCall):
        return replace(value, operands=tuple(map(change, value.operands)))
    return value
