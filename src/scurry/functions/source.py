"""Sources: where records come from, cut into micro-batches that can be read again.

A source has two halves. The *enumerator* lives on the driver and decides what the next micro-batch
reads; its decision is written down before anything is read, so a batch that is run again reads the
very same records. The *reader*, ``Source.read``, runs in a worker and must return the same records
for the same range every time.

A message that cannot be decoded need not end the job: a source may hand it out as *rejected*, and
it becomes an element of the side output :data:`DEAD_LETTERS` of the source's stream.

Every range names the *partition* of the source it belongs to (a Kafka partition, a file, or simply
``"0"``). Partitions are what watermarks are kept for, and within a partition records are in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scurry.common.changelog import ChangelogMode
from scurry.common.type_information import TypeInformation
from scurry.common.values import Element
from scurry.functions.output_tag import OutputTag

Json = Any
#: Names of gauges that every source uses alike: records that are there and have not been planned
#: yet; files of which that is true.
LAG, FILES_LEFT = "lag", "files_left"


@dataclass(frozen=True)
class ReadRange:
    """Something to read: ``what`` is JSON that the source's reader understands."""

    partition: str
    what: Json


@dataclass(frozen=True)
class ReadPlan:
    """What one micro-batch reads of a source.

    ``position`` is where the next batch goes on, as JSON; ``finished`` says that nothing will ever
    come after it, ``ended`` names partitions of which that is true already: they no longer hold
    the watermark back.
    """

    position: Json
    ranges: list[ReadRange] = field(default_factory=list)
    finished: bool = False
    ended: frozenset[str] = frozenset()


@dataclass
class SourceBatch:
    """Some records in order: Python objects, or Arrow columns; event timestamps if known.

    Rows are given away: functions may change them. A source that keeps its rows, or reads the same
    ones again, gives copies.
    """

    rows: list[Element] | None = None
    columns: pa.RecordBatch | None = None
    timestamps: NDArray[np.int64] | None = None
    #: with ``columns``: the value of each record's RowKind, None if all are insertions
    kinds: NDArray[np.int8] | None = None
    #: elements for the side output :data:`DEAD_LETTERS`
    rejected: list[Element] = field(default_factory=list)
    #: how many bytes were read for this, if the source counts them
    bytes_read: int = 0


class SourceEnumerator(ABC):
    """The driver's half of a source."""

    @abstractmethod
    def initial_position(self) -> Json:
        """Where a job without history begins."""

    @abstractmethod
    def plan(self, position: Json, max_records: int) -> ReadPlan:
        """What to read from ``position`` on, about ``max_records`` at most; a plan without ranges
        that is not finished means "nothing new yet"."""

    def goes_on(self, position: Json, bounded: bool) -> bool:
        """Called when a job resumes, for a source that had ended at ``position``: whether there may
        be more to read, because the program now says another end, or none. ``bounded`` is what the
        source says of itself now."""
        return not bounded

    def partitions(self) -> list[str]:
        """The partitions known so far. Naming one before it has records holds the job's watermark
        back until it does."""
        return ["0"]

    def committed(self, position: Json) -> None:
        """The job has durably processed everything before ``position``."""

    def observed(self, records: int, bytes_read: int) -> None:
        """A micro-batch has been read: so many records in so many bytes. Called before the next
        one is planned."""

    def gauges(self) -> dict[str, int]:
        """What to show of the source beside its counters, as of the last plan. :data:`LAG` and
        :data:`FILES_LEFT` become metrics of the job."""
        return {}

    def close(self) -> None:
        """The job has ended."""


class Source(ABC):
    """A source as the program names it; it is pickled and sent to the workers."""

    #: Whether the source ends by itself.
    bounded: bool = True
    #: Into how many tasks the reading may be spread; None leaves it to the job's parallelism.
    max_tasks: int | None = None
    #: Whether ``read`` gives Arrow columns; for ``explain()``, the engine takes what it is given.
    columnar: bool = False
    #: Which kinds of changes the records can be, None if only they themselves know.
    changelog: ChangelogMode | None = None
    #: The columns of the records, if these are rows of a relation.
    relation: pa.Schema | None = None
    #: Whether ``read`` gives plain tuples for columns of no declared type, instead of Rows.
    as_tuples: bool = False
    #: The side outputs of the source's stream.
    side_outputs: tuple[OutputTag, ...] = ()
    #: whether :meth:`take_room` may be given a place in an object store
    room_anywhere: bool = False

    @property
    def position_form(self) -> str:
        """Names the form of the enumerator's positions. A job that resumes refuses a position of
        another form; by default each class of sources has a form of its own."""
        return type(self).__name__

    @property
    def type_info(self) -> TypeInformation | None:
        """The type of the elements, if known."""
        return None

    def take_engine(self, engine: str) -> None:
        """Told when a program is built: which engine will run it, as ``execution.engine`` names it.
        The live engine reads a little every few milliseconds. Most sources have no use for it."""

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
        return not self.room_anywhere and type(self).take_room is not Source.take_room

    def take_room(self, room: Any) -> None:
        """Called on the driver when a job starts, before the source is sent to workers and before
        its enumerator is made: ``room``, a path, is a directory in the job's checkpoint that the
        source may make and use as it likes. It is copied, moved and deleted with the checkpoint.
        With ``room_anywhere`` it is a place in an object store if the checkpoint is in one. Most
        sources have no use for it."""

    @abstractmethod
    def enumerator(self, parallelism: int) -> SourceEnumerator:
        """A fresh enumerator, made on the driver when the job starts.

        ``parallelism`` is the number of tasks that read the source, as of the job's first start:
        it stays the same on a checkpoint, so partitions may be counted by it."""

    @abstractmethod
    def read(self, what: Json) -> Iterator[SourceBatch]:
        """The records of one range, in order, the same ones every time."""
