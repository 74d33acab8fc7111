"""Operators on keyed streams: state and timers of the key being processed.

The hot loops live here. They differ in what they have to keep track of: with no event time in the
job there is no watermark to compare with and no place to remember, and the loop is as short as
Python allows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.common.keys import thaw
from scurry.functions.contexts import TimeDomain, TimerService
from scurry.functions.output_tag import OutputTag
from scurry.functions.process import KeyedProcessFunction, TimerContext
from scurry.functions.transforms import ReduceFunction
from scurry.runtime.batch import MIN_WATERMARK, NO_TIMESTAMP, TIMER_TICK, Batch, origins
from scurry.runtime.keyed_state import KeyedRuntimeContext, store_of
from scurry.runtime.operator import Clock, Operator, TaskContext
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.timers import TimerQueue
from scurry.state.encoding import NULL
from scurry.state.slot_store import SlotStore
from scurry.state.table import MISSING, KeyScope, StateTable
from scurry.state.ttl import StateClock


class KeyedTimerService(TimerService):
    """Timers of the current key, and the clocks of the task."""

    def __init__(
        self, spec: OperatorSpec, task: TaskContext, scope: KeyScope, clock: Clock
    ) -> None:
        self._clock = clock
        self._scope = scope
        store = store_of(task)
        self.event = _queue(store, f"{spec.uid}\x1f#event-timers")
        self.processing = _queue(store, f"{spec.uid}\x1f#processing-timers")

    def current_processing_time(self) -> int:
        return self._clock.now

    def current_watermark(self) -> int:
        return self._clock.watermark

    def register_event_time_timer(self, timestamp: int) -> None:
        self.event.register(_checked(timestamp), self._scope.key)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self.processing.register(_checked(timestamp), self._scope.key)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self.event.delete(_checked(timestamp), self._scope.key)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self.processing.delete(_checked(timestamp), self._scope.key)


class KeyedContext(TimerContext):
    """Context of both ``process_element`` and ``on_timer``; one object for all calls."""

    __slots__ = ("_domain", "_scope", "_timers", "_timestamp", "_values")

    def __init__(self, scope: KeyScope, timers: KeyedTimerService) -> None:
        self._scope = scope
        self._timers = timers
        self._timestamp: int | None = None
        self._domain = TimeDomain.EVENT_TIME
        self._values: list[Any] = []

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int | None:
        return self._timestamp

    def get_current_key(self) -> Any:
        return thaw(self._scope.key)

    def time_domain(self) -> TimeDomain:
        return self._domain

    def output(self, tag: OutputTag, value: Any) -> None:
        if not isinstance(tag, OutputTag):
            raise ProgramError(f"ctx.output needs an OutputTag as its first argument, got {tag!r}.")
        self._values.append((tag, value))


class KeyedProcessOperator(Operator):
    """Runs a :class:`KeyedProcessFunction`."""

    def __init__(self, spec: OperatorSpec, function: KeyedProcessFunction) -> None:
        super().__init__(spec)
        self._function = function

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._scope = KeyScope()
        self._clock = Clock()
        self._timers = KeyedTimerService(self.spec, context, self._scope, self._clock)
        self._context = KeyedContext(self._scope, self._timers)
        try:
            self._function.open(
                KeyedRuntimeContext(self.spec, context, self._scope, self._state_clock())
            )
        except Exception as failure:
            raise self.failed(failure) from failure

    def _state_clock(self) -> StateClock:
        clock = self._clock
        return StateClock(
            now=lambda: clock.now,
            watermark=lambda: None if clock.watermark == MIN_WATERMARK else clock.watermark,
            timestamp=self._context.timestamp,
        )

    def begin(self, watermark: int) -> None:
        """Fires the processing-time timers that became due before this micro-batch."""
        self._clock.now = self.context.now
        self._clock.watermark = watermark
        self._timers.event.begin()
        self._timers.processing.begin()
        if self._timers.processing.next_due <= self._clock.now:
            output = _Output(self._context)
            self._fire(self._timers.processing, self._clock.now, output)
            self._flush(output, None)

    def process(self, batch: Batch, port: int = 0) -> None:
        assert batch.keys is not None
        store_of(self.context).prefetch(self.spec.uid, batch.keys)
        if batch.wm is None and batch.ts is None:
            self._process_untimed(batch)
        else:
            self._process_timed(batch)

    def _process_untimed(self, batch: Batch) -> None:
        assert batch.keys is not None
        scope, context = self._scope, self._context
        function = self._function.process_element
        context._timestamp = None
        values: list[Any] = []
        context._values = values
        ends: list[int] = []
        extend, mark = values.extend, ends.append
        placed = batch.tick is not None
        value = None
        try:
            if placed:
                for scope.key, value in zip(batch.keys, batch.rows, strict=True):
                    result = function(value, context)
                    if result is not None:
                        extend(result)
                    mark(len(values))
            else:
                for scope.key, value in zip(batch.keys, batch.rows, strict=True):
                    result = function(value, context)
                    if result is not None:
                        extend(result)
        except Exception as failure:
            raise self.failed(_explained(failure, self._function), value) from failure
        if placed:
            self.emit_tagged(batch.spread(values, origins(ends)))
        else:
            self.emit_tagged(Batch(values))

    def _process_timed(self, batch: Batch) -> None:
        assert batch.keys is not None
        scope, context, clock = self._scope, self._context, self._clock
        function, timers = self._function.process_element, self._timers.event
        output = _Output(context)
        values, source, ends = output.values, output.source, output.ends
        stamps = [NO_TIMESTAMP] * batch.size if batch.ts is None else batch.ts.tolist()
        marks = [clock.watermark] * batch.size if batch.wm is None else batch.wm.tolist()
        at, value = -1, None
        try:
            for at, (key, value, stamp, mark) in enumerate(
                zip(batch.keys, batch.rows, stamps, marks, strict=True)
            ):
                if mark > clock.watermark:
                    if timers.next_due <= mark:
                        self._fire(timers, mark, output)
                    clock.watermark = mark
                scope.key = key
                context._timestamp = None if stamp == NO_TIMESTAMP else stamp
                result = function(value, context)
                if result is not None:
                    values.extend(result)
                source.append(at)
                ends.append(len(values))
        except Exception as failure:
            raise self.failed(_explained(failure, self._function), value) from failure
        self._flush(output, batch)

    def advance(self, watermark: int) -> None:
        clock = self._clock
        if watermark <= clock.watermark:
            return
        output = _Output(self._context)
        if self._timers.event.next_due <= watermark:
            self._fire(self._timers.event, watermark, output)
        clock.watermark = watermark
        self._flush(output, None)

    def _fire(self, timers: TimerQueue, until: int, output: _Output) -> None:
        """Call ``on_timer`` for all that is due, also for what these calls register."""
        scope, context, clock = self._scope, self._context, self._clock
        event_time = timers is self._timers.event
        context._domain = TimeDomain.EVENT_TIME if event_time else TimeDomain.PROCESSING_TIME
        before = clock.watermark
        while (due := timers.pop_due(until)) is not None:
            time, scope.key = due
            context._timestamp = time
            if event_time:
                # the function sees the watermark that made the timer due; downstream, what it
                # emits comes before that watermark
                clock.watermark = max(clock.watermark, time)
                output.fired.append((time, max(before, time - 1), max(time, before + 1)))
            else:
                output.fired.append((time, before, before))
            output.source.append(-len(output.fired))
            try:
                result = self._function.on_timer(time, context)
                if result is not None:
                    output.values.extend(result)
            except Exception as failure:
                what = f"timer at {time} of key {thaw(scope.key)!r}"
                raise self.failed(_explained(failure, self._function), what) from failure
            output.ends.append(len(output.values))

    def _flush(self, output: _Output, batch: Batch | None) -> None:
        self.emit_tagged(output.batch(batch))

    def close(self) -> None:
        self._function.close()


class _Output:
    """Collects what calls emit, and which call emitted it, to place it in the stream."""

    def __init__(self, context: KeyedContext) -> None:
        self.values: list[Any] = []
        #: per call: the record's number in the batch, or -(n+1) for the n-th timer fired
        self.source: list[int] = []
        self.ends: list[int] = []
        #: per timer: time, watermark in force, place
        self.fired: list[tuple[int, int, int]] = []
        context._values = self.values

    def batch(self, batch: Batch | None) -> Batch:
        """The emitted records, each in the place of what caused it."""
        origin = origins(self.ends, np.array(self.source, dtype=np.int64))
        if batch is not None and not self.fired:
            return batch.spread(self.values, origin)
        fired = np.array(self.fired or [(0, 0, 0)], dtype=np.int64)
        timer = origin < 0
        which = np.where(timer, -origin - 1, 0)
        record = np.where(timer, 0, origin)
        placed = Batch(self.values)
        columns = (("ts", fired[:, 0]), ("wm", fired[:, 1]), ("pos", fired[:, 2]))
        for name, of_timers in columns:
            of_records = None if batch is None else getattr(batch, name)
            if of_records is None:
                of_records = np.array([NO_TIMESTAMP if name == "ts" else MIN_WATERMARK])
                setattr(placed, name, np.where(timer, of_timers[which], of_records[0]))
            else:
                setattr(placed, name, np.where(timer, of_timers[which], of_records[record]))
        ticks = None if batch is None else batch.tick
        record_ticks = np.zeros(1, dtype=np.int64) if ticks is None else ticks
        placed.tick = np.where(timer, TIMER_TICK, record_ticks[record if ticks is not None else 0])
        return placed


class ReduceOperator(Operator):
    """Rolling reduce: emits the reduced value of the key after each element."""

    def __init__(self, spec: OperatorSpec, function: ReduceFunction) -> None:
        super().__init__(spec)
        self._function = function

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._table: StateTable = store_of(context).table(self.spec.uid, "reduced")
        try:
            self._function.open(KeyedRuntimeContext(self.spec, context, KeyScope()))
        except Exception as failure:
            raise self.failed(failure) from failure

    def process(self, batch: Batch, port: int = 0) -> None:
        assert batch.keys is not None
        store_of(self.context).prefetch(self.spec.uid, batch.keys)
        live, dirty, load = self._table.live, self._table.dirty, self._table.load
        reduce = self._function.reduce
        values: list[Any] = []
        value = None
        try:
            for key, value in zip(batch.keys, batch.rows, strict=True):
                held = live.get(key, MISSING)
                if held is MISSING:
                    held = load(key)
                if held is NULL:
                    reduced = reduce(None, value)
                else:
                    reduced = value if held is None else reduce(held, value)
                live[key] = NULL if reduced is None else reduced
                dirty[key] = None
                values.append(reduced)
        except Exception as failure:
            raise self.failed(failure, value) from failure
        self.emit(batch.with_rows(values))

    def close(self) -> None:
        self._function.close()


def _queue(store: SlotStore, name: str) -> TimerQueue:
    return store.part(name, lambda: TimerQueue(name, store.local, store.max_parallelism))


def _checked(timestamp: Any) -> int:
    if isinstance(timestamp, (int, np.integer)) and not isinstance(timestamp, bool):
        return int(timestamp)
    raise ProgramError(
        f"A timer needs a whole number of milliseconds, got {timestamp!r} "
        f"({type(timestamp).__name__})."
    )


def _explained(failure: Exception, function: Any) -> Exception:
    """Says what to return when a function returned something that is not an iterable."""
    trace = failure.__traceback__
    in_engine = trace is not None and trace.tb_next is None
    if isinstance(failure, TypeError) and in_engine and "not iterable" in str(failure):
        return TypeError(
            f"{type(function).__name__} returned something that is {failure}; "
            "yield the results, or return a list of them, or None for nothing"
        )
    return failure
