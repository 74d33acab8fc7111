"""Coroutines of a user function, so many at a time, in an event loop of their own.

The loop turns in a thread beside the task's: while the task reads on, or hands on results, calls
make progress and their time limits mean what they say. The two meet once per batch, not once per
record: the task hands over a :class:`Flight` of records, and waits until few enough calls are left.

There is no asyncio task per record. A fixed number of *workers*, as many as the capacity, take
records one after the other, so a slow call holds up one worker and nobody else. Time limits cost
no timer per record either: as all calls have the same limit, one timer looks at the workers when
the oldest call could be due.
"""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from scurry.common.errors import TypeMismatchError
from scurry.functions.async_io import AsyncFunction, AsyncRetryStrategy
from scurry.functions.contexts import RuntimeContext
from scurry.runtime.failures import ElementFailed
from scurry.runtime.handover import COPYING, Handover


class Flight:
    """Records handed over together. The loop fills in ``results``, then notes in ``done`` which
    record it was, so that whoever reads ``done`` first sees complete results."""

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows
        self.results: list[Any] = [None] * len(rows)
        #: what calls have raised, by record, if that does not end everything
        self.failures: dict[int, Exception] = {}
        self.done: list[int] = []


class _Worker:
    """Makes one call at a time; ``since`` is when it began, None if there is nothing to watch."""

    __slots__ = ("expired", "since", "task")

    def __init__(self) -> None:
        self.task: asyncio.Task[None]
        self.since: float | None = None
        self.expired = False


