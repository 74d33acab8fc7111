"""Laying a graph out as a line of stages.

An operator is *chained* to its producer where nothing forces a hop: it then runs in the producer's
task, on the producer's batches. A hop is forced by a partitioning, by a parallelism the user set,
by a broken chain, or by an operator with two inputs. The operators behind hops are the *heads* of
stages; a head's stage is the first one after all stages its producers run in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scurry.common.errors import ProgramError
from scurry.plan.graph import Graph
from scurry.plan.nodes import KeyBy, Node, Operator, Partition, SideOutput, Source, TwoInputs, Union
from scurry.runtime import partitioners
from scurry.runtime.partitioners import Partitioning
from scurry.runtime.selectors import no_key, picked_field
from scurry.runtime.windowing.vectorised.combiner import Combiner


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
    #: the stages each operator runs in; 0 is the ingress
    places: dict[Operator, frozenset[int]]
    #: heads by stage, from stage 1
    stages: tuple[tuple[Operator, ...], ...]
    parallelism: dict[Operator, int]


def lay_out(graph: Graph, parallelism: int, chaining: bool = True) -> Layout:
    """Decide chains, stages and parallelism."""
    edges: list[Edge] = []
    places: dict[Operator, frozenset[int]] = {}
    heads: dict[int, list[Operator]] = {}
    degrees: dict[Operator, int] = {}
    for node in graph.operators:
        if isinstance(node, Source):
            places[node] = frozenset({0})
            degrees[node] = _source_tasks(node, parallelism)
            continue
        degree = node.parallelism or parallelism
        incoming = [
            _hop(replace(edge, port=port), degrees, degree, chaining)
            for port, source in enumerate(node.inputs)
            for edge in _resolve(source, node)
        ]
        hops = [edge for edge in incoming if edge.partitioning is not None]
        chained = [edge for edge in incoming if edge.partitioning is None]
        where = frozenset[int]().union(*(places[edge.producer] for edge in chained))
        if hops:
            stage = 1 + max(max(places[edge.producer]) for edge in hops)
            heads.setdefault(stage, []).append(node)
            where |= {stage}
            degrees[node] = degree
        else:
            degrees[node] = max(degrees[edge.producer] for edge in chained)
        places[node] = where
        edges.extend(incoming)
    stages = tuple(tuple(heads.get(n, ())) for n in range(1, max(heads, default=0) + 1))
    return Layout(tuple(edges), places, stages, degrees)


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
        if select is no_key:
            return partitioners.OneKey()
        return partitioners.ByKey(select, picked_field(select))
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
    if isinstance(consumer, TwoInputs):
        same = degree == degrees[producer]
        return replace(
            edge, partitioning=partitioners.Forward() if same else partitioners.Rebalance()
        )
    if consumer.parallelism is not None and consumer.parallelism != degrees[producer]:
        return replace(edge, partitioning=partitioners.Rebalance())
    if not chaining or consumer.chaining != "chain" or producer.chaining == "never":
        return replace(edge, partitioning=partitioners.Forward())
    return edge
