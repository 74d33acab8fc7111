"""Which operator runs a windowing."""

from __future__ import annotations

from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.windowing.aligned import AlignedWindowOperator, runs_aligned
from scurry.runtime.windowing.operator import WindowOperator
from scurry.windowing.spec import WindowSpec


def window_operator(spec: OperatorSpec, windowing: WindowSpec) -> Operator:
    """The fastest operator that can run ``windowing``; all give the same results."""
    if runs_aligned(windowing):
        return AlignedWindowOperator(spec, windowing)
    return WindowOperator(spec, windowing)
