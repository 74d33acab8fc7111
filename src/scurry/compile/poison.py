"""The pass that decides which operators send elements that they fail on to the dead letters.

An operator does so if its own ``on_error`` setting says so or, where it has none, the job's. An
operator that handles dead letters fails as usual unless its own setting says otherwise, because the
letters about its own failures would come back to it. Where the key selector of a ``key_by`` must
not fail the job, an operator that tries the selector is put in front of it.

Dead letters that no stream of the program reads would be lost silently, so such a program is
refused. Only records that a source rejects need no reader: the source counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scurry.common.errors import ProgramError
from scurry.functions.dead_letters import DEAD_LETTER, DEAD_LETTERS, FAIL, LetterOfSource
from scurry.plan.graph import Graph, producers
from scurry.plan.nodes import (
    AllDeadLetters,
    KeyBy,
    KeyGuard,
    Map,
    Node,
    Operator,
    SideOutput,
    Source,
    Union,
)
from scurry.plan.rewrite import CircularPlan, rewrite


def route_dead_letters(graph: Graph, policy: str) -> Graph:
    """``graph`` with every node's ``on_error`` decided and the letters connected to who reads
    them."""
    guarded = _guarded(graph, policy)
    asking = [node for node in graph.nodes if isinstance(node, AllDeadLetters)]
    rejecting = {node for node in graph.nodes if isinstance(node, Source) and _rejects(node)}
    if not guarded and not rejecting and not asking:
        return graph
    if not guarded and not rejecting:
        raise ProgramError(
            f"dead_letters() was called at {asking[0].location}, but no operator sends anything "
            "there. Set scurry.on-error to dead-letter, or call on_error('dead-letter') on a "
            "stream, or set_bad_records('dead-letter') on a source."
        )
    rewritten = _rewritten(graph, guarded, rejecting)
    _check_readers(rewritten)
    return rewritten


def _rejects(node: Source) -> bool:
    return DEAD_LETTERS in node.source.side_outputs


def _guarded(graph: Graph, policy: str) -> set[Node]:
    found: set[Node] = set()
    handling: set[Node] = set()
    for node in graph.nodes:
        if (
            isinstance(node, AllDeadLetters)
            or _is_letters(node)
            or any(source in handling for source in node.inputs)
        ):
            handling.add(node)
        wanted = node.on_error or (FAIL if node in handling else policy)
        if wanted != DEAD_LETTER:
            continue
        if node.names_failures:
            found.add(node)
        elif node.on_error == DEAD_LETTER:
            raise ProgramError(
                f"on_error('dead-letter') was called on {node.name!r} ({node.location}), which "
                "cannot tell which element made it fail. It can be called on map, flat_map, "
                "filter, process, reduce, key_by, assign_timestamps_and_watermarks, on what "
                "AsyncDataStream makes, and on windows whose function is your own."
            )
    return found


def _is_letters(node: Node) -> bool:
    """Whether a node is the dead letters of one operator."""
    return isinstance(node, SideOutput) and node.tag == DEAD_LETTERS.tag_id


def _rewritten(graph: Graph, guarded: set[Node], rejecting: set[Source]) -> Graph:
    senders = [node for node in graph.nodes if node in guarded or node in rejecting]
    try:
        return rewrite(
            graph,
            _Routing(senders, guarded),
            lambda node: senders if isinstance(node, AllDeadLetters) else (),
        )
    except CircularPlan as circle:
        node = circle.node
        raise ProgramError(
            f"{node.name!r} ({node.location}) handles dead letters and sends its own to "
            "the same stream. Leave its on_error as it is, or read the letters of single "
            "operators with get_side_output(DEAD_LETTERS)."
        ) from None


class _Routing:
    """What becomes of each node."""

    def __init__(self, senders: list[Node], guarded: set[Node]) -> None:
        self._senders = senders
        self._guarded = guarded
        #: what goes in front of a KeyBy that must not fail the job
        self._guards: dict[Node, KeyGuard] = {}

    def __call__(self, node: Node, made: Mapping[Node, Node]) -> Node:
        if isinstance(node, AllDeadLetters):
            letters = tuple(self._letters(node, sender, made) for sender in self._senders)
            return Union(name=node.name, location=node.location, inputs=letters)
        inputs = tuple(made[source] for source in node.inputs)
        if _is_letters(node) and node.inputs[0] in self._guards:
            inputs = (self._guards[node.inputs[0]],)
        if isinstance(node, KeyBy) and node in self._guarded:
            guard = self._guards[node] = _guard(node, inputs[0])
            return replace(node, inputs=(guard,), on_error=DEAD_LETTER)
        decided = DEAD_LETTER if node in self._guarded else FAIL
        return replace(node, inputs=inputs, on_error=decided)

    def _letters(self, asking: AllDeadLetters, sender: Node, made: Mapping[Node, Node]) -> Node:
        """The dead letters of one operator or source."""
        if sender in self._guarded:
            return _letters_of(asking, self._guards.get(sender, made[sender]))
        return Map(
            name=asking.name,
            location=asking.location,
            inputs=(_letters_of(asking, made[sender]),),
            on_error=FAIL,
            function=LetterOfSource(sender.name, sender.uid or ""),
        )


def _guard(node: KeyBy, source: Node) -> KeyGuard:
    return KeyGuard(
        name=f"{node.name} (checked)",
        location=node.location,
        inputs=(source,),
        type_info=node.inputs[0].type_info,
        on_error=DEAD_LETTER,
        selector=node.selector,
    )


def _letters_of(asking: AllDeadLetters, sender: Node) -> SideOutput:
    return SideOutput(
        name=asking.name,
        location=asking.location,
        inputs=(sender,),
        tag=DEAD_LETTERS.tag_id,
    )


def _check_readers(graph: Graph) -> None:
    read: set[Operator] = set()
    for node in graph.nodes:
        if _is_letters(node):
            read.update(producers(node.inputs[0]))
    for operator in graph.operators:
        if operator.on_error == DEAD_LETTER and operator not in read:
            raise ProgramError(
                f"{operator.name!r} ({operator.location}) sends elements it fails on to its dead "
                "letters, and nothing reads them, so they would be lost. End "
                "env.dead_letters(), or get_side_output(DEAD_LETTERS) of this stream, in a sink."
            )
