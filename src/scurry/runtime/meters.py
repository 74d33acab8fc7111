"""What each operator of a task has done in a micro-batch: records in and out, and its own time.

Nothing here is done per record. A :class:`Meter` counts the sizes of batches as they pass. A
:class:`TaskClock` reads the time whenever the work goes from one operator to another: from an
operator to the next one of its chain and back, and from the task to Spark, which takes its results.
So each stretch of time belongs to exactly one operator, or to the task itself (decoding, merging,
encoding, committing state), or to nobody, while the task waits for Spark to go on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from scurry.runtime.batch import MIN_WATERMARK, Batch

T = TypeVar("T")
#: The name of the meter of a task itself, beside those of its operators.
TASK = ""


class Reading(msgspec.Struct, array_like=True):
    """What one operator of one task has done in a micro-batch."""

    records_in: int = 0
    records_out: int = 0
    #: its own time, without that of the operators it hands records to
    busy_seconds: float = 0.0
    #: the watermark at the end of the micro-batch, before and behind the operator
    input_watermark: int = MIN_WATERMARK
    output_watermark: int = MIN_WATERMARK


class Meter:
    """Counts what one operator of a task does. The operator itself adds to ``records_out``."""

    __slots__ = ("busy_seconds", "input_watermark", "output_watermark", "records_in", "records_out")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.records_in = self.records_out = 0
        self.busy_seconds = 0.0
        self.input_watermark = self.output_watermark = MIN_WATERMARK

    def take(self) -> Reading:
        """What was counted since the last call."""
        taken = Reading(
            *(self.records_in, self.records_out, round(self.busy_seconds, 6)),
            *(self.input_watermark, self.output_watermark),
        )
        self._clear()
        return taken


class TaskClock:
    """Divides the time of a task among the meters of its operators and of itself."""

    def __init__(self) -> None:
        self.task = Meter()
        self._elsewhere = Meter()
        self._current = self._elsewhere
        self._since = time.perf_counter()

    def switch(self, meter: Meter) -> Meter:
        """From now on the time is that of ``meter``; returns the meter whose time it was."""
        now = time.perf_counter()
        before = self._current
        before.busy_seconds += now - self._since
        self._since = now
        self._current = meter
        return before

    def settle(self) -> None:
        """Give the time up to now to whom it belongs. Called before meters are read."""
        self.switch(self._current)

    def within(self, results: Iterable[T]) -> Iterator[T]:
        """``results``, which a task's generator makes: while it works, the time is the task's."""
        made, meter = iter(results), self.task
        while True:
            self.switch(meter)
            try:
                result = next(made)
            except StopIteration:
                return
            finally:
                meter = self.switch(self._elsewhere)
            yield result


class Intake:
    """Hands batches to an operator of a chain, and counts them."""

    __slots__ = ("_clock", "_meter", "_port", "_process")

    def __init__(
        self, process: Callable[..., Any], port: int, meter: Meter, clock: TaskClock
    ) -> None:
        self._process = process
        self._port = port
        self._meter = meter
        self._clock = clock

    def __call__(self, batch: Batch) -> None:
        meter, clock = self._meter, self._clock
        meter.records_in += batch.size
        before = clock.switch(meter)
        self._process(batch, self._port)
        clock.switch(before)
