"""The model of windows, as Flink's documentation defines them, one record after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.fuzz.model_keyed import Timeline, reduced
from tests.fuzz.records import MODULUS, Fields, fold
from tests.fuzz.steps import Step
from tests.fuzz.streams import Element, Stream
from tests.fuzz.window_parts import OWN_SIZES

Window = tuple[int, int]  # start, end


class Pane:
    """A window of a key: its records with their timestamps, and what its trigger has counted."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.records: list[tuple[Fields, int]] = []
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

    def _assigned(self, record: Fields, ts: int) -> list[Window]:
        kind, size, slide = self.step["assigner"]
        if kind == "own":
            size = slide = OWN_SIZES[record[2] % 2]
        if kind == "session":
            return [(ts, ts + size)]
        if kind == "cumulate":
            first = ts - ts % size
            return [
                (first, end) for end in range(first + slide, first + size + 1, slide) if end > ts
            ]
        first = ts - ts % slide
        return [(start, start + size) for start in range(first, ts - size, -slide)]

    def _on_element(self, element: Element) -> None:
        record, ts, _ = element
        assert ts is not None
        key = 0 if self.step["all"] else record[0]
        taken = False
        for window in self._assigned(record, ts):
            if self.step["assigner"][0] == "session":
                window = self._merged(key, window)
            if window[1] - 1 + self.step["lateness"] <= self.timeline.watermark:
                continue
            taken = True
            self._add(key, window, record, ts)
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

    def _add(self, key: int, window: Window, record: Fields, ts: int) -> None:
        panes = self.panes.setdefault(key, [])
        pane = next((pane for pane in panes if pane.window == window), None)
        if pane is None:
            pane = Pane(window)
            panes.append(pane)
        pane.records.append((record, ts))
        self._watch(key, pane)
        trigger, past = self.step["trigger"], pane.last <= self.timeline.watermark
        pane.count += record[2] if trigger == "own" else 1
        if trigger is None:
            fires = past
        elif trigger == "own":
            fires = past or pane.count % 3 == 0
        else:
            fires = pane.count >= trigger
        if fires:
            self._fire_now(key, pane)
            if trigger == "own":
                pane.records = []
            else:
                pane.count = 0

    def _watch(self, key: int, pane: Pane) -> None:
        if pane.last > self.timeline.watermark:
            self.timeline.timers[pane.last, key] = None
        self.timeline.timers[pane.last + self.step["lateness"], key] = None

    def _fire_now(self, key: int, pane: Pane) -> None:
        self.timeline.emit(self._result(key, pane), pane.last)

    def _on_timer(self, time: int, key: int) -> Iterable[tuple[Fields, int]]:
        for pane in list(self.panes.get(key, [])):
            if pane.last == time and self.step["trigger"] in (None, "own") and pane.records:
                yield self._result(key, pane), pane.last
            if pane.last + self.step["lateness"] == time:
                self.panes[key].remove(pane)

    def _evicted(self, records: list[tuple[Fields, int]], after: bool) -> list[tuple[Fields, int]]:
        """What the evictor leaves of the records, before or after the function is called."""
        kind, amount, when = self.step.args.get("evictor") or (None, 0, False)
        if kind is None or when != after:
            return records
        if kind == "count":
            return records[-amount:]
        if kind == "time":
            latest = max(ts for _, ts in records)
            return [(record, ts) for record, ts in records if ts > latest - amount]
        last = records[-1][0][2]
        return [(record, ts) for record, ts in records if abs(record[2] - last) < amount]

    def _result(self, key: int, pane: Pane) -> Fields:
        before = self._evicted(pane.records, after=False)
        pane.records = self._evicted(before, after=True)
        records, how = [record for record, _ in before], self.step["function"]
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


def grouped_in_windows(
    left: Stream, right: Stream, assigner: tuple[str, int, int]
) -> Iterable[tuple[Fields, int]]:
    """What both sides have in each window of a key, and the last instant of the window."""
    _, size, slide = assigner
    groups: dict[tuple[int, int], tuple[list[Fields], list[Fields]]] = {}
    for side, stream in enumerate((left, right)):
        for record, ts, _ in stream.elements:
            assert ts is not None
            for start in range(ts - ts % slide, ts - size, -slide):
                groups.setdefault((start + size - 1, record[0]), ([], []))[side].append(record)
    for (last, k), (lefts, rights) in groups.items():
        values = sorted(v for _, _, v in lefts), sorted(v for _, _, v in rights)
        latest = max(t for _, t, _ in [*lefts, *rights])
        yield (k, latest, fold([len(lefts), *values[0], *values[1]])), last
