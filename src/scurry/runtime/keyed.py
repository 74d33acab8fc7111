"""Operators on keyed streams: state and timers of the key being processed.

The hot loops live here. They differ in what they have to keep track of: with no event time in the
job there is no watermark to compare with and no place to remember, and the loop is as short as
Python allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from sys import getrefcount
from typing import Any

import numpy as np

from scurry.common.copies import ALONE, FIXED, own
from scurry.common.keys import thaw
from scurry.common.types import Row
from scurry.functions.contexts import TimeDomain
from scurry.functions.dead_letters import DeadLetter
from scurry.functions.process import KeyedProcessFunction
from scurry.functions.transforms import ReduceFunction
from scurry.runtime.batch import MAX_WATERMARK, NO_TIMESTAMP, Batch, Longs, origins
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import explained
from scurry.runtime.keyed_batches import BatchedCalls, BatchedFunction
from scurry.runtime.keyed_context import KeyedContext, KeyedTimerService, state_clock
from scurry.runtime.keyed_state import KeyedRuntimeContext, store_of
from scurry.runtime.operator import Clock, Operator, by_port
from scurry.runtime.poison import PoisonGuard, flat_map_guarded
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.timers import TimerQueue
from scurry.state.codecs.encoding import NULL
from scurry.state.tables.key_scope import NO_KEY, KeyScope
from scurry.state.tables.table import MISSING, StateTable, address

#: A method of a user's function: takes a value and a context.
Call = Callable[[Any, Any], Any]


class KeyedFunctionOperator(Operator):
    """A user function with the state and timers of a key: its life cycle, its timers, its loops.

    Operators below say which of the function's methods a record is for.
    """

    state_kind = "keyed states of a function"

    def __init__(self, spec: OperatorSpec, function: Any) -> None:
        super().__init__(spec)
        self._function = function
        self._scope = KeyScope()

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._clock = Clock()
        self._timers = KeyedTimerService(self.spec, context, self._scope, self._clock)
        clock = state_clock(self._clock, lambda: self._context.timestamp())
        self._state = KeyedRuntimeContext(self.spec, context, self._scope, clock)
        self._context = self._make_context()
        self._context._own = context.handover.own
        self._on_timer: Call = self._function.on_timer
        if self.spec.dead_letters:
            self._on_timer = self._guarded(self._function.on_timer, timer=True)
        #: gives the function whole batches, if it is of that kind
        self._batches: BatchedCalls | None = None
        if isinstance(self._function, BatchedFunction):
            self._batches = BatchedCalls(
                self, self._function, self._scope, self._context, self._clock, self._timers
            )
        self.start_function(self._function, self._state)

    @property
    def _emits_own(self) -> bool:
        return not self.context.handover.reuse

    def _make_context(self) -> KeyedContext:
        return KeyedContext(self._scope, self._timers)

    def begin(self, watermark: int) -> None:
        """Fires the processing-time timers that became due before this micro-batch."""
        self._clock.now = self.context.now
        self._clock.watermark = watermark
        self._timers.event.begin()
        self._timers.processing.begin()
        if self._batches is not None:
            self._batches.fire_by_clock(self._clock.now)
        elif self._timers.processing.next_due <= self._clock.now:
            output = self._context.collect(Emissions())
            self._fire(self._timers.processing, self._clock.now, output)
            self._flush(output, None)

    def _run(self, batch: Batch, calls: list[Call]) -> None:
        """Call ``calls[i]`` with record i and the context, for all records in order."""
        assert batch.keys is not None
        store_of(self.context).prefetch(self.spec.uid, batch.keys)
        if self.spec.dead_letters:
            made = {call: self._guarded(call) for call in set(calls)}
            calls = [made[call] for call in calls]
        if batch.wm is None:
            self._run_unmarked(batch, calls)
        else:
            self._run_timed(batch, calls)

    def _guarded(self, call: Call, timer: bool = False) -> Call:
        guard, context, scope = PoisonGuard(self.spec, self.context), self._context, self._scope

        def letter(value: Any, failure: Exception) -> DeadLetter:
            if timer:
                return guard.letter(None, failure, value, thaw(scope.key))
            return guard.letter(value, failure, context._timestamp)

        return guard.around(call, lambda: context._values, letter)

    def _run_unmarked(self, batch: Batch, calls: list[Call]) -> None:
        """Where no watermark comes with the records, no timer is due before the last of them."""
        assert batch.keys is not None
        scope, context = self._scope, self._context
        values: list[Any] = []
        context._values = values
        ends: list[int] = []
        append, end = values.append, ends.append
        placed, reuse = batch.tick is not None or batch.ts is not None, self.context.handover.reuse
        context._tagged = odd = reuse
        stamps = repeat(None) if batch.ts is None else _stamps(batch.ts)
        value = None
        try:
            # the stamps, which may have no end, come last
            records = zip(batch.keys, batch.rows, calls, stamps, strict=False)
            for scope.key, value, call, context._timestamp in records:
                result = call(value, context)
                if result is not None:
                    if reuse:
                        values.extend(result)
                    else:
                        # what handover.take does, without a call
                        for out in result:
                            if type(out) is tuple:
                                for part in out:
                                    if type(part) not in FIXED:
                                        out, odd = own(out), True
                                        break
                            elif type(out) is Row and getrefcount(out) <= ALONE:
                                for part in out._values:
                                    if type(part) not in FIXED:
                                        out = own(out)
                                        break
                            elif type(out) not in FIXED:
                                out = own(out)
                            append(out)
                if placed:
                    end(len(values))
        except Exception as failure:
            raise self.failed(explained(failure, self._function), value) from failure
        untagged = not (odd or context._tagged)
        if placed:
            self.emit_tagged(batch.spread(values, origins(ends)), untagged)
        else:
            self.emit_tagged(Batch(values), untagged)

    def _run_timed(self, batch: Batch, calls: list[Call]) -> None:
        assert batch.keys is not None
        assert batch.wm is not None
        scope, context, clock = self._scope, self._context, self._clock
        timers, reuse = self._timers.event, self.context.handover.reuse
        output = context.collect(Emissions())
        values, source, ends = output.values, output.source, output.ends
        append = values.append
        context._tagged = odd = reuse
        stamps = [NO_TIMESTAMP] * batch.size if batch.ts is None else batch.ts.tolist()
        watermarks = batch.wm.tolist()
        at, value = -1, None
        try:
            for at, (key, value, stamp, watermark, call) in enumerate(
                zip(batch.keys, batch.rows, stamps, watermarks, calls, strict=True)
            ):
                if watermark > clock.watermark:
                    if timers.next_due <= watermark:
                        self._fire(timers, watermark, output)
                    clock.watermark = watermark
                scope.key = key
                context._timestamp = None if stamp == NO_TIMESTAMP else stamp
                result = call(value, context)
                if result is not None:
                    if reuse:
                        values.extend(result)
                    else:
                        # again what handover.take does
                        for out in result:
                            if type(out) is tuple:
                                for part in out:
                                    if type(part) not in FIXED:
                                        out, odd = own(out), True
                                        break
                            elif type(out) is Row and getrefcount(out) <= ALONE:
                                for part in out._values:
                                    if type(part) not in FIXED:
                                        out = own(out)
                                        break
                            elif type(out) not in FIXED:
                                out = own(out)
                            append(out)
                source.append(at)
                ends.append(len(values))
        except Exception as failure:
            raise self.failed(explained(failure, self._function), value) from failure
        output.untagged = not (odd or context._tagged or output.fired)
        self._flush(output, batch)

    def advance(self, watermark: int) -> None:
        clock = self._clock
        if watermark <= clock.watermark:
            return
        if self._batches is not None:
            self._advance_batches(self._batches, watermark)
            return
        output = self._context.collect(Emissions())
        if self._timers.event.next_due <= watermark:
            self._fire(self._timers.event, watermark, output)
        clock.watermark = watermark
        if self.spec.batch and watermark == MAX_WATERMARK:
            clock.now = MAX_WATERMARK
            self._fire(self._timers.processing, MAX_WATERMARK - 1, output)
        self._flush(output, None)

    def _advance_batches(self, batches: BatchedCalls, watermark: int) -> None:
        batches.advance(watermark)
        self._clock.watermark = watermark
        if self.spec.batch and watermark == MAX_WATERMARK:
            self._clock.now = MAX_WATERMARK
            batches.fire_by_clock(MAX_WATERMARK - 1)

    def _fire(self, timers: TimerQueue, until: int, output: Emissions) -> None:
        """Call ``on_timer`` for all that is due, also for what these calls register."""
        scope, context, clock = self._scope, self._context, self._clock
        on_timer, values, take = self._on_timer, output.values, self.context.handover.take
        event_time = timers is self._timers.event
        context._domain = TimeDomain.EVENT_TIME if event_time else TimeDomain.PROCESSING_TIME
        before = clock.watermark
        while timers.next_due <= until and (due := timers.pop_due(until)) is not None:
            time, scope.key = due
            context._timestamp = time
            if event_time:
                # the function sees the watermark that made the timer due; downstream, what it
                # emits comes before that watermark
                if time > clock.watermark:
                    clock.watermark = time
                output.fired_at(time, before)
            else:
                output.fired.append((time, before, before))
            output.source.append(-len(output.fired))
            try:
                result = on_timer(time, context)
                if result is not None:
                    take(values, result)
            except Exception as failure:
                what = f"timer at {time} of key {thaw(scope.key)!r}"
                raise self.failed(explained(failure, self._function), what) from failure
            output.ends.append(len(values))

    def _flush(self, output: Emissions, batch: Batch | None) -> None:
        self.emit_tagged(output.batch(batch), output.untagged)

    def snapshot(self) -> None:
        self._scope.key = NO_KEY
        super().snapshot()

    def close(self) -> None:
        self._scope.key = NO_KEY
        self._function.close()


class KeyedProcessOperator(KeyedFunctionOperator):
    """Runs a :class:`KeyedProcessFunction`."""

    _function: KeyedProcessFunction

    def process(self, batch: Batch, port: int = 0) -> None:
        if self._batches is not None:
            self._batches.process(batch)
        else:
            self._run(batch, [self._function.process_element] * batch.size)


class KeyedCoProcessOperator(KeyedFunctionOperator):
    """Runs a function with a method for each of two keyed inputs."""

    two_inputs = True

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        function = self._function
        self._run(batch, by_port(ports, function.process_element1, function.process_element2))


class ReduceOperator(Operator):
    """Rolling reduce: emits the reduced value of the key after each element."""

    state_kind = "reduced values"

    def __init__(self, spec: OperatorSpec, function: ReduceFunction) -> None:
        super().__init__(spec)
        self._function = function

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._table: StateTable = store_of(context).table(self.spec.uid, "reduced", bulk=True)
        self._scope = KeyScope()
        self._state = KeyedRuntimeContext(self.spec, context, self._scope)
        self.start_function(self._function, self._state)

    def _keys(self, batch: Batch) -> Iterable[Any]:
        """The key of each record; while a record is handled its key is the current one, if the
        function has state of its own."""
        assert batch.keys is not None
        return self._entered(batch.keys) if self._state.used else batch.keys

    def _entered(self, keys: Iterable[Any]) -> Iterator[Any]:
        scope = self._scope
        for scope.key in keys:
            yield scope.key
        scope.key = NO_KEY

    def process(self, batch: Batch, port: int = 0) -> None:
        assert batch.keys is not None
        store_of(self.context).prefetch(self.spec.uid, batch.keys)
        live, dirty, load = self._table.live, self._table.dirty, self._table.load
        reduce = self._function.reduce
        if self.spec.dead_letters:
            self._process_guarded(batch)
            return
        values: list[Any] = []
        own = self.context.handover.own
        value = None
        try:
            for key, value in zip(self._keys(batch), batch.rows, strict=True):
                held = live.get(key, MISSING)
                if held is MISSING:
                    held = load(key)
                if held is NULL:
                    reduced = reduce(None, value)
                else:
                    reduced = value if held is None else reduce(held, value)
                live[key] = NULL if reduced is None else reduced
                dirty[key] = None
                if type(reduced) is tuple:
                    for part in reduced:
                        if type(part) not in FIXED:
                            reduced = own(reduced)
                            break
                elif type(reduced) not in FIXED:
                    reduced = own(reduced)
                values.append(reduced)
        except Exception as failure:
            raise self.failed(failure, value) from failure
        if not self.spec.batch:
            self.emit(batch.with_rows(values))

    def advance(self, watermark: int) -> None:
        """In batch execution the last value of each key is the result, at the end of all time."""
        if self.spec.batch and watermark == MAX_WATERMARK:
            groups = self.context.place.max_parallelism
            found = sorted(self._table.items(), key=lambda item: address(item[0], groups))
            ends = np.full(len(found), MAX_WATERMARK, dtype=np.int64)
            self.emit(Batch([None if held is NULL else held for _, held in found], ts=ends))

    def _process_guarded(self, batch: Batch) -> None:
        keys = iter(self._keys(batch))
        table = self._table

        def reduced(value: Any) -> tuple[Any, ...]:
            key = next(keys)
            held = table.live.get(key, MISSING)
            if held is MISSING:
                held = table.load(key)
            first = held is None
            held = None if held is NULL else held
            result = value if first else self._function.reduce(held, value)
            table.live[key] = NULL if result is None else result
            table.dirty[key] = None
            return () if self.spec.batch else (self.context.handover.own(result),)

        flat_map_guarded(self, batch, reduced)

    def close(self) -> None:
        self._function.close()


def _stamps(ts: Longs) -> list[int | None]:
    """Timestamps as functions see them."""
    found: list[int | None] = ts.tolist()
    if (ts == NO_TIMESTAMP).any():
        found = [None if stamp == NO_TIMESTAMP else stamp for stamp in found]
    return found
