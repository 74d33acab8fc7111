"""Uids for operators that the user gave none.

State is stored under its operator's uid, so an automatic uid has to stay the same while the program
around the operator changes. It is made of things that seldom change: the kind of the operator; the
name, if the user chose one; the user's function class, or the name of the user's function; and the
source that the operator's records come from, with the side outputs they pass. A source's own is
made of its class and its name. So inserting or removing a map, a filter, a watermark strategy or
another branch changes no uid, nor does another source that is united with the first.

Operators for which all of that is equal are *twins*, such as two windows over one stream with
functions that are lambdas. Twins are numbered in the order of the program. When their number
changes, or they change places, nobody can know whose state is whose: ``scurry.checkpoint.claims``
then refuses to start. Give such operators, and every operator whose state matters, a uid of their
own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from scurry.plan.graph import Graph
from scurry.plan.nodes import KeyBy, Node, Operator, SideOutput, Sink, Source, Window

_HERE = "scurry."


@dataclass(frozen=True)
class Naming:
    """The uids of a graph's operators."""

    uids: Mapping[Node, str]
    #: of operators with an automatic uid, the uid without its number, the same for all twins
    families: Mapping[Node, str]


def assign_uids(graph: Graph) -> Naming:
    """The uid of every operator."""
    taken = {node.uid for node in graph.operators if node.uid is not None}
    origins: dict[Node, str] = {}
    uids: dict[Node, str] = {}
    families: dict[Node, str] = {}
    for node in graph.nodes:
        if isinstance(node, Operator):
            if node.uid is None:
                families[node] = _family(node, _origin(node, origins, uids))
            uids[node] = node.uid or _free(families[node], taken)
            taken.add(uids[node])
        origins[node] = _origin(node, origins, uids)
    return Naming(uids, families)


def _free(family: str, taken: set[str]) -> str:
    number, uid = 1, family
    while uid in taken:
        number += 1
        uid = f"{family}-{number}"
    return uid


def _origin(node: Node, origins: Mapping[Node, str], uids: Mapping[Node, str]) -> str:
    """Where the records of ``node`` come from: of a union, where those of its first input do."""
    if isinstance(node, Source):
        return uids.get(node, "")
    inputs = node.inputs if isinstance(node, Operator) else node.inputs[:1]
    found = "&".join(dict.fromkeys(origins[source] for source in inputs))
    return f"{found}!{node.tag}" if isinstance(node, SideOutput) else found


def _family(node: Operator, origin: str) -> str:
    kind = re.sub(r"(?<!^)([A-Z])", r"-\1", type(node).__name__).lower()
    name = node.name if node.named or isinstance(node, Source) else ""
    made_of = "\x1f".join([kind, name, *_authors(node), origin])
    return f"{kind}-{hashlib.blake2b(made_of.encode(), digest_size=4).hexdigest()}"


def _authors(node: Operator) -> list[str]:
    """What the user calls the code that the operator runs."""
    if isinstance(node, Source):
        return [type(node.source).__name__]
    if isinstance(node, Sink):
        return [type(node.sink).__name__]
    names = [getattr(f, "__name__", type(f).__name__) for f in node.functions if not _adapts(f)]
    return [name for name in names if name != "<lambda>"]


def _adapts(function: Any) -> bool:
    """Whether a function is an adapter of ours, around one of the user's."""
    return type(function).__module__.startswith(_HERE)


def fingerprint(node: Operator) -> str:
    """What tells twins apart that are not written alike: key, window, and the code of functions."""
    parts: list[Any] = [source.selector for source in node.inputs if isinstance(source, KeyBy)]
    parts.extend(node.functions)
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        code = getattr(getattr(part, "function", part), "__code__", None)
        digest.update(_code(code) if code is not None else type(part).__name__.encode())
    if isinstance(node, Window):
        digest.update(repr(node.windowing.assigner).encode())
    if isinstance(node, Source):
        digest.update(_said(node.source))
    return digest.hexdigest()


def _code(code: CodeType) -> bytes:
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, code.co_names, constants)).encode()


def _said(source: Any) -> bytes:
    """How a source describes itself, if it does in words of its own."""
    described = any("__repr__" in vars(kind) for kind in type(source).__mro__[:-1])
    return repr(source).encode() if described else type(source).__name__.encode()
