"""What a node computes, as a text that differs for nodes that differ: uids are made of it.

EXPLAIN leaves things out that do not matter to a reader; here everything counts but the place in
the query's text. A scan is known by its table and options: which columns it reads depends on the
whole job. So a part of a query that stands right above a scan is known by the names of the columns
that it takes, not by where the scan has them: another query of the same job that reads more columns
of the table changes no uid.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from scurry.common.data_types import DataType
from scurry.functions.expressions import Expression, InputRef
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.planner.algebra import Node, Project, Scan
from scurry.planner.describe import show

#: what stands for something else than what is computed
_LEFT_OUT = ("span", "lookup", "hint")


def identity(node: Node) -> str:
    """The node without its inputs."""
    if isinstance(node, Scan):
        return f"Scan({node.table.name}, {sorted(node.table.options.items())})"
    if isinstance(node, Project) and isinstance(node.input, Scan):
        return f"Project({_shown(node, node.input)})"
    return f"{type(node).__name__}({_fields(node)})"


def taken_from_scan(node: Node) -> tuple[str, ...] | None:
    """The names of the columns that a node takes from a scan, if it does nothing else."""
    if isinstance(node, Scan):
        return tuple(column.name for column in node.columns)
    if not isinstance(node, Project) or not isinstance(node.input, Scan):
        return None
    names = [column.name for column in node.input.columns]
    pairs = zip(node.expressions, node.names, strict=True)
    same = all(isinstance(one, InputRef) and names[one.index] == name for one, name in pairs)
    return node.names if same else None


def _shown(node: Project, scan: Scan) -> str:
    shown = ", ".join(show(one, scan.columns) for one in node.expressions)
    return f"expressions=[{shown}], names=[{', '.join(node.names)}]"


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
