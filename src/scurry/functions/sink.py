"""Sinks: where records go, once.

A sink has two halves. Its *writer* lives in a worker, as part of the operator chain that feeds it.
At the end of a micro-batch the writer makes what it wrote ready (``prepare``) and returns a message
for the driver. The other half is on the driver, where ``commit`` makes the messages of all writers
visible under the batch's id. A batch may be run again after a crash, so ``commit`` for a batch that
it has seen must change nothing: that is what makes the output exactly-once. A sink that cannot do
that says so in its ``guarantee``, which ``explain()`` shows.

To commit can be more than one step. A sink whose writers each leave something behind that has to be
committed by itself, such as a transaction each, asks for a *promise* (``promises``): the engine
makes the messages durable before it calls ``commit``, and calls ``commit`` again with the very same
messages when it finds the promise after a crash. All that was prepared without being promised will
never be committed, and ``recover`` is the moment to throw it away.

The id alone does not say which batch it is: whoever puts an older copy of a checkpoint back goes on
with other batches under the same ids. So a sink stores, together with what it writes, the *mark* of
the batch, which it gets from the history in its context. When a job starts, the driver asks each
sink for its last mark (``committed_mark``). If the checkpoint does not know the batch of that mark,
one of three things happens, as the user chose: the job is refused, or the sink takes back what it
wrote in the other history (``truncate``), or it leaves that and writes on (``accept``). A sink that
returns no mark is not asked anything.

A job may be content with at-least-once. Its writers find that in their context. A sink that can
save work then, such as by writing at once instead of in a transaction, says so in ``guarantee_in``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scurry.common.errors import NotSupportedError
from scurry.common.type_information import TypeInformation
from scurry.common.values import Element
from scurry.functions.fencing import Fence
from scurry.functions.history import History, Mark, NumbersOnly

EXACTLY_ONCE = "exactly-once"
AT_LEAST_ONCE = "at-least-once"


class DeliveryGuarantee(Enum):
    """How often an element may arrive.

    ``NONE`` lets elements be lost or doubled in Flink; connectors here may give more than that.
    """

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


@dataclass(frozen=True)
class WriterContext:
    """A writer's place in the job."""

    uid: str
    index: int
    parallelism: int
    #: what the job promises: with AT_LEAST_ONCE a writer may make records visible right away
    guarantee: str = EXACTLY_ONCE


@dataclass(frozen=True)
class CommitterContext:
    """A sink's place on the driver.

    Batch ids count from 0 in every new checkpoint directory, so "batch 7 is committed" means
    something only together with ``checkpoint_id``, which stays the same for the life of one, and
    with ``history``: ``history.mark(batch_id)`` is the identity of a batch, and
    ``history.repeats(batch_id, mark)`` compares it with the mark found in the target.

    ``lease.epoch`` is the number of the driver: greater than that of every driver of the
    checkpoint before. A sink that stores it in the target, and compares it there in one step with
    what it writes, keeps out a driver that was paused, taken for dead, and woken; see
    :mod:`scurry.functions.fencing`.
    """

    uid: str
    checkpoint_id: str
    history: History = field(default_factory=NumbersOnly)
    lease: Fence = field(default_factory=Fence)


class Records(Protocol):
    """Records on their way into a writer: as Python objects, and as columns if held that way."""

    @property
    def rows(self) -> list[Element]:
        """The records, in order."""

    @property
    def columns(self) -> pa.RecordBatch | None:
        """The same as Arrow columns, None where that would have to be computed."""

    @property
    def ts(self) -> NDArray[np.int64] | None:
        """Event timestamps in milliseconds, None if the records have none."""

    @property
    def kinds(self) -> NDArray[np.int8] | None:
        """What each record does to the table it belongs to, the values of their RowKinds; None if
        all of them are insertions. Records that are Rows know it themselves as well."""


class SinkWriter(ABC):
    """The worker's half of a sink."""

    @abstractmethod
    def write(self, rows: list[Element]) -> None:
        """Take records, in order."""

    def write_timed(self, rows: list[Element], timestamps: NDArray[np.int64] | None) -> None:
        """Take records with their event timestamps (the least number there is for none)."""
        self.write(rows)

    def write_records(self, records: Records, now: int) -> None:
        """What the engine calls, by default to the same end as :meth:`write_timed`. ``now`` is the
        time of the micro-batch: the same again when the batch is repeated."""
        self.write_timed(records.rows, records.ts)

    @abstractmethod
    def prepare(self) -> object:
        """Called at the end of each micro-batch: make what was written since the last call ready,
        and return the message ``commit`` needs (None if there is nothing to commit)."""

    def close(self) -> None:
        """Called after the last micro-batch."""


