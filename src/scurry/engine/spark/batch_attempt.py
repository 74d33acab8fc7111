"""One run of a job in micro-batches whose checkpoint is in an object store.

Spark's streaming queries keep state and progress in a file system that all executors share. Where
there is none, each micro-batch is a plain Spark job instead: tasks of the ingress, a shuffle and a
stage of tasks for each stage of the job (:mod:`scurry.engine.spark.batch_tasks`), and what is left
comes to the driver. Nothing is kept in Spark, so whatever it loses or repeats changes nothing; the
checkpoint is the epoch, which the driver writes when the Spark job is over
(:mod:`scurry.engine.batches`).
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.file_journal import StoredHead
from scurry.engine.batches import BatchProtocol
from scurry.engine.job import Job
from scurry.engine.pace import Pace
from scurry.engine.progress import Progress
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.savepoints import Savepoints
from scurry.engine.spark.batch_tasks import IngressTasks, StageTasks, heads_in, own_partition
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.presence import dismiss
from scurry.engine.spark.slot_process import RUN_PROPERTY
from scurry.engine.spark.whole_programs import send_whole_programs
from scurry.engine.worker_logs import LogReader
from scurry.functions.fencing import Fence
from scurry.runtime.envelope import HEAD, Envelope
from scurry.runtime.ingress import TaskPlan

#: How often idle sources are asked for news.
_IDLE_SECONDS = 0.01
#: How long a job that is asked to stop may take to finish its micro-batch.
_PATIENCE_SECONDS = 60.0


class BatchAttempt:
    """A run from its start to its end."""

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
        self._context = session.sparkContext
        self._spec = job.spec
        self._payload = payload
        self._directory = directory
        self._progress = progress
        self._savepoints = savepoints
        self._protocol = BatchProtocol(job, directory, progress, pace, lease, views)
        #: what the last epoch knows of journals
        self._journals: dict[str, StoredHead] = {}
        #: where processes note which functions of this run they have open
        self._instances = payload.home.instances / payload.run_id
        self._group = f"scurry-{payload.run_id}"
        self._over = threading.Event()

    def run(
        self,
        trigger: str | None,
        stopping: threading.Event,
        on_progress: Callable[[Progress], None],
    ) -> None:
        """Run until the sources end or ``stopping`` is set; raises what makes a micro-batch
        fail."""
        protocol = self._protocol
        try:
            protocol.start(self._payload.checkpoint_id, f"the checkpoint in {self._directory.root}")
            if not protocol.settled:
                with self._progress.board, LogReader(self._payload.logs.directory):
                    self._run_batches(trigger, stopping, on_progress)
        except BaseException:
            protocol.abort()
            raise
        finally:
            self._progress.board.wipe()
            protocol.close()

    def _run_batches(
        self,
        trigger: str | None,
        stopping: threading.Event,
        on_progress: Callable[[Progress], None],
    ) -> None:
        epoch = self._directory.last_epoch()
        self._journals = {} if epoch is None else dict(epoch.journals)
        # what a driver that was killed has left
        shutil.rmtree(self._payload.home.instances, ignore_errors=True)
        self._instances.mkdir(parents=True)
        pause = 0.0 if trigger is None else int(trigger.split()[0]) / 1000
        send_whole_programs(self._context)
        watcher = threading.Thread(target=self._cancel, args=(stopping,), daemon=True)
        watcher.start()
        try:
            self._work(pause, stopping, on_progress)
        finally:
            self._over.set()
            dismiss(self._instances, made=True)
            with suppress(Exception):
                self._context.setLocalProperty(RUN_PROPERTY, "")

    def _work(
        self, pause: float, stopping: threading.Event, on_progress: Callable[[Progress], None]
    ) -> None:
        protocol = self._protocol
        due = time.monotonic()
        while not protocol.planner.done:
            if not stopping.is_set():
                # all that was planned is committed, so this is the moment for savepoints
                self._savepoints.serve()
                if self._savepoints.draining:
                    protocol.planner.drain()
            if stopping.is_set():
                return
            planned = protocol.plan_batch() if time.monotonic() >= due else None
            if planned is None:
                stopping.wait(_IDLE_SECONDS)
                continue
            due = time.monotonic() + pause
            self._run_batch(*planned)
            on_progress(self._progress)

    def _run_batch(self, batch: int, tasks: list[TaskPlan]) -> None:
        received = [Envelope._make(fields) for _, fields in self._built(tasks).collect()]
        self._journals.update(heads_in(received))
        told = [each for each in received if each.kind != HEAD]
        self._protocol.end_batch(batch, told, self._journals)

    def _built(self, tasks: list[TaskPlan]) -> Any:
        """The micro-batch as an RDD of what comes to the driver."""
        context, slots, payload = self._context, self._spec.parallelism, self._payload
        context.setLocalProperty(RUN_PROPERTY, payload.run_id)
        context.setJobGroup(self._group, self._spec.name, interruptOnCancel=True)
        plans: list[TaskPlan | None] = [None] * self._spec.ingress_tasks
        for plan in tasks:
            plans[plan.task] = plan
        made: Any = context.parallelize(plans, len(plans))
        made = made.mapPartitions(IngressTasks(payload, slots))
        for stage in range(1, len(self._spec.stages) + 1):
            heads = self._heads_of(stage)
            made = made.partitionBy(slots, own_partition)
            work = StageTasks(payload, stage, slots, heads)
            made = made.mapPartitionsWithIndex(work)
        return made

    def _heads_of(self, stage: int) -> dict[int, StoredHead]:
        """The heads of the journals of a stage, by slot."""
        places = ((name.split("-"), head) for name, head in self._journals.items())
        return {int(slot): head for (number, slot), head in places if int(number) == stage}

    def _cancel(self, stopping: threading.Event) -> None:
        """Give a micro-batch up that goes on for too long when the job is to stop."""
        while not stopping.wait(1.0):
            if self._over.is_set():
                return
        if not self._over.wait(_PATIENCE_SECONDS):
            with suppress(Exception):
                self._context.cancelJobGroup(self._group)
