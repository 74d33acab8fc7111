"""Partial matches, and the events that they share.

The events of a match are a chain of links, each with the event taken last and the link before it.
Matches that have begun alike share the links of their beginning, so an event is held once for each
way in which matches came to it, and goes when the last match that has it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from scurry.automaton.skip_strategy import EventId


class Link(NamedTuple):
    """An event that was taken by the step ``step``, and what was taken before it."""

    step: str
    event: EventId
    value: Any
    before: Link | None


class Partial:
    """A match that is not complete: the number of its state, its last link, and when it began.
    ``start`` is its first event, None for the one that waits for a first event."""

    __slots__ = ("last", "link", "start", "state")

    def __init__(self, state: int, link: Link | None, start: EventId | None, last: int) -> None:
        self.state = state
        self.link = link
        self.start = start
        #: the timestamp of the event taken last
        self.last = last

    def rank(self) -> tuple[float, float]:
        """Matches are looked at in the order in which they began."""
        return (float("inf"), float("inf")) if self.start is None else self.start


def links_of(link: Link | None) -> list[Link]:
    """A chain of links from its beginning."""
    found: list[Link] = []
    while link is not None:
        found.append(link)
        link = link.before
    return found[::-1]


def by_step(link: Link | None) -> dict[str, list[Link]]:
    """The links of a chain by the names of their steps, in the order in which these began."""
    found: dict[str, list[Link]] = {}
    for one in links_of(link):
        found.setdefault(one.step, []).append(one)
    return found


class MatchQueue:
    """Partial matches by rank, the earliest first.

    Where ranks are equal, the order in which matches are looked at is that of the array of a binary
    heap. It decides in which order matches come out that one event completes, so it has to be the
    same after a restart, and the same as in Flink, whose heap moves an element up while it is
    smaller than its parent, and down while it is larger than its smaller child.
    """

    def __init__(self, added: Iterable[Partial] = ()) -> None:
        self._heap: list[Partial] = []
        for one in added:
            self.add(one)

    @staticmethod
    def of(held: tuple[Partial, ...]) -> MatchQueue:
        """The queue that :meth:`held` was called on."""
        made = MatchQueue()
        made._heap = list(held)
        return made

    def held(self) -> tuple[Partial, ...]:
        """What is in the queue, as it lies there."""
        return tuple(self._heap)

    def __iter__(self) -> Iterator[Partial]:
        return iter(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def first(self) -> Partial | None:
        """The one with the lowest rank."""
        return self._heap[0] if self._heap else None

    def add(self, one: Partial) -> None:
        """Put one in."""
        self._heap.append(one)
        self._up(len(self._heap) - 1)

    def poll(self) -> Partial:
        """Take the first one out."""
        heap = self._heap
        first, last = heap[0], heap.pop()
        if heap:
            heap[0] = last
            self._down(0)
        return first

    def discard(self, gone: list[Partial]) -> None:
        """Take some out."""
        if not gone:
            return
        names = set(map(id, gone))
        self._heap = [one for one in self._heap if id(one) not in names]
        for at in range(len(self._heap) // 2 - 1, -1, -1):
            self._down(at)

    def _up(self, at: int) -> None:
        heap = self._heap
        moved, rank = heap[at], heap[at].rank()
        while at > 0:
            parent = (at - 1) >> 1
            if rank >= heap[parent].rank():
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = moved

    def _down(self, at: int) -> None:
        heap, size = self._heap, len(self._heap)
        moved, rank = heap[at], heap[at].rank()
        while at < size >> 1:
            child = 2 * at + 1
            if child + 1 < size and heap[child].rank() > heap[child + 1].rank():
                child += 1
            if rank <= heap[child].rank():
                break
            heap[at] = heap[child]
            at = child
        heap[at] = moved
