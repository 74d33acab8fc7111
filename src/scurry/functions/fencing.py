"""Fencing: a driver that was taken for dead must not write any more when it comes back.

Whoever drives a job holds the *lease* of its checkpoint, and each lease has an *epoch*: a number
that is greater than that of every lease before it. A driver can be paused for any time, between any
two of its steps, and find another driver at work when it wakes. It cannot know that by itself, so
the targets must: a sink stores the epoch of the lease together with what it writes, and compares
before it writes again. If the target holds a greater epoch than its own, its driver is the one that
was paused.

A sink whose target can compare and write in one step (a transaction, a conditional put) is safe
from drivers that wake up. Where the target cannot, :meth:`Fence.check` before each write leaves
the time between check and write.
"""

from __future__ import annotations

from scurry.common.errors import OtherHistoryError


class Fence:
    """The lease as sinks see it. This one stands for none, as in tests of a sink alone."""

    #: the number of the lease; grows from one driver of a checkpoint to the next
    epoch: int = 0

    def check(self) -> None:
        """Raise :class:`~scurry.common.errors.LeaseLostError` if another driver has taken the
        checkpoint over."""

    def enter(self, found: int) -> None:
        """This driver is about to store its epoch in a target that holds ``found``, as its sink
        starts; raises if the driver that stored it came after this one. A greater epoch that is
        not of this checkpoint's lease is that of a copy of the checkpoint, and is replaced."""
        if found > self.epoch:
            self.check()

    def admit(self, found: int) -> None:
        """This driver is about to write to a target that holds the epoch ``found``; raises if
        another driver has entered it since."""
        if found > self.epoch:
            self.check()
            raise OtherHistoryError(
                f"The target has been taken over by a driver with the lease epoch {found}, and "
                f"this one has {self.epoch}, the greatest of its checkpoint: somebody runs a copy "
                "of the checkpoint into the same target. End the other job; then start this one "
                "again, which says what the choices are."
            )


def only_epoch(epoch: int) -> Fence:
    """What is left of a lease in a worker: nobody writes under it there."""
    made = Fence()
    made.epoch = epoch
    return made
