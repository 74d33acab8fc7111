"""Lookup joins whose keys are asked for one by one, many at a time.

All calls of a batch are under way together, up to the capacity. Rows go on in two waves: those
whose turn has come when few calls are left, so that what follows has work meanwhile, and the others
at the end. A row's turn comes when its call has ended, and those of all rows of a lower *rank*. In
ordered mode each row has a rank of its own; otherwise rows between two watermarks share one, and go
on in the order in which their calls ended.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.functions.async_io import NO_RETRY_STRATEGY, AsyncRetryStrategy
from scurry.functions.lookups import AwaitedLookup, LookupSettings
from scurry.runtime.async_calls import AsyncCalls, Flight
from scurry.runtime.async_io import AsyncContext
from scurry.runtime.batch import MAX_WATERMARK, Batch, Longs
from scurry.runtime.relational.lookup_join import LookupJoinOperator
from scurry.runtime.task_context import TaskContext

_UNDER_WAY = MAX_WATERMARK


class AsyncLookupJoinOperator(LookupJoinOperator):
    """Awaits the rows of each key."""

    _lookup: AwaitedLookup

    def open(self, context: TaskContext) -> None:
        settings = self._settings
        self._calls = AsyncCalls(
            *(self._lookup.awaited(), settings.capacity, settings.timeout_ms, _retry(settings)),
            handover=context.handover,
        )
        super().open(context)

    def start_user_function(self, function: Any) -> None:
        spec, place = self.spec, self.context.place
        runtime = AsyncContext(
            *(spec.name, spec.uid, place.index, spec.parallelism, place.max_parallelism),
            job_parameters=place.parameters,
            metrics=self.context.report.metrics.group(spec),
        )
        try:
            self._calls.open(runtime)
        except Exception as failure:
            self._calls.abandon()
            raise self.failed(failure) from failure

    def close(self) -> None:
        self._calls.close()
        super().close()

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys, places = self._asked(columns)
        flight = Flight(list(zip(*(key.to_pylist() for key in keys), strict=True)))
        ended = np.full(batch.size, -1, dtype=np.int64)
        ended[places] = _UNDER_WAY
        ranks, sent = self._ranks(batch), np.zeros(batch.size, dtype=bool)
        for wait in (partial(self._calls.submit, flight), self._calls.complete):
            self._wait(wait)
            done = np.array(list(flight.done), dtype=np.int64)
            ended[places[done]] = np.arange(len(done))
            waiting = ended == _UNDER_WAY
            limit = ranks[waiting].min() if waiting.any() else MAX_WATERMARK
            ready = np.flatnonzero(~sent & ~waiting & (ranks <= limit))
            sent[ready] = True
            ready = ready[np.lexsort((ended[ready], ranks[ready]))]
            self._send(batch, columns, *self._found_for(flight, places, ready), ready)

    def _wait(self, wait: Callable[[], None]) -> None:
        try:
            wait()
        except Exception as failure:
            self._calls.abandon()
            raise self.failed(failure) from failure

    def _found_for(
        self, flight: Flight, places: Longs, ready: Longs
    ) -> tuple[pa.RecordBatch, Longs]:
        """The rows that were found for some records, and the record of each."""
        calls = np.full(int(ready.max(initial=-1)) + 1, -1, dtype=np.int64)
        near = places < len(calls)
        calls[places[near]] = np.flatnonzero(near)
        rows: list[Any] = []
        origin: list[int] = []
        for record, call in zip(ready.tolist(), calls[ready].tolist(), strict=True):
            if call >= 0:
                (found,) = flight.results[call]
                rows += found
                origin += [record] * len(found)
        return self._lookup.columns_of(rows), np.array(origin, dtype=np.int64)

    def _ranks(self, batch: Batch) -> Longs:
        if self._settings.ordered:
            return np.arange(batch.size)
        if batch.wm is None:
            return np.zeros(batch.size, dtype=np.int64)
        return np.cumsum(np.diff(batch.wm, prepend=batch.wm[:1]) != 0, dtype=np.int64)


def _retry(settings: LookupSettings) -> AsyncRetryStrategy[Any]:
    if not settings.retries:
        return NO_RETRY_STRATEGY
    return AsyncRetryStrategy.fixed_delay(settings.retries, settings.delay_ms, _nothing, None)


def _nothing(result: list[Any]) -> bool:
    """Whether no row was found."""
    return not result[0]
