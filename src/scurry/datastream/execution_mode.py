"""How a job with bounded input may be run."""

from __future__ import annotations

import enum


class RuntimeExecutionMode(enum.Enum):
    """Streaming semantics, batch semantics, or whichever fits the sources."""

    STREAMING = 0
    BATCH = 1
    AUTOMATIC = 2
