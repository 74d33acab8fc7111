"""How often an element may show in state."""

from __future__ import annotations

import enum


class CheckpointingMode(enum.Enum):
    """What a program asks of its checkpoints. Scurry's are always exactly once, which whoever asks
    for less gets as well."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
