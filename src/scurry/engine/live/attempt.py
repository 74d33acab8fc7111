"""One run of a job in the live engine: a Spark job whose tasks run for as long as it does.

Spark schedules the tasks, all at once where it can promise that (barrier mode), places them,
isolates them in processes, brings the program to them, and ends them. What they do meanwhile is
between them and the conductor (:mod:`scurry.engine.live.conductor`). If a task fails, the Spark job
fails with it, and so does this attempt; whether there is another one is for the restart strategy of
the job to say.
"""

from __future__ import annotations

import gc
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from scurry.checkpoint.directory import JobDirectory
from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError, JobError
from scurry.common.options import checkpoints, execution
from scurry.common.waiting import Wait
from scurry.engine.job import Job
from scurry.engine.live.conductor import Conductor, Settings, TaskFailed, TaskGone
from scurry.engine.live.doors import Door
from scurry.engine.live.encryption import make_identity
from scurry.engine.live.limits import tell_of_many_tasks
from scurry.engine.live.task import LiveWork
from scurry.engine.pace import Pace
from scurry.engine.progress import Progress
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.rounds import RoundProtocol
from scurry.engine.savepoints import Savepoints
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.slot_process import RUN_PROPERTY
from scurry.engine.spark.whole_programs import send_whole_programs
from scurry.engine.worker_logs import LogReader
from scurry.functions.fencing import Fence
from scurry.functions.sink import Sink
from scurry.functions.source import Source

#: How long Spark may take to say why a task has gone.
_REASON_SECONDS = 5.0
#: How long tasks may take to end when the job is over.
_END_SECONDS = 30.0
#: How often Spark is asked whether it has started the tasks.
_LOOK_SECONDS = 0.5
#: A wait that is shorter is not worth telling.
_MOMENT_SECONDS = 3.0
#: Checkpoints are made so often where the configuration does not say.
_INTERVAL_MS = 1000


def settings_of(configuration: Configuration) -> Settings:
    """What the configuration says about rounds."""
    interval = checkpoints.CHECKPOINT_INTERVAL.read(configuration)
    return Settings(
        linger=execution.LIVE_LINGER.read(configuration) / 1000,
        interval=(_INTERVAL_MS if interval is None else interval) / 1000,
        most_records=min(
            execution.LIVE_ROUND_RECORDS.read(configuration),
            execution.BATCH_RECORDS.read(configuration),
        ),
        in_flight=execution.LIVE_ROUNDS.read(configuration),
    )


