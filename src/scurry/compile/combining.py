"""The pass that decides which wires combine records before they travel to windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.compile.choose_operators import PhysicalOperator
from scurry.compile.stages import Edge, Layout
from scurry.functions.window_aggregates import Aggregates
from scurry.plan.graph import Graph
from scurry.plan.nodes import Operator, Timestamps, Window
from scurry.runtime.columnar.combiner import SliceCombiner
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.combining import Combiner
from scurry.runtime.partitioners import ByKey
from scurry.windowing.spec import WindowSpec


def with_combiners(
    layout: Layout, graph: Graph, chosen: Mapping[Operator, PhysicalOperator]
) -> Layout:
    """``layout`` with a combiner on each edge that may have one; see
    :mod:`scurry.runtime.columnar.combiner` for why not where channels can be idle."""
    if any(isinstance(node, Timestamps) and _may_be_idle(node.strategy) for node in graph.nodes):
        return layout
    edges = (_with_combiner(edge, chosen[edge.consumer]) for edge in layout.edges)
    return replace(layout, edges=tuple(edges))


def _may_be_idle(strategy: WatermarkStrategy) -> bool:
    return strategy.idleness_ms is not None or strategy.kind == "generator"


def _with_combiner(edge: Edge, consumer: PhysicalOperator) -> Edge:
    node = edge.consumer
    if not node.may_be_combined or not isinstance(edge.partitioning, ByKey):
        return edge
    if not isinstance(node, Window) or not consumer.vectorised:
        return edge
    return replace(edge, combiner=_combiner(node.windowing))


def _combiner(windowing: WindowSpec) -> Combiner | None:
    """What may combine elements on their way to windows on columns."""
    assigner: Any = windowing.assigner
    if windowing.merging or windowing.asks_for_late_elements or assigner.slide > assigner.size:
        return None
    function = windowing.incremental
    assert isinstance(function, Aggregates)
    measures = Measures(function.aggregates)
    return SliceCombiner(assigner.size, assigner.slide, assigner.offset, measures)
