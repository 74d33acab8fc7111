"""One run of a job on Spark: a streaming query, driven micro-batch by micro-batch.

The query counts micro-batches (Spark's ``rate-micro-batch`` source does nothing else), runs the
ingress, one ``transformWithState`` per stage, and ends in a callback on the driver. The callback
is the micro-batch: it waits until there is something to do, writes the plan, has Spark execute it,
takes in what the tasks report, commits the sinks under the batch's number and writes the epoch.
When it returns, Spark commits; when it is called again, the batch before is durable.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch, after_forgetting
from scurry.common.fault_points import fault_point
from scurry.engine.histories import JobSink, start_sinks
from scurry.engine.planner import BatchPlanner, planned_for
from scurry.engine.progress import Progress, StopWatch
from scurry.engine.spark.stage_host import StageHost
from scurry.engine.spark.worker import ENVELOPE_SCHEMA, JobPayload, run_ingress, to_arrow
from scurry.runtime.envelope import CELLS, COMMIT, OPERATORS, REPORT
from scurry.runtime.report import decode_operators, decode_report
from scurry.runtime.specs import JobSpec

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


class QueryStopped(Exception):
    """Ends the callback of a micro-batch that was waiting for work when its query was stopped.

    Spark takes a failing callback for a failing query, unless the text says that a Java thread was
    interrupted, which is what happens to callbacks that are inside a call to the JVM.
    """

    def __init__(self) -> None:
        super().__init__(
            "py4j.protocol.Py4JJavaError: An error occurred while calling wait\n"
            ": java.lang.InterruptedException: the query was stopped"
        )


class Attempt:
    """A query from its start to its end."""

    def __init__(
        self,
        session: SparkSession,
        spec: JobSpec,
        payload: JobPayload,
        directory: JobDirectory,
        sinks: Sequence[JobSink],
        progress: Progress,
    ) -> None:
        self._session = session
        self._spec = spec
        self._payload = payload
        self._directory = directory
        self._sinks = {each.uid: each for each in sinks}
        self._progress = progress
        self._query: StreamingQuery | None = None
        self._failure: BaseException | None = None
        self._halted = threading.Event()
        self._planning = threading.Lock()
        #: the last batch planned, and the last one whose callback has returned
        self._planned = self._handled = -1
        self._watch = StopWatch()

    def run(
        self,
        max_records: int,
        trigger: str | None,
        stopping: threading.Event,
        on_progress: Callable[[Progress], None],
    ) -> None:
        """Run until the sources end or ``stopping`` is set; raises what makes the query fail."""
        self._stopping = stopping
        self._on_progress = on_progress
        epoch = self._where_it_stands()
        planner = self._planner = BatchPlanner(self._spec, max_records, epoch, self._handled)
        try:
            where = f"the checkpoint in {self._directory.root}"
            start_sinks(self._sinks.values(), self._payload.checkpoint_id, planner.history, where)
            if self._planned > self._handled or not self._planner.done:
                query = self._query = self._build(trigger)
                try:
                    self._supervise(query)
                finally:
                    self._halted.set()
                    if query.isActive:
                        query.stop()
        except BaseException as failure:
            for each in self._sinks.values():
                each.sink.abort(self._handled + 1)
            raise (self._failure or failure) from None
        finally:
            self._progress.board.wipe()
            self._planner.close()

    def _where_it_stands(self) -> Epoch | None:
        """The state of the sources to plan on from, after a restart."""
        epoch = self._directory.last_epoch()
        self._planned = self._handled = -1 if epoch is None else epoch.batch
        self._directory.drop_plans_after(self._handled)
        pending = self._directory.pending_plan(self._handled)
        if pending is None:
            return None if epoch is None else self._forgetful(epoch)
        self._revise_plan(pending[0])
        cells = {} if epoch is None else {(p.source, p.partition): p for p in epoch.partitions}
        self._planned, planned = pending
        for partition in planned.partitions:
            before = cells.get((partition.source, partition.partition))
            partition.cells = {} if before is None else before.cells
        return self._forgetful(planned)

    def _forgetful(self, epoch: Epoch) -> Epoch:
        """``epoch`` without what the first micro-batch of this program drops, until it has."""
        dropped = self._handled >= self._spec.forgetting.batch
        return epoch if dropped else after_forgetting(epoch, self._spec)

    def _revise_plan(self, batch: int) -> None:
        """Take out of a plan what the program before this one has planned, and this one drops."""
        if self._handled < self._spec.forgetting.batch:
            tasks = planned_for(self._directory.tasks_of_plan(batch), self._spec)
            self._directory.revise_plan(batch, tasks)

    def _build(self, trigger: str | None) -> StreamingQuery:
        payload = self._payload
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
        writer = (
            frame.writeStream.queryName(f"{self._spec.name} {self._spec.run_id[:8]}")
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", self._directory.spark)
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
                if self._handled >= 0:
                    self._planner.committed()
                return
            # asking the JVM takes time from the micro-batch under way
            ending = stopping or self._planner.done
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
            if not (stopping or self._planner.done) or self._planned != self._handled:
                return False
        finally:
            self._planning.release()
        return self._handled < 0 or self._directory.committed(self._handled)

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        self._watch.lap("engine")
        batch += self._payload.first
        try:
            if batch > 0 and self._planned < batch:
                self._planner.committed()
            with self._progress.board:
                self._await_plan(batch)
                self._execute(frame, batch)
        except QueryStopped:
            raise
        except BaseException as failure:
            self._failure = self._failure or failure
            raise

    def _await_plan(self, batch: int) -> None:
        """Return once micro-batch ``batch`` has a plan."""
        if self._planned == batch:
            return
        while not self._halted.is_set():
            if not self._stopping.is_set() and self._plan(batch):
                return
            self._halted.wait(_IDLE_SECONDS)
        while self._query is not None and self._query.isActive:
            time.sleep(_STOP_SECONDS)
        raise QueryStopped

    def _plan(self, batch: int) -> bool:
        """Write the plan of a micro-batch, if there is something to do."""
        with self._planning:
            self._watch.lap("wait")
            tasks = self._planner.next(batch)
            if tasks is None:
                return False
            self._directory.write_plan(batch, tasks, self._planner.epoch(batch))
            self._planned = batch
            self._watch.lap("plan")
            fault_point("planned")
            return True

    def _execute(self, frame: DataFrame, batch: int) -> None:
        began = time.perf_counter()
        messages: dict[str, list[Any]] = {uid: [] for uid in self._sinks}
        reports = []
        for row in frame.collect():
            if row.kind == COMMIT:
                messages[row.dest].append(pickle.loads(row.payload))
            elif row.kind == CELLS:
                self._planner.remember(*decode_report(bytes(row.payload)))
            elif row.kind == OPERATORS:
                self._planner.remember_operators(decode_operators(bytes(row.payload)))
            elif row.kind == REPORT:
                reports.append(decode_report(bytes(row.payload)))
        self._watch.lap("execute")
        fault_point("before-sinks")
        for uid, sink in self._sinks.items():
            sink.commit(batch, messages[uid])
            self._watch.lap(f"commit {uid}", "commit")
            fault_point("between-sinks")
        fault_point("after-sinks")
        self._planner.take_wishes(reports)
        self._planner.take_inventory(reports)
        self._directory.write_epoch(self._planner.epoch(batch))
        fault_point("after-epoch")
        self._watch.lap("epoch")
        phases = self._watch.take()
        self._progress.take(batch, reports, time.perf_counter() - began, phases)
        self._planner.observe(self._progress.last)
        self._progress.gauges.update(self._planner.gauges())
        self._handled = batch
        self._on_progress(self._progress)


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
