"""The triggers of the model: each window has a copy of its own, with plain attributes.

``on_element`` and ``on_timer`` answer with words: "", "fire", "purge" or "fire and purge". When
windows merge, the copy of the new one absorbs those of the old ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any


class Trigger:
    #: whether the window takes no more elements
    closed = False

    def fresh(self) -> Any:
        return copy.deepcopy(self)

    def text(self) -> str:
        """How it is written, where that matters."""
        return ""

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        return ""

    def on_timer(self, domain: str, time: int, at: Any) -> str:
        return ""

    def absorb(self, others: list[Any], at: Any) -> None:
        pass


class NeverTrigger(Trigger):
    pass


class EventTimeTrigger(Trigger):
    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        if at.end <= at.watermark:
            return "fire"
        at.set_timer("event", at.end)
        return ""

    def on_timer(self, domain: str, time: int, at: Any) -> str:
        return "fire" if domain == "event" and time == at.end else ""

    def absorb(self, others: list[Any], at: Any) -> None:
        if at.end > at.watermark:
            at.set_timer("event", at.end)


class ProcessingTimeTrigger(Trigger):
    @staticmethod
    def create() -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        at.set_timer("clock", at.end)
        return ""

    def on_timer(self, domain: str, time: int, at: Any) -> str:
        return "fire" if domain == "clock" else ""

    def absorb(self, others: list[Any], at: Any) -> None:
        if at.end > at.now:
            at.set_timer("clock", at.end)


class CountTrigger(Trigger):
    def __init__(self, size: int) -> None:
        self.size, self.count = size, 0

    @staticmethod
    def of(size: int) -> CountTrigger:
        return CountTrigger(size)

    def text(self) -> str:
        return f"CountTrigger.of({self.size})"

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        self.count += 1
        if self.count < self.size:
            return ""
        self.count = 0
        return "fire"

    def absorb(self, others: list[Any], at: Any) -> None:
        self.count = sum(other.count for other in others)


class DeltaTrigger(Trigger):
    def __init__(self, threshold: float, delta: Callable[[Any, Any], float]) -> None:
        self.threshold, self.delta = threshold, delta
        self.last: Any = None

    @staticmethod
    def of(threshold: float, delta: Callable[[Any, Any], float]) -> DeltaTrigger:
        return DeltaTrigger(threshold, delta)

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        if self.last is None:
            self.last = element
        elif self.delta(self.last, element) > self.threshold:
            self.last = element
            return "fire"
        return ""


class PurgingTrigger(Trigger):
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @staticmethod
    def of(inner: Any) -> PurgingTrigger:
        return PurgingTrigger(inner)

    def text(self) -> str:
        return f"PurgingTrigger.of({self.inner.text()})"

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        return "fire and purge" if self.inner.on_element(element, stamp, at) else ""

    def on_timer(self, domain: str, time: int, at: Any) -> str:
        return "fire and purge" if self.inner.on_timer(domain, time, at) else ""

    def absorb(self, others: list[Any], at: Any) -> None:
        self.inner.absorb([other.inner for other in others], at)


class _Continuous(Trigger):
    domain: str

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self.next: int | None = None

    @classmethod
    def of(cls, interval: int) -> Any:
        return cls(interval)

    def _appoint(self, time: int, at: Any) -> None:
        self.next = min(time + self.interval, at.end)
        at.set_timer(self.domain, self.next)

    def on_timer(self, domain: str, time: int, at: Any) -> str:
        if domain != self.domain or self.next != time:
            return ""
        self.next = None
        if time < at.end and not at.forever:
            self._appoint(time, at)
        return "fire"

    def absorb(self, others: list[Any], at: Any) -> None:
        times = [other.next for other in others if other.next is not None]
        if times:
            self.next = min(times)
            at.set_timer(self.domain, self.next)


class ContinuousEventTimeTrigger(_Continuous):
    domain = "event"

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        if at.end <= at.watermark:
            return "fire"
        at.set_timer("event", at.end)
        if self.next is None:
            self._appoint(stamp // self.interval * self.interval, at)
        return ""

    def on_timer(self, domain: str, time: int, at: Any) -> str:
        if domain == "event" and time == at.end:
            return "fire"
        return super().on_timer(domain, time, at)


class ContinuousProcessingTimeTrigger(_Continuous):
    domain = "clock"

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        if self.next is None:
            self._appoint(at.now // self.interval * self.interval, at)
        return ""


class Condition(Trigger):
    """A composed trigger. It fires when it is ``ready``; ``fire`` says whether that was the last
    time. At every instant something happens, the outermost condition is asked."""

    #: whether an element has come
    begun = False

    def on_element(self, element: Any, stamp: int, at: Any) -> str:
        self.begun = True
        if at.end > at.watermark:
            at.set_timer("event", at.end)
        self.count_in(at)
        return self._ask(at)

    def on_timer(self, domain: str, time: int, at: Any) -> str:
        if self.closed or not self.begun:
            return ""
        return self._ask(at)

    def _ask(self, at: Any) -> str:
        fires = self.ready(at)
        if fires:
            self.closed = self.fire(at)
        self._appoint(at)
        return "fire" if fires else ""

    def _appoint(self, at: Any) -> None:
        due = None if self.closed else self.due()
        if due is not None and due > at.now:
            at.set_timer("clock", due)

    def absorb(self, others: list[Any], at: Any) -> None:
        started = [other for other in others if other.begun]
        # a window that is not closed keeps all of them open
        chosen = [other for other in started if not other.closed]
        self.begun = bool(started)
        if started and not chosen:
            self.closed = True
        elif chosen:
            self.join(chosen)
        if at.end > at.watermark:
            at.set_timer("event", at.end)
        self._appoint(at)

    def or_finally(self, until: Any) -> OrFinally:
        return OrFinally(self, until)

    def count_in(self, at: Any) -> None:
        raise NotImplementedError

    def ready(self, at: Any) -> bool:
        raise NotImplementedError

    def fire(self, at: Any) -> bool:
        return True

    def join(self, others: list[Any]) -> None:
        raise NotImplementedError

    def due(self) -> int | None:
        return None


class AfterCount(Condition):
    def __init__(self, count: int) -> None:
        self.count, self.seen = count, 0

    def count_in(self, at: Any) -> None:
        self.seen += 1

    def ready(self, at: Any) -> bool:
        return self.seen >= self.count

    def join(self, others: list[Any]) -> None:
        self.seen = sum(other.seen for other in others)


class AfterProcessingTime(Condition):
    def __init__(self, delay: int) -> None:
        self.delay = delay
        self.at: int | None = None

    def count_in(self, at: Any) -> None:
        if self.at is None:
            self.at = at.now + self.delay

    def ready(self, at: Any) -> bool:
        return self.at is not None and self.at <= at.now

    def join(self, others: list[Any]) -> None:
        self.at = min((other.at for other in others if other.at is not None), default=None)

    def due(self) -> int | None:
        return self.at


class AfterWatermark(Condition):
    def __init__(self, early: Any = None, late: Any = None) -> None:
        self.early, self.late = early, late
        self.passed = False
        self.part = copy.deepcopy(early)

    def count_in(self, at: Any) -> None:
        if self.part is not None:
            self.part.count_in(at)

    def _ends(self, at: Any) -> bool:
        return not self.passed and bool(at.watermark >= at.end)

    def ready(self, at: Any) -> bool:
        return self._ends(at) or (self.part is not None and self.part.ready(at))

    def fire(self, at: Any) -> bool:
        if self._ends(at):
            self.passed = True
            self.part = copy.deepcopy(self.late)
            return self.late is None
        if self.part.fire(at):
            self.part = copy.deepcopy(self.late if self.passed else self.early)
        return False

    def join(self, others: list[Any]) -> None:
        # one that has not reached its end decides; the new window has not either
        chosen = [other for other in others if not other.passed] or others
        self.passed = chosen[0].passed
        self.part = copy.deepcopy(self.late if self.passed else self.early)
        if self.part is not None:
            self.part.join([other.part for other in chosen])

    def due(self) -> int | None:
        return None if self.part is None else self.part.due()


class Repeatedly(Condition):
    def __init__(self, condition: Any) -> None:
        self.condition, self.part = condition, copy.deepcopy(condition)

    def count_in(self, at: Any) -> None:
        self.part.count_in(at)

    def ready(self, at: Any) -> bool:
        return bool(self.part.ready(at))

    def fire(self, at: Any) -> bool:
        if self.part.fire(at):
            self.part = copy.deepcopy(self.condition)
        return False

    def join(self, others: list[Any]) -> None:
        self.part.join([other.part for other in others])

    def due(self) -> int | None:
        found: int | None = self.part.due()
        return found


class _Several(Condition):
    def __init__(self, *parts: Any) -> None:
        self.parts = list(parts)

    def count_in(self, at: Any) -> None:
        for part in self.parts:
            part.count_in(at)

    def join(self, others: list[Any]) -> None:
        for number, part in enumerate(self.parts):
            part.join([other.parts[number] for other in others])

    def _dues(self) -> list[int]:
        dues = [part.due() for part in self.parts]
        return [due for due in dues if due is not None]


class AfterFirst(_Several):
    def ready(self, at: Any) -> bool:
        return any(part.ready(at) for part in self.parts)

    def due(self) -> int | None:
        return min(self._dues(), default=None)


class AfterAll(_Several):
    def ready(self, at: Any) -> bool:
        return all(part.ready(at) for part in self.parts)

    def due(self) -> int | None:
        return max(self._dues(), default=None)


class AfterEach(_Several):
    def count_in(self, at: Any) -> None:
        self.parts[0].count_in(at)

    def ready(self, at: Any) -> bool:
        return bool(self.parts[0].ready(at))

    def fire(self, at: Any) -> bool:
        if self.parts[0].fire(at):
            del self.parts[0]
        return not self.parts

    def join(self, others: list[Any]) -> None:
        # the one that is furthest back decides
        most = max(len(other.parts) for other in others)
        chosen = [other for other in others if len(other.parts) == most]
        self.parts = self.parts[len(self.parts) - most :]
        self.parts[0].join([other.parts[0] for other in chosen])

    def due(self) -> int | None:
        found: int | None = self.parts[0].due()
        return found


class OrFinally(Condition):
    def __init__(self, condition: Any, until: Any) -> None:
        self.condition, self.until = condition, until

    def count_in(self, at: Any) -> None:
        self.condition.count_in(at)
        self.until.count_in(at)

    def ready(self, at: Any) -> bool:
        return bool(self.condition.ready(at) or self.until.ready(at))

    def fire(self, at: Any) -> bool:
        return bool(self.until.ready(at) or self.condition.fire(at))

    def join(self, others: list[Any]) -> None:
        self.condition.join([other.condition for other in others])
        self.until.join([other.until for other in others])

    def due(self) -> int | None:
        dues = [self.condition.due(), self.until.due()]
        return min((due for due in dues if due is not None), default=None)
