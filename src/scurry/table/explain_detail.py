"""What an explanation says beyond the plan itself."""

from __future__ import annotations

from enum import Enum

__all__ = ["ExplainDetail"]


class ExplainDetail(Enum):
    """A detail that ``explain`` adds if it is asked to."""

    #: what the planner believes about costs; it says that there is no estimate
    ESTIMATED_COST = 0
    #: which kinds of changes each node emits
    CHANGELOG_MODE = 1
    #: the operators, stages and uids of the job, as JSON
    JSON_EXECUTION_PLAN = 2
    #: what to mind about the plan
    PLAN_ADVICE = 3
