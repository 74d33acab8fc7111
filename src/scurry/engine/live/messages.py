"""What the driver and the tasks of the live engine tell each other.

Messages are lists whose first element is one of the names here.

From the driver to a task:

``MEET``      addresses of all tasks; what the last epoch knows of the journals of this task's slots
``ROUND``     a :class:`Round`
``END``       the job is over for this task

From a task to the driver:

``CAME``      the task has started; where it can be reached
``READY``     it is connected to all others
``DONE``      a :class:`Done`
``TOLD``      a :class:`Told`
``FAILED``    what made it fail, as text
``LOST``      another task that it has no connection to any more
"""

from __future__ import annotations

from typing import Any

import msgspec

from scurry.checkpoint.file_journal import StoredHead
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.report import Tick

MEET, ROUND, END, CAME, READY, DONE, TOLD, FAILED, LOST = range(9)


class Round(msgspec.Struct, array_like=True):
    """What one task does in one round."""

    number: int
    #: whether the micro-batch ends with it
    marked: bool
    tick: Tick
    #: for the parts of the ingress that run in the task
    plans: list[TaskPlan]
    #: whether what the plans say of cells counts, and not what the task knows of them
    cells_count: bool = False


class Done(msgspec.Struct, array_like=True):
    """A task is done with all stages of a round."""

    task: int
    round: int
    #: when it wishes for another round
    wake: int | None
    #: bytes that it has sent to others
    sent: int
    #: where event time stands in source partitions, where that has changed
    cells: list[bytes]
    #: records that it has read
    read: int


class Told(msgspec.Struct, array_like=True):
    """What a part of a task tells the driver at the end of a micro-batch."""

    task: int
    batch: int
    #: the stage, 0 for what reads
    stage: int
    #: the fields of envelopes
    envelopes: list[Any]
    #: the journal of the slot
    journal: StoredHead | None = None


def as_round(message: Any) -> Round:
    """The :class:`Round` that has arrived as plain data."""
    return msgspec.convert(message, Round)


def as_done(message: Any) -> Done:
    """The :class:`Done` that has arrived as plain data."""
    return msgspec.convert(message, Done)


def as_told(message: Any) -> Told:
    """The :class:`Told` that has arrived as plain data."""
    return msgspec.convert(message, Told)
