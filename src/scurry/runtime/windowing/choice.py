"""Which operator runs a windowing."""

from __future__ import annotations

from typing import Any

from scurry.functions.window_aggregates import Aggregates
from scurry.runtime.columnar.combiner import SliceCombiner
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.combining import Combiner
from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.windowing.aligned import AlignedWindowOperator, runs_aligned
from scurry.runtime.windowing.operator import WindowOperator
from scurry.runtime.windowing.sessions import SessionOperator, runs_sessions
from scurry.runtime.windowing.vectorised.aligned import VectorisedAlignedOperator
from scurry.runtime.windowing.vectorised.sessions import (
    VectorisedSessionOperator,
    fixed_sessions,
)
from scurry.windowing.spec import WindowSpec


def runs_vectorised(windowing: WindowSpec) -> bool:
    """Whether there is a vectorised operator for ``windowing``."""
    return windowing.built_in and (runs_aligned(windowing) or fixed_sessions(windowing))


def windows_combiner(windowing: WindowSpec) -> Combiner | None:
    """What may combine elements on their way to ``windowing``; see
    :mod:`scurry.runtime.columnar.combiner` for the windows of which that is right."""
    assigner: Any = windowing.assigner
    if not runs_vectorised(windowing) or windowing.merging or windowing.asks_for_late_elements:
        return None
    if assigner.slide > assigner.size:
        return None
    function = windowing.incremental
    assert isinstance(function, Aggregates)
    measures = Measures(function.aggregates)
    return SliceCombiner(assigner.size, assigner.slide, assigner.offset, measures)


def window_operator(spec: OperatorSpec, windowing: WindowSpec, vectorised: bool = True) -> Operator:
    """The fastest operator that can run ``windowing``; all give the same results."""
    if vectorised and runs_vectorised(windowing):
        if windowing.merging:
            return VectorisedSessionOperator(spec, windowing)
        return VectorisedAlignedOperator(spec, windowing)
    if spec.dead_letters and windowing.allowed_lateness:
        # a window that failed is emptied, and may fire again
        return WindowOperator(spec, windowing)
    if runs_aligned(windowing):
        return AlignedWindowOperator(spec, windowing)
    if runs_sessions(windowing):
        return SessionOperator(spec, windowing)
    return WindowOperator(spec, windowing)
