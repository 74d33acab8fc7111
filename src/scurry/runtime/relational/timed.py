"""Operators on relations in which time does something: timers of keys, between the rows.

Rows are handled in order. Before a row is, event time passes up to the watermark in force before
it, and keys whose timers are due are handled, the earliest first. So results depend on where in the
stream time passed, and not on the cut into micro-batches.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.event_time import delayed
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.rows_out import RowsOut
from scurry.runtime.task_context import TaskContext
from scurry.runtime.timers import EVENT, PROCESSING, TimerQueue, timer_queue


class TimedOperator(KeyedRelationalOperator):
    """One with timers. ``event_time`` says which clock they follow."""

    event_time = True

    def open(self, context: TaskContext) -> None:
        super().open(context)
        domain = EVENT if self.event_time else PROCESSING
        self.timers: TimerQueue = timer_queue(store_of(context), self.spec.uid, domain)
        self.clock = MIN_WATERMARK
        self.out = self.new_output()

    def new_output(self) -> RowsOut:
        """Room for what a batch sends."""
        return RowsOut(self.part_codecs())

    @abstractmethod
    def part_codecs(self) -> list[RowCodec]:
        """The codecs of the parts that output rows are made of."""

    @abstractmethod
    def on_timer(self, time: int, key: Any, cause: int) -> None:
        """The timer of a key is due; what is sent for that has the cause ``cause``."""

    def begin(self, watermark: int) -> None:
        self.clock = watermark
        self.timers.begin()
        if not self.event_time:
            self.pass_time(self.context.now)
            self.flush_output(None)

    def advance(self, watermark: int) -> None:
        if self.event_time and watermark > self.clock:
            self.pass_time(watermark)
            self.clock = watermark
        elif self.spec.batch and watermark == MAX_WATERMARK:
            self.pass_time(MAX_WATERMARK - 1)
        self.flush_output(None)

    def pass_time(self, until: int) -> None:
        """Handle the timers up to ``until``."""
        timers, before = self.timers, self.clock
        while timers.next_due <= until and (due := timers.pop_due(until)) is not None:
            time, key = due
            if self.event_time:
                self.clock = max(self.clock, time)
                cause = self.out.passed(time, before)
            else:
                cause = self.out.passed_clock(time, before)
            self.on_timer(time, key, cause)

    def reach(self, watermark: int) -> None:
        """Event time passes up to ``watermark``, before the next row."""
        if watermark > self.clock:
            if self.event_time and self.timers.next_due <= watermark:
                self.pass_time(watermark)
            self.clock = watermark

    def watermarks(self, batch: Batch) -> list[int]:
        """The watermark before each row."""
        return [self.clock] * batch.size if batch.wm is None else batch.wm.tolist()

    def flush_output(self, batch: Batch | None) -> None:
        """Send what has gathered."""
        made = self.out.batch(batch, self.columns, self.codec)
        self.out = self.new_output()
        if made is not None:
            if self.delay and made.wm is not None:
                made.wm = delayed(made.wm, self.delay)
            self.emit(made)
