"""Tumbling and sliding windows of event time with built-in aggregates, on whole columns.

The elements of a batch are combined by slice and key; windows that are due are put together from
their slices, all of them and all their keys at once. That is the same as going through elements one
by one as long as every element comes before any of its windows has fired. A batch in which one does
not is cut where the watermark passes the end of a window, so that it holds within each piece;
elements that come after make their windows fire again, one by one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from scurry.functions.window_aggregates import Aggregates
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs
from scurry.runtime.columnar.combiner import unpack_slices
from scurry.runtime.columnar.exact import Array
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.columnar.partials import (
    Columns,
    combine,
    concat,
    groups_of,
    take,
)
from scurry.runtime.failures import NO_ELEMENT
from scurry.runtime.keyed_state import store_of
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.windowing.agenda import Agenda
from scurry.runtime.windowing.common import WindowingOperator
from scurry.runtime.windowing.slices import SLICED_COLUMNS
from scurry.runtime.windowing.vectorised.column_slices import ColumnSlices, Part
from scurry.runtime.windowing.vectorised.output import Results
from scurry.windowing.spec import WindowSpec
from scurry.windowing.time_windows import AlignedWindows

#: Rows that are put together for firing at a time.
_AT_ONCE = 500_000


class VectorisedOperator(WindowingOperator, ABC):
    """What the vectorised operators have in common."""

    def open(self, context: TaskContext) -> None:
        super().open(context)
        function = self._windowing.incremental
        assert isinstance(function, Aggregates)
        self._measures = Measures(function.aggregates)

    def process(self, batch: Batch, port: int = 0) -> None:
        try:
            late = self._take(batch)
        except Exception as failure:
            element = NO_ELEMENT if self._working is None else self._working
            raise self.failed(failure, element) from failure
        self._emit_results()
        if len(late):
            self._emit_late(batch, late.tolist())

    def advance(self, watermark: int) -> None:
        if watermark > self._clock.watermark:
            self._results = self._new_results()
            self._pass(watermark)
            self._clock.watermark = watermark
            self._emit_results()

    def _emit_results(self) -> None:
        made = self._results.batch()
        if made is not None:
            self._emit_conforming(made)

    @abstractmethod
    def _new_results(self) -> Results:
        """Room for the results of a batch."""

    @abstractmethod
    def _take(self, batch: Batch) -> Longs:
        """Take the elements of a batch; returns which of them are late."""

    @abstractmethod
    def _pass(self, until: int) -> None:
        """Time passes: windows fire and end."""


class VectorisedAlignedOperator(VectorisedOperator):
    """Runs aligned windows of event time."""

    def __init__(self, spec: OperatorSpec, windowing: WindowSpec) -> None:
        super().__init__(spec, windowing)
        assigner = windowing.assigner
        assert isinstance(assigner, AlignedWindows)
        self._size, self._slide = assigner.size, assigner.slide
        self._offset, self._lateness = assigner.offset, windowing.allowed_lateness
        whole = self._size == self._slide
        self._agenda = Agenda(self._size, self._slide, self._offset, self._lateness, whole)

    @classmethod
    def table_of(cls, windowing: WindowSpec) -> str:
        return SLICED_COLUMNS

    def open(self, context: TaskContext) -> None:
        super().open(context)
        store, name = store_of(context), f"{self.spec.uid}\x1f{self.content_table}"
        self._slices = store.part(name, lambda: ColumnSlices(name, store))

    def begin(self, watermark: int) -> None:
        """Reads from the store which windows are open, if that is not in memory."""
        self._clock.watermark = watermark
        stored = self._slices.begin()
        if stored is not None:
            self._agenda.reset()
            for start in stored:
                self._agenda.resume(start, watermark)

    def _new_results(self) -> Results:
        return Results(self._measures, self._slices.keys, self._windowing.keyed)

    def _take(self, batch: Batch) -> Longs:
        size, slide = self._size, self._slide
        reach = size + slide + self._lateness
        stamps, watermarks = self.stamps(batch, reach), self.watermarks(batch)
        latest = stamps - (stamps - self._offset) % slide
        inside = stamps - latest < size
        late = np.where(inside, latest + size - 1, stamps) + self._lateness <= watermarks
        kept = np.flatnonzero(inside & ~late)
        codes = self._slices.codes_of(batch)[kept]
        self._results = self._new_results()
        columns = self._measures.of(batch, None if len(kept) == batch.size else kept)
        if len(kept):
            inner, starts = stamps[kept] - latest[kept], _step_down(stamps[kept], self._agenda)
            first = latest[kept] - (size - 1 - inner) // slide * slide
            behind = first + size - 1 <= watermarks[kept]
            if behind.any():
                self._take_pieces(batch, kept, codes, starts, columns, watermarks[kept], behind)
            else:
                self._add(codes, starts, columns)
        if batch.size:
            self._pass(int(watermarks[-1]))
            self._clock.watermark = int(watermarks[-1])
        return np.flatnonzero(late)

    def process_combined(self, blobs: Sequence[bytes]) -> int:
        whole = unpack_slices(blobs)
        starts = whole.starts
        latest = starts - (starts - self._offset) % self._slide
        late = latest + self._size - 1 <= self._clock.watermark
        kept = np.flatnonzero(~late)
        if len(kept) < len(starts):
            dropped = int(whole.columns["n"][late].sum())
            # records that may go to a side output are not combined
            self.context.report.count(f"late:{self.spec.uid}", dropped)
            self.context.report.count(f"late_dropped:{self.spec.uid}", dropped)
        if len(kept):
            codes = self._slices.codes_of_keys(whole.keys)[kept]
            self._add(codes, starts[kept], take(whole.partials, kept))
        return whole.records

    def _add(self, codes: Longs, starts: Longs, columns: Columns) -> None:
        """Combine rows by slice and key and add them to their slices."""
        step = self._agenda.step
        (numbers, keys), inverse = groups_of(starts // step, codes)
        slices = numbers * step + int(starts[0]) % step
        combined = combine(columns, inverse, len(keys))
        begins = np.flatnonzero(np.concatenate(([True], slices[1:] != slices[:-1])))
        ends = [*begins[1:].tolist(), len(slices)]
        for start, begin, end in zip(slices[begins].tolist(), begins.tolist(), ends, strict=True):
            self._open(start)
            rows = slice(begin, end)
            self._slices.add(start, Part(keys[rows], take(combined, rows)))

    def _open(self, start: int) -> None:
        if start not in self._agenda.announced:
            self._agenda.announce(start, self._clock.watermark)

    def _take_pieces(
        self,
        batch: Batch,
        kept: Longs,
        codes: Longs,
        starts: Longs,
        columns: Columns,
        watermarks: Longs,
        behind: Array,
    ) -> None:
        """Add elements of which some come after one of their windows has fired: in pieces, between
        which windows fire."""
        begins = self._crossings(watermarks)
        for begin, end in zip(begins, [*begins[1:], len(kept)], strict=True):
            watermark = int(watermarks[begin])
            self._pass(watermark)
            self._clock.watermark = max(self._clock.watermark, watermark)
            again = np.zeros(0, dtype=np.int64)
            rows = np.arange(begin, end)
            if self._lateness:
                again = rows[behind[begin:end]]
                rows = rows[~behind[begin:end]]
            if len(rows):
                self._add(codes[rows], starts[rows], take(columns, rows))
            held: dict[tuple[int, int], Columns] = {}
            for at in again.tolist():
                row = take(columns, slice(at, at + 1))
                self._fire_again(int(starts[at]), int(codes[at]), row, batch, int(kept[at]), held)

    def _crossings(self, watermarks: Longs) -> list[int]:
        """Where the watermark has passed the end of a window, or the time to forget it."""
        last = self._offset + self._size - 1
        watermarks = np.maximum(
            watermarks, MIN_WATERMARK + abs(last) + self._lateness + self._slide
        )
        fresh = np.zeros(len(watermarks), dtype=bool)
        fresh[0] = True
        for beyond in {last, last + self._lateness}:
            passed = (watermarks - beyond) // self._slide
            fresh[1:] |= passed[1:] != passed[:-1]
        return np.flatnonzero(fresh).tolist()

    def _fire_again(
        self,
        start: int,
        code: int,
        row: Columns,
        batch: Batch,
        at: int,
        held: dict[tuple[int, int], Columns],
    ) -> None:
        """Fire those windows of a late element again that have fired before."""
        watermark = self._clock.watermark
        fired = [
            window
            for window in self._agenda.windows_over(start)
            if window + self._size - 1 <= watermark < window + self._size - 1 + self._lateness
        ]
        for window in fired:
            before = held.get((window, code))
            if before is None:
                before = self._of_key(window, code)
            pair = [row] if before is None else [before, row]
            both = concat(pair, [1] * len(pair))
            held[window, code] = combine(both, np.zeros(len(pair), dtype=np.int64), 1)
            last = min(window + self._size - 1, MAX_WATERMARK)
            codes, starts, lasts, cause = np.array([[code], [window], [last], [at]])
            self._results.placed(codes, starts, lasts, held[window, code], batch, cause)
        self._open(start)
        self._slices.add(start, Part(np.array([code], dtype=np.int64), row))

    def _of_key(self, window: int, code: int) -> Columns | None:
        """What a key has in a window, as one row."""
        found = [
            take(part.columns, np.flatnonzero(part.codes == code))
            for part in self._slices.parts(self._agenda.slices_of(window))
        ]
        sizes = [len(columns["n"]) for columns in found]
        rows = sum(sizes)
        if not rows:
            return None
        return combine(concat(found, sizes), np.zeros(rows, dtype=np.int64), 1)

    def _pass(self, until: int) -> None:
        agenda = self._agenda
        windows: list[int] = []
        parts: list[Part] = []
        rows = 0
        while agenda.next_due <= until:
            for window in agenda.fired():
                found = self._slices.parts(agenda.slices_of(window))
                windows += [window] * len(found)
                parts += found
                rows += sum(len(part.codes) for part in found)
            for window in agenda.ended():
                for start in agenda.retired(window):
                    self._slices.drop(start)
            if rows > _AT_ONCE:
                self._fire(windows, parts)
                windows, parts, rows = [], [], 0
        if parts:
            self._fire(windows, parts)

    def _fire(self, windows: list[int], parts: list[Part]) -> None:
        sizes = [len(part.codes) for part in parts]
        starts = np.repeat(np.array(windows, dtype=np.int64), sizes)
        codes = np.concatenate([part.codes for part in parts])
        columns = concat([part.columns for part in parts], sizes)
        (starts, codes), inverse = groups_of(starts, codes)
        columns = combine(columns, inverse, len(codes))
        order = np.lexsort([*self._slices.keys.ranks(codes), starts])
        starts = starts[order]
        beyond = MAX_WATERMARK - (self._size - 1)
        lasts = np.where(
            starts > beyond, MAX_WATERMARK, np.minimum(starts, beyond) + self._size - 1
        )
        self._results.placed(codes[order], starts, lasts, take(columns, order))


def _step_down(stamps: Array, agenda: Agenda) -> Longs:
    starts = stamps - (stamps - agenda.offset) % agenda.step
    made: Longs = starts.astype(np.int64)
    return made
