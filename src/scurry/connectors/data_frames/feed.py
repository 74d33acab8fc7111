"""What brings a DataFrame to its landing: one Spark job for a static one, for a streaming one a
query of its own, whose checkpoint lies beside the landing.

The query runs ahead of the job that reads the landing by a few batches, no more: then its callback
waits. What a crash at any moment leads to:

* before a batch has landed: Spark runs it again, with the same offsets, since it is not committed;
* after it has landed and before Spark commits it: Spark runs it again, and finds it there;
* after the job has processed, committed and removed it, and before Spark commits it: Spark lands it
  again, and the job, whose position is beyond it, removes it unread.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scurry.common.any_paths import AnyPath
from scurry.common.errors import JobError
from scurry.common.fault_points import fault_point
from scurry.common.hadoop_paths import hadoop_path
from scurry.common.query_stopped import QueryStopped
from scurry.connectors.data_frames.landing import Landing, PieceWriter
from scurry.connectors.data_frames.query_checkpoint import QueryCheckpoint

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

#: How many landed batches may wait for the job.
_AHEAD = 3
_PATIENCE_SECONDS = 30.0
_STOP_SECONDS = 0.01
#: The nodes of Spark's plans that leave rows in their order.
_KEEP_ORDER = {"Project", "Filter", "SubqueryAlias", "GlobalLimit", "LocalLimit", "Offset"}
#: Where the frames of the JVM begin in a message of Spark's.
_JVM = re.compile(r"^\s+at [\w.$/]+\(|^JVM stacktrace|^Driver stacktrace|^=== Streaming", re.M)


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def is_sorted(frame: DataFrame) -> bool:
    """Whether ``orderBy`` has brought all rows of ``frame`` into an order, which what came after it
    has kept; also if that cannot be told, as with Spark Connect."""
    java = getattr(frame, "_jdf", None)
    if java is None:
        return True
    plan = java.queryExecution().analyzed()
    while plan.nodeName() in _KEEP_ORDER:
        plan = plan.child()
    return bool(plan.nodeName() == "Sort" and getattr(plan, "global")())


def land(landing: Landing, batch: int, frame: DataFrame) -> None:
    """Let ``frame`` land as batch ``batch``, unless that has been done."""

    landing.land(batch, _landing_of(frame))


def _landing_of(frame: DataFrame) -> Callable[[AnyPath], list[Any]]:
    def write(place: AnyPath) -> list[Any]:
        return frame.mapInArrow(PieceWriter(place, _partition), PieceWriter.told).collect()

    return write


class Feed:
    """The query that lands a streaming DataFrame."""

    def __init__(
        self, frame: DataFrame, landing: Landing, room: AnyPath, available_now: bool
    ) -> None:
        self._frame = frame
        self._landing = landing
        self._checkpoint = QueryCheckpoint(room, landing)
        self._available_now = available_now
        self._query: StreamingQuery | None = None
        self._moved = threading.Condition()
        #: the batch that the job reads, and whether the query is to end
        self._reading = 0
        self._stopping = False
        #: held while a batch lands
        self._landing_now = threading.Lock()
        self._failure: JobError | None = None

    def start(self, reading: int) -> None:
        """Start the query; the job goes on with batch ``reading``."""
        self._reading = reading
        writer = self._frame.writeStream.foreachBatch(self._on_batch).option(
            "checkpointLocation", hadoop_path(self._checkpoint.begin())
        )
        if self._available_now:
            writer = writer.trigger(availableNow=True)
        self._query = writer.start()

    @property
    def started(self) -> bool:
        """Whether the query was started."""
        return self._query is not None

    def ended(self) -> bool:
        """Whether the query has landed all there is; raises if it has failed."""
        assert self._query is not None
        if self._query.isActive:
            return False
        if self._failure is not None:
            raise self._failure
        failure = self._query.exception()
        if failure is not None and not self._stopping:
            raise _failed("", failure)
        return True

    def reading(self, batch: int) -> None:
        """The job reads batch ``batch`` now: there is room for another one."""
        with self._moved:
            self._reading = batch
            self._moved.notify_all()

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        with self._moved:
            while batch >= self._reading + _AHEAD and not self._stopping:
                self._moved.wait(1.0)
        with self._landing_now:
            if not self._stopping:
                try:
                    self._checkpoint.land(batch, _landing_of(frame))
                except Exception as failure:
                    self._failure = _failed(f" in its batch {batch}", failure)
                    raise
                fault_point("landed")
                return
        while self._query is not None and self._query.isActive:
            time.sleep(_STOP_SECONDS)
        raise QueryStopped

    def stop(self) -> None:
        """End the query, after the batch that is landing."""
        with self._moved:
            self._stopping = True
            self._moved.notify_all()
        if self._query is None:
            return
        # a query that is stopped while a batch lands would take that for a failure
        if self._landing_now.acquire(timeout=_PATIENCE_SECONDS):
            self._landing_now.release()
        self._query.stop()
        self._checkpoint.close()


def _failed(where: str, failure: BaseException) -> JobError:
    """The error for a query that failed, with the last thing that Python or Java said before the
    frames of the JVM."""
    text = str(failure)
    said = _JVM.split(text)[0].strip().splitlines()
    last = said[-1].strip() if said else type(failure).__name__
    error = JobError(f"The streaming DataFrame has failed{where}: {last}")
    error.details = text
    return error
