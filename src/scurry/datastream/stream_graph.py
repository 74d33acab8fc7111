"""The program as Flink draws it: what ``get_execution_plan`` tells.

Flink makes more operators of a PyFlink program than the program names. ``key_by`` is an operator
that computes keys, a strategy with a timestamp assigner is three, and printing objects without a
type needs one that makes texts of them. Neighbours that are Python functions are then chained into
one operator. Programs that look for their operators in the plan find them where Flink has them;
what Scurry really runs is told by ``explain`` and ``describe_plan``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.typeinfo import RowTypeInfo
from scurry.connectors.memory import DriverSink, PrintSink
from scurry.datastream.projection import Projection
from scurry.datastream.transformation import Transformation
from scurry.functions.sink import Sink
from scurry.plan import nodes

_KEY = "_stream_key_by_map_operator"
_PARTITION = "_partition_custom_map_operator"
_VALUES = "_keyed_stream_values_operator"
#: Steps that run a function of the program on single elements.
_FUNCTIONS = (nodes.Map, nodes.FlatMap, nodes.Filter, nodes.Process, nodes.AsyncWait)
#: Steps that Python functions after them are chained to, and that are not chained themselves.
_HEADS = (nodes.KeyedProcess, nodes.Reduce, nodes.Window, nodes.CoProcess, nodes.KeyedCoProcess)
_READ_KEYS = (*_HEADS, nodes.KeyedBroadcastProcess, nodes.IntervalJoin)


@dataclass(eq=False)
class _Vertex:
    """One operator of the plan."""

    name: str
    parallelism: int
    inputs: list[_Hop] = field(default_factory=list)
    pact: str = "Operator"
    description: str = ""
    #: whether it is a Python function that can be chained to the one before it
    chained: bool = False
    #: whether Python functions can be chained to it
    head: bool = False
    bounds: tuple[Any, ...] = ()
    chaining: str = "chain"
    number: int = 0


@dataclass(eq=False)
class _Hop:
    """What a vertex reads: another one, and how its records come."""

    vertex: _Vertex
    how: str = ""
    #: whether something stands between the two that keeps them from being chained
    apart: bool = False


def draw(
    steps: Iterable[Transformation],
    parallelism: int,
    chaining: bool,
    cached: Iterable[Transformation] = (),
) -> str:
    """The plan of all operators among ``steps`` and before them as JSON, in Flink's form.
    ``parallelism`` is that of steps which say nothing of their own."""
    drawing = _Drawing(parallelism)
    for step in _with_sources(steps):
        drawing.add(step)
    drawing.keep_apart(cached)
    vertices = drawing.vertices
    if all(vertex.pact == "Data Source" for vertex in vertices):
        raise ProgramError("No operators defined in streaming topology: the program has no steps.")
    if chaining:
        vertices = _chain(vertices)
    for number, vertex in enumerate(vertices, 1):
        vertex.number = number
    vertices.sort(key=lambda vertex: vertex.pact == "Data Sink")
    return json.dumps({"nodes": [_described(vertex) for vertex in vertices]}, indent=2)


def _with_sources(steps: Iterable[Transformation]) -> list[Transformation]:
    """The steps and all that they read, in the order in which they were made."""
    found: dict[Transformation, None] = {}
    ahead = list(steps)
    while ahead:
        step = ahead.pop()
        if step not in found:
            found[step] = None
            ahead += step.inputs
    return sorted(found, key=lambda step: step.number)


class _Drawing:
    """The vertices of the steps seen so far, in the order in which Flink makes them."""

    def __init__(self, parallelism: int) -> None:
        self.vertices: list[_Vertex] = []
        self._parallelism = parallelism
        self._read: dict[Transformation, list[_Hop]] = {}

    def add(self, step: Transformation) -> None:
        """Draw a step; what it reads has been drawn."""
        self._read[step] = self._drawn(step)

    def keep_apart(self, cached: Iterable[Transformation]) -> None:
        """Nothing is chained to what is cached."""
        for step in cached:
            for hop in self._read.get(step, ()):
                hop.vertex.head = False

    def _drawn(self, step: Transformation) -> list[_Hop]:
        """Where those read that come after ``step``."""
        hops = [hop for source in step.inputs for hop in self._values(step, source)]
        if step.kind is nodes.Union:
            return [_Hop(hop.vertex, hop.how, True) for hop in hops]
        if step.kind is nodes.Partition:
            return self._partitioned(step, hops)
        if step.kind is nodes.KeyBy:
            keys = self._python(step, _KEY, hops[0].vertex.parallelism, self._straight(hops))
            return [_Hop(keys, "HASH", True)]
        if step.kind is nodes.SideOutput:
            inputs = [_Hop(hop.vertex, hop.how, True) for hop in hops]
            return [_Hop(self._python(step, "Map", self._parallelism_of(step), inputs))]
        if step.kind is nodes.Source:
            return [_Hop(self._vertex(step, [], name=_source_name(step), pact="Data Source"))]
        if step.kind is nodes.Sink:
            return self._sink(step, hops)
        if step.kind is nodes.Timestamps:
            return self._timestamps(step, hops)
        java = isinstance(step.fields.get("function"), Projection)
        function = step.kind in _FUNCTIONS and not java
        head = function or step.kind in _HEADS
        return [_Hop(self._vertex(step, hops, chained=function, head=head))]

    def _values(self, step: Transformation, source: Transformation) -> Iterator[_Hop]:
        """What ``step`` reads from ``source``; of a keyed stream, which is one of keys and
        elements, only steps with keys read it as it is."""
        for hop in self._read[source]:
            if source.kind is nodes.KeyBy and step.kind not in _READ_KEYS:
                values = self._python(step, _VALUES, self._parallelism_of(step), [hop])
                values.chained = False
                yield _Hop(values)
            else:
                yield hop

    def _partitioned(self, step: Transformation, hops: list[_Hop]) -> list[_Hop]:
        how = step.fields["how"].upper()
        if how == "CUSTOM":
            first = self._python(step, _PARTITION, hops[0].vertex.parallelism, self._straight(hops))
            parallelism = self._parallelism_of(step)
            values = self._python(step, _VALUES, parallelism, [_Hop(first, how, True)])
            return [_Hop(values)]
        return [_Hop(hop.vertex, how, hop.apart or how != "FORWARD") for hop in hops]

    def _straight(self, hops: list[_Hop]) -> list[_Hop]:
        """Keys are computed where the elements are, whatever partitioning stands before that."""
        return [_Hop(hop.vertex, "FORWARD", hop.apart) for hop in hops]

    def _timestamps(self, step: Transformation, hops: list[_Hop]) -> list[_Hop]:
        if step.fields.get("of_source"):
            return hops
        name = "Timestamps/Watermarks"
        if step.fields["strategy"].assigner is None:
            vertex = self._vertex(step, hops)
            vertex.parallelism = step.parallelism or hops[0].vertex.parallelism
            return [_Hop(vertex)]
        parallelism = self._default_of(step)
        extract = self._python(step, "Extract-Timestamp", parallelism, hops)
        assign = _Vertex(name, parallelism, [_Hop(extract)])
        self.vertices.append(assign)
        return [_Hop(self._vertex(step, [_Hop(assign)]))]

    def _sink(self, step: Transformation, hops: list[_Hop]) -> list[_Hop]:
        printed = isinstance(step.fields["sink"], PrintSink)
        if printed and _needs_texts(step.inputs[0]):
            hops = [_Hop(self._python(step, "Map", self._default_of(step), hops))]
        if step.legacy:
            name = f"Sink: {step.name if step.named else 'Unnamed'}"
            return [_Hop(self._vertex(step, hops, name=name, pact="Data Sink"))]
        name = step.name if step.named else "Sink"
        writer = self._vertex(step, hops, name=f"{name}: Writer")
        if _commits(step.fields["sink"]):
            self._vertex(step, [_Hop(writer)], name=f"{name}: Committer")
        return []

    def _python(
        self, step: Transformation, name: str, parallelism: int, inputs: list[_Hop]
    ) -> _Vertex:
        """A Python function that the program does not name."""
        vertex = _Vertex(name, parallelism, inputs, chained=True, head=True, bounds=(None, None))
        self.vertices.append(vertex)
        return vertex

    def _vertex(self, step: Transformation, inputs: list[_Hop], **fields: Any) -> _Vertex:
        fields.setdefault("name", step.peer or step.name)
        vertex = _Vertex(
            parallelism=self._parallelism_of(step),
            inputs=inputs,
            description=step.description or step.details,
            bounds=_bounds_of(step),
            chaining=step.chaining,
            **fields,
        )
        self.vertices.append(vertex)
        return vertex

    def _parallelism_of(self, step: Transformation) -> int:
        if step.single:
            return 1
        return step.parallelism or self._default_of(step)

    def _default_of(self, step: Transformation) -> int:
        return step.built_with or self._parallelism


def _source_name(step: Transformation) -> str:
    return f"Source: {step.name.removeprefix('Source: ')}"


def _needs_texts(step: Transformation) -> bool:
    """Whether PyFlink makes texts of what is printed before Flink's sink gets it."""
    kind = step.declared_type()
    return kind is None or isinstance(kind, RowTypeInfo)


