"""Tumbling and sliding windows of event time with the default trigger, the fast way.

Which windows an element belongs to, and whether it is late, is computed for a whole batch at once.
Adding an element is a look-up or two in a dict. When the watermark passes the end of a window, the
window fires for all its keys in one go, in the order of their addresses.

Windows that keep their elements are cut into slices, so that an element is stored once however many
windows it is in. So are windows that overlap and combine elements (``reduce``, ``aggregate``), if
the function can combine what slices have (:mod:`~scurry.runtime.windowing.run_slices`). Otherwise
there is one value per window. Elements are combined in the order they came in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from scurry.common.keys import thaw
from scurry.common.windows import TimeWindow, WindowKey
from scurry.functions.panes import PaneTiming
from scurry.functions.windows import ProcessAllWindowFunction, ProcessWindowFunction
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.exact import Array
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import explained
from scurry.runtime.keyed_state import store_of
from scurry.runtime.picking import pick
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.windowing.agenda import Agenda
from scurry.runtime.windowing.calls import combining, merging, overrides_clear
from scurry.runtime.windowing.common import WindowingOperator
from scurry.runtime.windowing.cuts import Cuts
from scurry.runtime.windowing.run_slices import SLICED_RUNS, RunSlices, runs_in_slices
from scurry.runtime.windowing.slices import (
    SLICED_ELEMENTS,
    SLICED_VALUES,
    Cells,
    ElementSlices,
    SliceTable,
    ValueSlices,
)
from scurry.state.tables.key_scope import NO_KEY
from scurry.state.tables.table import MISSING
from scurry.windowing.spec import WindowSpec
from scurry.windowing.time_windows import AlignedWindows, EventTimeAligned, bounded

T = TypeVar("T")


def runs_aligned(windowing: WindowSpec) -> bool:
    """Whether :class:`AlignedWindowOperator` can run a windowing."""
    kind = type(windowing.assigner)
    return (
        isinstance(windowing.assigner, EventTimeAligned)
        and kind.assign_windows is EventTimeAligned.assign_windows
        and windowing.plain
    )


class AlignedWindowOperator(WindowingOperator):
    """Runs aligned windows of event time."""

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec, windowing)
        assigner = windowing.assigner
        assert isinstance(assigner, AlignedWindows)
        self._size, self._slide = assigner.size, assigner.slide
        self._offset, self._lateness = assigner.offset, windowing.allowed_lateness
        self._combining = windowing.incremental is not None
        #: whether slices hold combined values, and whether windows do
        self._in_runs = self.content_table == SLICED_RUNS
        self._whole = self.content_table == SLICED_VALUES
        self._sliding = self._size != self._slide
        self._agenda = Agenda(
            self._size, self._slide, self._offset, self._lateness, whole=self._whole
        )

    @classmethod
    def table_of(cls, windowing: WindowSpec) -> str:
        if windowing.incremental is None:
            return SLICED_ELEMENTS
        return SLICED_RUNS if runs_in_slices(windowing) else SLICED_VALUES

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, name = store_of(context), f"{self.spec.uid}\x1f{self.content_table}"
        windowing = self._windowing
        self._slices: SliceTable
        if self._combining:
            self._combine = combining(windowing)
        if self._whole:
            self._slices = self._values = store.part(name, lambda: ValueSlices(name, store))
        elif self._in_runs:
            merge = merging(windowing)
            self._slices = self._runs = store.part(name, lambda: RunSlices(name, store, merge))
        else:
            self._slices = self._elements = store.part(
                name, lambda: ElementSlices(name, store, self._sliding)
            )
        self._clears = windowing.has_context and overrides_clear(windowing.function)
        self._cuts: Cuts | None = None
        if self._lateness and self._sliding and not self._whole:
            self._cuts = Cuts(self.spec.uid, store)
        #: whether what a window holds is of use after it has fired
        self._needed_again = self._lateness > 0 or (self._sliding and not self._combining)
        self._number = self._next_number = 0

    def begin(self, watermark: int) -> None:
        """Reads from the store which windows are open, if that is not in memory."""
        self._clock.now = self.context.now
        self._clock.watermark = watermark
        # never back: the harness begins again when its clock is set
        self._number = max(self._number, self.context.batch << 40)
        stored = self._slices.begin()
        if stored is not None:
            if self._cuts is not None:
                self._cuts.look()
            self._agenda.reset()
            for start in stored:
                self._agenda.resume(start, watermark)

    def process(self, batch: Batch, port: int = 0) -> None:
        reach = self._size + self._slide + self._lateness
        batch = self._without_unstamped(batch, reach)
        output = self._emissions()
        size, lateness = self._size, self._lateness
        try:
            stamps = self.stamps(batch, reach)
            watermarks = self.watermarks(batch)
            latest = stamps - (stamps - self._offset) % self._slide
            inside = stamps - latest < size
            late = np.where(inside, latest + size - 1, stamps) + lateness <= watermarks
            kept = np.flatnonzero(inside & ~late)
            add = self._add_combined if self._whole else self._add_elements
            add(batch, kept, stamps, watermarks, output)
        except Exception as failure:
            cause = explained(failure, self._windowing.function)
            raise self.failed(cause, self._working) from failure
        self._number += batch.size
        self.emit_tagged(output.batch(batch))
        if late.any():
            self._emit_late(batch, np.flatnonzero(late).tolist())
        if self._guard is not None:
            self._guard.emit(batch)

    def _add_elements(
        self, batch: Batch, kept: Longs, stamps: Array, watermarks: Longs, output: Emissions
    ) -> None:
        """Put elements into their slices; fire what is due, and windows that have fired before."""
        clock, numbered, first = self._clock, self._sliding, self._number
        starts = stamps - (stamps - self._offset) % self._agenda.step
        keys, rows = pick_all(batch.keys, kept), pick_all(batch.rows, kept)
        again, in_runs = self._lateness > 0, self._in_runs
        last: int | None = None
        cells: Cells = {}
        for at, key, row, start, watermark in zip(
            kept.tolist(), keys, rows, starts[kept].tolist(), watermarks[kept].tolist(), strict=True
        ):
            if watermark > clock.watermark:
                if self._agenda.next_due <= watermark:
                    self._next_number = first + at
                    self._pass(watermark, output)
                    last = None
                clock.watermark = watermark
            if start != last:
                cells, last = self._open(start), start
            if in_runs:
                self._working = row
                try:
                    element = row if self._guard is None else self._guard.as_it_came(row)
                    self._runs.add(start, key, first + at, self._combine, element)
                except Exception as failure:
                    self._refuse(at, row, int(stamps[at]), failure)
                    continue
            else:
                element = (first + at, row) if numbered else row
                values = cells.get(key)
                if values is None:
                    cells[key] = [element]
                else:
                    values.append(element)
            if again:
                self._working, self._next_number = row, first + at + 1
                self._fire_again(self._agenda.windows_over(start), key, at, watermark)

    def _add_combined(
        self, batch: Batch, kept: Longs, stamps: Array, watermarks: Longs, output: Emissions
    ) -> None:
        """Combine elements into the values of their windows."""
        clock, size, slide, combine = self._clock, self._size, self._slide, self._combine
        over, lateness = size - 1 + self._lateness, self._lateness
        latest = stamps - (stamps - self._offset) % slide
        keys, rows = pick_all(batch.keys, kept), pick_all(batch.rows, kept)
        touched = self._values.touched
        own, apart = self._own, self._sliding or self._guard is not None
        last: int | None = None
        cells: Cells = {}
        for at, key, self._working, stamp, start, watermark in zip(
            kept.tolist(),
            keys,
            rows,
            stamps[kept].tolist(),
            latest[kept].tolist(),
            watermarks[kept].tolist(),
            strict=True,
        ):
            if watermark > clock.watermark:
                if self._agenda.next_due <= watermark:
                    working = self._working
                    self._pass(watermark, output)
                    last, self._working = None, working
                clock.watermark = watermark
            while start > stamp - size and start + over > watermark:
                if start != last:
                    cells, last = self._open(start), start
                try:
                    # each window has its own: a function may make the element its accumulator
                    row = own(self._working) if apart else self._working
                    cells[key] = combine(cells.get(key, MISSING), row)
                except Exception as failure:
                    self._refuse(at, self._working, stamp, failure)
                    break
                touched[start][key] = None
                if lateness:
                    self._fire_again(range(start, start + 1), key, at, watermark)
                start -= slide

    def _open(self, start: int) -> Cells:
        """The slice to add to."""
        if start not in self._agenda.announced:
            self._agenda.announce(start, self._clock.watermark)
        return self._slices.open(start)

    def advance(self, watermark: int) -> None:
        if watermark <= self._clock.watermark:
            return
        output = self._emissions()
        self._next_number = self._number
        if self._agenda.next_due <= watermark:
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
        while self._agenda.next_due <= until:
            time = self._agenda.next_due
            clock.watermark = max(clock.watermark, time)
            output.fired_at(time, before)
            for window in self._agenda.fired():
                found = self._slices.of_all(self._agenda.slices_of(window))
                keys = sorted(found, key=self._slices.prefix)
                self._fire(window, keys, found, -len(output.fired), PaneTiming.ON_TIME)
            for window in self._agenda.ended():
                self._end(window)

    def _keys_of(self, window: int) -> list[object]:
        """The keys with something in a window, in the order of their addresses."""
        slices = self._slices
        keys = set[object]().union(*map(slices.keys, self._agenda.slices_of(window)))
        return sorted(keys, key=slices.prefix)

    def _fire_again(self, windows: range, key: object, cause: int, watermark: int) -> None:
        """A late element has come: fire the windows over it that have fired before."""
        for window in windows:
            end = window + self._size - 1
            if end <= watermark < end + self._lateness:
                since = 0 if self._cuts is None else self._cuts.of(key, bounded(window, self._size))
                found = {key: self._slices.of_key(self._agenda.slices_of(window), key, since)}
                self._fire(window, [key], found, cause, PaneTiming.LATE)

    def _fire(
        self,
        start: int,
        keys: list[object],
        found: Mapping[object, object],
        cause: int,
        timing: PaneTiming,
    ) -> None:
        if not keys:
            return
        window = bounded(start, self._size)
        context, output, call = self._firing, self._output, self._call
        context._window = window
        scoped, tracks = self._windowing.has_context, self._tracks_panes
        values, take = output.values, self._take_results
        key = None
        try:
            for key in keys:
                self._scope.key = key
                if scoped:
                    place = self._window_scope.key = WindowKey(key, window)
                    if tracks:
                        context._pane = self._panes.next(place, timing, False)
                contents = self._shown(found[key]) if self._needed_again else found[key]
                results = call(key, window, contents)
                if results is not None:
                    take(values, results)
                if self._guard is not None and self._guard.spoiled and self._lateness:
                    self._empty(start, key)
        except Exception:
            self._working = f"{window!r} of key {thaw(key)!r}"
            raise
        if self._whole and self._lateness:
            for key in keys:
                self._values.touch_mutable(start, key)
        self._scope.key = NO_KEY
        output.source.append(cause)
        output.ends.append(len(values))
        output.stamps.append(window.max_timestamp())

    def _empty(self, start: int, key: object) -> None:
        """A window has failed: what it has of a key must not be seen again. Slices that other
        windows share keep it; the window does without all that came before now."""
        if self._cuts is not None:
            self._cuts.cut(key, bounded(start, self._size), self._next_number)
            if self._in_runs:
                self._runs.close_run(key)
        elif self._whole:
            self._values.empty(start, key)
        else:
            self._elements.empty(start, key)

    def _end(self, window: int) -> None:
        """Forget all about a window, and the slices that no later window needs."""
        if self._cuts is not None and self._cuts.any:
            for key in self._keys_of(window):
                self._cuts.clear(key, bounded(window, self._size))
        if self._clears or self._tracks_panes:
            self._clear(bounded(window, self._size), self._keys_of(window))
        for start in self._agenda.retired(window):
            self._slices.drop(start)

    def _clear(self, window: TimeWindow, keys: list[object]) -> None:
        function = self._windowing.function
        self._firing._window = window
        for key in keys:
            self._scope.key = key
            place = self._window_scope.key = WindowKey(key, window)
            if self._tracks_panes:
                self._panes.clear(place)
            if self._clears:
                self._working = f"{window!r} of key {thaw(key)!r}"
                assert isinstance(function, (ProcessWindowFunction, ProcessAllWindowFunction))
                function.clear(self._firing)
        self._scope.key = NO_KEY


def pick_all(items: Sequence[T] | None, index: Longs) -> list[T]:
    """The items at ``index``, which is often all of them."""
    assert items is not None
    return list(items) if len(index) == len(items) else pick(items, index)
