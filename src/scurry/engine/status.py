"""Showing a running job to other processes: a status file, and a list of jobs on this machine.

A job writes its metrics to ``status.json`` in its directory, at most once a second and only when
something has changed, or as a sign of life every few seconds. Whoever can read the directory can
therefore see how the job is doing, from another machine too. So that ``scurry status`` finds jobs
without being told a directory, a job also leaves a small file in a directory of its user on the
machine, which names its own; it removes the file when it ends.

A thread does all of this. Micro-batches never wait for it, and a file that cannot be written does
not make a job fail.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from scurry.checkpoint.layout import Layout, draft_of
from scurry.common.any_paths import AnyPath, path_of
from scurry.common.errors import ConfigurationError, StateError
from scurry.common.job_metrics import JobMetrics
from scurry.common.own_directories import is_alive, own_directory, user_root

_log = logging.getLogger("scurry.engine")
#: Seconds between two writes when there is news, and when there is none.
_NEWS_SECONDS, _SIGN_SECONDS = 1.0, 5.0
#: A process from which there was no sign for so many seconds is stopped, or its machine is gone.
SILENT_SECONDS = 20.0
#: Of its time, the thread may spend one part in so many.
_SHARE = 100
_OTHERWISE = "Remove it, or set TMPDIR to a directory of your own."
VERSION = 1


class RunningStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a job writes about itself."""

    host: str
    pid: int
    directory: str
    #: seconds since 1970
    written: float
    metrics: JobMetrics
    #: where Prometheus can read the metrics, if anywhere
    prometheus: str = ""
    #: where queries about state are answered, if anywhere
    queries: str = ""
    version: int = VERSION

    @property
    def signs(self) -> str:
        """``running``, how the job ended, ``gone`` if its process has ended without a word, or
        ``silent`` if there was no sign of life for a while."""
        if self.metrics.state != "RUNNING":
            return self.metrics.state.lower()
        if self.host == socket.gethostname() and not is_alive(self.pid):
            return "gone"
        return "silent" if time.time() - self.written > SILENT_SECONDS else "running"


class _Pointer(msgspec.Struct, frozen=True):
    """What a job leaves in the list of jobs."""

    directory: str
    pid: int


def jobs_directory() -> Path:
    """Where the jobs of this user on this machine are listed."""
    return user_root() / "jobs"


def status_of(directory: str) -> RunningStatus | None:
    """What the job in ``directory`` says of itself, None if there is nothing to read."""
    try:
        path = Layout(path_of(directory)).status
        return msgspec.json.decode(path.read_bytes(), type=RunningStatus)
    except (OSError, msgspec.MsgspecError, ConfigurationError):
        return None


def listed_jobs() -> list[RunningStatus]:
    """The jobs of this user on this machine, those that have started last first."""
    found = (status_of(pointer.directory) for _, pointer in _pointers())
    known = [status for status in found if status is not None]
    return sorted(known, key=lambda status: -status.metrics.started)


def _pointers() -> Iterator[tuple[Path, _Pointer]]:
    for path in sorted(jobs_directory().glob("*.json")):
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            if path.stat().st_uid == os.getuid():
                yield path, msgspec.json.decode(path.read_bytes(), type=_Pointer)


class StatusFile:
    """Keeps the status file of one job, from its start to its end."""

    def __init__(
        self,
        directory: AnyPath,
        job_id: str,
        metrics: Callable[[], JobMetrics],
        address: str = "",
        queries: Callable[[], str] = str,
    ) -> None:
        self._directory = str(directory)
        self._path = Layout(directory).status
        self._pointer = jobs_directory() / f"{job_id}.json"
        self._metrics = metrics
        self._address = address
        self._queries = queries
        self._shown = (-2, 0, "")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="scurry-status", daemon=True)

    def start(self) -> None:
        """Write the status for the first time, and go on doing so."""
        with _never_fatal():
            self._list()
        self._thread.start()

    def _list(self) -> None:
        for path, pointer in _pointers():
            if not is_alive(pointer.pid):
                path.unlink(missing_ok=True)
        for directory in (user_root(), self._pointer.parent):
            own_directory(directory, _OTHERWISE)
        entry = _Pointer(self._directory, os.getpid())
        _replace(self._pointer, msgspec.json.encode(entry))

    def _keep(self) -> None:
        written, pause = 0.0, 0.0
        while not self._ended.wait(pause):
            began = time.monotonic()
            metrics = self._metrics()
            queries = self._queries()
            news = (metrics.last_completed_checkpoint_id, len(metrics.waiting), queries)
            if news != self._shown or began - written >= _SIGN_SECONDS:
                self._shown, written = news, began
                self._write(metrics)
            pause = max(_NEWS_SECONDS, _SHARE * (time.monotonic() - began))

    def _write(self, metrics: JobMetrics) -> None:
        status = RunningStatus(
            host=socket.gethostname(),
            pid=os.getpid(),
            directory=self._directory,
            written=time.time(),
            metrics=metrics,
            prometheus=self._address,
            queries=self._queries(),
        )
        with _never_fatal():
            _replace(self._path, msgspec.json.encode(status))

    def close(self, keep: bool) -> None:
        """The job has ended: say how, unless its directory goes with it."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._address = ""
        if keep:
            self._write(self._metrics())
        with _never_fatal():
            self._pointer.unlink(missing_ok=True)


def _replace(path: Path, content: bytes) -> None:
    """Readers see the file whole. It need not survive the machine, so nothing is synced."""
    draft = draft_of(path)
    draft.write_bytes(content)
    draft.replace(path)


@contextlib.contextmanager
def _never_fatal() -> Iterator[None]:
    try:
        yield
    except (OSError, StateError) as failure:
        _log.debug("the status of the job cannot be written: %s", failure)
