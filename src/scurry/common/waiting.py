"""Whom a job is waiting for: servers that cannot be reached at the moment.

A connector whose server cannot be reached tries again and again, deep within a call that the engine
made. So that users can see that, the connector posts a :class:`Wait` on a :class:`WaitBoard`, and
removes it when the server answers again. A connector posts on the board of its thread: around its
calls into connectors the engine makes the job's board the one of the thread. Where no board was set
there is one for the whole process.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

import msgspec

#: A wait is worth showing after so many seconds.
QUIET_SECONDS = 2.0


class Wait(msgspec.Struct, frozen=True):
    """Somebody waits for a server."""

    #: what is waited for, such as ``Kafka at broker:9092``
    server: str
    #: what for, such as ``write a micro-batch``; may be empty
    purpose: str
    #: what the last attempt came to
    reason: str
    #: the time of the first failed attempt, in seconds since 1970
    since: float

    @property
    def seconds(self) -> float:
        """How long it has been."""
        return max(0.0, time.time() - self.since)

    def __str__(self) -> str:
        purpose = f" to {self.purpose}" if self.purpose else ""
        return f"waiting for {self.server}{purpose}, since {self.seconds:.0f} s: {self.reason}"


class WaitBoard:
    """The waits of one job, or of one process. As a context manager it is the board of the thread
    for the time of the block."""

    def __init__(self) -> None:
        self._waits: dict[int, Wait] = {}
        self._lock = threading.Lock()

    def post(self, owner: object, wait: Wait) -> None:
        """``owner`` waits, or still waits."""
        with self._lock:
            self._waits[id(owner)] = wait

    def clear(self, owner: object) -> None:
        """``owner`` waits no longer."""
        with self._lock:
            self._waits.pop(id(owner), None)

    def wipe(self) -> None:
        """Nobody waits any longer: whoever did is gone."""
        with self._lock:
            self._waits.clear()

    def waits(self, quiet_seconds: float = QUIET_SECONDS) -> list[Wait]:
        """All that have lasted for ``quiet_seconds``, the longest first."""
        with self._lock:
            found = [wait for wait in self._waits.values() if wait.seconds >= quiet_seconds]
        return sorted(found, key=lambda wait: wait.since)

    def __enter__(self) -> Self:
        _boards().append(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        boards = _boards()
        del boards[len(boards) - 1 - boards[::-1].index(self)]


_thread = threading.local()
_process = WaitBoard()


def current_board() -> WaitBoard:
    """The board to post on."""
    return (_boards() or [_process])[-1]


def _boards() -> list[WaitBoard]:
    """The boards put up in this thread, the one in use last."""
    if not hasattr(_thread, "boards"):
        _thread.boards = []
    found: list[WaitBoard] = _thread.boards
    return found
