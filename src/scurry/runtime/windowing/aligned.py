"""Tumbling and sliding windows of event time with the default trigger, the fast way.

Which windows an element belongs to, and whether it is late, is computed for a whole batch at once.
Adding an element is a look-up or two in a dict. When the watermark passes the end of a window, the
window fires for all its keys in one go, in the order of their addresses.

Windows that keep their elements are cut into slices, so that an element is stored once however many
windows it is in. Combined values (``reduce``, ``aggregate``) are one per window: they take no more
room than slices would, and elements are combined in the order they came, as Flink does it.
"""

from __future__ import annotations

import heapq
from math import gcd
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.common.keys import thaw
from scurry.functions.windows import ProcessAllWindowFunction, ProcessWindowFunction
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, NO_TIMESTAMP, Batch, pick
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import explained
from scurry.runtime.keyed_state import store_of
from scurry.runtime.operator import TaskContext
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.windowing.common import WindowingOperator
from scurry.runtime.windowing.slices import (
    SLICED_ELEMENTS,
    SLICED_VALUES,
    ElementSlices,
    SliceTable,
    ValueSlices,
)
from scurry.state.table import MISSING
from scurry.windowing.basic_triggers import EventTimeTrigger
from scurry.windowing.panes import AccumulationMode, PaneTiming
from scurry.windowing.spec import WindowSpec
from scurry.windowing.time_windows import EventTimeAligned, bounded, event_timestamp
from scurry.windowing.windows import TimeWindow, WindowKey


def runs_aligned(windowing: WindowSpec) -> bool:
    """Whether :class:`AlignedWindowOperator` can run a windowing."""
    kind = type(windowing.assigner)
    return (
        isinstance(windowing.assigner, EventTimeAligned)
        and kind.assign_windows is EventTimeAligned.assign_windows
        and type(windowing.trigger) is EventTimeTrigger
        and windowing.evictor is None
        and windowing.accumulation is AccumulationMode.ACCUMULATING
    )


