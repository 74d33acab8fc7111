"""Keyed functions of Scurry's own that take whole batches, and how they are led through time.

A keyed function is called for each element and for each timer. One that only puts elements in the
order of time need not be: of the elements of a batch most are *due* when the batch ends, since the
watermark has passed them by then, and those need neither state nor a timer. So the function is
given all that is due at once, with the timers that are. What it emits goes into the same places of
the stream, and in the same order, as if it were called for one time after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from scurry.common.keys import thaw
from scurry.functions.dead_letters import DEAD_LETTERS
from scurry.runtime.batch import NO_TIMESTAMP, Batch, Longs
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import ElementFailed, explained
from scurry.runtime.keyed_context import KeyedContext, KeyedTimerService
from scurry.runtime.keyed_state import store_of
from scurry.runtime.operator import Clock, Operator
from scurry.runtime.poison import PoisonGuard
from scurry.runtime.timers import TimerQueue
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.table import addresses

#: The times of timers that have fired, by key.
Woken = dict[Any, list[int]]


class Emitted(NamedTuple):
    """What a key emits at a time. ``record`` is the place in the batch of the element that is the
    cause, which counts in processing time only; -1 if a timer is."""

    time: int
    key: Any
    record: int
    values: list[Any]


class Visit(Protocol):
    """By which a function says whom it deals with."""

    timers: KeyedTimerService
    #: the context of a call for the key; in a broadcast function it knows broadcast state
    context: KeyedContext

    def enter(self, key: Any) -> None:
        """From now on states and timers are those of ``key``."""

    def at(self, time: int) -> None:
        """From now on it is ``time``; to be said before anything of the user's is called."""

    def failed(self, element: Any, failure: Exception, time: int) -> list[Any]:
        """Something of the user's has failed on an element: what is emitted instead, if dead
        letters are wanted. Raises otherwise."""

    def prefetch(self, keys: list[Any]) -> None:
        """Have state of keys read at once; to be said before the first of them is entered."""

    def warn(self, text: str) -> None:
        """Tell whoever runs the job."""


