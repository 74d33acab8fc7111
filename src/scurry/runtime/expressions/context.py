"""What an expression can know beside the rows: the clock, the zone, the watermark."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pyarrow as pa

from scurry.functions.expressions import AsyncSettings
from scurry.functions.udfs import FunctionContext

__all__ = ["EvaluationContext"]


def _now() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True)
class EvaluationContext:
    """The surroundings of one evaluation.

    `zone` is ``table.local-time-zone``. `now` is the time of this evaluation in milliseconds since
    1970; all rows of a batch have it. In batch mode CURRENT_TIMESTAMP and its relatives give
    `query_start` instead, the same for every row of a query. `watermarks` has the watermark in
    force at each row, in milliseconds, NULL before the first. `functions` is what functions of the
    user's are opened with, and `asynchronous` how those that are awaited are called.
    """

    zone: str = "UTC"
    now: int = field(default_factory=_now)
    query_start: int | None = None
    watermarks: pa.Array | None = None
    database: str = "default_database"
    functions: FunctionContext = field(default_factory=FunctionContext)
    asynchronous: AsyncSettings = field(default_factory=AsyncSettings)

    @property
    def current(self) -> int:
        """The time that CURRENT_TIMESTAMP gives."""
        return self.now if self.query_start is None else self.query_start
