"""The operator of asynchronous functions.

Calls may go on while further batches and source partitions of the micro-batch are read, but all of
them end before the micro-batch does. So results leave in the micro-batch that read their records,
and are exactly once like everything else. An operator emits into the channel that is current. The
results of a partition therefore wait until its channel is the current one again.

Each record has a *rank*, and no result is emitted before all results of lower ranks. Within a rank
results are emitted in the order in which their calls ended. In ordered mode each record has a rank
of its own. In unordered mode the rank is that of the watermark in force: records between two
watermarks may overtake each other, but none overtakes a watermark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.functions.async_io import AsyncFunction, AsyncRetryStrategy
from scurry.functions.contexts import FunctionContext, RuntimeContext
from scurry.runtime.async_calls import AsyncCalls, Flight
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs
from scurry.runtime.picking import pick
from scurry.runtime.poison import PoisonGuard, emit_letters, stamp_at
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.stateless import FunctionOperator
from scurry.runtime.task_context import TaskContext
from scurry.state.states import StateDescriptor


class AsyncContext(FunctionContext):
    """Context of asynchronous functions: calls of many keys are under way, so no key is current."""

    def _refuse(self, state_descriptor: StateDescriptor) -> Any:
        raise ProgramError(
            f"Keyed state {state_descriptor.name!r} was asked for in {self._task_name!r} "
            f"(uid {self._uid!r}), an AsyncFunction, where no key is being processed. Keep state "
            "in a KeyedProcessFunction before or after it."
        )

    get_state = get_list_state = get_map_state = _refuse
    get_reducing_state = get_aggregating_state = _refuse


class RankedFlight(Flight):
    """The records of one batch, and which of their results have been emitted."""

    def __init__(self, batch: Batch, ranks: Longs, channel: str) -> None:
        super().__init__(batch.rows)
        #: the records as they came, which calls that fail may have changed
        self.came = batch.rows
        self.channel = channel
        self.batch = batch
        self._ranks = ranks
        self._ended = np.zeros(batch.size, dtype=bool)
        #: records whose calls have ended but whose turn has not come
        self._held = np.empty(0, dtype=np.int64)
        self._seen = 0
        self.lowest = int(ranks[0])
        self.left = batch.size

    def look(self) -> int:
        """Take note of calls that have ended since, and return the lowest rank of which some calls
        are still under way."""
        fresh = np.array(self.done[self._seen :], dtype=np.int64)
        self._seen += len(fresh)
        self._ended[fresh] = True
        self._held = np.concatenate((self._held, fresh))
        if self._seen == len(self.rows):
            return MAX_WATERMARK
        return int(self._ranks[np.argmin(self._ended)])

    def take(self, limit: int) -> tuple[Batch, list[int]]:
        """The results of records up to the rank ``limit`` that were not taken before, and which of
        these records failed."""
        ranks = self._ranks[self._held]
        due = ranks <= limit
        ready = self._held[due][np.argsort(ranks[due], kind="stable")]
        self._held = self._held[~due]
        self.left -= len(ready)
        results = pick(self.results, ready)
        counts = np.fromiter(map(len, results), dtype=np.int64, count=len(results))
        rows = list(chain.from_iterable(results))
        failed = [at for at in ready.tolist() if at in self.failures] if self.failures else []
        return self.batch.spread(rows, np.repeat(ready, counts)), failed


class AsyncWaitOperator(FunctionOperator):
    """Awaits an :class:`AsyncFunction` for each record, up to ``capacity`` of them at a time."""

    function: AsyncFunction[Any, Any]
    context_kind = AsyncContext
    holds_back = True

    def __init__(
        self,
        spec: OperatorSpec,
        function: AsyncFunction[Any, Any],
        timeout_ms: int,
        retry: AsyncRetryStrategy[Any],
        capacity: int,
        ordered: bool,
    ) -> None:
        super().__init__(spec, function)
        self._timeout_ms = timeout_ms
        self._retry = retry
        self._capacity = capacity
        self._ordered = ordered
        self._flights: list[RankedFlight] = []
        self._rank = 0
        self._mark = MIN_WATERMARK

    def open(self, context: TaskContext) -> None:
        self._calls = AsyncCalls(
            *(self.function, self._capacity, self._timeout_ms, self._retry),
            tolerant=self.spec.dead_letters,
            handover=context.handover,
        )
        group = context.report.metrics.group(self.spec).add_group("async")
        self._timeouts, self._retries = group.counter("timeouts"), group.counter("retries")
        group.gauge("most_at_once", self._most_at_once)
        super().open(context)

    def open_function(self, function: Any, runtime: RuntimeContext) -> None:
        try:
            self._calls.open(runtime)
        except BaseException:
            self._calls.abandon()
            raise

    def close(self) -> None:
        self._calls.close()

    def process(self, batch: Batch, port: int = 0) -> None:
        if not batch.size:
            return
        flight = RankedFlight(batch, self._ranks(batch), self.context.channel)
        if self.spec.dead_letters:
            flight.came = self.context.handover.own_all(batch.rows)
        self._flights.append(flight)
        self._wait(partial(self._calls.submit, flight))

    def flush(self) -> bool:
        if not self._of_this_channel():
            return False
        self._wait(self._calls.complete)
        return True

    def _of_this_channel(self) -> list[RankedFlight]:
        channel = self.context.channel
        return [flight for flight in self._flights if flight.channel == channel]

    def _wait(self, wait: Callable[[], None]) -> None:
        """Wait for calls, then emit the results whose turn has come."""
        try:
            wait()
        except Exception as failure:
            self._calls.abandon()
            raise self.failed(failure) from failure
        limit = MAX_WATERMARK
        for flight in self._of_this_channel():
            if flight.lowest > limit:
                break
            limit = min(limit, flight.look())
            results, failed = flight.take(limit)
            self._emit_conforming(results)
            if failed:
                self._emit_letters(flight, failed)
        self._flights = [flight for flight in self._flights if flight.left]

    def _emit_letters(self, flight: RankedFlight, failed: list[int]) -> None:
        guard, batch = PoisonGuard(self.spec, self.context), flight.batch
        letters = [
            guard.letter(flight.came[at], flight.failures.pop(at), stamp_at(batch.ts, at))
            for at in failed
        ]
        emit_letters(self, batch, letters, failed)

    def finish(self) -> None:
        calls = self._calls
        self._timeouts.inc(calls.timeouts)
        self._retries.inc(calls.retries)
        calls.timeouts = calls.retries = 0

    def _most_at_once(self) -> int:
        most, self._calls.most_at_once = self._calls.most_at_once, 0
        return most

    def _ranks(self, batch: Batch) -> Longs:
        first = self._rank
        if self._ordered:
            ranks = np.arange(first, first + batch.size, dtype=np.int64)
            self._rank += batch.size
            return ranks
        if batch.wm is None:
            return np.full(batch.size, first, dtype=np.int64)
        moved = np.diff(batch.wm, prepend=self._mark) != 0
        ranks = first + np.cumsum(moved, dtype=np.int64)
        self._rank, self._mark = int(ranks[-1]), int(batch.wm[-1])
        return ranks
