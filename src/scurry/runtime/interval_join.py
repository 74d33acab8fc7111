"""Interval joins: pairs of equal keys whose timestamps are no further apart than two bounds.

Both sides are buffered per key, by timestamp. An element meets the elements of the other side that
are there already, so each pair is found once, when its second element comes. An element leaves its
buffer when the watermark says that no partner can come any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.functions.joins import JoinContext, ProcessJoinFunction
from scurry.functions.output_tag import OutputTag
from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.emissions import Emissions
from scurry.runtime.keyed import KeyedFunctionOperator
from scurry.runtime.keyed_context import KeyedContext
from scurry.runtime.operator import by_port
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.stateless import iterate
from scurry.runtime.task_context import TaskContext
from scurry.state.layout import StateLayout
from scurry.state.tables.map_table import TableMapState

#: The tables of elements that wait for their counterparts.
LEFT, RIGHT = "#left", "#right"


class PairContext(JoinContext):
    """Context of the pair being joined; one object for all pairs."""

    def __init__(self, context: KeyedContext) -> None:
        self._context = context
        self.left = self.right = 0

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)

    def output(self, tag: OutputTag, value: Any) -> None:
        self._context.output(tag, value)


class Cleaning:
    """Stands where the keyed operator expects the user's function. Its ``on_timer`` removes
    elements that no partner can come for any more."""

    def __init__(self, function: ProcessJoinFunction, on_timer: Callable[[int, Any], None]) -> None:
        self.function = function
        self.on_timer = on_timer
        self.open = function.open
        self.close = function.close


class IntervalJoinOperator(KeyedFunctionOperator):
    """Joins left elements at ``l`` with right ones from ``l + lower`` to ``l + upper``."""

    state_kind = "elements that wait for their counterparts"
    two_inputs = True

    def __init__(
        self,
        spec: OperatorSpec,
        function: ProcessJoinFunction,
        lower: int,
        upper: int,
        late: tuple[OutputTag | None, OutputTag | None],
    ) -> None:
        super().__init__(spec, Cleaning(function, self._clean))
        self._join = function
        self._lower = lower
        self._upper = upper
        self._late = late
        #: the timestamps of what has been emitted since the last flush
        self._stamps: list[int] = []

    @classmethod
    def state_layout(cls, *arguments: Any) -> StateLayout:
        # until when an element waits follows from the bounds, as timers that are set already say
        _, lower, upper, _ = arguments
        bounds = {"lower bound": lower, "upper bound": upper}
        return StateLayout(cls.state_kind, cls.state_version, bounds, cls.reads_from)

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._pair = PairContext(self._context)
        self._left = self._state.own_map_state(LEFT)
        self._right = self._state.own_map_state(RIGHT)

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        self._run(batch, by_port(ports, self._take_left, self._take_right))

    def _take_left(self, value: Any, context: KeyedContext) -> None:
        stamp = self._admit(value, context, self._late[0])
        if stamp is None:
            return
        pair, own = self._pair, self.context.handover.own
        pair.left = stamp
        for other, partners in self._right.between(stamp + self._lower, stamp + self._upper):
            pair.right = other
            for partner in partners:
                # the buffers keep their own, which user code never gets to see
                shown = own(value)
                self._emit_pair(self._join.process_element(shown, own(partner), pair), context)
        self._keep(self._left, stamp, value, stamp + max(0, self._upper))

    def _take_right(self, value: Any, context: KeyedContext) -> None:
        stamp = self._admit(value, context, self._late[1])
        if stamp is None:
            return
        pair, own = self._pair, self.context.handover.own
        pair.right = stamp
        for other, partners in self._left.between(stamp - self._upper, stamp - self._lower):
            pair.left = other
            for partner in partners:
                shown = own(value)
                self._emit_pair(self._join.process_element(own(partner), shown, pair), context)
        self._keep(self._right, stamp, value, stamp - min(0, self._lower))

    def _admit(self, value: Any, context: KeyedContext, late: OutputTag | None) -> int | None:
        """The element's timestamp, None if it came too late."""
        stamp = context.timestamp()
        if stamp is None:
            raise ProgramError(
                "An interval join needs elements with timestamps: call "
                "assign_timestamps_and_watermarks(...) on both streams before key_by(...)."
            )
        if self._clock.watermark == MIN_WATERMARK or stamp >= self._clock.watermark:
            return stamp
        self.context.report.count(f"late:{self.spec.uid}", 1)
        if late is None:
            self.context.report.count(f"late_dropped:{self.spec.uid}", 1)
        else:
            context.output(late, value)
            self._stamps.append(stamp)
        return None

    def _emit_pair(self, result: Any, context: KeyedContext) -> None:
        values = context._values
        if result is not None:
            self.context.handover.take(values, iterate(result, "process_element"))
        self._stamps.extend([self._pair.get_timestamp()] * (len(values) - len(self._stamps)))

    def _keep(self, buffer: TableMapState, stamp: int, value: Any, until: int) -> None:
        bucket = buffer.get(stamp) or []
        bucket.append(value)
        buffer.put(stamp, bucket)
        self._timers.register_event_time_timer(until)

    def _clean(self, timestamp: int, context: Any) -> None:
        """Remove what was kept until ``timestamp``: no partner can come for it any more."""
        for buffer, stamp in (
            (self._left, timestamp - max(0, self._upper)),
            (self._right, timestamp + min(0, self._lower)),
        ):
            if buffer.contains(stamp):
                buffer.remove(stamp)

    def _flush(self, output: Emissions, batch: Batch | None) -> None:
        placed = output.batch(batch)
        placed.ts, self._stamps = np.array(self._stamps, dtype=np.int64), []
        self.emit_tagged(placed)
