"""A job on Spark, from its start to its end, through failures and restarts.

When a run fails, the restart strategy decides whether another one starts where the last committed
micro-batch ended. The job holds the lease of its checkpoint from its start to its end, through all
restarts. If the JVM has died, and Scurry had started it, the next run gets a new one.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import uuid
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import replace
from types import TracebackType
from typing import Any

from pyspark.sql import SparkSession

from scurry.checkpoint.claims import claim_state
from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.savepoints import Wish, savepoint_path
from scurry.common.any_paths import ObjectPath
from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError, JobError, LeaseLostError, cause_to_show
from scurry.common.job_metrics import JobMetrics
from scurry.common.job_status import JobStatus
from scurry.common.object_store import StoreSettings
from scurry.common.options.checkpoints import SAVEPOINT_DIRECTORY
from scurry.common.options.execution import LIVE
from scurry.common.own_directories import process_directory, user_root
from scurry.common.waiting import Wait
from scurry.engine.job import Job
from scurry.engine.live.attempt import LiveAttempt
from scurry.engine.pace import Pace
from scurry.engine.progress import Progress
from scurry.engine.protocol import Outrun
from scurry.engine.queryable.keeper import ViewKeeper
from scurry.engine.queryable.settings import QuerySettings
from scurry.engine.reporting import Reporting
from scurry.engine.rescaling import BacklogWatch, Bounds, Rescaling
from scurry.engine.restarts import Restarts
from scurry.engine.savepoints import Savepoints
from scurry.engine.snapshot import take_snapshot
from scurry.engine.spark.attempt import Attempt
from scurry.engine.spark.batch_attempt import BatchAttempt
from scurry.engine.spark.dependencies import NOTHING, Dependencies
from scurry.engine.spark.failures import as_scurry_error
from scurry.engine.spark.local_stores import delete_stores, stores_name
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.rescale import rescale
from scurry.engine.spark.routes import route_values
from scurry.engine.spark.session import jvm_has_died, query_session
from scurry.engine.waits import ProgressTeller
from scurry.runtime.specs import JobSpec

_log = logging.getLogger("scurry.engine")
#: What is not the program's, but of its run.
_OF_THE_RUN = ("run_id", "local_root", "sys_path", "in_objects")


class ClaimedCheckpoint:
    """The checkpoint of a job that is about to start, held by its lease; ``location`` is None for
    a job without a checkpoint, which has a temporary one. As a context manager it gives the lease
    back if the job cannot be started."""

    def __init__(
        self,
        location: str | None,
        job: str,
        duration: int,
        savepoint: str | None = None,
        store: StoreSettings | None = None,
    ) -> None:
        """A new checkpoint begins with what is in ``savepoint``, if one is given; ``store`` says
        how the object store of a URL is reached."""
        self.temporary = location is None
        self._duration = duration
        self.directory = JobDirectory(location or str(process_directory("jobs")), store)
        self.lease = self.directory.claim(job, duration)
        self.lease.keep()
        if savepoint is not None:
            self._begin_with(savepoint)

    def __enter__(self) -> ClaimedCheckpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.give_back()

    def _begin_with(self, savepoint: str) -> None:
        try:
            restored = self.directory.begin_with(savepoint)
        except BaseException:
            self.give_back()
            raise
        if restored:
            _log.info("the job starts from the savepoint %s", savepoint)
        else:
            _log.info(
                "the job has started from the savepoint %s before, and goes on with its checkpoint "
                "in %s",
                *(savepoint, self.directory.root),
            )

    def claim_again(self) -> None:
        """Hold the checkpoint as the next driver would, with numbers of its own for what it makes;
        what this one has made is taken over. Raises if somebody else has been faster."""
        job, duration = self.lease.holder.job, self._duration
        self.lease.release()
        self.lease = self.directory.claim(job, duration)
        self.lease.keep()

    def give_back(self) -> None:
        """The job has ended, or did not start."""
        self.lease.release()
        if self.temporary:
            self.directory.delete()


class SparkJob:
    """One job, through all its restarts."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        claimed: ClaimedCheckpoint,
        *,
        max_records: int = 500_000,
        growing: bool = False,
        local_dir: str = "",
        trigger: str | None = None,
        checkpoint_interval: int | None = None,
        restarts: Restarts | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        dependencies: Dependencies | None = None,
        allow_non_restored_state: bool = False,
        allow_dropped: Collection[str] = (),
        configuration: Configuration | None = None,
        renew: Callable[[], tuple[SparkSession, Dependencies]] | None = None,
    ) -> None:
        self.progress = Progress()
        self._configuration = configuration or Configuration()
        self._dependencies = dependencies or NOTHING
        self._trigger = trigger
        self._restarts = restarts or Restarts()
        self._claimed = claimed
        self._directory = claimed.directory
        self._lease = claimed.lease
        self._teller = ProgressTeller(self.progress, self._directory.home.waiting, on_progress)
        self._spec = replace(
            job.spec,
            run_id=uuid.uuid4().hex,
            local_root=local_dir,
            sys_path=tuple(dict.fromkeys(os.path.abspath(entry) for entry in sys.path)),
            in_objects=isinstance(self._directory.root, ObjectPath),
        )
        self._program = self._spec
        self._with_parallelism = job.with_parallelism
        self.job_id = self._spec.run_id
        self._may_drop = allow_non_restored_state, allow_dropped
        self._sinks = job.sinks
        Job(self._spec, job.sinks).take_rooms(self._directory.layout.room)
        self._session = self._own_session(session)
        interval = None if checkpoint_interval is None else checkpoint_interval / 1000
        self._pace = Pace(max_records, interval, growing)
        self._renew = renew
        self._checkpoint_id = self._prepare()
        #: tells the checkpoint from others that began with the same savepoint
        self._own_id = self._directory.manifest.copy or self._checkpoint_id
        self._stores = stores_name(self._own_id, self._lease.holder.stores)
        self._failure: BaseException | None = None
        #: the job is to end; the run under way is to end
        self._stopping, self._halting = threading.Event(), threading.Event()
        bounds = Bounds.of(self._configuration)
        self._rescaling = Rescaling(
            *(self._halting.set, self._spec.max_parallelism),
            None if bounds is None else BacklogWatch(bounds),
        )
        self._stopped_with_savepoint = False
        self._ended = threading.Event()
        self._savepoints = Savepoints(
            *(self._directory, job.graph, self._stop_with_savepoint, self._savepoint_target),
            self._rescaling,
        )
        self._views = self._view_keeper()
        try:
            self._reporting = Reporting(
                *(
                    self._directory.root,
                    self.job_id,
                    lambda: self.job_metrics,
                    self._configuration,
                ),
                queries=lambda: "" if self._views is None else self._views.address,
            )
        except BaseException:
            if self._views is not None:
                self._views.close(JobStatus.FAILED.name, linger=False)
            raise
        self._thread = threading.Thread(target=self._run, name="scurry-job", daemon=True)

    def _own_session(self, session: SparkSession) -> SparkSession:
        """The session for the runs of the job. The live engine needs nothing but its context."""
        if self._spec.engine == LIVE:
            return session
        return query_session(session, self._spec.parallelism)

    def _view_keeper(self) -> ViewKeeper | None:
        """What keeps the view of queryable states, if the configuration asks for one."""
        settings = QuerySettings.of(self._configuration)
        if settings is None:
            return None
        root = user_root(settings.directory)
        keeper = ViewKeeper(root, self._spec, self.job_id, self._own_id, settings)
        keeper.start()
        return keeper

    def _prepare(self) -> str:
        """Take the checkpoint over, if the program may go on with it; the checkpoint's id."""
        self._directory.check()
        standing = self._directory.standing()
        if standing is not None:
            self._spec = claim_state(self._program, standing, *self._may_drop)
        return self._directory.prepare(self._spec).checkpoint_id

    def start(self) -> None:
        """Start the job; returns at once."""
        self._reporting.start()
        self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the job and raise what made it fail; False on a timeout."""
        if not self._ended.wait(timeout):
            return False
        # it still writes down how the job ended
        self._thread.join()
        if self._failure is not None:
            shown = as_scurry_error(self._failure)
            if shown is self._failure:
                # the frames of the job's own thread say nothing to whoever waits here
                raise shown.with_traceback(None)
            raise shown from cause_to_show(self._failure)
        return True

    def stop(self) -> None:
        """Ask the job to end after the current micro-batch."""
        self._stopping.set()
        self._halting.set()

    def savepoint(
        self, directory: str | None, *, stop: bool = False, drain: bool = False
    ) -> Future[str]:
        """Ask for a savepoint; see :class:`scurry.engine.savepoints.Savepoints`."""
        return self._savepoints.ask(directory, stop, drain)

    def rescale(self, parallelism: int) -> Future[str]:
        """Ask for another parallelism; see :class:`scurry.engine.rescaling.Rescaling`."""
        return self._rescaling.ask(parallelism)

    def _stop_with_savepoint(self) -> None:
        self._stopped_with_savepoint = True
        self.stop()

    def _savepoint_target(self, directory: str | None, name: str) -> Wish:
        chosen = directory or SAVEPOINT_DIRECTORY.read(self._configuration)
        if chosen is None:
            raise ConfigurationError(
                "Nobody says where the savepoint is to be written: give a directory, or set "
                f"{SAVEPOINT_DIRECTORY.key} in the configuration of the job."
            )
        store = StoreSettings.of(self._configuration)
        return Wish(savepoint_path(chosen, self.job_id, name, store))

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

    @property
    def waiting(self) -> list[Wait]:
        """The servers that the job waits for."""
        return list(self.progress.waiting)

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """The metrics of functions so far, by operator and name."""
        return self.progress.metrics.by_operator(self._spec.operators)

    @property
    def job_metrics(self) -> JobMetrics:
        """All metrics as of now."""
        return take_snapshot(self.progress, Job(self._spec, self._sinks), self._state)

    @property
    def _state(self) -> str:
        if not self.ended:
            return JobStatus.RUNNING.name
        if self._failure is not None:
            return JobStatus.FAILED.name
        cancelled = self._stopping.is_set() and not self._stopped_with_savepoint
        return (JobStatus.CANCELED if cancelled else JobStatus.FINISHED).name

    def _run(self) -> None:
        self._teller.start()
        try:
            with self.progress.board:
                while not self._attempt():
                    pass
            if self._failure is None:
                self._savepoints.serve(at_end=True)
        except BaseException as failure:
            # whatever is wrong with the way of dealing with failures, the job has not ended well
            self._failure = failure
        finally:
            self._teller.close()
            self._finish()

    def _attempt(self) -> bool:
        """Run until the end or a failure; whether that was the last attempt."""
        try:
            while True:
                while not self._run_once():
                    # once at most: the previous driver then finds that it has lost its lease
                    self._directory.take_over()
                    self._prepare()
                if self._stopping.is_set() or not self._halting.is_set():
                    return True
        except BaseException as failure:
            found = self._cause_of(failure)
            pause = None if self._stopping.is_set() else self._restarts.after(found)
            if pause is None:
                self._failure = found
                return True
            self.progress.restarted(as_scurry_error(found))
            if self._views is not None:
                self._views.interrupted()
            self._stopping.wait(pause)
            return self._stopping.is_set()

    def _run_once(self) -> bool:
        """Run until the end; False if the checkpoint has to be taken over again before."""
        self._revive()
        if self._rescaling.due is not None and self._halting.is_set():
            self._take_up(self._rescaling.due)
        spec = replace(self._spec, run_id=uuid.uuid4().hex)
        if not self._directory.fits(spec):
            rescale(self._session, self._directory, spec, self._payload(spec, []))
            self._teller.notes = self._directory.home.waiting
        spec = replace(spec, view=self._begin_view())
        payload = self._payload(spec, route_values(spec.parallelism))
        given = (
            *(self._session, Job(spec, self._sinks), payload, self._directory),
            *(self.progress, self._pace, self._lease, self._savepoints),
        )
        attempt: Attempt | BatchAttempt | LiveAttempt
        if spec.engine == LIVE:
            attempt = LiveAttempt(*given, self._configuration, self._views)
        elif spec.in_objects:
            attempt = BatchAttempt(*given, self._views)
        else:
            attempt = Attempt(*given, self._views)
        try:
            attempt.run(self._trigger, self._halting, self._tell)
        except Outrun:
            return False
        return True

    def _take_up(self, parallelism: int) -> None:
        """Begin again with another parallelism, as a driver would that is started with it."""
        assert self._with_parallelism is not None, "every compiled job can be compiled again"
        made = self._with_parallelism(parallelism)
        kept = {name: getattr(self._program, name) for name in _OF_THE_RUN}
        self._program = self._spec = replace(made, **kept)
        self._claimed.claim_again()
        self._lease = self._claimed.lease
        self._stores = stores_name(self._own_id, self._lease.holder.stores)
        self._prepare()
        self._session = self._own_session(self._session)
        if self._views is not None:
            self._views.renew(self._spec)
        self._halting.clear()
        if self._stopping.is_set():
            self._halting.set()
        self._rescaling.take_up()

    def _tell(self, progress: Progress) -> None:
        self._teller.tell(progress)
        self._rescaling.look(progress, self._spec.parallelism)

    def _begin_view(self) -> str:
        """The view of queryable states that slots are to feed in the next run, if any."""
        if self._views is None:
            return ""
        last = self._directory.last_epoch()
        return self._views.begin(-1 if last is None else last.batch, self._directory.home.feeds)

    def _payload(self, spec: JobSpec, routes: list[int]) -> JobPayload:
        directory = self._directory
        return JobPayload(
            *(spec, self._checkpoint_id, routes, directory.home, self._dependencies),
            first=directory.generation.first,
            begins_with_state=directory.begins_with_state,
            stores=self._stores,
        )

    def _revive(self) -> None:
        """Have a session whose JVM lives."""
        if self._renew is not None and jvm_has_died(self._session):
            session, self._dependencies = self._renew()
            self._session = self._own_session(session)

    def _cause_of(self, failure: BaseException) -> BaseException:
        """What made the attempt fail, which may not be what it failed with."""
        try:
            self._lease.check()
        except LeaseLostError as lost:
            lost.__cause__ = failure
            return lost
        if jvm_has_died(self._session):
            died = JobError(
                "The JVM of the Spark session has ended while the job was running: it was killed, "
                "or had no memory left."
            )
            died.__cause__ = failure
            return died
        return failure

    def _finish(self) -> None:
        self._savepoints.close(self._failure)
        self._rescaling.close(self._failure)
        if self._claimed.temporary:
            delete_stores(self._spec.local_root, self._stores)
        for each in self._sinks:
            try:
                each.sink.close()
            except Exception as failure:
                self._failure = self._failure or failure
        self._claimed.give_back()
        self._ended.set()
        if self._views is not None:
            may_go_on = self._failure is not None and not self._claimed.temporary
            self._views.close(self._state, linger=may_go_on)
        self._reporting.close(keep=not self._claimed.temporary)