class AlignedWindowOperator(WindowingOperator):
    """Runs aligned windows of event time."""

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec, windowing)
        assigner: Any = windowing.assigner
        self._size, self._slide = assigner.size, assigner.slide
        self._offset, self._lateness = assigner.offset, windowing.allowed_lateness
        self._combining = windowing.incremental is not None
        self.content_table = SLICED_VALUES if self._combining else SLICED_ELEMENTS
        self._step = self._slide if self._combining else gcd(self._size, self._slide)
        self._sliding = self._size != self._slide
        #: heaps of the starts of windows that are to fire, and to be forgotten
        self._to_fire: list[int] = []
        self._to_end: list[int] = []
        #: windows in either heap, and slices whose windows are
        self._known: set[int] = set()
        self._announced: set[int] = set()
        self._next_due = MAX_WATERMARK + 1

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, name = store_of(context), f"{self.spec.uid}\x1f{self.content_table}"
        windowing = self._windowing
        self._result: Any = None
        if self._combining:
            self._values = store.part(name, lambda: ValueSlices(name, store))
            self._combine, self._result = _combiner(windowing)
        else:
            self._elements = store.part(name, lambda: ElementSlices(name, store, self._sliding))
        self._slices: SliceTable = self._values if self._combining else self._elements
        self._clears = windowing.has_context and _overrides_clear(windowing.function)
        self._number = 0
        #: what to name if something fails: an element, or a window
        self._working: Any = None

    def begin(self, watermark: int) -> None:
        """Learns which windows are open, if memory does not know."""
        self._clock.now = self.context.now
        self._clock.watermark = watermark
        self._number = self.context.batch << 40
        stored = self._slices.begin()
        if stored is not None:
            self._to_fire, self._to_end = [], []
            self._known, self._announced = set(), set()
            for start in stored:
                self._announce(start)
            self._look_ahead()

    def _announce(self, start: int) -> None:
        """A slice has something: the windows over it will fire, and end."""
        self._announced.add(start)
        mark, size, lateness = self._clock.watermark, self._size, self._lateness
        for window in self._windows_over(start):
            if window not in self._known and window + size - 1 + lateness > mark:
                self._known.add(window)
                heapq.heappush(self._to_end, window)
                if window + size - 1 > mark:
                    heapq.heappush(self._to_fire, window)
                self._look_ahead()

    def _windows_over(self, start: int) -> range:
        """The windows that contain a slice, the latest first."""
        if self._combining:
            return range(start, start + 1)
        latest = start - (start - self._offset) % self._slide
        return range(latest, start - self._size, -self._slide)

    def _slices_of(self, window: int) -> list[int]:
        """The slices of a window that have something."""
        if self._combining:
            return [window] if window in self._announced else []
        whole = range(window, window + self._size, self._step)
        return [start for start in whole if start in self._announced]

    def _look_ahead(self) -> None:
        due = [MAX_WATERMARK + 1]
        if self._to_fire:
            due.append(self._to_fire[0] + self._size - 1)
        if self._to_end:
            due.append(self._to_end[0] + self._size - 1 + self._lateness)
        # a window that would reach past the last instant ends there
        self._next_due = min(due) if len(due) == 1 else min(*due, MAX_WATERMARK)

    def process(self, batch: Batch, port: int = 0) -> None:
        assert batch.keys is not None
        output = self._emissions()
        size, lateness = self._size, self._lateness
        try:
            stamps = self._stamps(batch)
            marks = self._marks(batch)
            latest = stamps - (stamps - self._offset) % self._slide
            inside = stamps - latest < size
            late = np.where(inside, latest + size - 1, stamps) + lateness <= marks
            kept = np.flatnonzero(inside & ~late)
            add = self._add_combined if self._combining else self._add_elements
            add(batch, kept, stamps, marks, output)
        except Exception as failure:
            cause = explained(failure, self._windowing.function)
            raise self.failed(cause, self._working) from failure
        self._number += batch.size
        self.emit_tagged(output.batch(batch))
        if late.any():
            self._emit_late(batch, np.flatnonzero(late).tolist())

    def _stamps(self, batch: Batch) -> Any:
        """The timestamps, as an array that windows can be computed from without overflow."""
        stamps = batch.ts
        if stamps is None:
            stamps = np.full(batch.size, NO_TIMESTAMP, dtype=np.int64)
        reach = self._size + self._slide + self._lateness
        if batch.size and int(stamps.min()) < MIN_WATERMARK + reach:
            at = int(stamps.argmin())
            self._working = batch.rows[at]
            event_timestamp(int(stamps[at]), self._windowing.assigner)
            raise ProgramError(
                f"the timestamp {int(stamps[at])} is too far in the past for windows"
            )
        if batch.size and int(stamps.max()) > MAX_WATERMARK - reach:
            return stamps.astype(object)
        return stamps

    def _marks(self, batch: Batch) -> Any:
        mark = self._clock.watermark
        if batch.wm is None:
            return np.full(batch.size, mark, dtype=np.int64)
        return np.maximum(batch.wm, mark)

    def _add_elements(
        self, batch: Batch, kept: Any, stamps: Any, marks: Any, output: Emissions
    ) -> None:
        """Put elements into their slices; fire what is due, and windows that have fired before."""
        clock, numbered, first = self._clock, self._sliding, self._number
        starts = stamps - (stamps - self._offset) % self._step
        keys, rows = pick_all(batch.keys, kept), pick_all(batch.rows, kept)
        again = self._lateness > 0
        last: int | None = None
        cells: dict[Any, list[Any]] = {}
        for at, key, row, start, mark in zip(
            kept.tolist(), keys, rows, starts[kept].tolist(), marks[kept].tolist(), strict=True
        ):
            if mark > clock.watermark:
                if self._next_due <= mark:
                    self._pass(mark, output)
                    last = None
                clock.watermark = mark
            if start != last:
                cells, last = self._open(start), start
            element = (first + at, row) if numbered else row
            values = cells.get(key)
            if values is None:
                cells[key] = [element]
            else:
                values.append(element)
            if again:
                self._working = row
                self._fire_again(self._windows_over(start), key, at, mark)

    def _add_combined(
        self, batch: Batch, kept: Any, stamps: Any, marks: Any, output: Emissions
    ) -> None:
        """Combine elements into the values of their windows."""
        clock, size, slide, combine = self._clock, self._size, self._slide, self._combine
        over, lateness = size - 1 + self._lateness, self._lateness
        latest = stamps - (stamps - self._offset) % slide
        keys, rows = pick_all(batch.keys, kept), pick_all(batch.rows, kept)
        touched = self._values.touched
        last: int | None = None
        cells: dict[Any, Any] = {}
        for at, key, self._working, stamp, start, mark in zip(
            kept.tolist(),
            keys,
            rows,
            stamps[kept].tolist(),
            latest[kept].tolist(),
            marks[kept].tolist(),
            strict=True,
        ):
            if mark > clock.watermark:
                if self._next_due <= mark:
                    working = self._working
                    self._pass(mark, output)
                    last, self._working = None, working
                clock.watermark = mark
            while start > stamp - size and start + over > mark:
                if start != last:
                    cells, last = self._open(start), start
                cells[key] = combine(cells.get(key, MISSING), self._working)
                touched[start][key] = None
                if lateness:
                    self._fire_again(range(start, start + 1), key, at, mark)
                start -= slide

    def _open(self, start: int) -> dict[Any, Any]:
        """The slice to add to."""
        if start not in self._announced:
            self._announce(start)
        return self._slices.open(start)

    def advance(self, watermark: int) -> None:
        if watermark <= self._clock.watermark:
            return
        output = self._emissions()
        if self._next_due <= watermark:
            try:
                self._pass(watermark, output)
            except Exception as failure:
                cause = explained(failure, self._windowing.function)
                raise self.failed(cause, self._working) from failure
        self._clock.watermark = watermark
        self.emit_tagged(output.batch(None))

    def _pass(self, until: int, output: Emissions) -> None:
        """Time passes: fire windows that have reached their end, forget those past lateness."""
        clock, before = self._clock, self._clock.watermark
        while self._next_due <= until:
            time = self._next_due
            clock.watermark = max(clock.watermark, time)
            output.fired_at(time, before)
            reached = MAX_WATERMARK if time == MAX_WATERMARK else time - self._size + 1
            while self._to_fire and self._to_fire[0] <= reached:
                window = heapq.heappop(self._to_fire)
                found = self._slices.of_all(self._slices_of(window))
                keys = sorted(found, key=self._slices.prefix)
                self._fire(window, keys, found, -len(output.fired), PaneTiming.ON_TIME)
            ended = reached if time == MAX_WATERMARK else reached - self._lateness
            while self._to_end and self._to_end[0] <= ended:
                self._end(heapq.heappop(self._to_end))
            self._look_ahead()

    def _keys_of(self, window: int) -> list[Any]:
        """The keys with something in a window, in the order of their addresses."""
        slices = self._slices
        keys = set[Any]().union(*map(slices.keys, self._slices_of(window)))
        return sorted(keys, key=slices.prefix)

    def _fire_again(self, windows: range, key: Any, cause: int, mark: int) -> None:
        """A late element has come: fire the windows over it that have fired before."""
        for window in windows:
            end = window + self._size - 1
            if end <= mark < end + self._lateness:
                found = {key: self._slices.of_key(self._slices_of(window), key)}
                self._fire(window, [key], found, cause, PaneTiming.LATE)

    def _fire(
        self, start: int, keys: list[Any], found: dict[Any, Any], cause: int, timing: PaneTiming
    ) -> None:
        if not keys:
            return
        window = bounded(start, self._size)
        context, output, call = self._firing, self._output, self._call
        context._window = window
        scoped, tracks = self._windowing.has_context, self._tracks_panes
        result = self._result
        values = output.values
        key = None
        try:
            for key in keys:
                held = found[key] if result is None else result(found[key])
                self._scope.key = key
                if scoped:
                    place = self._window_scope.key = WindowKey(key, window)
                    if tracks:
                        context._pane = self._panes.next(place, timing, False)
                results = call(key, window, held)
                if results is not None:
                    values.extend(results)
        except Exception:
            self._working = f"{window!r} of key {thaw(key)!r}"
            raise
        if self._combining and self._lateness:
            for key in keys:
                self._values.touch_mutable(start, key)
        output.source.append(cause)
        output.ends.append(len(values))
        output.stamps.append(window.max_timestamp())

    def _end(self, window: int) -> None:
        """Forget all about a window, and the slices that no later window needs."""
        self._known.discard(window)
        if self._clears or self._tracks_panes:
            self._clear(bounded(window, self._size), self._keys_of(window))
        last = window + 1 if self._combining else window + min(self._slide, self._size)
        for start in range(window, last, self._step):
            if start in self._announced:
                self._announced.discard(start)
                self._slices.drop(start)

    def _clear(self, window: TimeWindow, keys: list[Any]) -> None:
        function: Any = self._windowing.function
        self._firing._window = window
        for key in keys:
            self._scope.key = key
            place = self._window_scope.key = WindowKey(key, window)
            if self._tracks_panes:
                self._panes.clear(place)
            if self._clears:
                self._working = f"{window!r} of key {thaw(key)!r}"
                function.clear(self._firing)


def _combiner(windowing: WindowSpec) -> tuple[Any, Any]:
    """How to combine an element into what is held, and how to get a result out of that."""
    function: Any = windowing.incremental
    if windowing.contents == "reduce":
        reduce = function.reduce
        return lambda held, value: value if held is MISSING else reduce(held, value), None
    create, add = function.create_accumulator, function.add
    add_to = lambda held, value: add(value, create() if held is MISSING else held)  # noqa: E731
    return add_to, function.get_result


def pick_all(items: Any, index: Any) -> list[Any]:
    """The items at ``index``, which is often all of them."""
    return list(items) if len(index) == len(items) else pick(items, index)


def _overrides_clear(function: Any) -> bool:
    own = type(function).clear
    return own is not ProcessWindowFunction.clear and own is not ProcessAllWindowFunction.clear
