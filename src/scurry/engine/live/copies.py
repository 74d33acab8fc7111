"""Copies of a task's process, which write what a checkpoint needs while the task goes on.

To encode and write what hundreds of thousands of keys have changed takes seconds, and what is
written has to be the state as it was at the end of the marked round, also of objects that functions
go on changing. The system makes a copy of a process within milliseconds: the memory is shared until
either writes to it. So the copy writes the state, as the task would have done, into the journal,
the runs and the local store, tells the task what has come of it, and is gone. The task meanwhile
reads what was there before (:mod:`scurry.state.freezing`).

What the copy writes counts as little as what the task writes: an epoch that names it makes it
count. If the copy fails or dies, so does the task, and the job begins anew at the last checkpoint.
The copy does not outlive its task: the system ends it, and until then it has the lock of the slot's
local store. It runs only Python code that encodes and writes; no other thread of the task is
copied, and where a lock of such a thread would be needed the copy could wait for ever, so it is
given up after a while.
"""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from scurry.checkpoint.file_journal import FileJournal, StoredHead
from scurry.common.errors import JobError
from scurry.runtime.envelope import Envelope
from scurry.runtime.host import SlotHost
from scurry.state.slot_parts import Outcome

#: What a copy has to tell: envelopes for the driver, the head of the journal, and what the slot's
#: store has to know.
Written = tuple[list[Envelope], StoredHead | None, Outcome]

#: The request that the system end this process with the thread that has made it.
_END_WITH_PARENT = 1
#: How long a copy may take.
_MOST_SECONDS = 600.0
#: How much less than others a copy gets of a core that both want.
_NICE = 10
_PIECE = 1 << 20


@cache
def _system() -> Any:
    """The system's library, None where a copy could outlive its process."""
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def can_be_copied(host: SlotHost, journal: FileJournal, least: int) -> bool:
    """Whether a copy of this process should write the state of ``host``: it is possible, and there
    are at least so many records to write. Either has to be done at once."""
    if _system() is None or not isinstance(journal.runs, Path):
        return False
    # the system ends copies with the thread that has made them
    if threading.current_thread() is not threading.main_thread():
        return False
    return host.store.collect() >= max(1, least)


class NoCopy(Exception):
    """The system has no room for a copy of this process: the task has to write itself."""


class SlotCopy:
    """A copy of this process that writes the state of ``host`` to ``journal``. Raises
    :class:`NoCopy` if none can be made."""

    def __init__(self, host: SlotHost, journal: FileJournal) -> None:
        self._host = host
        self._journal = journal
        self._parts: list[bytes] = []
        self._deadline = time.monotonic() + _MOST_SECONDS
        host.store.collect()
        host.store.local.prepare_copy()
        self._pipe, told = os.pipe()
        go, ready = os.pipe()
        try:
            self._pid = os.fork()
        except OSError as failure:
            for end in (self._pipe, told, go, ready):
                os.close(end)
            host.store.read_on()
            raise NoCopy(str(failure)) from failure
        if self._pid == 0:
            _be_the_copy(host, journal, go, told, (self._pipe, ready))
        for end in (told, go):
            os.close(end)
        # not select, which knows only the first thousand descriptors of a process
        self._told = select.poll()
        self._told.register(self._pipe, select.POLLIN)
        try:
            # what is read from now on is of before the copy's commit
            host.store.read_on()
            with suppress(BrokenPipeError):
                os.write(ready, b"!")
        except BaseException:
            self.give_up()
            raise
        finally:
            os.close(ready)
        host.freeze()

    def fileno(self) -> int:
        """The number of the pipe that can be read when the copy tells something."""
        return self._pipe

    def take(self) -> list[Envelope] | None:
        """Take what the copy tells. When that is all, the host has thawed, and what the driver is
        to be told is returned, None before. Raises if the copy has failed."""
        while self._told.poll(0):
            some = os.read(self._pipe, _PIECE)
            if not some:
                return self._end()
            self._parts.append(some)
        if time.monotonic() > self._deadline:
            self.give_up()
            raise JobError(
                f"The copy of the process that writes the checkpoint of slot {self._host.slot} of "
                f"stage {self._host.stage} has not come to an end within {_MOST_SECONDS:.0f} s. "
                "Have tasks write themselves, with execution.live.snapshot-above: -1."
            )
        return None

    def _end(self) -> list[Envelope]:
        status = self._reap()
        if not self._parts:
            raise JobError(
                f"The copy of the process that wrote the checkpoint of slot {self._host.slot} of "
                f"stage {self._host.stage} has ended without having written it: "
                f"{_how(status)}. The job begins anew at the last checkpoint. If it happens again, "
                "see whether the machine has memory left for two processes of this size, or have "
                "tasks write themselves, with execution.live.snapshot-above: -1."
            )
        found = pickle.loads(b"".join(self._parts))
        if isinstance(found, BaseException):
            raise found
        envelopes, stored, outcome = found
        if stored is not None:
            self._journal.adopt(stored)
        self._host.thaw(self._journal, outcome)
        return [Envelope._make(each) for each in envelopes]

    def _reap(self) -> int:
        os.close(self._pipe)
        self._pipe = -1
        try:
            return os.waitpid(self._pid, 0)[1]
        except ChildProcessError:
            return 0

    def give_up(self) -> None:
        """End the copy: what it writes is of no use any more."""
        if self._pipe >= 0:
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            self._reap()


def _how(status: int) -> str:
    """How a process has ended, in words."""
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _be_the_copy(
    host: SlotHost, journal: FileJournal, go: int, told: int, others: tuple[int, ...]
) -> NoReturn:
    """What the copy does. It never returns: what belongs to the task is not to be ended twice."""
    try:
        _system().prctl(_END_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        gc.disable()
        for end in others:
            os.close(end)
        if os.read(go, 1):
            os.nice(_NICE)
            _tell(told, lambda: _write(host, journal))
    finally:
        os._exit(1)


def _write(host: SlotHost, journal: FileJournal) -> Written:
    try:
        host.store.reopen()
        envelopes = list(host.write(journal))
        return envelopes, journal.stored, host.store.outcome()
    finally:
        host.store.local.close()


def _tell(told: int, work: Callable[[], Written]) -> None:
    try:
        message = pickle.dumps(work())
    except BaseException as failure:
        message = _failure(failure)
    with open(told, "wb", closefd=False) as pipe:
        pipe.write(message)


def _failure(failure: BaseException) -> bytes:
    """``failure`` for the task, in words if it cannot travel."""
    with suppress(Exception):
        message = pickle.dumps(failure)
        pickle.loads(message)
        return message
    return pickle.dumps(JobError("".join(traceback.format_exception(failure))))
