"""A handle on a job that was started with ``execute_async``."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from typing import Any, Protocol

from scurry.common.completable_future import CompletableFuture
from scurry.common.job_execution_result import JobExecutionResult
from scurry.common.job_id import JobID
from scurry.common.job_metrics import JobMetrics
from scurry.common.job_status import JobStatus
from scurry.common.waiting import Wait

__all__ = ["JobClient"]


class RunningJob(Protocol):
    """What a job client needs of an engine's job."""

    @property
    def job_id(self) -> str:
        """Identifies the run."""

    @property
    def ended(self) -> bool:
        """Whether the job has finished, failed or been stopped."""

    @property
    def failure(self) -> BaseException | None:
        """What made the job fail."""

    @property
    def totals(self) -> dict[str, int]:
        """Counters of the run so far."""

    @property
    def metrics(self) -> dict[str, dict[str, Any]]:
        """The metrics of functions so far, by operator and name."""

    @property
    def job_metrics(self) -> JobMetrics:
        """All metrics as of now."""

    @property
    def waiting(self) -> list[Wait]:
        """The servers that the job waits for."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end; raise what made the job fail; False on a timeout."""

    def stop(self) -> None:
        """Ask the job to end."""

    def savepoint(
        self, directory: str | None, *, stop: bool = False, drain: bool = False
    ) -> Future[str]:
        """Ask for a savepoint in ``directory``, or in that of the configuration; with ``stop`` the
        job ends with it, with ``drain`` at the end of event time. The result is its path."""

    def rescale(self, parallelism: int) -> Future[str]:
        """Ask for another parallelism, after the micro-batch under way."""


class JobClient:
    """Watches and cancels one job."""

    def __init__(self, job: RunningJob) -> None:
        self._job = job
        self._started = time.monotonic()
        self._cancelled = False

    def get_job_id(self) -> JobID:
        """The job's identity."""
        return JobID(self._job.job_id)

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        """What the job is doing."""
        status = JobStatus.RUNNING
        if self._job.ended:
            if self._job.failure is not None:
                status = JobStatus.FAILED
            else:
                status = JobStatus.CANCELED if self._cancelled else JobStatus.FINISHED
        return CompletableFuture.completed(status)

    @property
    def ended_well(self) -> bool:
        """Whether the job has run to its end, neither failed nor cancelled."""
        return self._job.ended and self._job.failure is None and not self._cancelled

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job after its current micro-batch."""
        self._cancelled = True
        self._job.stop()
        return self._when_ended(lambda: None)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Take a savepoint after the micro-batch under way, while the job goes on. It becomes a new
        directory in ``savepoint_directory``, or in ``execution.checkpointing.savepoint-dir``; the
        result is its path, once it is complete."""
        return CompletableFuture(self._job.savepoint(savepoint_directory))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Take a savepoint after the micro-batch under way and end the job with it. If
        ``advance_to_end_of_event_time`` is set, the sources end where they are, and all windows and
        timers of event time fire before the savepoint is taken: for jobs that shall not go on."""
        drain = advance_to_end_of_event_time
        return CompletableFuture(self._job.savepoint(savepoint_directory, stop=True, drain=drain))

    def rescale(self, parallelism: int) -> CompletableFuture[str]:
        """Give the running job another parallelism. After the micro-batch under way the job deals
        its state out to the new slots and goes on by itself; the result, once it does, says for how
        long it stood still. Operators that have a parallelism of their own keep it."""
        return CompletableFuture(self._job.rescale(parallelism))

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The job's counters: records read, written, and handled by each operator."""
        return CompletableFuture.completed(dict(self._job.totals))

    def get_metrics(self) -> dict[str, dict[str, Any]]:
        """What functions count and measure themselves, as of the last micro-batch of this run: by
        the operator's name, then the metric's. Counters and gauges are numbers, summed over all
        instances; meters and distributions are statistics (:mod:`scurry.metrics`)."""
        return self._job.metrics

    def get_job_metrics(self) -> JobMetrics:
        """A snapshot of all metrics: of the job, and of each operator, together and by slot. They
        are those of the last micro-batch of this run; what functions count and measure themselves
        is among them, as ``user``."""
        return self._job.job_metrics

    def get_waiting(self) -> list[Wait]:
        """The servers that the running job cannot reach and waits for, with what it wants of them,
        why it cannot have it, and since when; empty if all is well."""
        return self._job.waiting

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """The result, once the job has ended."""
        return self._when_ended(self.result)

    def result(self) -> JobExecutionResult:
        """Wait for the end of the job; raise what made it fail."""
        self._job.wait()
        runtime = int((time.monotonic() - self._started) * 1000)
        return JobExecutionResult(self.get_job_id(), runtime, dict(self._job.totals))

    def _when_ended(self, outcome: Any) -> CompletableFuture[Any]:
        future: Future[Any] = Future()

        def watch() -> None:
            try:
                self._job.wait()
                future.set_result(outcome())
            except BaseException as failure:
                future.set_exception(failure)

        threading.Thread(target=watch, daemon=True).start()
        return CompletableFuture(future)
