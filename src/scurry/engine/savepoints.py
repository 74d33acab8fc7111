"""Savepoints that a running job is asked for, and whatever else is asked of it by files.

Somebody asks, from any thread (:meth:`Savepoints.ask`) or, from another process, by a file
(:mod:`scurry.engine.request_files`). The engine calls :meth:`Savepoints.serve` whenever nothing is
under way: between two micro-batches, and when the job has come to its end. The job waits until the
checkpoint is frozen; the rest happens in a thread.

A savepoint that ends the job has two kinds. A plain one is frozen between two micro-batches, and no
further one is planned. For one that *drains* the job, the sources are told to end where they are,
as if their input ended there: event time comes to its end, all windows and timers fire, and the
savepoint is frozen after that.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.gentle_files import give_way
from scurry.checkpoint.savepoint_manifest import GraphNode
from scurry.checkpoint.savepoints import Frozen, Wish, complete, freeze
from scurry.common.errors import JobError
from scurry.engine.request_files import RequestFiles
from scurry.engine.rescaling import Rescaling


@dataclass
class _Asked:
    """A savepoint that is wanted."""

    wish: Wish
    #: where the savepoint is, once it is there
    answer: Future[str] = field(default_factory=Future)


class Savepoints:
    """The savepoints that one job is asked for, through all its restarts."""

    def __init__(
        self,
        directory: JobDirectory,
        graph: Sequence[GraphNode],
        stop: Callable[[], None],
        target_of: Callable[[str | None, str], Wish],
        rescaling: Rescaling,
    ) -> None:
        """``stop`` has the job plan nothing more; ``target_of`` gives the place of a savepoint that
        is to lie in a directory, or in that of the configuration, under a name; ``rescaling`` is
        told of requests for another parallelism."""
        self._directory = directory
        self._graph = graph
        self._stop = stop
        self._target_of = target_of
        self._rescaling = rescaling
        self._asked: deque[_Asked] = deque()
        self._lock = threading.Lock()
        self._ended = False
        self._files = RequestFiles(directory.layout.requests)
        self._completing: list[threading.Thread] = []

    @property
    def wanted(self) -> bool:
        """Whether a savepoint or another parallelism is wanted; looks for files of others now and
        then."""
        self._look()
        return bool(self._asked) or self._rescaling.wanted

    def _look(self) -> None:
        for request in self._files.news():
            try:
                if request.parallelism:
                    answer = self._rescaling.ask(request.parallelism)
                else:
                    wish = self._target_of(request.directory, request.name)
                    answer = self._ask(Wish(wish.target, request.stop, request.drain))
            except Exception as failure:
                self._files.refuse(request, failure)
            else:
                answer.add_done_callback(self._files.answer_to(request))

    def ask(self, directory: str | None, stop: bool = False, drain: bool = False) -> Future[str]:
        """Ask for a savepoint; the answer is where it is. Raises if there is no place for it."""
        return self._ask(Wish(self._target_of(directory, "").target, stop, drain))

    def _ask(self, wish: Wish) -> Future[str]:
        asked = _Asked(wish)
        with self._lock:
            if self._ended:
                raise JobError("The job has ended, so it cannot be asked for a savepoint.")
            self._asked.append(asked)
        return asked.answer

    @property
    def draining(self) -> bool:
        """Whether event time has to be brought to its end before the next savepoint."""
        with self._lock:
            return bool(self._asked) and self._asked[0].wish.drain

    @property
    def stopping(self) -> bool:
        """Whether the job has to end with the next savepoint, as it stands then."""
        with self._lock:
            return bool(self._asked) and self._asked[0].wish.stop and not self._asked[0].wish.drain

    def serve(self, at_end: bool = False) -> None:
        """Nothing is under way: freeze what is wanted. ``at_end`` says that nothing will be, either
        because the sources have ended or because the job was stopped."""
        self._look()
        while self._asked:
            with self._lock:
                asked = self._asked[0]
                if asked.wish.drain and not at_end:
                    return
                self._asked.popleft()
            try:
                frozen = freeze(self._directory, asked.wish, self._graph)
            except BaseException as failure:
                asked.answer.set_exception(failure)
                continue
            if asked.wish.stop:
                self._stop()
            thread = threading.Thread(
                target=_complete, args=(frozen, asked.answer), name="scurry-savepoint"
            )
            thread.start()
            self._completing.append(thread)
        if not at_end and not self._asked:
            self._rescaling.serve()

    def close(self, failure: BaseException | None) -> None:
        """The job has ended: wait for savepoints under way, and refuse all others."""
        for thread in self._completing:
            thread.join()
        with self._lock:
            self._ended = True
            left, self._asked = list(self._asked), deque()
        for asked in left:
            refusal = JobError("The job has ended before the savepoint could be taken.")
            refusal.__cause__ = failure
            asked.answer.set_exception(refusal)


def _complete(frozen: Frozen, answer: Future[str]) -> None:
    if not frozen.wish.stop:
        give_way()
    try:
        answer.set_result(str(complete(frozen)))
    except BaseException as failure:
        answer.set_exception(failure)
