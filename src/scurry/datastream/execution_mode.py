"""How a job with bounded input may be run."""

from __future__ import annotations

import enum

__all__ = ["RuntimeExecutionMode"]


class RuntimeExecutionMode(enum.Enum):
    """Streaming, batch, or whichever fits the sources.

    In batch execution of bounded input event time stands still until the input ends, so nothing is
    ever late and all windows and timers fire once, at the end; rolling aggregations (``reduce``,
    ``sum`` and the like) give one final result per key; timers in processing time fire at the end
    too. How the input is cut into micro-batches matters as little as it does in streaming.
    """

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