class LiveAttempt:
    """A Spark job from its start to its end."""

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
        configuration: Configuration,
        views: ViewKeeper | None = None,
    ) -> None:
        self._context = session.sparkContext
        self._spec = job.spec
        self._payload = payload
        self._directory = directory
        self._progress = progress
        self._savepoints = savepoints
        self._settings = settings_of(configuration)
        self._is_encrypted = execution.LIVE_TLS.read(configuration)
        self._copy_above = execution.LIVE_SNAPSHOT.read(configuration)
        self._patience = execution.LIVE_SLOTS_WAIT.read(configuration) / 1000
        self._protocol = RoundProtocol(job, directory, progress, pace, lease, views)
        spec = job.spec
        owners: list[tuple[str, Source | Sink]] = [(s.uid, s.source) for s in spec.sources]
        #: sources and sinks for which Spark runs jobs meanwhile
        self._in_need = [
            repr(uid)
            for uid, owner in [*owners, *((each.uid, each.sink) for each in job.sinks)]
            if owner.needs_slot
        ]
        self._tasks = spec.parallelism if spec.stages else spec.ingress_tasks
        tell_of_many_tasks(self._tasks)
        self._group = f"scurry-{payload.run_id}"
        self._failure: BaseException | None = None
        self._over = threading.Event()
        self._began = time.time()

    def run(
        self,
        trigger: str | None,
        stopping: threading.Event,
        on_progress: Callable[[Progress], None],
    ) -> None:
        """Run until the sources end or ``stopping`` is set; raises what makes the job fail."""
        protocol = self._protocol
        try:
            where = f"the checkpoint in {self._directory.root}"
            protocol.start(self._payload.checkpoint_id, where)
            if not protocol.settled:
                with self._progress.board, LogReader(self._payload.logs.directory):
                    self._conduct(stopping, on_progress)
        except BaseException:
            protocol.abort()
            raise
        finally:
            self._progress.board.wipe()
            protocol.close()

    def _conduct(self, stopping: threading.Event, on_progress: Callable[[Progress], None]) -> None:
        epoch = self._directory.last_epoch()
        secret = secrets.token_bytes(32)
        identity = make_identity() if self._is_encrypted else None
        door = Door(secret, None if self._is_local else self._own_host, identity)
        conductor = Conductor(
            *(self._spec, self._tasks, door, self._protocol, self._savepoints, self._settings),
            *(stopping, on_progress, self._progress),
        )
        token = self._payload.run_id[:12]
        given = self._payload, self._tasks, door.address, secret, token, identity
        work = LiveWork(*given, copy_above=self._copy_above)
        thread = threading.Thread(
            target=self._run_tasks, args=(work, conductor.wake), name="scurry-tasks", daemon=True
        )
        try:
            self._check_slots(stopping)
            thread.start()
            conductor.meet(self._looking_for_slots(conductor, stopping), epoch)
            self._progress.board.wipe()
            # see the tasks, which do so, too
            gc.freeze()
            conductor.run(self._look)
            self._over.wait(_END_SECONDS)
        except (TaskFailed, TaskGone) as failure:
            conductor.hang_up()
            raise self._cause_of(failure) from None
        finally:
            gc.unfreeze()
            door.close()
            conductor.hang_up()
            conductor.settle()
            if thread.is_alive():
                with suppress(Exception):
                    self._context.cancelJobGroup(self._group)
                thread.join(_END_SECONDS)
            if not thread.is_alive():
                conductor.close()

    # --- Spark's part

    def _run_tasks(self, work: LiveWork, wake: Callable[[], None]) -> None:
        context = self._context
        try:
            send_whole_programs(context)
            context.setJobGroup(self._group, self._spec.name, interruptOnCancel=True)
            # in processes that begin with what those before them have had to import
            context.setLocalProperty(RUN_PROPERTY, self._payload.run_id)
            tasks = context.parallelize(range(self._tasks), self._tasks)
            runnable: Any = tasks if self._is_elastic else tasks.barrier()
            runnable.mapPartitions(work).collect()
        except BaseException as failure:
            self._failure = failure
        finally:
            self._over.set()
            with suppress(OSError):
                wake()

    def _look(self) -> None:
        """Raise if Spark's job has ended, which it must not before it is told to."""
        if self._over.is_set():
            raise self._failure or JobError("The tasks of the job have ended by themselves.")

    def _cause_of(self, failure: TaskFailed | TaskGone) -> BaseException:
        """What to tell of a failure that a task has noticed."""
        if isinstance(failure, TaskFailed):
            return failure
        self._over.wait(_REASON_SECONDS)
        return self._failure or failure

    @property
    def _is_local(self) -> bool:
        return (self._context.master or "").startswith("local[") or self._context.master == "local"

    @property
    def _own_host(self) -> str:
        """Where executors reach the driver."""
        settings = self._context.getConf()
        found = settings.get("spark.driver.bindAddress") or settings.get("spark.driver.host")
        return str(found or "127.0.0.1")

    @property
    def _is_elastic(self) -> bool:
        """Whether executors come and go, which barrier mode does not allow."""
        return self._context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"

    # --- slots

    def _check_slots(self, stopping: threading.Event) -> None:
        """Wait until the cluster has as many slots as the job needs, however long that may take;
        raise if it will not have them."""
        needed = self._tasks + bool(self._in_need)
        deadline = time.monotonic() + (0 if self._is_local else self._patience)
        while (found := self._slots()) < needed and not self._is_elastic:
            if time.monotonic() >= deadline or stopping.is_set():
                raise ConfigurationError(
                    f"The live engine runs all {self._tasks} tasks of the job at the same time, "
                    f"{self._more}and {self._context.master!r} has {found} slots. Give the job a "
                    f"parallelism of {found - needed + self._tasks} or less (env.set_parallelism), "
                    "or the session more cores; or use execution.engine: micro-batch, which needs "
                    "no number of free cores."
                )
            self._post_wait(f"{found} of {needed}")
            time.sleep(0.2)

    @property
    def _more(self) -> str:
        """What else needs a slot, in words."""
        if not self._in_need:
            return ""
        return f"needs one more slot, in which Spark works for {' and '.join(self._in_need)}, "

    def _slots(self) -> int:
        spark: Any = self._context._jsc.sc()
        profile = spark.resourceProfileManager().defaultResourceProfile()
        return int(spark.maxNumConcurrentTasks(profile))

    def _looking_for_slots(
        self, conductor: Conductor, stopping: threading.Event
    ) -> Callable[[], None]:
        """Raises if Spark does not start the tasks, because others have the slots. Tasks that Spark
        has started may take their time until they come."""
        deadline = time.monotonic() + max(self._patience, 1.0)
        next_look = time.monotonic() + _LOOK_SECONDS

        def look() -> None:
            nonlocal next_look
            self._look()
            if conductor.came == self._tasks or time.monotonic() < next_look:
                return
            next_look = time.monotonic() + _LOOK_SECONDS
            started = self._started()
            if started < self._tasks and (time.monotonic() >= deadline or stopping.is_set()):
                raise JobError(
                    f"Spark has started {started} of the {self._tasks} tasks of the job within "
                    f"{self._patience:.0f} s. The live engine runs all of them at the same time, "
                    "and other jobs seem to have the slots of the cluster. Give the job fewer "
                    "slots (env.set_parallelism), or more time "
                    f"({execution.LIVE_SLOTS_WAIT.key}), or use execution.engine: micro-batch."
                )
            self._post_wait(f"{started} of {self._tasks} tasks have started")

        return look

    def _started(self) -> int:
        """How many tasks Spark has given to executors."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(number) for number in tracker.getJobIdsForGroup(self._group)]
        stages = [tracker.getStageInfo(number) for job in jobs if job for number in job.stageIds]
        return sum(stage.numActiveTasks for stage in stages if stage)

    def _post_wait(self, reason: str) -> None:
        """Tell whoever watches the job what it waits for, if it has waited for a moment."""
        if time.time() - self._began > _MOMENT_SECONDS:
            purpose = "run all tasks at the same time"
            wait = Wait("free slots in Spark", purpose, reason, self._began)
            self._progress.board.post(self, wait)