def _commits(sink: Sink) -> bool:
    """Whether what writers of the sink have prepared is committed afterwards."""
    return type(sink).commit is not Sink.commit and not isinstance(sink, DriverSink)


def _bounds_of(step: Transformation) -> tuple[Any, ...]:
    """What neighbours in a chain have in common besides their parallelism."""
    group = step.slot_sharing_group
    return step.max_parallelism, None if group is None else (group.get_cpu_cores(),)


def _chain(vertices: list[_Vertex]) -> list[_Vertex]:
    """Python functions that hand over to one another become one vertex, behind all others."""
    readers: dict[_Vertex, int] = {}
    for vertex in vertices:
        for hop in vertex.inputs:
            readers[hop.vertex] = readers.get(hop.vertex, 0) + 1
    instead: dict[_Vertex, _Vertex] = {}
    for vertex in vertices:
        vertex.inputs = [
            replace(hop, vertex=instead.get(hop.vertex, hop.vertex)) for hop in vertex.inputs
        ]
        if _can_join(vertex, readers):
            before = vertex.inputs[0].vertex
            joined = _joined(before, vertex)
            readers[joined] = readers.get(vertex, 0)
            for one in [one for one, other in instead.items() if other is before]:
                instead[one] = joined
            instead[before] = instead[vertex] = joined
    ends = dict.fromkeys(instead.values())
    kept = [vertex for vertex in vertices if vertex not in instead]
    return [*kept, *ends]


