"""What an engine writes down so that a job survives its driver: plans, pledges and epochs.

A *plan* says what a micro-batch reads, and where the sources stand after it. It is written before
anything is read. An *epoch* says where the job stands after a micro-batch. It is written when the
micro-batch is over, and counts from the moment at which the engine commits the micro-batch. A
*pledge* lies between the two: what writers have prepared in a micro-batch, and sinks are going to
commit, whatever happens; only some sinks need one (:attr:`scurry.functions.sink.Sink.promises`).

Engines differ in how they commit, so a ledger only answers which epoch is the last committed one.
:class:`~scurry.checkpoint.directory.JobDirectory` is the ledger on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from scurry.checkpoint.claims import Standing
from scurry.checkpoint.epochs import Epoch
from scurry.runtime.ingress import TaskPlan

#: By the uid of a sink: the messages of its writers.
Promises = dict[str, list[bytes]]


class Pledge(msgspec.Struct, frozen=True):
    """What sinks are going to commit of a micro-batch: messages of writers, by the sink's uid."""

    batch: int
    messages: dict[str, list[Any]]


class Ledger(Protocol):
    """Plans and epochs of one job, durable as soon as a call returns."""

    def last_epoch(self) -> Epoch | None:
        """The epoch of the last micro-batch that was committed, None for a new job."""

    def draft_epoch(self, epoch: Epoch) -> None:
        """This epoch is going to be written, after other things: work on it may begin, but nothing
        of it counts yet."""

    def write_epoch(self, epoch: Epoch) -> None:
        """Remember where the job stands after a micro-batch; those before are committed."""

    def write_plan(self, batch: int, tasks: Sequence[TaskPlan], after: Epoch) -> None:
        """Write the plan of micro-batch ``batch`` down, all at once; ``after`` has the positions
        of the sources after it."""

    def pending_plan(self, after: int) -> tuple[int, Epoch] | None:
        """The plan of the micro-batch that follows the committed one ``after``, if it was written:
        its number, and the positions of the sources after it."""

    def tasks_of_plan(self, batch: int) -> list[TaskPlan]:
        """What the plan of micro-batch ``batch`` says."""

    def revise_plan(self, batch: int, tasks: Sequence[TaskPlan]) -> None:
        """Replace what tasks read in micro-batch ``batch``, task by task."""

    def write_pledge(self, pledge: Pledge) -> None:
        """Remember what sinks are going to commit, instead of what they were before. Fails if
        another driver has taken over, which knows of all pledges before that moment and of none
        after it."""

    def pledge_of(self, batch: int) -> dict[str, list[Any]]:
        """What was pledged for micro-batch ``batch``, by the uid of the sink."""

    def drop_plans_after(self, batch: int) -> None:
        """Forget plans that cannot have been executed: those beyond the one after ``batch``."""

    def write_promises(self, batch: int, prepared: Promises) -> None:
        """Keep what sinks have prepared in micro-batch ``batch``. It counts with the epoch, which
        is written after it."""

    def promises(self, batch: int) -> Promises:
        """What sinks have prepared in the committed micro-batch ``batch`` and may not have
        committed themselves."""

    def drop_promises(self, batch: int) -> None:
        """Sinks have committed what they prepared in micro-batch ``batch``."""

    def sync(self) -> None:
        """Have all that was written so far, by whomever, survive a loss of power, if that is
        wanted of this ledger."""

    def outrun(self) -> bool:
        """Whether the previous driver has planned micro-batches, and perhaps committed them to
        sinks, after this driver took over its files. Called when the sinks have stopped accepting
        commits of the previous driver."""

    def settle(self) -> None:
        """Remove what the previous driver has left. Called when it is not needed any more."""


def standing_of(ledger: Ledger, place: str) -> Standing | None:
    """Where the checkpoint at ``place`` stands, None if nothing was planned yet."""
    epoch = ledger.last_epoch()
    last = -1 if epoch is None else epoch.batch
    pending = ledger.pending_plan(last)
    if pending is not None:
        # The epoch of a pending plan does not list states that its micro-batch is to write first.
        # That is right: as the micro-batch is not committed, the checkpoint has none of them.
        epoch = pending[1]
    if epoch is None:
        return None
    return Standing(place, epoch, last + 1, pending is not None)