class BatchedFunction(ABC):
    """A keyed function that is given whole batches, and not called for single elements."""

    @abstractmethod
    def by_event_time(self) -> bool:
        """Whether elements are due when the watermark has passed them, or when they come."""

    @abstractmethod
    def without_time(self) -> Exception:
        """What is wrong if elements have no timestamps, and need them."""

    @abstractmethod
    def late(self, value: Any) -> list[Any]:
        """What is emitted for an element that the watermark has passed before it came."""

    @abstractmethod
    def keep(self, batch: Batch, visit: Visit) -> None:
        """Keep elements that are not yet due, each with a timer at its time."""

    @abstractmethod
    def lead(
        self, due: Batch, times: Longs, woken: Woken, until: int, visit: Visit
    ) -> Iterable[Emitted]:
        """Elements are due, each at its time, and timers. Time has passed up to ``until``. What a
        key emits is in order."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        """Never called."""
        raise AssertionError("it is given whole batches")


class BatchedCalls:
    """Calls a :class:`BatchedFunction` for an operator."""

    def __init__(
        self,
        operator: Operator,
        function: BatchedFunction,
        scope: KeyScope,
        context: KeyedContext,
        clock: Clock,
        timers: KeyedTimerService,
    ) -> None:
        self._operator = operator
        self._function = function
        self._scope = scope
        self.context = context
        self._clock = clock
        self.timers = timers
        self._event_time = function.by_event_time()
        self._groups = operator.context.place.max_parallelism
        guarded = operator.spec.dead_letters
        self._guard = PoisonGuard(operator.spec, operator.context) if guarded else None

    # --- whom the function deals with, see Visit

    def enter(self, key: Any) -> None:
        """From now on states and timers are those of ``key``."""
        self._scope.key = key

    def at(self, time: int) -> None:
        """From now on it is ``time``."""
        self.context._timestamp = time
        if self._event_time:
            self._clock.watermark = time

    def failed(self, element: Any, failure: Exception, time: int) -> list[Any]:
        """A dead letter for an element, if one is wanted."""
        self.at(time)
        if self._guard is None:
            raise failure if element is None else ElementFailed(element) from failure
        key = thaw(self._scope.key)
        return [(DEAD_LETTERS, self._guard.letter(element, failure, time, key))]

    def prefetch(self, keys: list[Any]) -> None:
        """Have state of keys read at once."""
        store_of(self._operator.context).prefetch(self._operator.spec.uid, keys)

    def warn(self, text: str) -> None:
        """Tell whoever runs the job."""
        spec = self._operator.spec
        self._operator.context.report.warn(f"{spec.name!r} ({spec.location}): {text}")

    # --- batches

    def process(self, batch: Batch) -> None:
        """Handle the records of a batch, and the timers that these make due."""
        if not batch.size:
            return
        clock = self._clock
        marks = np.full(batch.size, clock.watermark) if batch.wm is None else batch.wm
        passed = np.maximum.accumulate(np.maximum(marks, clock.watermark))
        if self._event_time:
            self._by_watermark(batch, passed)
        else:
            self._as_they_come(batch)
        clock.watermark = int(passed[-1])

    def advance(self, watermark: int) -> None:
        """Fire the event-time timers that are due at ``watermark``."""
        if self._event_time:
            self._emit(None, None, (), self._led(_EMPTY, self.timers.event, watermark))

    def fire_by_clock(self, until: int) -> None:
        """Fire the processing-time timers that are due."""
        if self._event_time or self.timers.processing.next_due > until:
            return
        found = self._led(_EMPTY, self.timers.processing, until)
        output, before = self.context.collect(Emissions()), self._clock.watermark
        for one in found:
            output.fired.append((one.time, before, before))
            self._add(output, -len(output.fired), one.values)
        self._operator.emit_tagged(output.batch(None))

    def _by_watermark(self, batch: Batch, passed: Longs) -> None:
        if batch.ts is None or (batch.ts == NO_TIMESTAMP).any():
            raise self._operator.failed(self._function.without_time(), batch.rows[0])
        until = int(passed[-1])
        late = batch.ts <= passed
        later = np.flatnonzero(batch.ts > until)
        if len(later):
            kept = batch if len(later) == batch.size else batch.take(later)
            self._function.keep(kept, self)
        due = batch.take(np.flatnonzero(~late & (batch.ts <= until)))
        found = self._led(due, self.timers.event, until)
        self._emit(batch, passed, np.flatnonzero(late).tolist(), found)

    def _as_they_come(self, batch: Batch) -> None:
        """In processing time."""
        now = self._clock.now
        times = np.full(batch.size, now, dtype=np.int64)
        found = sorted(self._asked(batch, times, {}, now), key=lambda one: one.record)
        output = self.context.collect(Emissions())
        for one in found:
            self._add(output, one.record, one.values)
        self._operator.emit_tagged(output.batch(batch))

    def _led(self, due: Batch, timers: TimerQueue, until: int) -> list[Emitted]:
        """Have the function led up to a time; what it emits is in the order of time and key."""
        woken: Woken = {}
        while timers.next_due <= until and (timer := timers.pop_due(until)) is not None:
            woken.setdefault(timer[1], []).append(timer[0])
        found: list[Emitted] = []
        if due.size or woken:
            assert due.ts is not None
            found = self._asked(due, due.ts, woken, until)
        names = list(dict.fromkeys(one.key for one in found))
        places = dict(zip(names, addresses(names, self._groups), strict=True))
        found.sort(key=lambda one: (one.time, places[one.key]))
        return found

    def _asked(self, due: Batch, times: Longs, woken: Woken, until: int) -> list[Emitted]:
        before = self._clock.watermark
        try:
            found = list(self._function.lead(due, times, woken, until, self))
        except ElementFailed as failure:
            cause = failure.__cause__
            assert isinstance(cause, Exception)
            raise self._operator.failed(
                explained(cause, self._function), failure.element
            ) from cause
        except Exception as failure:
            what = f"timer at {self.context._timestamp} of key {thaw(self._scope.key)!r}"
            raise self._operator.failed(explained(failure, self._function), what) from failure
        self._clock.watermark = before
        return found

    # --- what is emitted

    def _emit(
        self, batch: Batch | None, passed: Longs | None, late: Iterable[int], found: list[Emitted]
    ) -> None:
        """Emit what has happened at some times, each before the record whose watermark made it due,
        and between that what is emitted for late records."""
        output = self.context.collect(Emissions())
        coming = iter([*found, None])
        one = next(coming)
        for at in late:
            assert batch is not None
            assert passed is not None
            while one is not None and one.time <= passed[at]:
                self._fired(output, one)
                one = next(coming)
            self._add(output, at, self._function.late(batch.rows[at]))
        while one is not None:
            self._fired(output, one)
            one = next(coming)
        self._operator.emit_tagged(output.batch(batch))

    def _fired(self, output: Emissions, one: Emitted) -> None:
        output.fired_at(one.time, self._clock.watermark)
        self._add(output, -len(output.fired), one.values)

    def _add(self, output: Emissions, source: int, values: list[Any]) -> None:
        output.values += values
        output.source.append(source)
        output.ends.append(len(output.values))


_EMPTY = Batch([], keys=[], ts=np.zeros(0, dtype=np.int64))
