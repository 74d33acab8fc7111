"""Laying a graph out as a line of stages.

An operator is *chained* to its producer where nothing forces a hop: it then runs in the producer's
task, on the producer's batches. A hop is forced by a partitioning, by a parallelism the user set,
by a broken chain, by an operator with two inputs, or by a union (below). The operators behind hops
are the *heads* of stages; a head's stage is the first one after all stages its producers run in.
Every operator runs in one place: in the ingress, or in one stage.

Where streams are united and an operator follows, records have to be merged by their places in the
input, which only the input gate of a head does. So the operator is a head, as in Flink. There are
two exceptions, for speed. Streams of different sources may be united within the ingress, which
reads one source partition after the other and keeps them apart. And a sink, behind which there is
nothing that would need the order, may be chained to several operators of one place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scurry.common.errors import ProgramError
from scurry.functions.aggregate_calls import ColumnsKey
from scurry.plan.graph import Graph
from scurry.plan.nodes import (
    KeyBy,
    Node,
    Operator,
    Partition,
    SideOutput,
    Source,
    Timestamps,
    Union,
)
from scurry.runtime import partitioners
from scurry.runtime.combining import Combiner
from scurry.runtime.partitioners import Partitioning
from scurry.runtime.selectors import no_key, picked_key


@dataclass(frozen=True)
class Edge:
    """How the records of ``producer`` (or of its side output ``tag``) reach ``consumer``."""

    producer: Operator
    consumer: Operator
    tag: str | None
    #: None if the consumer is chained to the producer
    partitioning: Partitioning | None
    #: which input of the consumer
    port: int = 0
    #: what combines records before they travel
    combiner: Combiner | None = None


@dataclass(frozen=True)
class Layout:
    """Where everything runs."""

    edges: tuple[Edge, ...]
    #: the stage each operator runs in; 0 is the ingress
    places: dict[Operator, int]
    #: heads by stage, from stage 1
    stages: tuple[tuple[Operator, ...], ...]
    parallelism: dict[Operator, int]


def lay_out(graph: Graph, parallelism: int, chaining: bool = True) -> Layout:
    """Decide chains, stages and parallelism."""
    edges: list[Edge] = []
    places: dict[Operator, int] = {}
    #: the sources and heads that an operator is chained to, directly or by others
    origins: dict[Operator, frozenset[Operator]] = {}
    heads: dict[int, list[Operator]] = {}
    degrees: dict[Operator, int] = {}
    for node in graph.operators:
        if isinstance(node, Source):
            places[node] = 0
            origins[node] = frozenset({node})
            degrees[node] = _source_tasks(node, parallelism)
            continue
        degree = node.parallelism or parallelism
        incoming = [
            _hop(replace(edge, port=port), degrees, degree, chaining)
            for port, source in enumerate(node.inputs)
            for edge in _resolve(source, node)
        ]
        if not _may_chain(node, incoming, places, origins):
            incoming = [_forward(edge, degrees, degree) for edge in incoming]
        hops = [edge for edge in incoming if edge.partitioning is not None]
        chained = [edge for edge in incoming if edge.partitioning is None]
        if hops:
            places[node] = 1 + max(places[edge.producer] for edge in hops)
            heads.setdefault(places[node], []).append(node)
            degrees[node] = degree
            origins[node] = frozenset({node})
        else:
            places[node] = places[chained[0].producer]
            degrees[node] = max(degrees[edge.producer] for edge in chained)
            origins[node] = frozenset().union(*(origins[edge.producer] for edge in chained))
        edges.extend(incoming)
    stages = tuple(tuple(heads.get(n, ())) for n in range(1, max(heads, default=0) + 1))
    return Layout(tuple(edges), places, stages, degrees)


def _may_chain(
    node: Operator,
    incoming: list[Edge],
    places: dict[Operator, int],
    origins: dict[Operator, frozenset[Operator]],
) -> bool:
    """Whether ``node`` may be chained to the producers that ``incoming`` chains it to."""
    chained = [edge.producer for edge in incoming if edge.partitioning is None]
    if len(incoming) == 1 or not chained:
        return True
    if len(chained) < len(incoming) or len({places[producer] for producer in chained}) > 1:
        return False
    if not node.needs_order:
        return True
    apart = sum(len(origins[producer]) for producer in chained)
    together = frozenset[Operator]().union(*(origins[producer] for producer in chained))
    return places[chained[0]] == 0 and len(together) == apart


def _source_tasks(node: Source, parallelism: int) -> int:
    wanted = node.parallelism or parallelism
    limit = node.source.max_tasks
    return wanted if limit is None else min(wanted, limit)


def _resolve(node: Node, consumer: Operator) -> list[Edge]:
    """The edges behind ``node``, looking through everything that does not run."""
    if isinstance(node, Operator):
        return [Edge(node, consumer, None, None)]
    upstream = [edge for source in node.inputs for edge in _resolve(source, consumer)]
    if isinstance(node, Union):
        return upstream
    if isinstance(node, SideOutput):
        return [replace(edge, tag=node.tag, partitioning=None) for edge in upstream]
    if isinstance(node, (KeyBy, Partition)):
        return [replace(edge, partitioning=partitioning_of(node)) for edge in upstream]
    raise ProgramError(f"The compiler does not know the node {type(node).__name__}.")


def partitioning_of(node: KeyBy | Partition) -> Partitioning:
    """The runtime's counterpart of a partitioning node."""
    if isinstance(node, KeyBy):
        select = node.selector.get_key
        keyless = isinstance(node.selector, ColumnsKey) and not node.selector.indexes
        if select is no_key or keyless:
            return partitioners.OneKey()
        return partitioners.ByKey(select, picked_key(select))
    if node.how == "custom":
        assert node.partitioner is not None
        assert node.selector is not None
        return partitioners.Custom(node.partitioner.partition, node.selector.get_key)
    kinds: dict[str, Callable[[], Partitioning]] = {
        "forward": partitioners.Forward,
        "rebalance": partitioners.Rebalance,
        "rescale": partitioners.Rebalance,
        "shuffle": partitioners.Shuffle,
        "broadcast": partitioners.Broadcast,
        "global": partitioners.Global,
    }
    return kinds[node.how]()


def _hop(edge: Edge, degrees: dict[Operator, int], degree: int, chaining: bool) -> Edge:
    """``edge`` with the partitioning it needs, if chaining is not possible.

    ``degree`` is the consumer's parallelism, should it be the head of a stage. The inputs of a
    consumer that has two always hop: only so do they meet in one instance.
    """
    producer, consumer = edge.producer, edge.consumer
    if edge.partitioning is not None:
        return edge
    if isinstance(consumer, Timestamps) and consumer.of_source:
        return edge
    if consumer.input_count > 1:
        return _forward(edge, degrees, degree)
    if consumer.parallelism is not None and consumer.parallelism != degrees[producer]:
        return replace(edge, partitioning=partitioners.Rebalance())
    if not chaining or consumer.chaining != "chain" or producer.chaining == "never":
        return _forward(edge, degrees, degree)
    return edge


def _forward(edge: Edge, degrees: dict[Operator, int], degree: int) -> Edge:
    """``edge`` as a hop: from slot to slot if the consumer has as many as the producer."""
    if edge.partitioning is not None:
        return edge
    same = degree == degrees[edge.producer]
    return replace(edge, partitioning=partitioners.Forward() if same else partitioners.Rebalance())
