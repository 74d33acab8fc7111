"""One thread that executes all statements of a client, so that Ctrl-C can never break them.

Ctrl-C reaches the main thread. If that thread is talking to Spark's JVM at the moment, the answer
is lost and the connection with it; and PySpark, where it is started by the main thread, takes
Ctrl-C for an order to cancel everything that runs, jobs in the background too. So the main thread
only waits, and another one, the same for all statements, does the work.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

__all__ = ["StatementThread"]

_Result = TypeVar("_Result")


class StatementThread:
    """Calls functions one after the other, in a thread of its own that begins with the first."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def call(
        self,
        work: Callable[[], _Result],
        undo: Callable[[_Result], None],
        slow: Callable[[], None],
    ) -> _Result:
        """What ``work`` returns or raises; ``slow`` is called if that takes more than a second. On
        Ctrl-C the caller is released at once; ``undo`` is then given the result as soon as there is
        one."""
        future: Future[_Result] = Future()
        self._calls.put((future, work))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="statements", daemon=True)
            self._thread.start()
        try:
            if not wait([future], timeout=1).done:
                slow()
            return future.result()
        except KeyboardInterrupt:
            future.add_done_callback(lambda done: _take_back(done, undo))
            raise

    def _run(self) -> None:
        while True:
            future, work = self._calls.get()
            try:
                future.set_result(work())
            except BaseException as failure:
                future.set_exception(failure)


def _take_back(done: Future[Any], undo: Callable[[Any], None]) -> None:
    if done.exception() is None:
        undo(done.result())
