"""Keeps the view of one job up to date, from the start of the driver to its end.

The commit protocol calls the keeper at three moments. When a run of the job starts,
:meth:`ViewKeeper.begin` says which view slots are to feed: the one that there is, if it holds what
the last committed micro-batch left, otherwise a new one, which slots fill with all they have. When
a micro-batch is finished, :meth:`ViewKeeper.offer` takes what slots have told. Nothing of that is
shown until :meth:`ViewKeeper.commit`: then the engine has committed the micro-batch.

A thread makes the changes. If it falls behind by some micro-batches, the job waits for it. If the
changes cannot be made, because the disk is full, say, the job goes on and the view is stale.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import shutil
import threading
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scurry.common.errors import ProgramError
from scurry.common.own_directories import own_directory
from scurry.engine.queryable.locks import ProcessLock
from scurry.engine.queryable.server_process import DRIVER_LOCK, ServerProcess
from scurry.engine.queryable.settings import QuerySettings
from scurry.engine.queryable.view import (
    RESTARTING,
    RUNNING,
    Moment,
    ViewStatus,
    ViewWriter,
    read_status,
    write_status,
)
from scurry.runtime.specs import JobSpec
from scurry.state.feeds import Feed, QueryableState, two_of_a_name

_log = logging.getLogger("scurry.engine")
#: Micro-batches by which the view may be behind the job.
_AHEAD = 8
#: How often an idle thread looks whether the server lives.
_LOOK_SECONDS = 1.0
#: How long the lock of a driver that has just died may be held by somebody who looks at it.
_PATIENCE = 1.0
_OTHERWISE = "Remove it, or set scurry.queryable-state.dir to a directory of your own."


@dataclass(frozen=True)
class _Told:
    """What slots have told of one micro-batch."""

    feeds: list[Feed]
    moment: Moment


class ViewKeeper:
    """The view of the job ``job``, whose checkpoint is called ``checkpoint_id``."""

    def __init__(
        self,
        root: Path,
        job: JobSpec,
        job_id: str,
        checkpoint_id: str,
        settings: QuerySettings | None = None,
    ) -> None:
        """The view lies below the user's directory ``root``. Without ``settings`` it is kept, and
        nobody answers queries from it."""
        for directory in (root, root / "views"):
            own_directory(directory, _OTHERWISE)
        self._directory, self._lock = _locked(root / "views" / checkpoint_id)
        self._server = None if settings is None else ServerProcess(self._directory, settings)
        now = _milliseconds()
        self._status = ViewStatus(
            *(job_id, job.name, job.parallelism, job.max_parallelism, RUNNING, now),
            sys_path=job.sys_path,
        )
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            # what the driver before has left is shown until there is something newer
            self._status = msgspec.structs.replace(
                self._status, current=read_status(self._directory).current, state=RESTARTING
            )
        #: which view slots feed; empty before the first run
        self._view = ""
        self._writer: ViewWriter | None = None
        self._position = -1
        #: whether changes have been missed
        self._broken = False
        self._pending: tuple[int, _Told] | None = None
        self._states: dict[str, QueryableState] = {}
        self._feeds: Path | None = None
        self._queue: queue.Queue[_Told | None] = queue.Queue(_AHEAD)
        self._ending = False
        self._thread = threading.Thread(target=self._work, name="scurry-view", daemon=True)

    @property
    def address(self) -> str:
        """Where queries are answered now; empty if they are not."""
        server = self._server
        return "" if server is None else server.address

    @property
    def directory(self) -> Path:
        """Where the view is."""
        return self._directory

    def start(self) -> None:
        """Have queries answered; raises if nobody can listen."""
        try:
            self._show()
            if self._server is not None:
                self._server.start()
        except BaseException:
            self._lock.release()
            raise
        self._thread.start()
        if self.address:
            _log.info("queries are answered at %s", self.address)

    # --- called by the commit protocol

    def begin(self, committed: int, feeds: Path | None) -> str:
        """A run of the job starts after micro-batch ``committed``. Returns the name of the view
        that slots are to feed; files of theirs lie in the directory ``feeds``."""
        self.settle()
        pending, self._pending = self._pending, None
        self._feeds = feeds
        if pending is not None and pending[0] == committed:
            # it was committed, and the run failed before it heard of that
            self._enqueue(*pending)
            self.settle()
        if feeds is not None:
            shutil.rmtree(feeds, ignore_errors=True)
        if not self._view or self._position != committed or self._broken:
            self._replace()
        self._position = committed
        return self._view

    @property
    def empty(self) -> bool:
        """Whether the view has still to be filled."""
        return self._writer is None

    def offer(
        self, batch: int, now: int, feeds: Iterable[Feed], watermarks: dict[str, int]
    ) -> None:
        """Micro-batch ``batch`` is finished, and not committed; ``feeds`` is what slots tell."""
        mine = [feed for feed in feeds if feed.view == self._view]
        for feed in mine:
            self._check_names(feed)
        self._pending = batch, _Told(mine, Moment(batch, now, watermarks))

    def commit(self) -> None:
        """The engine has committed the last micro-batch offered, if it was not told before."""
        pending, self._pending = self._pending, None
        if pending is not None:
            self._enqueue(*pending)

    def running(self) -> None:
        """The run has started. What is shown is the truth, unless it has to be filled again."""
        if not self.empty:
            self._change(RUNNING)

    # --- called by the engine's job

    def interrupted(self) -> None:
        """The run has failed, and another one may follow."""
        self.settle()
        self._change(RESTARTING)

    def renew(self, job: JobSpec) -> None:
        """The next run has other slots, which begin a new view."""
        self.interrupted()
        self._view = ""
        self._status = msgspec.structs.replace(self._status, parallelism=job.parallelism)

    def close(self, state: str, linger: bool) -> None:
        """The driver ends: the job is in ``state``. With ``linger`` queries are answered for a
        while, as another driver may go on with the job."""
        self._ending = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()
        self._change(state.lower())
        if self._writer is not None:
            self._writer.close(erase=False)
        if not linger:
            if self._server is not None:
                self._server.stop()
                self._server = None
            shutil.rmtree(self._directory, ignore_errors=True)
        self._lock.release()

    def settle(self) -> None:
        """Wait until the view shows all that was committed."""
        self._queue.join()

    # --- within

    def _check_names(self, feed: Feed) -> None:
        for state in feed.states:
            known = self._states.setdefault(state.name, state)
            if known.tables != state.tables:
                raise ProgramError(two_of_a_name(known, state))

    def _enqueue(self, batch: int, told: _Told) -> None:
        self._position = batch
        self._queue.put(told)

    def _replace(self) -> None:
        """Begin a new view; what the old one shows is shown until there is something newer."""
        if self._writer is not None:
            self._writer.close(erase=False)
            self._writer = None
        self._view = uuid.uuid4().hex
        self._states = {}
        self._broken = False

    def _work(self) -> None:
        while True:
            try:
                told = self._queue.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                self._look_after_server()
                continue
            try:
                if told is None:
                    return
                self._apply(told)
            except Exception as failure:
                _log.warning("queryable states cannot be kept up to date: %s", failure)
                self._broken = True
                self._status = msgspec.structs.replace(self._status, trouble=str(failure))
                self._show()
            finally:
                self._queue.task_done()

    def _look_after_server(self) -> None:
        try:
            if self._server is not None:
                self._server.keep()
        except Exception as failure:
            _log.warning("queries are not answered: %s", failure)

    def _apply(self, told: _Told) -> None:
        if self._broken:
            return
        if self._writer is None:
            self._fill(told)
        else:
            self._writer.apply(told.feeds, self._feeds, told.moment)
        if self._feeds is not None:
            for piece in (piece for feed in told.feeds for piece in feed.pieces):
                if piece.file:
                    (self._feeds / piece.file).unlink(missing_ok=True)
        if self._status.state != RUNNING and not self._ending:
            self._change(RUNNING)

    def _fill(self, told: _Told) -> None:
        """Make an LMDB of what slots have, and have readers turn to it."""
        number = self._status.current + 1
        writer = ViewWriter(self._directory / str(number))
        writer.apply(told.feeds, self._feeds, told.moment)
        self._writer = writer
        self._status = msgspec.structs.replace(self._status, current=number, trouble="")
        self._change(RUNNING)
        for place in self._directory.iterdir():
            if place.name.isdigit() and int(place.name) != number:
                shutil.rmtree(place, ignore_errors=True)

    def _change(self, state: str) -> None:
        self._status = msgspec.structs.replace(self._status, state=state, since=_milliseconds())
        self._show()

    def _show(self) -> None:
        with contextlib.suppress(OSError):
            write_status(self._directory, self._status)


def _locked(directory: Path) -> tuple[Path, ProcessLock]:
    """The directory of the view, and its lock; another one if a driver that was taken for dead
    still has it."""
    own_directory(directory, _OTHERWISE)
    try:
        return directory, ProcessLock(directory / DRIVER_LOCK, _PATIENCE)
    except BlockingIOError:
        return _locked(directory.with_name(f"{directory.name}-{uuid.uuid4().hex[:8]}"))


def _milliseconds() -> int:
    return int(time.time() * 1000)