class AsyncCalls:
    """The calls of one function instance."""

    def __init__(
        self,
        function: AsyncFunction[Any, Any],
        capacity: int,
        timeout_ms: int,
        retry: AsyncRetryStrategy[Any],
        tolerant: bool = False,
        handover: Handover = COPYING,
    ) -> None:
        self._function = function
        self._tolerant = tolerant
        self._handover = handover
        self._capacity = capacity
        self._timeout = timeout_ms / 1000
        self._retry = retry
        predicate = retry.get_retry_predicate()
        self._bad_result = predicate.result_predicate()
        self._passing = predicate.exception_predicate()
        repeats = self._bad_result is not None or self._passing is not None
        self._call = self._attempts if repeats else function.async_invoke
        self._todo: deque[tuple[Flight, int]] = deque()
        self._workers: set[_Worker] = set()
        self._sweep_at: asyncio.TimerHandle | None = None
        #: records handed over whose results are not there yet
        self._open = 0
        self._failure: BaseException | None = None
        self._waiting: Future[None] | None = None
        self._enough = -1
        #: what there is to count
        self.timeouts = self.retries = self.most_at_once = 0
        self._loop = asyncio.new_event_loop()
        self._loop_ended = _start(self._loop)
        self._last = weakref.finalize(self, _abandon, self._loop, function)
        self._last.atexit = False

    # -- called by the task

    def open(self, runtime_context: RuntimeContext) -> None:
        """Open the function, in the loop."""
        opening = _settled(self._function.open, runtime_context)
        asyncio.run_coroutine_threadsafe(opening, self._loop).result()

    def close(self) -> None:
        """Close the function, then the loop."""
        if self._last.detach() is None:
            return
        try:
            closing = _settled(self._function.close)
            asyncio.run_coroutine_threadsafe(closing, self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop_ended.wait()

    def abandon(self) -> None:
        """Have the function and the loop closed, without waiting for it: there was a failure."""
        self._last()

    def submit(self, flight: Flight) -> None:
        """Hand records over; returns once there is work for one more round of calls at most.
        Raises :class:`ElementFailed` if any call has failed."""
        self._meet(self._accept, flight)

    def complete(self) -> None:
        """Returns once all calls have ended; raises as :meth:`submit` does."""
        self._meet(self._until, 0)

    def _meet(self, what: Callable[[Any], None], argument: Any) -> None:
        waiting: Future[None] = Future()

        def meet() -> None:
            self._waiting = waiting
            what(argument)

        self._loop.call_soon_threadsafe(meet)
        waiting.result()

    # -- called in the loop

    def _accept(self, flight: Flight) -> None:
        self._todo.extend([(flight, at) for at in range(len(flight.rows))])
        self._open += len(flight.rows)
        for _ in range(min(self._capacity - len(self._workers), len(self._todo))):
            worker = _Worker()
            self._workers.add(worker)
            worker.task = self._loop.create_task(self._work(worker))
        self.most_at_once = max(self.most_at_once, len(self._workers))
        if self._timeout > 0 and self._sweep_at is None:
            self._sweep_at = self._loop.call_later(self._timeout, self._sweep)
        self._until(2 * self._capacity)

    def _until(self, enough: int) -> None:
        self._enough = enough
        if self._failure is not None or self._open <= enough:
            self._wake()

    def _wake(self) -> None:
        self._enough = -1
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            return
        if self._failure is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(self._failure)

    async def _work(self, worker: _Worker) -> None:
        todo, now, call = self._todo, self._loop.time, self._call
        own_all = self._handover.own_all
        value: Any = None
        try:
            while todo:
                flight, at = todo.popleft()
                value = flight.rows[at]
                worker.since = now()
                try:
                    try:
                        result = await call(value)
                    except BaseException:
                        if not worker.expired:
                            raise
                    if worker.expired:
                        result = await self._too_late(worker, value)
                    if type(result) is not list:
                        result = _as_list(result, self._function)
                    result = own_all(result)
                except Exception as failure:
                    if not self._tolerant:
                        raise
                    flight.failures[at], result = failure, []
                flight.results[at] = result
                flight.done.append(at)
                self._open -= 1
                if self._open <= self._enough:
                    self._wake()
        except BaseException as failure:
            self._fail(value, failure)
        finally:
            self._leave(worker)

    def _leave(self, worker: _Worker) -> None:
        self._workers.discard(worker)
        if not self._workers and self._sweep_at is not None:
            # the timer must not keep alive what nobody uses any more
            self._sweep_at.cancel()
            self._sweep_at = None

    async def _too_late(self, worker: _Worker, value: Any) -> Any:
        worker.since, worker.expired = None, False
        worker.task.uncancel()
        self.timeouts += 1
        return await _settled(self._function.timeout, value)

    async def _attempts(self, value: Any) -> Any:
        """The outcome of a call and of its repetitions."""
        invoke, strategy = self._function.async_invoke, self._retry
        attempts = 1
        while True:
            try:
                result = await invoke(value)
                again = self._bad_result is not None and self._bad_result(result)
                if not (again and strategy.can_retry(attempts)):
                    return result
            except Exception as failure:
                again = self._passing is not None and self._passing(failure)
                if not (again and strategy.can_retry(attempts)):
                    raise
            self.retries += 1
            await asyncio.sleep(strategy.get_backoff_time_millis(attempts) / 1000)
            attempts += 1

    def _sweep(self) -> None:
        """Cancel the calls whose time is up, and come back when the next may be due."""
        now = self._loop.time()
        oldest = math.inf
        for worker in self._workers:
            if worker.since is None:
                continue
            if now - worker.since >= self._timeout:
                worker.since, worker.expired = None, True
                worker.task.cancel()
            else:
                oldest = min(oldest, worker.since)
        self._sweep_at = None
        if self._workers:
            when = min(oldest, now) + self._timeout
            self._sweep_at = self._loop.call_at(when, self._sweep)

    def _fail(self, value: Any, failure: BaseException) -> None:
        if self._failure is not None:
            return
        self._failure = ElementFailed(value)
        self._failure.__cause__ = failure
        self._todo.clear()
        for worker in self._workers:
            worker.task.cancel()
        self._wake()


def _as_list(result: Any, function: AsyncFunction[Any, Any]) -> list[Any]:
    if isinstance(result, Iterable) and not isinstance(result, (str, bytes)):
        return list(result)
    raise TypeMismatchError(
        f"{type(function).__name__} returned {result!r} ({type(result).__name__}); async_invoke "
        "and timeout must return a list of elements, an empty one for none"
    )


async def _settled(method: Callable[..., Any], *arguments: Any) -> Any:
    """What ``method`` returns, awaited if it is a coroutine."""
    result = method(*arguments)
    return await _of(result) if inspect.isawaitable(result) else result


async def _of(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _start(loop: asyncio.AbstractEventLoop) -> threading.Event:
    """Let ``loop`` turn in a thread; the event is set when it has ended."""
    ended = threading.Event()

    def turn() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()
            ended.set()

    threading.Thread(target=turn, name="scurry-async", daemon=True).start()
    return ended


def _abandon(loop: asyncio.AbstractEventLoop, function: AsyncFunction[Any, Any]) -> None:
    """Close an instance that will not be used any more; it failed, or nobody refers to it."""

    async def end() -> None:
        with suppress(Exception):  # the failure before it is the one to be told
            await _settled(function.close)
        loop.stop()

    if not loop.is_closed():
        asyncio.run_coroutine_threadsafe(end(), loop)
