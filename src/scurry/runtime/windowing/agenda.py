"""Which aligned windows are still to fire, and which to be forgotten.

All keys share the boundaries of aligned windows (tumbling and sliding ones), so there is no timer
for each key and window. The operator announces each slice of time that gets its first element, and
the agenda notes the windows that contain the slice. When the watermark reaches :attr:`next_due`,
the operator asks which windows fire (:meth:`Agenda.fired`), then which end (:meth:`Agenda.ended`),
and for each of the latter which slices are not needed any more (:meth:`Agenda.retired`).
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
        #: heaps of the starts of windows that are still to fire, and still to end
        self._to_fire: list[int] = []
        self._to_end: list[int] = []
        #: windows in either heap, and slices that were announced
        self._known: set[int] = set()
        self.announced: set[int] = set()
        #: the watermark at which the next window fires or ends; beyond all watermarks if none does
        self.next_due = MAX_WATERMARK + 1

    def announce(self, start: int, watermark: int) -> None:
        """Note the windows that contain the slice ``start``, except those that the watermark has
        passed. Called when the slice gets its first element, or is found in the store."""
        self.announced.add(start)
        for window in self.windows_over(start):
            last = window + self.size - 1
            if window not in self._known and last + self.lateness > watermark:
                self._known.add(window)
                heapq.heappush(self._to_end, window)
                if last > watermark:
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
        """The starts of the windows that contain the slice ``start``, the latest first."""
        if self._whole:
            return range(start, start + 1)
        latest = start - (start - self.offset) % self.slide
        return range(latest, start - self.size, -self.slide)

    def slices_of(self, window: int) -> list[int]:
        """The slices of the window ``window`` that were announced, the earliest first."""
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
        """The windows that fire at :attr:`next_due`, each of which is named once."""
        reached = self._reached()
        while self._to_fire and self._to_fire[0] <= reached:
            yield heapq.heappop(self._to_fire)

    def ended(self) -> Iterator[int]:
        """The windows that end at :attr:`next_due`. Called after :meth:`fired`: when all have been
        taken, :attr:`next_due` moves to the next time at which a window fires or ends."""
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
        """Forget the slices that no window needs once ``window`` has ended, and return them."""
        last = window + 1 if self._whole else window + min(self.slide, self.size)
        over = [start for start in range(window, last, self.step) if start in self.announced]
        self.announced.difference_update(over)
        return over
