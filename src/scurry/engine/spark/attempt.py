"""One run of a job on Spark: a streaming query, driven micro-batch by micro-batch.

The query counts micro-batches (Spark's ``rate-micro-batch`` source does nothing else), runs the
ingress, one ``transformWithState`` per stage, and ends in a callback on the driver. The callback
is the micro-batch: it waits until there is something to do and a plan is written, has Spark execute
it, and finishes it; what that means, :mod:`scurry.engine.protocol` says. When it returns, Spark
commits; when it is called again, the batch before is durable.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from scurry.checkpoint.directory import JobDirectory
from scurry.common.hadoop_paths import hadoop_path
from scurry.common.query_stopped import QueryStopped
from scurry.engine.job import Job
from scurry.engine.pace import Pace
from scurry.engine.progress import Progress
from scurry.engine.protocol import CommitProtocol
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.savepoints import Savepoints
from scurry.engine.spark.envelope_batches import ENVELOPE_SCHEMA, to_arrow
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.presence import dismiss
from scurry.engine.spark.slot_process import RUN_PROPERTY
from scurry.engine.spark.stage_host import StageHost
from scurry.engine.spark.whole_programs import send_whole_programs
from scurry.engine.spark.worker import run_ingress
from scurry.engine.worker_logs import LogReader
from scurry.functions.fencing import Fence
from scurry.runtime.envelope import Envelope

# given as text, it would be parsed by the JVM, which takes long the first time
_ENVELOPES = from_arrow_schema(ENVELOPE_SCHEMA)
#: How often idle sources are asked for news.
_IDLE_SECONDS = 0.01
_STOP_SECONDS = 0.005
#: How often a running query is asked whether it still runs.
_WATCH_SECONDS = 0.05
#: How long a job that is asked to stop may take to finish its micro-batch.
_PATIENCE_SECONDS = 60.0
#: Rows by which the counting source advances per micro-batch, the most tasks an ingress can have.
ROWS_PER_BATCH = 1000


class Attempt:
    """A query from its start to its end."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        payload: JobPayload,
        directory: JobDirectory,
        progress: Progress,
        pace: Pace,
        lease: Fence,
        savepoints: Savepoints,
        views: ViewKeeper | None = None,
    ) -> None:
        self._session = session
        self._spec = job.spec
        self._payload = payload
        self._directory = directory
        self._progress = progress
        self._savepoints = savepoints
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._halted = threading.Event()
        #: held while there may be a new plan, and while somebody asks whether there is
        self._planning = threading.Lock()
        self._protocol = CommitProtocol(job, directory, progress, pace, lease, views)
        #: where processes note which functions of this run they have open
        self._instances = payload.home.instances / payload.run_id
        #: held while a micro-batch is under way
        self._in_batch = threading.Lock()

    def run(
        self,
        trigger: str | None,
        stopping: threading.Event,
        on_progress: Callable[[Progress], None],
    ) -> None:
        """Run until the sources end or ``stopping`` is set; raises what makes the query fail."""
        self._stopping = stopping
        self._on_progress = on_progress
        protocol = self._protocol
        try:
            where = f"the checkpoint in {self._directory.root}"
            protocol.start(self._payload.checkpoint_id, where)
            if not protocol.settled:
                with LogReader(self._payload.logs.directory):
                    self._run_query(trigger)
        except BaseException as failure:
            protocol.abort()
            raise (self._failure or failure) from None
        finally:
            # the callback of a query that was stopped, or whose JVM has died, may still be at work
            with self._in_batch:
                self._progress.board.wipe()
                protocol.close()

    def _run_query(self, trigger: str | None) -> None:
        query = self._query = self._build(trigger)
        try:
            self._supervise(query)
        finally:
            self._halted.set()
            if _is_active(query):
                query.stop()
            dismiss(self._instances)

    def _build(self, trigger: str | None) -> StreamingQuery:
        payload = self._payload
        # what a driver that was killed has left
        shutil.rmtree(payload.home.instances, ignore_errors=True)
        self._instances.mkdir(parents=True)
        send_whole_programs(self._session.sparkContext)
        frame = (
            self._session.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", ROWS_PER_BATCH)
            .option("numPartitions", self._spec.ingress_tasks)
            .load()
            .select("value")
            .mapInArrow(_Ingress(payload), _ENVELOPES)
        )
        for stage in range(1, len(self._spec.stages) + 1):
            frame = frame.groupBy("slot").transformWithState(
                StageHost(payload, stage), _ENVELOPES, "append", "none"
            )
        own = self._directory.home.spark
        # a job in micro-batches with another checkpoint is refused when it is launched
        assert isinstance(own, Path)
        writer = (
            frame.writeStream.queryName(f"{self._spec.name} {self._spec.run_id[:8]}")
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", hadoop_path(own))
        )
        if trigger is not None:
            writer = writer.trigger(processingTime=trigger)
        return writer.start()

    def _supervise(self, query: StreamingQuery) -> None:
        """Return once there is nothing left to do or to commit, or the query has failed."""
        deadline = float("inf")
        while query.isActive and time.monotonic() < deadline:
            stopping = self._stopping.is_set()
            if stopping and deadline == float("inf"):
                deadline = time.monotonic() + _PATIENCE_SECONDS
            if self._settled(stopping):
                if self._protocol.finished >= 0:
                    self._protocol.committed()
                return
            # asking the JVM takes time from the micro-batch under way
            ending = stopping or self._protocol.planner.done
            self._stopping.wait(0 if ending else _WATCH_SECONDS)
            time.sleep(_STOP_SECONDS)
        failure = query.exception()
        if failure is not None:
            raise failure

    def _settled(self, stopping: bool) -> bool:
        """Whether nothing more is to be planned, and everything planned is committed."""
        # a source that waits for its server holds the lock for as long as that takes
        if not self._planning.acquire(timeout=_WATCH_SECONDS):
            return False
        try:
            ending = stopping or self._protocol.planner.done
            if not ending or self._protocol.pending:
                return False
        finally:
            self._planning.release()
        last = self._protocol.finished
        return last < 0 or self._directory.committed(last)

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        with self._in_batch:
            if not self._halted.is_set():
                self._run_batch(frame, batch)
                return
        raise QueryStopped

    def _run_batch(self, frame: DataFrame, batch: int) -> None:
        protocol = self._protocol
        protocol.watch.lap("engine")
        batch += self._payload.first
        try:
            if batch > 0 and protocol.planned < batch:
                protocol.committed()
            with self._progress.board:
                self._await_plan(batch)
                self._session.sparkContext.setLocalProperty(RUN_PROPERTY, self._payload.run_id)
                protocol.finish_batch(batch, _collected(frame))
                self._on_progress(self._progress)
        except QueryStopped:
            raise
        except BaseException as failure:
            self._failure = self._failure or failure
            raise

    def _await_plan(self, batch: int) -> None:
        """Return once micro-batch ``batch`` has a plan."""
        if self._protocol.planned == batch:
            return
        while not self._halted.is_set():
            if not self._stopping.is_set():
                # all that was planned is committed, so this is the moment for savepoints
                self._savepoints.serve()
                if self._savepoints.draining:
                    self._protocol.planner.drain()
            if not self._stopping.is_set() and self._plan(batch):
                return
            self._halted.wait(_IDLE_SECONDS)
        while self._query is not None and _is_active(self._query):
            time.sleep(_STOP_SECONDS)
        raise QueryStopped

    def _plan(self, batch: int) -> bool:
        with self._planning:
            return self._protocol.plan(batch) is not None


def _is_active(query: StreamingQuery) -> bool:
    """Whether the query runs; where its JVM has died, it does not."""
    try:
        return query.isActive
    except (Py4JError, OSError):
        return False


def _collected(frame: DataFrame) -> Iterator[Envelope]:
    """Have Spark execute the micro-batch; the envelopes that are left when all stages are done."""
    for row in frame.collect():
        yield Envelope._make((*row[:-1], bytes(row.payload)))


class _Ingress:
    """The function Spark maps over the counting source."""

    def __init__(self, payload: JobPayload) -> None:
        self._payload = payload

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for counted in batches:
            batch, task = divmod(counted.column(0)[0].as_py(), ROWS_PER_BATCH)
            batch += self._payload.first
            yield from to_arrow(run_ingress(self._payload, batch, task), self._payload.routes)
            for _ in batches:
                pass
