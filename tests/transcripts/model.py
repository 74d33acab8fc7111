"""A model of windows that is as plain as it can be: what transcripts are checked against.

It follows the definition of Flink's window operator, one key, one element at a time: assign, merge,
add, ask the trigger, clean up. Nothing is shared with the engine. Assigners and evictors have the
engine's names here too, so the text of a transcript, ``TumblingEventTimeWindows.of(ms(10))``, can
be evaluated in either world; triggers are in :mod:`tests.transcripts.model_triggers`.

A window is a plain tuple: ``(start, end)``, ``(number,)`` or ``()``. Where Flink leaves the order
of timers open, those of the same time fire in the order of their windows. A watermark that jumps
passes every instant in between: at a timer the watermark is the timer's time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

END = (1 << 63) - 1
Window = tuple[int, ...]


def last_instant(window: Window) -> int:
    return min(window[1] - 1, END) if len(window) == 2 else END


class Assigner:
    """``assign`` gives the windows of an element, the latest first."""

    def __init__(
        self,
        assign: Callable[[Any, int, int, int], list[Window]],
        event_time: bool,
        default: str,
        merging: bool = False,
    ) -> None:
        #: called with the element, its timestamp, the clock, and how many elements came before
        self.assign = assign
        self.event_time, self.default, self.merging = event_time, default, merging


def _spans(time: int, size: int, slide: int, offset: int) -> list[Window]:
    starts = range(time, time - size, -1)
    return [(start, start + size) for start in starts if (start - offset) % slide == 0]


class _Aligned:
    event_time: bool

    @classmethod
    def of(cls, size: int, slide: int | None = None, offset: int = 0) -> Assigner:
        if cls.event_time:
            return Assigner(
                lambda _e, stamp, _now, _n: _spans(stamp, size, slide or size, offset),
                True,
                "EventTimeTrigger()",
            )
        return Assigner(
            lambda _e, _stamp, now, _n: _spans(now, size, slide or size, offset),
            False,
            "ProcessingTimeTrigger()",
        )


class SlidingEventTimeWindows(_Aligned):
    event_time = True


class SlidingProcessingTimeWindows(_Aligned):
    event_time = False


class TumblingEventTimeWindows(_Aligned):
    event_time = True

    @classmethod
    def of(cls, size: int, offset: int = 0) -> Assigner:  # type: ignore[override]
        return super().of(size, size, offset)


class TumblingProcessingTimeWindows(TumblingEventTimeWindows):
    event_time = False


class EventTimeSessionWindows:
    event_time = True

    @classmethod
    def with_gap(cls, gap: int) -> Assigner:
        return cls.with_dynamic_gap(lambda element: gap)

    @classmethod
    def with_dynamic_gap(cls, gap: Callable[[Any], int]) -> Assigner:
        if cls.event_time:
            return Assigner(
                lambda e, stamp, _now, _n: [(stamp, stamp + gap(e))],
                True,
                "EventTimeTrigger()",
                merging=True,
            )
        return Assigner(
            lambda e, _stamp, now, _n: [(now, now + gap(e))],
            False,
            "ProcessingTimeTrigger()",
            merging=True,
        )


class ProcessingTimeSessionWindows(EventTimeSessionWindows):
    event_time = False


class GlobalWindows:
    @staticmethod
    def create() -> Assigner:
        return Assigner(lambda *_: [()], False, "NeverTrigger()")


class CountSlidingWindowAssigner:
    @staticmethod
    def of(size: int, slide: int) -> Assigner:
        def assign(_e: Any, _stamp: int, _now: int, number: int) -> list[Window]:
            ids = range(number // slide, -1, -1)
            return [(at,) for at in ids if at * slide <= number < at * slide + size]

        return Assigner(assign, False, f"PurgingTrigger.of(CountTrigger.of({size}))")


class CountTumblingWindowAssigner:
    @staticmethod
    def of(size: int) -> Assigner:
        return CountSlidingWindowAssigner.of(size, size)


class _Evictor:
    def __init__(self, keep: Callable[[list[Any]], list[Any]], after: bool) -> None:
        self.keep, self.after = keep, after


class CountEvictor:
    @staticmethod
    def of(count: int, do_evict_after: bool = False) -> _Evictor:
        return _Evictor(lambda held: held[max(0, len(held) - count) :], do_evict_after)


class TimeEvictor:
    @staticmethod
    def of(span: int, do_evict_after: bool = False) -> _Evictor:
        def keep(held: list[Any]) -> list[Any]:
            newest = max((stamp for _, stamp in held), default=0)
            return [pair for pair in held if pair[1] > newest - span]

        return _Evictor(keep, do_evict_after)


class DeltaEvictor:
    @staticmethod
    def of(threshold: float, delta: Any, do_evict_after: bool = False) -> _Evictor:
        def keep(held: list[Any]) -> list[Any]:
            return [pair for pair in held if delta(pair[0], held[-1][0]) < threshold]

        return _Evictor(keep, do_evict_after)


class Held:
    """All that is known of one window."""

    def __init__(self, trigger: Any) -> None:
        self.contents: list[tuple[Any, int]] = []
        self.trigger = trigger.fresh()
        self.index = 0
        self.said: list[str] = []


class Model:
    """The windows of one key, the clocks, and what has come out."""

    def __init__(
        self, assigner: Assigner, trigger: Any, lateness: int, mode: str, evictor: Any = None
    ) -> None:
        self.assigner, self.trigger, self.lateness = assigner, trigger, lateness
        self.mode, self.evictor = mode, evictor
        self.watermark, self.now = -END - 1, 0
        self.windows: dict[Window, Held] = {}
        self.timers: dict[str, set[tuple[int, Window]]] = {"event": set(), "clock": set()}
        self.panes: list[str] = []
        self.late: list[Any] = []
        self.seen = 0
        self.ended = False

    # -- time

    def pass_watermark(self, to: int) -> None:
        self.ended = to == END
        self._pass("event", to)
        self.watermark = max(self.watermark, to)

    def pass_clock(self, to: int) -> None:
        self.now = to
        self._pass("clock", to)

    def _pass(self, domain: str, to: int) -> None:
        while due := sorted(timer for timer in self.timers[domain] if timer[0] <= to):
            time, window = due[0]
            self.timers[domain].discard((time, window))
            if domain == "event":
                self.watermark = max(self.watermark, time)
            self._timer(domain, time, window)

    def _timer(self, domain: str, time: int, window: Window) -> None:
        if self.assigner.merging and window not in self.windows:
            return
        held = self._held(window)
        own = domain == ("event" if self.assigner.event_time else "clock")
        at_end = own and time == last_instant(window)
        answer = held.trigger.on_timer(domain, time, Moment(self, window))
        self._answer(answer, window, held, "on time" if at_end else "late")
        if own and time == self._cleanup(window) and time < END:
            del self.windows[window]
            self.timers = {
                name: {timer for timer in timers if timer[1] != window}
                for name, timers in self.timers.items()
            }

    def _cleanup(self, window: Window) -> int:
        extra = self.lateness if self.assigner.event_time else 0
        return min(last_instant(window) + extra, END)

    def _held(self, window: Window) -> Held:
        if window not in self.windows:
            self.windows[window] = Held(self.trigger)
        return self.windows[window]

    # -- elements

    def add(self, element: Any, stamp: int) -> None:
        windows = self.assigner.assign(element, stamp, self.now, self.seen)
        self.seen += 1
        taken = refused = False
        for window in windows:
            if self.assigner.merging:
                window = self._merge(window)
            if self.assigner.event_time and self._cleanup(window) <= self.watermark:
                continue
            held = self._held(window)
            if self._cleanup(window) < END:
                domain = "event" if self.assigner.event_time else "clock"
                self.timers[domain].add((self._cleanup(window), window))
            if held.trigger.closed:
                refused = True
                continue
            taken = True
            held.contents.append((element, stamp))
            answer = held.trigger.on_element(element, stamp, Moment(self, window))
            self._answer(answer, window, held, "late")
        behind = self.assigner.event_time and stamp + self.lateness <= self.watermark
        if not taken and (refused or behind):
            self.late.append(element)

    def _merge(self, window: Window) -> Window:
        """Make one of a new window and those that it touches."""
        touching = [w for w in sorted(self.windows) if w[0] <= window[1] and w[1] >= window[0]]
        if not touching:
            return window
        spans = [*touching, window]
        whole = (min(w[0] for w in spans), max(w[1] for w in spans))
        if touching == [whole]:
            return whole
        old = [self.windows.pop(w) for w in touching]
        one = self.windows[whole] = Held(self.trigger)
        one.contents = [pair for held in old for pair in held.contents]
        one.index = max(held.index for held in old)
        one.said = [text for held in old for text in held.said]
        for timers in self.timers.values():
            timers -= {timer for timer in timers if timer[1] in touching}
        one.trigger.absorb([held.trigger for held in old], Moment(self, whole))
        return whole

    # -- panes

    def _answer(self, answer: str, window: Window, held: Held, timing: str) -> None:
        if "fire" in answer and held.contents:
            self._emit(window, held, timing)
            if self.mode == "DISCARDING":
                held.contents = []
        if "purge" in answer:
            held.contents = []

    def _emit(self, window: Window, held: Held, timing: str) -> None:
        clock = self.watermark if self.assigner.event_time else self.now
        if clock < last_instant(window) and not self._once():
            timing = "early"
        elif self._once():
            timing = "on time"
        if self.evictor is not None and not self.evictor.after:
            held.contents = self.evictor.keep(held.contents)
        shown = " ".join(str(element[1]) for element, _ in held.contents)
        index = 0 if self._once() else held.index
        pane = f"{name_of(window)}: {shown} {timing}/{index}"
        held.index += 1
        if self.evictor is not None and self.evictor.after:
            held.contents = self.evictor.keep(held.contents)
        if self.mode != "ACCUMULATING_AND_RETRACTING":
            self.panes.append(pane)
            return
        self.panes += [f"-U {text}" for text in held.said]
        self.panes.append(f"{'+U' if held.said else '+I'} {pane}")
        held.said = [pane]

    def _once(self) -> bool:
        """Count windows are complete when they fire: by their own trigger, once, on time."""
        return self.assigner.default == self.trigger.text()


class Moment:
    """A window at an instant, as triggers see it: the clocks, and the window's timers."""

    def __init__(self, model: Model, window: Window) -> None:
        self.watermark, self.now = model.watermark, model.now
        self.end = last_instant(window)
        #: whether nothing will change any more, ever: no reason to go on for ever
        self.forever = model.ended and self.end == END
        self._timers, self._window = model.timers, window

    def set_timer(self, domain: str, time: int) -> None:
        self._timers[domain].add((time, self._window))

    def delete_timer(self, domain: str, time: int) -> None:
        self._timers[domain].discard((time, self._window))


def name_of(window: Window) -> str:
    if not window:
        return "global"
    return f"#{window[0]}" if len(window) == 1 else f"{window[0]}-{window[1]}"


def replayed(model: Model, steps: Iterable[tuple[str, Any]], element: Callable[[Any], Any]) -> None:
    """Play steps on a model; ``element`` makes the element and its timestamp of a text."""
    for action, given in steps:
        if action == "add":
            for text in given:
                model.add(*element(text))
        elif action in ("clock", "restart"):
            # timers of processing time that were set for the past wait for the next micro-batch
            model.pass_clock(given if action == "clock" else model.now)
        elif action in ("watermark", "end"):
            model.pass_watermark(given if action == "watermark" else END)