class Sink(ABC):
    """A sink as the program names it; it is pickled and sent to the workers."""

    guarantee: str = EXACTLY_ONCE
    #: Whether its writers take Arrow columns where there are any; for ``explain()``.
    columnar: bool = False
    #: Whether it can do nothing but insert: a stream that is known to have other changes is refused
    #: when the program is built.
    insertions_only: bool = False
    #: Whether the sink knows by its uid, after a restart, what it has written.
    known_by_uid: bool = True
    #: Whether the messages of writers have to be durable before ``commit`` is called with them.
    #: They are plain data then: dictionaries, lists, texts, numbers, bytes. Asked after ``start``.
    promises: bool = False
    #: Whether ``take_room`` may be given a place in an object store.
    room_anywhere: bool = False
    #: How the sink keeps its guarantee, in a few words for ``explain()``; empty to leave it out.
    manner: str = ""
    #: What the sink keeps back from one micro-batch to the next and will write later, in words,
    #: empty for nothing. A program that no longer has such a sink loses it, so it has to say so.
    keeps_back: str = ""

    def guarantee_in(self, promised: str) -> str:
        """What this sink guarantees in a job that promises ``promised``. A sink whose writers work
        differently in at-least-once jobs overrides it."""
        return self.guarantee

    def take_type(self, declared: TypeInformation | None) -> None:
        """Told when the program is built: the type that the elements were declared to be of, None
        if they were not. Most sinks have no use for it."""

    def take_interval(self, milliseconds: int) -> None:
        """Told when a program is built for an engine that makes checkpoints at an interval: how
        long it is. Raises :class:`~scurry.common.errors.ConfigurationError` if what writers prepare
        would not outlive it. Most sinks have no use for it."""

    @property
    def needs_slot(self) -> bool:
        """Whether the driver has Spark run jobs for it while the job runs. The tasks of the live
        engine keep their slots, so there has to be one more for that."""
        return False

    @property
    def keeps_files(self) -> bool:
        """Whether it keeps files in the directory that :meth:`take_room` gives; then the checkpoint
        has to be on a file system. Whoever overrides that method is taken to do so, except with
        ``room_anywhere``."""
        return not self.room_anywhere and type(self).take_room is not Sink.take_room

    def take_room(self, room: Any) -> None:
        """Called on the driver when a job starts, before the sink is sent to workers: ``room``, a
        path, is a directory in the job's checkpoint that the sink may make and use as it likes. It
        is copied, moved and deleted with the checkpoint. With ``room_anywhere`` it is a place in an
        object store if the checkpoint is in one. Most sinks have no use for it."""

    @abstractmethod
    def create_writer(self, context: WriterContext) -> SinkWriter:
        """A writer, made in a worker."""

    def start(self, context: CommitterContext) -> None:
        """Called on the driver before anything else, each time the job is started."""

    def committed_mark(self) -> Mark | None:
        """Called on the driver after ``start``: the mark of the last batch that is in the target,
        None if there is none, or if the sink stores no marks."""
        return None

    def why_not_truncate(self) -> str:
        """A sentence that says why this sink cannot take back what it has committed, and what to
        do instead; empty if it can."""
        return f"{type(self).__name__} cannot take back what it has committed."

    def truncate(self) -> None:
        """Called on the driver when the mark is not of the job's history, and the user chose
        ``truncate``: take back every batch that the history does not hold."""
        raise NotSupportedError(self.why_not_truncate())

    def accept(self, mark: Mark) -> None:
        """Called on the driver when the mark is not of the job's history, and the user chose
        ``append``: leave everything, and go on as if the last batch committed were ``mark``."""

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        """Called on the driver once all writers of batch ``batch_id`` have prepared. May be called
        again for the same batch after a crash and must then change nothing. Of a sink that
        ``promises`` it is called again with the same messages, perhaps on another driver; raises
        :class:`~scurry.common.errors.LostPromiseError` if it finds that the target has thrown away
        something of what they stand for."""

    def forgo(self, batch_id: int) -> bool:
        """Called on the driver after ``commit`` has raised
        :class:`~scurry.common.errors.LostPromiseError`, by an engine that does not repeat batches:
        whether to go on without what is lost, as the user chose. The batch is committed then."""
        return False

    def repeated(self, batch_id: int, promised: list[Any], messages: list[Any]) -> list[Any]:
        """Called on the driver, by an engine that repeats batches, when the writers of a batch
        have prepared it once more although ``promised`` were promised for it before: the messages
        that count from now on. What the other messages stand for is thrown away here."""
        return promised

    def abort(self, batch_id: int) -> None:
        """Called on the driver when batch ``batch_id`` failed: throw away what was prepared."""

    def recover(self, batch_id: int) -> None:
        """Called on the driver when a job starts or resumes, after another history was dealt with:
        every batch before ``batch_id`` is committed, anything prepared beyond it will be written
        again."""

    def close(self) -> None:
        """Called on the driver when the job has ended."""
