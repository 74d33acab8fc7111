"""The states a job goes through.

A job is created, runs, and ends finished, failed or canceled; these three ends are final wherever
one looks. A suspended job has ended here but may be taken up again elsewhere.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["JobStatus"]


class JobStatus(Enum):
    """Where a job is in its life."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Whether the job has ended for good."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Whether the job has ended here, for good or to be taken up elsewhere."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()
