"""How the first rows of keys change while the rows of a batch come, one after the other.

Rows are *ranks* here: whole numbers in the order that is asked for, all different. A row that gets
among the first of its key is an *entry* at each place from its own on, because those behind it move
back by one: the rank that was there, and the rank that is there now.

The next row of each key is looked at for all keys at once, in rounds, with the first ranks of keys
as the rows of a matrix. Where few keys are left, or many ranks are kept, each row is gone through
by itself.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np

from scurry.runtime.batch import Longs

#: Keys below which a round takes longer than their rows one by one, and ranks of a key above which.
_FEW_KEYS, _MANY_RANKS = 16, 32
#: Rounds until rows are left out that cannot get in any more; each next time after twice as many.
_SOON = 4
#: Stands for no rank, and is above all ranks.
NONE = 1 << 62


class Entries(NamedTuple):
    """What changes: entries of one cause are together, in the order of their places."""

    #: the ranks of the rows that get in
    causes: Longs
    #: places among the first rows of their keys, from 0 on
    places: Longs
    #: the ranks that were there, :data:`NONE` where there was none
    old: Longs
    new: Longs


class Tops:
    """The first ``last`` ranks of each of ``count`` keys.

    With ``moves`` a row that gets in is an entry at all places behind its own, from number
    ``first`` on. Without, it is one entry, whose old rank is the one that drops out.
    """

    def __init__(self, count: int, first: int, last: int, moves: bool) -> None:
        self._first, self._last, self._moves = first, last, moves
        self._sent: list[Entries] = []
        #: the ranks of each key, and where those of each key begin
        self._ranks = np.zeros(0, dtype=np.int64)
        self._bounds = np.zeros(count + 1, dtype=np.int64)

    def hold(self, ranks: Longs, keys: Longs) -> None:
        """These are the ranks that the keys have so far, at most ``last`` of each."""
        order = np.lexsort((ranks, keys))
        self._ranks = ranks[order]
        self._bounds = keys[order].searchsorted(np.arange(len(self._bounds)))

    @property
    def ranks(self) -> Longs:
        """The ranks that all keys have."""
        return self._ranks

    @property
    def limits(self) -> Longs:
        """For each key what a rank has to be below in order to get in."""
        full = np.diff(self._bounds) >= self._last
        limits = np.full(len(full), NONE)
        limits[full] = self._ranks[self._bounds[1:][full] - 1]
        return limits

    def take(self, ranks: Longs, keys: Longs) -> Entries:
        """Rows come: ``keys`` are sorted, and the ranks of a key are in the order of coming."""
        getting = ranks < self.limits[keys]
        ranks, keys = ranks[getting], keys[getting]
        if self._last <= _MANY_RANKS:
            ranks, keys = self._in_rounds(ranks, keys)
        self._by_key(ranks, keys)
        if not self._sent:
            return Entries(*[np.zeros(0, dtype=np.int64)] * 4)
        return Entries(*map(np.concatenate, zip(*self._sent, strict=True)))

    def _in_rounds(self, ranks: Longs, keys: Longs) -> tuple[Longs, Longs]:
        """Take the rows of keys while those are many; returns the rows that are left."""
        counts = np.diff(self._bounds)
        tops = np.full((len(counts), self._last), NONE)
        rows = np.repeat(np.arange(len(counts)), counts)
        tops[rows, np.arange(len(rows)) - self._bounds[rows]] = self._ranks
        number, look = 0, _SOON
        while np.count_nonzero(opens := _opens(keys)) >= _FEW_KEYS:
            self._round(tops, ranks[opens], keys[opens])
            ranks, keys, number = ranks[~opens], keys[~opens], number + 1
            if number == look:
                getting = ranks < tops[keys, -1]
                ranks, keys, look = ranks[getting], keys[getting], 2 * look
        there = tops < NONE
        self._ranks = tops[there]
        self._bounds = np.append(0, np.cumsum(there.sum(axis=1)))
        return ranks, keys

    def _round(self, tops: Longs, ranks: Longs, keys: Longs) -> None:
        """A row of each of ``keys`` comes."""
        getting = ranks < tops[keys, -1]
        ranks, keys = ranks[getting], keys[getting]
        before = tops[keys]
        index = (before < ranks[:, None]).sum(axis=1)[:, None]
        places = np.arange(self._last)
        moved = np.concatenate([ranks[:, None], before[:, :-1]], axis=1)
        after = np.where(places > index, moved, before)
        np.put_along_axis(after, index, ranks[:, None], axis=1)
        tops[keys] = after
        if not self._moves:
            self._sent.append(Entries(ranks, np.zeros_like(ranks), before[:, -1], ranks))
            return
        changed = (places >= np.maximum(index, self._first - 1)) & (after < NONE)
        rows, at = np.nonzero(changed)
        self._sent.append(Entries(ranks[rows], at, before[changed], after[changed]))

    def _by_key(self, ranks: Longs, keys: Longs) -> None:
        """Take the rows of each key one by one."""
        if not len(keys):
            return
        starts = np.flatnonzero(_opens(keys))
        made: list[list[int]] = [[], [], [], []]
        held: list[Longs] = []
        done = 0
        for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(keys)], strict=True):
            low, high = self._bounds[keys[begin]], self._bounds[keys[begin] + 1]
            top = self._ranks[low:high].tolist()
            for rank in ranks[begin:end].tolist():
                self._insert(top, rank, *made)
            held += [self._ranks[done:low], np.array(top, dtype=np.int64)]
            done = high
        self._ranks = np.concatenate([*held, self._ranks[done:]])
        if made[0]:
            self._sent.append(Entries(*(np.array(one, dtype=np.int64) for one in made)))

    def _insert(
        self,
        top: list[int],
        rank: int,
        causes: list[int],
        places: list[int],
        old: list[int],
        new: list[int],
    ) -> None:
        index = bisect_left(top, rank)
        if index >= self._last:
            return
        begin = max(index, self._first - 1)
        before = [*top[begin:], NONE]
        top.insert(index, rank)
        dropped = top.pop() if len(top) > self._last else NONE
        if self._moves:
            count = max(0, len(top) - begin)
            causes += [rank] * count
            places += range(begin, begin + count)
            old += before[:count]
            new += top[begin:]
        else:
            causes.append(rank)
            places.append(0)
            old.append(dropped)
            new.append(rank)


def _opens(keys: Longs) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where the rows of another key begin."""
    return np.append(True, keys[1:] != keys[:-1])[: len(keys)]
