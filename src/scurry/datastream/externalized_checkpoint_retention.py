"""What becomes of checkpoints when a job ends."""

from __future__ import annotations

import enum

__all__ = ["ExternalizedCheckpointRetention"]


class ExternalizedCheckpointRetention(enum.Enum):
    """What a program asks for. Scurry keeps what is in ``execution.checkpointing.dir``, and
    deletes at the end what it kept elsewhere because no directory was named."""

    DELETE_ON_CANCELLATION = 0
    RETAIN_ON_CANCELLATION = 1
    NO_EXTERNALIZED_CHECKPOINTS = 2
