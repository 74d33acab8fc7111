"""Advice that several error messages give."""

from __future__ import annotations

#: What helps against a checkpoint that is damaged beyond repair.
WAYS_OUT = (
    "Or go on from an older copy of the checkpoint: set execution.checkpointing.dir to its "
    "directory. Or begin anew: set it to an empty one."
)
