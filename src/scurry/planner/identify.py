"""What a node computes, as a text that differs for nodes that differ: uids are made of it.

EXPLAIN leaves things out that do not matter to a reader; here everything counts but the place in
the query's text. A scan is known by its table and options: which columns are read depends on the
whole job, and everybody above says which ones it takes.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from scurry.common.data_types import DataType
from scurry.functions.expressions import Expression
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.planner.algebra import Node, Scan

#: what stands for something else than what is computed
_LEFT_OUT = ("span", "lookup", "hint")


def identity(node: Node) -> str:
    """The node without its inputs."""
    if isinstance(node, Scan):
        return f"Scan({node.table.name}, {sorted(node.table.options.items())})"
    return f"{type(node).__name__}({_fields(node)})"


def _fields(value: Any) -> str:
    named = ((one.name, getattr(value, one.name)) for one in fields(value))
    return ", ".join(
        f"{name}={_text(part)}"
        for name, part in named
        if name not in _LEFT_OUT and not _is_input(part)
    )


def _is_input(part: Any) -> bool:
    return isinstance(part, Node) or (
        isinstance(part, tuple) and bool(part) and isinstance(part[0], Node)
    )


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, UserDefinedFunctionWrapper):
        return value.name
    if isinstance(value, Expression | DataType):
        return str(value)
    if is_dataclass(value):
        return f"({_fields(value)})"
    return repr(value)
