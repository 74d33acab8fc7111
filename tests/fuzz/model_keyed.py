"""The model of keyed functions: one record after the other, timers as the watermark passes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.fuzz.records import MODULUS, Fields, fold
from tests.fuzz.streams import MAX, MIN, Element, Stream

Timer = tuple[int, Any]


class Timeline:
    """An operator's clock: what it emits stands where Flink's would, a timer's results right before
    the watermark that reaches the timer."""

    def __init__(self, on_timer: Callable[[int, Any], Iterable[tuple[Fields, int]]]) -> None:
        self.watermark = MIN
        self.timers: dict[Timer, None] = {}
        self.out: list[Element] = []
        self._on_timer = on_timer

    def advance(self, watermark: int) -> None:
        """The watermark moves: timers that are due fire in the order of time. One that was set
        behind the watermark waits until the watermark moves."""
        if watermark <= self.watermark:
            return
        before = self.watermark
        while due := sorted((t for t in self.timers if t[0] <= watermark), key=lambda t: t[0]):
            time, what = due[0]
            del self.timers[time, what]
            self.watermark = max(self.watermark, time)
            for record, ts in self._on_timer(time, what):
                self.out.append(Element(record, ts, max(before, time - 1)))
        self.watermark = watermark

    def emit(self, record: Fields, ts: int | None) -> None:
        """Something is emitted for the record being handled."""
        self.out.append(Element(record, ts, self.watermark))

    def run(self, stream: Stream, on_element: Callable[[Element], None]) -> tuple[Element, ...]:
        """Go through the stream, and on to the end of time."""
        for element in stream.elements:
            self.advance(element.wm)
            on_element(element)
        self.advance(MAX)
        return tuple(self.out)


def running(stream: Stream) -> tuple[Element, ...]:
    """For each record the fold of its key's values so far."""
    held: dict[int, int] = {}
    out = []
    for (k, t, v), ts, wm in stream.elements:
        held[k] = fold([held[k], v]) if k in held else v
        out.append(Element((k, t, held[k]), ts, wm))
    return tuple(out)


def reducing(stream: Stream) -> tuple[Element, ...]:
    """A rolling reduce: values folded, the latest time."""
    held: dict[int, Fields] = {}
    out = []
    for record, ts, wm in stream.elements:
        k = record[0]
        held[k] = reduced(held[k], record) if k in held else record
        out.append(Element(held[k], ts, wm))
    return tuple(out)


def reduced(one: Fields, other: Fields) -> Fields:
    """What two records are reduced to."""
    return one[0], max(one[1], other[1]), fold([one[2], other[2]])


def changing(stream: Stream) -> tuple[Element, ...]:
    """The first record of a key, changed by each further one."""
    held: dict[int, Fields] = {}
    out = []
    for (k, t, v), ts, wm in stream.elements:
        first = held.get(k)
        now = (k, t, v) if first is None else (k, first[1], (first[2] + v) % MODULUS)
        out.append(Element(now, ts, wm))
        if v % 2:
            now = (k, now[1], (now[2] + 1) % MODULUS)
            out.append(Element(now, ts, wm))
        held[k] = now
    return tuple(out)


def counted(stream: Stream, size: int) -> tuple[Element, ...]:
    """Every ``size`` records of a key, reduced. Such windows have no end, and so the results no
    timestamp that would mean anything."""
    held: dict[int, list[Fields]] = {}
    out = []
    for record, _, wm in stream.elements:
        mine = held.setdefault(record[0], [])
        mine.append(record)
        if len(mine) == size:
            whole = mine[0]
            for other in mine[1:]:
                whole = reduced(whole, other)
            out.append(Element(whole, None, wm))
            mine.clear()
    return tuple(out)


