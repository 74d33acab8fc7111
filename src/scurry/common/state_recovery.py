"""What may happen to state when a job starts from a checkpoint: settings, and advice."""

from __future__ import annotations

#: Whether a job may start although the checkpoint has state that no operator takes over, which is
#: dropped then.
IGNORE_UNCLAIMED_STATE = "execution.state-recovery.ignore-unclaimed-state"
#: Flink's older name of the same.
IGNORE_UNCLAIMED_STATE_OLDER = "execution.savepoint.ignore-unclaimed-state"
#: What helps against a checkpoint that is damaged beyond repair.
WAYS_OUT = (
    "Or go on from an older copy of the checkpoint: set execution.checkpointing.dir to its "
    "directory. Or begin anew: set it to an empty one."
)
