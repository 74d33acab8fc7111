"""Which operator runs a windowing."""

from __future__ import annotations

from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.windowing.aligned import AlignedWindowOperator, runs_aligned
from scurry.runtime.windowing.operator import WindowOperator
from scurry.runtime.windowing.sessions import SessionOperator, runs_sessions
from scurry.runtime.windowing.vectorised.aligned import VectorisedAlignedOperator, built_in
from scurry.runtime.windowing.vectorised.sessions import (
    VectorisedSessionOperator,
    fixed_sessions,
)
from scurry.windowing.spec import WindowSpec


def runs_vectorised(windowing: WindowSpec) -> bool:
    """Whether there is a vectorised operator for ``windowing``."""
    return built_in(windowing) and (runs_aligned(windowing) or fixed_sessions(windowing))


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
