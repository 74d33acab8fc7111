"""What a job promises about its output after a failure."""

from __future__ import annotations

import enum

from scurry.common.configuration import Configuration
from scurry.common.options.checkpoints import CHECKPOINTING_MODE
from scurry.functions.sink import AT_LEAST_ONCE, EXACTLY_ONCE

__all__ = ["CheckpointingMode"]


class CheckpointingMode(enum.Enum):
    """Each element has its effect once, or once or more.

    In Scurry state is exactly-once either way, because a micro-batch that is run again starts from
    the state before it. The mode is about sinks: with ``AT_LEAST_ONCE`` those that know how leave
    out transactions and staging and write at once, so results are seen earlier, and seen again
    when a micro-batch has to be repeated.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1

    @property
    def guarantee(self) -> str:
        """The mode in the words of sinks and of ``explain()``."""
        return AT_LEAST_ONCE if self is CheckpointingMode.AT_LEAST_ONCE else EXACTLY_ONCE


def mode_of(configuration: Configuration) -> CheckpointingMode:
    """The mode that ``execution.checkpointing.mode`` names."""
    return CheckpointingMode[CHECKPOINTING_MODE.read(configuration)]
