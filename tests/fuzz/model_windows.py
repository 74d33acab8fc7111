"""The model of windows, as Flink's documentation defines them, one record after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.fuzz.model_keyed import Timeline, reduced
from tests.fuzz.records import MODULUS, Fields, fold
from tests.fuzz.steps import Step
from tests.fuzz.streams import Element, Stream

Window = tuple[int, int]  # start, end


class Pane:
    """A window of a key: its records, and how many its trigger has counted."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.records: list[Fields] = []
        self.count = 0

    @property
    def last(self) -> int:
        """The last instant of the window."""
        return self.window[1] - 1


class WindowModel:
    """The windows of one step."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.panes: dict[int, list[Pane]] = {}
        self.timeline = Timeline(self._on_timer)
        self.late: list[Element] = []

    def run(self, stream: Stream) -> tuple[tuple[Element, ...], tuple[Element, ...]]:
        """The results, and the records that came too late."""
        return self.timeline.run(stream, self._on_element), tuple(self.late)

    def _assigned(self, ts: int) -> list[Window]:
        kind, size, slide = self.step["assigner"]
        if kind == "session":
            return [(ts, ts + size)]
        first = ts - ts % slide
        return [(start, start + size) for start in range(first, ts - size, -slide)]

    def _on_element(self, element: Element) -> None:
        record, ts, _ = element
        assert ts is not None
        key = 0 if self.step["all"] else record[0]
        taken = False
        for window in self._assigned(ts):
            if self.step["assigner"][0] == "session":
                window = self._merged(key, window)
            if window[1] - 1 + self.step["lateness"] <= self.timeline.watermark:
                continue
            taken = True
            self._add(key, window, record)
        if not taken and ts + self.step["lateness"] <= self.timeline.watermark:
            self.late.append(Element(record, ts, self.timeline.watermark))

    def _merged(self, key: int, window: Window) -> Window:
        """The session that ``window`` becomes with the sessions it touches. If that is too late,
        nothing is touched."""
        panes = self.panes.setdefault(key, [])
        touched = [p for p in panes if p.window[0] <= window[1] and window[0] <= p.window[1]]
        start = min([window[0], *(pane.window[0] for pane in touched)])
        end = max([window[1], *(pane.window[1] for pane in touched)])
        if end - 1 + self.step["lateness"] > self.timeline.watermark and touched:
            whole = Pane((start, end))
            for pane in touched:
                whole.records += pane.records
                whole.count += pane.count
                panes.remove(pane)
            panes.append(whole)
            self._watch(key, whole)
        return start, end

    def _add(self, key: int, window: Window, record: Fields) -> None:
        panes = self.panes.setdefault(key, [])
        pane = next((pane for pane in panes if pane.window == window), None)
        if pane is None:
            pane = Pane(window)
            panes.append(pane)
        pane.records.append(record)
        pane.count += 1
        self._watch(key, pane)
        if self.step["trigger"] is None:
            if pane.last <= self.timeline.watermark:
                self._fire_now(key, pane)
        elif pane.count >= self.step["trigger"]:
            pane.count = 0
            self._fire_now(key, pane)

    def _watch(self, key: int, pane: Pane) -> None:
        if pane.last > self.timeline.watermark:
            self.timeline.timers[pane.last, key] = None
        self.timeline.timers[pane.last + self.step["lateness"], key] = None

    def _fire_now(self, key: int, pane: Pane) -> None:
        self.timeline.emit(self._result(key, pane), pane.last)

    def _on_timer(self, time: int, key: int) -> Iterable[tuple[Fields, int]]:
        for pane in list(self.panes.get(key, [])):
            if pane.last == time and self.step["trigger"] is None:
                yield self._result(key, pane), pane.last
            if pane.last + self.step["lateness"] == time:
                self.panes[key].remove(pane)

    def _result(self, key: int, pane: Pane) -> Fields:
        records, how = pane.records, self.step["function"]
        values = [v for _, _, v in records]
        if how == "process":
            return key, pane.last, fold(sorted(values))
        if how == "in order":
            return key, pane.last, fold(values)
        if how == "built-in":
            total = [len(values), sum(values), min(values), max(values)]
            return key, pane.last, fold(total)
        if how == "sum":
            return records[0][0], records[0][1], sum(values)
        if how == "fold":
            whole: Any = records[0]
            for other in records[1:]:
                whole = reduced(whole, other)
            return whole
        latest = max(t for _, t, _ in records)
        return max(k for k, _, _ in records), latest, sum(values) % MODULUS


def joined_in_windows(left: Stream, right: Stream, size: int) -> Iterable[tuple[Element, Element]]:
    """All pairs of one key and tumbling window."""
    for one in left.elements:
        for other in right.elements:
            assert one.ts is not None
            assert other.ts is not None
            if one.record[0] == other.record[0] and one.ts // size == other.ts // size:
                yield one, other