def expiring(stream: Stream, kind: str, ttl: int, on_read: bool) -> tuple[Element, ...]:
    """For each record the fold of its key's values that have not expired. A value written at some
    time, or read, if that counts, has expired when the watermark is so much later. Lists and maps
    expire entry by entry."""
    held: dict[int, dict[Any, tuple[int, int]]] = {}
    out = []
    for (k, t, v), ts, wm in stream.elements:
        assert ts is not None
        now = max(ts, wm)
        mine = {at: (w, when) for at, (w, when) in held.get(k, {}).items() if when + ttl > wm}
        if kind in ("value", "reducing"):
            mine = {0: (fold([mine[0][0], v]) if mine else v, now)}
        else:
            mine[v % 5 if kind == "map" else len(out)] = (v, now)
            if on_read:
                mine = {at: (w, now) for at, (w, _) in mine.items()}
        held[k] = mine
        out.append(Element((k, t, fold([w for _, (w, _) in sorted(mine.items())])), ts, wm))
    return tuple(out)


def numbered(stream: Stream) -> tuple[Element, ...]:
    """For each record the fold of all values so far."""
    out: list[Element] = []
    for (k, t, v), ts, wm in stream.elements:
        out.append(Element((k, t, fold([out[-1].record[2], v]) if out else v), ts, wm))
    return tuple(out)


def sorting(stream: Stream) -> tuple[Element, ...]:
    """The values of each timestamp together."""
    waiting: dict[Timer, list[int]] = {}

    def on_timer(time: int, k: int) -> Iterable[tuple[Fields, int]]:
        yield (k, time, fold(sorted(waiting.pop((time, k))))), time

    timeline = Timeline(on_timer)

    def on_element(element: Element) -> None:
        (k, t, v), ts, _ = element
        assert ts is not None
        if ts <= timeline.watermark:
            timeline.emit((k, t, (v + 7) % MODULUS), ts)
        else:
            waiting.setdefault((ts, k), []).append(v)
            timeline.timers[ts, k] = None

    return timeline.run(stream, on_element)


def delaying(stream: Stream, delay: int) -> tuple[Element, ...]:
    """Sums, a while after each record."""
    seen: dict[int, list[tuple[int, int]]] = {}

    def on_timer(time: int, k: int) -> Iterable[tuple[Fields, int]]:
        yield (k, time, sum(v for ts, v in seen[k] if ts <= time) % MODULUS), time

    timeline = Timeline(on_timer)

    def on_element(element: Element) -> None:
        (k, _, v), ts, _ = element
        assert ts is not None
        seen.setdefault(k, []).append((ts, v))
        timeline.timers[ts + delay, k] = None

    return timeline.run(stream, on_element)


def sorting_both(left: Stream, right: Stream) -> tuple[Element, ...]:
    """The values of each timestamp of both sides together."""
    together: dict[Timer, list[int]] = {}
    for side, stream in enumerate((left, right)):
        for (k, _, v), ts, _ in stream.elements:
            assert ts is not None
            together.setdefault((ts, k), []).append(2 * v + side)
    return in_time(((k, ts, fold(sorted(values))), ts) for (ts, k), values in together.items())


def ruled(stream: Stream, rules: Stream) -> tuple[Element, ...]:
    """The values of each timestamp, with the sum of the rules up to it."""
    together: dict[Timer, list[int]] = {}
    for (k, _, v), ts, _ in stream.elements:
        assert ts is not None
        together.setdefault((ts, k), []).append(v)

    def total(until: int) -> int:
        return sum(e.record[2] for e in rules.elements if e.ts is not None and e.ts <= until)

    return in_time(
        ((k, ts, (fold(sorted(values)) + total(ts)) % MODULUS), ts)
        for (ts, k), values in together.items()
    )


def pairs(
    left: Stream, right: Stream, fits: Callable[[int, int], bool]
) -> Iterable[tuple[Element, Element]]:
    """All pairs of one key whose timestamps fit."""
    for one in left.elements:
        for other in right.elements:
            assert one.ts is not None
            assert other.ts is not None
            if one.record[0] == other.record[0] and fits(one.ts, other.ts):
                yield one, other


def paired(one: Element, other: Element) -> Fields:
    """The record made of two."""
    (k, t, v), (_, u, w) = one.record, other.record
    return k, max(t, u), (2 * v + 3 * w) % MODULUS


def in_time(records: Iterable[tuple[Fields, int]]) -> tuple[Element, ...]:
    """Records in the order of time."""
    return tuple(Element(record, ts, ts - 1) for record, ts in sorted(records, key=lambda r: r[1]))
