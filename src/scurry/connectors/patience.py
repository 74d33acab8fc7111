"""Waiting for a server that cannot be reached for a while, and saying so.

A database that restarts is no reason for a job to fail. A call that failed is made again, at
growing intervals, until it succeeds or the time allowed for that is over. The log says when the
wait begins, every half minute while it lasts, and when it is over; the job's progress shows it all
the while.

:class:`Patience` makes the calls again by itself. Where somebody else does, such as the engine that
asks a source for new records again and again, a :class:`Vigil` only reports the wait.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from scurry.common.errors import JobError
from scurry.common.waiting import Wait, current_board

T = TypeVar("T")
_log = logging.getLogger("scurry.connectors")

#: How long a server may be away, unless the program says otherwise.
DEFAULT_SECONDS = 300.0
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
_SAY_AGAIN = 30.0
#: Seconds before a vigil speaks, and between two of its lines.
_QUIET_SECONDS, _REPEAT_SECONDS = 2.0, 10.0


class Patience:
    """Tries again what fails because ``server`` cannot be reached."""

    def __init__(
        self,
        server: str,
        seconds: float = DEFAULT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        purpose: str = "",
    ) -> None:
        self._server = server
        self._purpose = purpose
        self._seconds = seconds
        self._sleep = sleep
        self._clock = clock

    def call(self, action: Callable[[], T], passing: Callable[[Exception], bool]) -> T:
        """The result of ``action``, repeated for as long as it raises what ``passing`` says will
        pass, at most for the time that was given."""
        try:
            return self._call(action, passing)
        finally:
            current_board().clear(self)

    def _call(self, action: Callable[[], T], passing: Callable[[Exception], bool]) -> T:
        date = time.time()
        began: float | None = None
        said, pause = 0.0, _FIRST_PAUSE
        while True:
            try:
                result = action()
            except Exception as failure:
                if not passing(failure):
                    raise
                now = self._clock()
                if began is None:
                    began, date = now, time.time()
                current_board().post(self, Wait(self._server, self._purpose, _line(failure), date))
                if now - began >= self._seconds:
                    raise JobError(
                        f"{self._server} could not be reached for {self._seconds:g} s: "
                        f"{_line(failure)}. Bring it back and restart the job, which goes on where "
                        "it was; or give it more time with patience_seconds."
                    ) from failure
                if now == began or now - said >= _SAY_AGAIN:
                    said = now
                    _log.warning(
                        "waiting for %s, for up to %g s more: %s",
                        self._server,
                        self._seconds - (now - began),
                        _line(failure),
                    )
                self._sleep(min(pause, max(0.0, self._seconds - (now - began))))
                pause = min(pause * 2, _LONGEST_PAUSE)
            else:
                if began is not None:
                    _log.warning(
                        "%s is back after %.1f s; going on", self._server, self._clock() - began
                    )
                return result


class Vigil:
    """Says that a server is awaited: not at once, not too often, and when it is back."""

    def __init__(self, server: str, purpose: str, log: logging.Logger = _log) -> None:
        self._server = server
        self._purpose = purpose
        self._log = log
        self._since: float | None = None
        self._date = 0.0
        self._spoken: float | None = None

    @property
    def waited(self) -> float:
        """Seconds since the last sign of life, 0 if all is well."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    def waiting(self, reason: str) -> None:
        """Nothing has come of an attempt."""
        now = time.monotonic()
        if self._since is None:
            self._since, self._date = now, time.time()
        current_board().post(self, Wait(self._server, self._purpose, reason, self._date))
        silent = now - (self._since if self._spoken is None else self._spoken)
        if silent >= (_QUIET_SECONDS if self._spoken is None else _REPEAT_SECONDS):
            self._spoken = now
            self._log.warning(
                "waiting for %s to %s, for %.0f s now: %s",
                self._server,
                self._purpose,
                now - self._since,
                reason,
            )

    def over(self) -> None:
        """An attempt has succeeded."""
        if self._spoken is not None and self._since is not None:
            waited = time.monotonic() - self._since
            self._log.warning("%s is back after %.0f s", self._server, waited)
        if self._since is not None:
            current_board().clear(self)
        self._since = self._spoken = None


def _line(failure: Exception) -> str:
    text = str(failure).strip() or type(failure).__name__
    return text.splitlines()[0].rstrip(".")
