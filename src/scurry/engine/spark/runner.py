"""A job on Spark, from its start to its end, through failures and restarts.

When a run fails, the restart strategy decides whether another one starts where the last committed
micro-batch ended.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from scurry.checkpoint.claims import claim_state
from scurry.checkpoint.directory import JobDirectory
from scurry.common.waiting import Wait
from scurry.engine.job import Job
from scurry.engine.progress import Progress
from scurry.engine.restarts import Restarts
from scurry.engine.spark.attempt import Attempt
from scurry.engine.spark.dependencies import NOTHING, Dependencies
from scurry.engine.spark.failures import as_scurry_error
from scurry.engine.spark.local_stores import delete_stores
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.rescale import rescale
from scurry.engine.spark.routes import route_values
from scurry.engine.spark.session import query_session
from scurry.engine.waits import ProgressTeller


class SparkJob:
    """One job, through all its restarts."""

    def __init__(
        self,
        session: SparkSession,
        job: Job,
        *,
        directory: str | None = None,
        max_records: int = 500_000,
        local_dir: str = "",
        trigger: str | None = None,
        restarts: Restarts | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        dependencies: Dependencies | None = None,
        allow_non_restored_state: bool = False,
    ) -> None:
        self.progress = Progress()
        self._dependencies = dependencies or NOTHING
        self._trigger = trigger
        self._restarts = restarts or Restarts()
        self._temporary = directory is None
        self._directory = JobDirectory(directory or tempfile.mkdtemp(prefix="scurry-job-"))
        self._teller = ProgressTeller(self.progress, self._directory.home.waiting, on_progress)
        self._spec = replace(
            job.spec,
            run_id=uuid.uuid4().hex,
            local_root=local_dir,
            sys_path=tuple(dict.fromkeys(os.path.abspath(entry) for entry in sys.path)),
        )
        self.job_id = self._spec.run_id
        self._directory.check(self._spec)
        standing = self._directory.standing()
        if standing is not None:
            self._spec = claim_state(self._spec, standing, allow_non_restored_state)
        self._checkpoint_id = self._directory.prepare(self._spec).checkpoint_id
        self._sinks = job.sinks
        self._session = query_session(session, self._spec.parallelism)
        self._max_records = max_records
        self._failure: BaseException | None = None
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="scurry-job", daemon=True)

    def start(self) -> None:
        """Start the job; returns at once."""
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

    @property
    def waiting(self) -> list[Wait]:
        """The servers that the job waits for."""
        return list(self.progress.waiting)

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """The metrics of functions so far, by operator and name."""
        return self.progress.metrics.by_operator(self._spec.operators)

    def _run(self) -> None:
        self._teller.start()
        try:
            with self.progress.board:
                while not self._attempt():
                    pass
        finally:
            self._teller.close()
            self._finish()

    def _attempt(self) -> bool:
        """Run until the end or a failure; whether that was the last attempt."""
        try:
            spec = replace(self._spec, run_id=uuid.uuid4().hex)
            routes = route_values(spec.parallelism)
            if not self._directory.generation.fits(spec):
                home = self._directory.home
                loader = JobPayload(spec, self._checkpoint_id, [], home, self._dependencies)
                rescale(self._session, self._directory, spec, loader)
                self._teller.notes = self._directory.home.waiting
            payload = JobPayload(
                *(spec, self._checkpoint_id, routes, self._directory.home, self._dependencies),
                first=self._directory.generation.first,
                begins_with_state=self._directory.begins_with_state,
            )
            attempt = Attempt(
                *(self._session, Job(spec, self._sinks), payload, self._directory),
                *(self.progress, self._max_records),
            )
            attempt.run(self._trigger, self._stopping, self._teller.tell)
            return True
        except BaseException as failure:
            pause = None if self._stopping.is_set() else self._restarts.after(failure)
            if pause is None:
                self._failure = failure
                return True
            self.progress.restarted(as_scurry_error(failure))
            self._stopping.wait(pause)
            return self._stopping.is_set()

    def _finish(self) -> None:
        if self._temporary:
            self._directory.delete()
            delete_stores(self._spec.local_root, self._checkpoint_id)
        for each in self._sinks:
            try:
                each.sink.close()
            except Exception as failure:
                self._failure = self._failure or failure
        self._ended.set()


def _verbose() -> bool:
    return bool(os.environ.get("SCURRY_FULL_TRACEBACK"))
