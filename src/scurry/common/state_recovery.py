"""The settings that say what may happen to state when a job starts from a checkpoint."""

from __future__ import annotations

#: Whether a job may start although the checkpoint has state that no operator takes over, which is
#: dropped then.
IGNORE_UNCLAIMED_STATE = "execution.state-recovery.ignore-unclaimed-state"
#: Flink's older name of the same.
IGNORE_UNCLAIMED_STATE_OLDER = "execution.savepoint.ignore-unclaimed-state"
