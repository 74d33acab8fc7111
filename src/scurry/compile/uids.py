"""Uids for operators that the user gave none.

An automatic uid depends on what the operator is and on what feeds it, not on the order in which the
program was written, so unrelated changes leave it alone. Changing anything upstream of it does
change it: give stateful operators a uid of their own before the first upgrade.
"""

from __future__ import annotations

import hashlib
import re

from scurry.plan.graph import Graph
from scurry.plan.nodes import KeyBy, KeyGuard, Node, Operator, Partition, SideOutput


def assign_uids(graph: Graph) -> dict[Node, str]:
    """The uid of every operator."""
    labels: dict[Node, str] = {}
    taken: dict[str, int] = {}
    uids: dict[Node, str] = {}
    for node in graph.nodes:
        feeding = "|".join(labels[source] for source in node.inputs)
        if isinstance(node, Operator):
            uid = node.uid or _automatic(node, feeding, taken)
            uids[node] = uid
            # a guard comes and goes with a setting, and must not change the uids behind it
            labels[node] = feeding if isinstance(node, KeyGuard) else uid
        else:
            labels[node] = _label(node, feeding)
    return uids


def _automatic(node: Node, feeding: str, taken: dict[str, int]) -> str:
    kind = re.sub(r"(?<!^)([A-Z])", r"-\1", type(node).__name__).lower()
    digest = hashlib.blake2b(f"{kind}({feeding})".encode(), digest_size=4).hexdigest()
    uid = f"{kind}-{digest}"
    number = taken[uid] = taken.get(uid, 0) + 1
    return uid if number == 1 else f"{uid}-{number}"


def _label(node: Node, feeding: str) -> str:
    detail = ""
    if isinstance(node, SideOutput):
        detail = node.tag
    elif isinstance(node, Partition):
        detail = node.how
    elif isinstance(node, KeyBy):
        detail = "key"
    return f"{type(node).__name__}:{detail}({feeding})"
