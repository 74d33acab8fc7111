"""The table of writers, by kind of node, and what all of them use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, TypeVar

from scurry.sql.ast.node import Identifier, Name, Node
from scurry.sql.keywords import RESERVED

_WRITERS: dict[type[Node], Callable[[Any], str]] = {}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*")
#: words that may be names, but mean something where a name may stand
_AMBIGUOUS = frozenset(
    (
        "CATALOG", "DATABASE", "DESCRIPTOR", "FINAL", "IF", "IGNORE", "JOB", "KEY",
        "MAP", "MODEL", "PLAN", "RESPECT", "TEMPORARY", "TIMESTAMPADD", "TIMESTAMPDIFF",
    )
)  # fmt: skip

N = TypeVar("N", bound=Node)
_EVERY_NAME: ContextVar[bool] = ContextVar("every name in backticks", default=False)


def writes(kind: type[N]) -> Callable[[Callable[[N], str]], Callable[[N], str]]:
    """Registers the function below as the writer of a kind of node."""

    def register(write: Callable[[N], str]) -> Callable[[N], str]:
        _WRITERS[kind] = write
        return write

    return register


def unparse(node: Node) -> str:
    """A text that parses to a tree equal to ``node``."""
    return _WRITERS[type(node)](node)


def unparse_with_backticks(node: Node) -> str:
    """The same with every name in backticks and types by their full names, as Flink keeps the
    expressions of a table's declaration."""
    token = _EVERY_NAME.set(True)
    try:
        return unparse(node)
    finally:
        _EVERY_NAME.reset(token)


def full_names() -> bool:
    """Whether names are written as Flink keeps them."""
    return _EVERY_NAME.get()


def commas(nodes: Iterable[Node]) -> str:
    """Texts with commas between them."""
    return ", ".join(map(unparse, nodes))


def words(*parts: str) -> str:
    """Those that are not empty, with spaces between them."""
    return " ".join(filter(None, parts))


def when(condition: object, text: str) -> str:
    """``text`` if the condition holds, otherwise nothing."""
    return text if condition else ""


def optional(prefix: str, node: Node | None) -> str:
    """``prefix`` and the text of the node, or nothing if there is none."""
    return "" if node is None else f"{prefix} {unparse(node)}"


def quoted(name: str) -> str:
    """A name, in backticks if it needs them, or if all names are to have them."""
    return _in_backticks(name) if _EVERY_NAME.get() else bare(name)


def bare(name: str) -> str:
    """A name, in backticks only if it needs them."""
    upper = name.upper()
    if _PLAIN.fullmatch(name) and upper not in RESERVED and upper not in _AMBIGUOUS:
        return name
    return _in_backticks(name)


def _in_backticks(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def string(value: str) -> str:
    """A string constant."""
    return f"'{value.replace(chr(39), chr(39) * 2)}'"


def comment(text: str | None) -> str:
    """A COMMENT clause, or nothing."""
    return "" if text is None else f"COMMENT {string(text)}"


@writes(Identifier)
def _identifier(node: Identifier) -> str:
    return quoted(node.name)


@writes(Name)
def _name(node: Name) -> str:
    return ".".join(map(quoted, node.names))
