"""Where a job stands when it starts: after a crash, a stop, or a change of the program.

The last committed epoch says where to go on. If the plan of the micro-batch after it was written,
that micro-batch may have been executed, and sinks may have committed it, before the driver died: it
has to be run again, and has to read the very same records. A program that drops state of the one
before it does so in its first micro-batch, so until that is committed the state is left out here
each time the job starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.checkpoint.epochs import Epoch, after_forgetting, rescaled
from scurry.checkpoint.ledger import Ledger
from scurry.engine.planner import deal_again, planned_for
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.specs import JobSpec


@dataclass(frozen=True)
class StartingPoint:
    """Where to go on."""

    #: the last committed micro-batch, -1 if there is none
    committed: int = -1
    #: the last one that has a plan: one more than ``committed`` if it has to be run again
    planned: int = -1
    #: where the sources stand after ``planned``, None for a new job
    epoch: Epoch | None = None


def starting_point(ledger: Ledger, job: JobSpec) -> StartingPoint:
    """Where ``job`` goes on; takes what the job drops out of a plan that has to be run again."""
    epoch = ledger.last_epoch()
    committed = -1 if epoch is None else epoch.batch
    ledger.drop_plans_after(committed)
    drops = committed < job.forgetting.batch
    pending = ledger.pending_plan(committed)
    if pending is None:
        after = epoch
    else:
        batch, after = pending
        if drops:
            ledger.revise_plan(batch, planned_for(ledger.tasks_of_plan(batch), job))
        _give_cells(after, epoch)
    if after is not None and drops:
        after = after_forgetting(after, job)
    return StartingPoint(committed, committed + (pending is not None), after)


def _give_cells(planned: Epoch, last: Epoch | None) -> None:
    """Give the partitions of ``planned``, the epoch of a plan that has to be run again, the cells
    that the last committed micro-batch left."""
    cells = {} if last is None else {(p.source, p.partition): p.cells for p in last.partitions}
    for partition in planned.partitions:
        partition.cells = cells.get((partition.source, partition.partition), {})


@dataclass(frozen=True)
class CarriedOver:
    """What a job of another parallelism takes over from a ledger."""

    epoch: Epoch | None = None
    #: the plan that has to be run again, by the tasks that the job has, if there is one
    tasks: tuple[TaskPlan, ...] = ()
    planned: Epoch | None = None


def carry_over(ledger: Ledger, job: JobSpec) -> CarriedOver:
    """The last epoch and a pending plan, for the parallelism of ``job``."""
    epoch = ledger.last_epoch()
    pending = ledger.pending_plan(-1 if epoch is None else epoch.batch)
    kept = None if epoch is None else rescaled(epoch, job)
    if pending is None:
        return CarriedOver(kept)
    planned = rescaled(pending[1], job)
    tasks = deal_again(ledger.tasks_of_plan(pending[0]), job, planned)
    return CarriedOver(kept, tuple(tasks), planned)