def _can_join(vertex: _Vertex, readers: dict[_Vertex, int]) -> bool:
    if not vertex.chained or len(vertex.inputs) != 1 or vertex.chaining != "chain":
        return False
    hop = vertex.inputs[0]
    before = hop.vertex
    return (
        before.head
        and not hop.apart
        and readers[before] == 1
        and before.chaining != "never"
        and before.parallelism == vertex.parallelism
        and before.bounds == vertex.bounds
    )


def _joined(first: _Vertex, second: _Vertex) -> _Vertex:
    """Two vertices as one."""
    told = [text for text in (first.description, second.description) if text]
    return replace(
        first,
        name=f"{first.name}, {second.name}",
        description=", ".join(told),
    )


def _described(vertex: _Vertex) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": vertex.number,
        "type": vertex.name,
        "pact": vertex.pact,
        "contents": vertex.description or vertex.name,
        "parallelism": vertex.parallelism,
    }
    if vertex.inputs:
        described["predecessors"] = [
            {"id": hop.vertex.number, "ship_strategy": _way(hop, vertex), "side": "second"}
            for hop in vertex.inputs
        ]
    return described


def _way(hop: _Hop, reader: _Vertex) -> str:
    """How records get to ``reader``."""
    same = hop.vertex.parallelism == reader.parallelism
    if hop.how == "FORWARD" and not same:
        raise ProgramError(
            "Forward partitioning does not allow change of parallelism: "
            f"{hop.vertex.name!r} has {hop.vertex.parallelism}, {reader.name!r} has "
            f"{reader.parallelism}. Use rebalance() or rescale(), or give both the same."
        )
    return hop.how or ("FORWARD" if same else "REBALANCE")
