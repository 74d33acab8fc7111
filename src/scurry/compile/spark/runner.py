"""A job on Spark: one streaming query, driven micro-batch by micro-batch.

The query reads plans, runs the ingress, one ``transformWithState`` per stage, and ends in a
callback on the driver. The callback receives what the tasks report, commits the sinks under the
batch's number, writes the epoch, and plans the next batch. When there is nothing to plan, Spark
idles and a thread of ours asks the sources again every few milliseconds.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from scurry.compile.job import CompiledJob
from scurry.compile.planner import BatchPlanner, Epoch
from scurry.compile.spark.checkpoint import JobDirectory
from scurry.compile.spark.failures import as_scurry_error
from scurry.compile.spark.progress import Progress
from scurry.compile.spark.routes import route_values
from scurry.compile.spark.session import query_session
from scurry.compile.spark.stage_host import StageHost
from scurry.compile.spark.worker import JobPayload, local_root, run_ingress, to_arrow
from scurry.functions.sink import CommitterContext, Sink
from scurry.plan.nodes import Sink as SinkNode
from scurry.runtime.envelope import CELLS, COMMIT, REPORT, SCHEMA
from scurry.runtime.report import decode_report

#: How often idle sources are asked for news.
_IDLE_SECONDS = 0.02
_STOP_SECONDS = 0.005
#: How long a job that is asked to stop may take to finish its micro-batch.
_PATIENCE_SECONDS = 60.0


class SparkJob:
    """One run of a compiled job."""

    def __init__(
        self,
        session: SparkSession,
        job: CompiledJob,
        *,
        directory: str | None = None,
        max_records: int = 500_000,
        local_dir: str = "",
        trigger: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self.progress = Progress()
        self._on_progress = on_progress
        self._trigger = trigger
        self._temporary = directory is None
        self._directory = JobDirectory(directory or tempfile.mkdtemp(prefix="scurry-job-"))
        self._spec = replace(
            job.spec,
            run_id=uuid.uuid4().hex,
            local_root=local_dir,
            sys_path=tuple(dict.fromkeys(os.path.abspath(entry) for entry in sys.path)),
        )
        identity = self._directory.prepare(self._spec)
        routes = route_values(self._spec.parallelism)
        self._payload = JobPayload(self._spec, identity.checkpoint_id, routes)
        self._sinks: dict[str, Sink] = {
            job.uids[node]: node.sink for node in job.graph.nodes if isinstance(node, SinkNode)
        }
        self._session = query_session(session, self._spec.parallelism)
        self._max_records = max_records
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        #: the last batch planned, and the last one whose callback has returned
        self._planned = self._handled = -1
        self._thread = threading.Thread(target=self._run, name="scurry-job", daemon=True)

    @property
    def job_id(self) -> str:
        """Identifies this run."""
        return self._spec.run_id

    def start(self) -> None:
        """Start the job; returns at once."""
        self._planner = BatchPlanner(self._spec, self._max_records, self._where_it_stands())
        for uid, sink in self._sinks.items():
            sink.start(CommitterContext(uid, self._payload.checkpoint_id))
            sink.recover(self._handled + 1)
        self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the job and raise what made it fail; False on a timeout."""
        if not self._ended.wait(timeout):
            return False
        if self._failure is not None:
            shown = as_scurry_error(self._failure)
            if shown is self._failure:
                raise shown
            raise shown from (self._failure if _verbose() else None)
        return True

    def stop(self) -> None:
        """Ask the job to end after the current micro-batch."""
        self._stopping.set()

    @property
    def ended(self) -> bool:
        """Whether the job has finished, failed or been stopped."""
        return self._ended.is_set()

    @property
    def failure(self) -> BaseException | None:
        """What made the job fail."""
        return None if self._failure is None else as_scurry_error(self._failure)

    @property
    def totals(self) -> dict[str, int]:
        """Counters of the run so far."""
        return dict(self.progress.counters)

    def _where_it_stands(self) -> Epoch | None:
        """The state of the sources to plan on from, after a restart."""
        epoch = self._directory.last_epoch()
        self._planned = self._handled = -1 if epoch is None else epoch.batch
        self._directory.drop_plans_after(self._handled)
        pending = self._directory.pending_plan(self._handled)
        if pending is None:
            return epoch
        cells = {} if epoch is None else {(p.source, p.partition): p for p in epoch.partitions}
        self._planned, planned = pending
        for partition in planned.partitions:
            before = cells.get((partition.source, partition.partition))
            partition.cells = {} if before is None else before.cells
        return planned

    def _run(self) -> None:
        query = None
        try:
            while not self._plan_ahead() and not self._planner.done:
                if self._stopping.wait(_IDLE_SECONDS):
                    return
            if self._planned > self._handled:
                query = self._build()
                self._supervise(query)
        except BaseException as failure:
            self._failure = self._failure or failure
        finally:
            if query is not None and query.isActive:
                query.stop()
            self._finish()

    def _build(self) -> StreamingQuery:
        payload = self._payload
        plans = self._session.readStream.option("wholetext", "true").text(
            f"{self._directory.plans.as_uri()}/*"
        )
        frame = plans.mapInArrow(_Ingress(payload), SCHEMA)
        for stage in range(1, len(self._spec.stages) + 1):
            frame = frame.groupBy("slot").transformWithState(
                StageHost(payload, stage), SCHEMA, "append", "none"
            )
        writer = (
            frame.writeStream.queryName(f"{self._spec.name} {self._spec.run_id[:8]}")
            .foreachBatch(self._on_batch)
            .option("checkpointLocation", self._directory.spark)
        )
        if self._trigger is not None:
            writer = writer.trigger(processingTime=self._trigger)
        return writer.start()

    def _supervise(self, query: StreamingQuery) -> None:
        """Keep plans coming while the query runs; return once there is nothing left to commit."""
        deadline = float("inf")
        while query.isActive and time.monotonic() < deadline:
            stopping = self._stopping.is_set()
            if stopping and deadline == float("inf"):
                deadline = time.monotonic() + _PATIENCE_SECONDS
            if stopping or self._planner.done:
                if self._planned == self._handled and self._directory.committed(self._handled):
                    self._planner.committed(last=True)
                    return
                time.sleep(_STOP_SECONDS)
            else:
                self._plan_ahead()
                self._stopping.wait(_IDLE_SECONDS)
        failure = query.exception()
        if failure is not None:
            raise failure

    def _plan_ahead(self) -> bool:
        """Plan the next micro-batch if the last one has been handled; whether one is planned."""
        with self._lock:
            if self._planned == self._handled and not self._stopping.is_set():
                batch = self._handled + 1
                tasks = self._planner.next(batch)
                if tasks is not None:
                    self._directory.write_plan(batch, tasks, self._planner.epoch(batch))
                    self._planned = batch
            return self._planned > self._handled

    def _on_batch(self, frame: DataFrame, batch: int) -> None:
        try:
            self._handle(frame, batch)
        except BaseException as failure:
            self._failure = self._failure or failure
            raise

    def _handle(self, frame: DataFrame, batch: int) -> None:
        began = time.perf_counter()
        if batch > 0:
            self._planner.committed()
        messages: dict[str, list[Any]] = {uid: [] for uid in self._sinks}
        reports = []
        for row in frame.collect():
            if row.kind == COMMIT:
                messages[row.dest].append(pickle.loads(row.payload))
            elif row.kind == CELLS:
                self._planner.remember(*decode_report(bytes(row.payload)))
            elif row.kind == REPORT:
                reports.append(decode_report(bytes(row.payload)))
        for uid, sink in self._sinks.items():
            sink.commit(batch, messages[uid])
        self._directory.write_epoch(self._planner.epoch(batch))
        self.progress.take(batch, reports, time.perf_counter() - began)
        self._planner.observe(self.progress.last)
        with self._lock:
            self._handled = batch
        self._plan_ahead()
        self.progress.gauges.update(self._planner.gauges())
        if self._on_progress is not None:
            self._on_progress(self.progress)

    def _finish(self) -> None:
        self._planner.close()
        if self._temporary:
            self._directory.delete()
            place = Path(local_root(self._spec.local_root)) / self._payload.checkpoint_id
            shutil.rmtree(place, ignore_errors=True)
        self._ended.set()
        for sink in self._sinks.values():
            sink.close()


def _verbose() -> bool:
    return bool(os.environ.get("SCURRY_FULL_TRACEBACK"))


class _Ingress:
    """The function Spark maps over plans."""

    def __init__(self, payload: JobPayload) -> None:
        self._payload = payload

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lines = (line for batch in batches for line in batch.column(0).to_pylist())
        return to_arrow(run_ingress(self._payload, lines), self._payload.routes)
