"""The pass that decides which operators send what they fail on to the dead letters.

An operator does if its own ``on_error`` says so, or else the job's. Operators that handle dead
letters themselves fail as usual, unless told otherwise: their own failures would come back to them.
In front of a ``key_by`` that must not fail the job goes an operator that tries the key selector.
Letters that nobody reads are a mistake in the program, because they would be lost silently. What
sources reject is counted by the source, and may be left alone.
"""

from __future__ import annotations

from dataclasses import replace

from scurry.common.errors import ProgramError
from scurry.compile.operators import built_in_aggregates
from scurry.functions.dead_letters import DEAD_LETTER, DEAD_LETTERS, FAIL, LetterOfSource
from scurry.plan.graph import Graph, producers
from scurry.plan.nodes import (
    AllDeadLetters,
    AsyncWait,
    BroadcastProcess,
    CoProcess,
    Filter,
    FlatMap,
    KeyBy,
    KeyedBroadcastProcess,
    KeyedCoProcess,
    KeyedProcess,
    KeyGuard,
    Map,
    Node,
    Operator,
    Process,
    Reduce,
    SideOutput,
    Source,
    Timestamps,
    Union,
    Window,
)

#: Nodes that can tell which element made user code fail.
_ABLE = (
    Map,
    FlatMap,
    Filter,
    Process,
    Timestamps,
    KeyBy,
    KeyedProcess,
    Reduce,
    CoProcess,
    KeyedCoProcess,
    BroadcastProcess,
    KeyedBroadcastProcess,
    AsyncWait,
    Window,
)


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
    rewritten = _Rewriting(graph, guarded, rejecting).run()
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
            or (isinstance(node, SideOutput) and node.tag == DEAD_LETTERS.tag_id)
            or any(source in handling for source in node.inputs)
        ):
            handling.add(node)
        wanted = node.on_error or (FAIL if node in handling else policy)
        if wanted != DEAD_LETTER:
            continue
        if isinstance(node, _ABLE) and not _by_the_thousand(node):
            found.add(node)
        elif node.on_error == DEAD_LETTER:
            raise ProgramError(
                f"on_error('dead-letter') was called on {node.name!r} ({node.location}), which "
                "cannot tell which element made it fail. It can be called on map, flat_map, "
                "filter, process, reduce, key_by, assign_timestamps_and_watermarks, on what "
                "AsyncDataStream makes, and on windows whose function is your own."
            )
    return found


def _by_the_thousand(node: Node) -> bool:
    """Whether a node is windows with built-in aggregates, which handle elements by the thousand."""
    return isinstance(node, Window) and built_in_aggregates(node)


class _Rewriting:
    """One rewriting of a graph, from its ends backwards."""

    def __init__(self, graph: Graph, guarded: set[Node], rejecting: set[Source]) -> None:
        self._graph = graph
        self._guarded = guarded
        self._rejecting = rejecting
        self._made: dict[Node, Node] = {}
        self._guards: dict[Node, KeyGuard] = {}
        self._open: set[Node] = set()

    def run(self) -> Graph:
        fed = {source for node in self._graph.nodes for source in node.inputs}
        ends = [node for node in self._graph.nodes if node not in fed]
        return Graph.of(self._graph.name, [self._node(end) for end in ends])

    def _node(self, node: Node) -> Node:
        if node not in self._made:
            if node in self._open:
                raise ProgramError(
                    f"{node.name!r} ({node.location}) handles dead letters and sends its own to "
                    "the same stream. Leave its on_error as it is, or read the letters of single "
                    "operators with get_side_output(DEAD_LETTERS)."
                )
            self._open.add(node)
            self._made[node] = self._rewrite(node)
        return self._made[node]

    def _rewrite(self, node: Node) -> Node:
        if isinstance(node, AllDeadLetters):
            return Union(name=node.name, location=node.location, inputs=self._all(node))
        if (
            isinstance(node, SideOutput)
            and isinstance(node.inputs[0], KeyBy)
            and node.tag == DEAD_LETTERS.tag_id
        ):
            return replace(node, inputs=(self._letters_source(node.inputs[0]),))
        if isinstance(node, KeyBy) and node in self._guarded:
            return replace(node, inputs=(self._guard(node),), on_error=DEAD_LETTER)
        inputs = tuple(self._node(source) for source in node.inputs)
        decided = DEAD_LETTER if node in self._guarded else FAIL
        return replace(node, inputs=inputs, on_error=decided)

    def _all(self, asking: AllDeadLetters) -> tuple[Node, ...]:
        letters: list[Node] = []
        for node in self._graph.nodes:
            if node in self._guarded:
                letters.append(_letters_of(asking, self._letters_source(node)))
            elif isinstance(node, Source) and node in self._rejecting:
                letters.append(
                    Map(
                        name=asking.name,
                        location=asking.location,
                        inputs=(_letters_of(asking, self._node(node)),),
                        on_error=FAIL,
                        function=LetterOfSource(node.name, node.uid or ""),
                    )
                )
        return tuple(letters)

    def _letters_source(self, node: Node) -> Node:
        if isinstance(node, KeyBy):
            return self._guard(node) if node in self._guarded else self._node(node)
        return self._node(node)

    def _guard(self, node: KeyBy) -> KeyGuard:
        if node not in self._guards:
            self._guards[node] = KeyGuard(
                name=f"{node.name} (checked)",
                location=node.location,
                inputs=(self._node(node.inputs[0]),),
                type_info=node.inputs[0].type_info,
                on_error=DEAD_LETTER,
                selector=node.selector,
            )
        return self._guards[node]


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
        if isinstance(node, SideOutput) and node.tag == DEAD_LETTERS.tag_id:
            read.update(producers(node.inputs[0]))
    for operator in graph.operators:
        if operator.on_error == DEAD_LETTER and operator not in read:
            raise ProgramError(
                f"{operator.name!r} ({operator.location}) sends elements it fails on to its dead "
                "letters, and nothing reads them, so they would be lost. End "
                "env.dead_letters(), or get_side_output(DEAD_LETTERS) of this stream, in a sink."
            )
