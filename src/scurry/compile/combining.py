"""The pass that decides which wires combine records before they travel to windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.compile.choose_operators import PhysicalOperator
from scurry.compile.stages import Edge, Layout
from scurry.plan.graph import Graph
from scurry.plan.nodes import Operator, Timestamps, Window
from scurry.runtime.columnar.combiner import Combiner, combining
from scurry.runtime.partitioners import ByKey


def with_combiners(
    layout: Layout, graph: Graph, chosen: Mapping[Operator, PhysicalOperator]
) -> Layout:
    """``layout`` with a combiner on each edge that may have one; see
    :mod:`scurry.runtime.columnar.combiner` for which those are."""
    if any(isinstance(node, Timestamps) and _may_be_idle(node.strategy) for node in graph.nodes):
        return layout
    edges = (_with_combiner(edge, chosen[edge.consumer]) for edge in layout.edges)
    return replace(layout, edges=tuple(edges))


def _may_be_idle(strategy: WatermarkStrategy) -> bool:
    return strategy.idleness_ms is not None or strategy.kind == "generator"


def _with_combiner(edge: Edge, consumer: PhysicalOperator) -> Edge:
    node = edge.consumer
    if not isinstance(node, Window) or not isinstance(edge.partitioning, ByKey):
        return edge
    if not consumer.vectorised or not combining(node.windowing):
        return edge
    return replace(edge, combiner=Combiner(node.windowing))
