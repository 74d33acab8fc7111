"""Which aligned windows are still to fire, and which to be forgotten.

All keys share the boundaries of aligned windows, so no timers are needed: what is to come follows
from the slices of time that hold something, and from the watermark.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from math import gcd

from scurry.runtime.batch import MAX_WATERMARK


class Agenda:
    """The open windows of ``size`` ms every ``slide`` ms, cut into slices of ``step`` ms.

    With ``whole`` each window is a slice of its own.
    """

    def __init__(self, size: int, slide: int, offset: int, lateness: int, whole: bool) -> None:
        self.size, self.slide, self.offset, self.lateness = size, slide, offset, lateness
        self.step = slide if whole else gcd(size, slide)
        self._whole = whole
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        #: heaps of the starts of windows that are to fire, and to be forgotten
        self._to_fire: list[int] = []
        self._to_end: list[int] = []
        #: windows in either heap, and slices whose windows are
        self._known: set[int] = set()
        self.announced: set[int] = set()
        self.next_due = MAX_WATERMARK + 1

    def announce(self, start: int, mark: int) -> None:
        """A slice has something: the windows over it will fire, and end."""
        self.announced.add(start)
        for window in self.windows_over(start):
            last = window + self.size - 1
            if window not in self._known and last + self.lateness > mark:
                self._known.add(window)
                heapq.heappush(self._to_end, window)
                if last > mark:
                    heapq.heappush(self._to_fire, window)
                self._look_ahead()

    def resume(self, start: int, mark: int) -> None:
        """A slice is in the store. If its windows are over by now, because the allowed lateness has
        been lowered since, they end when time passes next."""
        self.announce(start, mark)
        windows = self.windows_over(start)
        if not any(window in self._known for window in windows):
            self._known.update(windows)
            for window in windows:
                heapq.heappush(self._to_end, window)
            self._look_ahead()

    def windows_over(self, start: int) -> range:
        """The windows that contain a slice, the latest first."""
        if self._whole:
            return range(start, start + 1)
        latest = start - (start - self.offset) % self.slide
        return range(latest, start - self.size, -self.slide)

    def slices_of(self, window: int) -> list[int]:
        """The slices of a window that have something."""
        if self._whole:
            return [window] if window in self.announced else []
        whole = range(window, window + self.size, self.step)
        return [start for start in whole if start in self.announced]

    def _look_ahead(self) -> None:
        due = [MAX_WATERMARK + 1]
        if self._to_fire:
            due.append(self._to_fire[0] + self.size - 1)
        if self._to_end:
            due.append(self._to_end[0] + self.size - 1 + self.lateness)
        # a window that would reach past the last instant ends there
        self.next_due = min(due) if len(due) == 1 else min(*due, MAX_WATERMARK)

    def fired(self) -> Iterator[int]:
        """The windows that fire at :attr:`next_due`, taken from the agenda."""
        reached = self._reached()
        while self._to_fire and self._to_fire[0] <= reached:
            yield heapq.heappop(self._to_fire)

    def ended(self) -> Iterator[int]:
        """The windows that end then; the last to be asked, :attr:`next_due` moves on."""
        reached = self._reached()
        if self.next_due < MAX_WATERMARK:
            reached -= self.lateness
        while self._to_end and self._to_end[0] <= reached:
            window = heapq.heappop(self._to_end)
            self._known.discard(window)
            yield window
        self._look_ahead()

    def _reached(self) -> int:
        due = self.next_due
        return MAX_WATERMARK if due == MAX_WATERMARK else due - self.size + 1

    def retired(self, window: int) -> list[int]:
        """The slices that no window needs once ``window`` has ended; they are forgotten."""
        last = window + 1 if self._whole else window + min(self.slide, self.size)
        over = [start for start in range(window, last, self.step) if start in self.announced]
        self.announced.difference_update(over)
        return over
