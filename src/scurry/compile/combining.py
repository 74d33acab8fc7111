"""Where records are combined before they travel."""

from __future__ import annotations

from dataclasses import replace

from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.compile.operators import combiner_for
from scurry.compile.stages import Edge, Layout
from scurry.plan.graph import Graph
from scurry.plan.nodes import Timestamps
from scurry.runtime.partitioners import ByKey


def with_combiners(layout: Layout, graph: Graph) -> Layout:
    """``layout`` with a combiner on each edge that may have one; see
    :mod:`scurry.runtime.columnar.combiner` for why not where channels can be idle."""
    if any(isinstance(node, Timestamps) and _may_be_idle(node.strategy) for node in graph.nodes):
        return layout
    return replace(layout, edges=tuple(map(_with_combiner, layout.edges)))


def _may_be_idle(strategy: WatermarkStrategy) -> bool:
    return strategy.idleness_ms is not None or strategy.kind == "generator"


def _with_combiner(edge: Edge) -> Edge:
    if not edge.consumer.may_be_combined or not isinstance(edge.partitioning, ByKey):
        return edge
    return replace(edge, combiner=combiner_for(edge.consumer))
