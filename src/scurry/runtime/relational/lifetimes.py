"""Lifetimes: which rows of a side are there at which moment of a batch.

The records of a batch are numbered in order, from 1 on: these are its *ticks*. A row that comes is
born at its tick, one that goes dies at its tick; rows that were there before the batch are born at
0, and those that outlive it die after its last tick. So what a record meets on the other side are
the rows of its key that were born before its tick and die after it. All of that is sorting and
binary search over whole columns: a key and a tick together are one number, the key first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scurry.runtime.batch import Longs
from scurry.runtime.columnar.row_runs import spread

Mask = np.ndarray[Any, np.dtype[np.bool_]]
#: Candidates for each real meeting, and for each record, above which lifetimes are told apart.
_WASTE = 4


class Lives(NamedTuple):
    """Rows of one side in the order of keys and births."""

    #: the place of each row among the rows of its side
    rows: Longs
    codes: Longs
    births: Longs
    deaths: Longs


class Meetings(NamedTuple):
    """Records and the rows that they meet: in the order of the records, then of births."""

    records: Longs
    #: places in the lives
    lives: Longs


def deaths_of(ids: Longs, ticks: Longs, comes: Mask, last: int) -> tuple[Longs, Mask]:
    """When each row dies, ``last`` if it does not, and which of those that go were not there.

    Rows that are equal have equal ``ids``. They are given in the order of their ``ticks``; of those
    that go nothing is said in the first answer. Of equal rows the one that came first goes first.
    """
    order = np.argsort(ids, kind="stable")
    signs = np.where(comes[order], 1, -1)
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = ids[order[1:]] != ids[order[:-1]]
    segment = np.cumsum(begins) - 1
    total = np.cumsum(signs)
    count = total - (total - signs)[begins][segment]
    # numbers of later segments are below all of earlier ones, so a running minimum starts anew
    shift = segment * (2 * len(order) + 2)
    least = np.minimum.accumulate(np.minimum(count, 0) - shift)
    before = np.concatenate([[0], least[:-1]]) + shift
    before[begins] = 0
    absent = (signs < 0) & (count < before)
    births = order[signs > 0]
    gone = order[(signs < 0) & ~absent]
    deaths = np.full(len(ids), last, dtype=np.int64)
    deaths[_as_many(ids[births], births, ids[gone])] = ticks[gone]
    missing = np.zeros(len(ids), dtype=bool)
    missing[order[absent]] = True
    return deaths, missing


def _as_many(ids: Longs, rows: Longs, wanted: Longs) -> Longs:
    """For the n-th time that a number is ``wanted`` the n-th of the ``rows`` with it; both are
    sorted."""
    first = np.searchsorted(wanted, wanted, "left")
    found: Longs = rows[np.searchsorted(ids, wanted, "left") + np.arange(len(wanted)) - first]
    return found


class Presence:
    """What is there of one side, for records that are asked for: their ``codes`` and ``ticks``, in
    the order of codes and ticks. ``last`` is greater than all ticks."""

    def __init__(self, lives: Lives, codes: Longs, ticks: Longs, last: int) -> None:
        width = last + 1
        self._lives = lives
        self._ticks = ticks
        self._asked = codes * width + ticks
        self._births = lives.codes * width + lives.births
        self._deaths = lives.codes * width + lives.deaths
        self._width = width
        #: where the rows that are born later begin
        self._high = self._births.searchsorted(self._asked)
        #: how many rows are there
        self.counts: Longs = self._high - self._dead()

    def _dead(self) -> Longs:
        """How many rows of this key or a smaller one are dead, as if all of smaller ones were."""
        dead = self._deaths
        if len(dead) and (dead[1:] < dead[:-1]).any():
            dead = np.sort(dead)
        return dead.searchsorted(self._asked)

    def meetings(self, wanted: Mask | None = None) -> Meetings:
        """The rows that are there for each record, or for those ``wanted``."""
        records = np.arange(len(self._asked)) if wanted is None else np.flatnonzero(wanted)
        every = np.arange(len(self._lives.rows))
        found = self._within(every, records)
        if found is not None:
            return found
        # some rows outlive many others: only rows that live about as long are looked through
        # together
        spans = np.frexp((self._lives.deaths - self._lives.births).astype(np.float64))[1]
        parts = [self._within(every[spans == span], records, True) for span in np.unique(spans)]
        met = [part for part in parts if part is not None]
        joined = [np.concatenate(column) for column in zip(*met, strict=True)]
        order = np.lexsort((joined[1], joined[0]))
        return Meetings(joined[0][order], joined[1][order])

    def _within(self, lives: Longs, records: Longs, anyway: bool = False) -> Meetings | None:
        """The meetings with some of the ``lives``, None if too many rows had to be looked at."""
        asked = self._asked[records]
        whole = len(lives) == len(self._births)
        high = self._high[records] if whole else self._births[lives].searchsorted(asked)
        # rows before this one, in order of births, are all dead
        low = np.maximum.accumulate(self._deaths[lives]).searchsorted(asked, "right")
        counts = high - low
        if not anyway and counts.sum() > _WASTE * (self.counts[records].sum() + len(records)):
            return None
        which = np.repeat(records, counts)
        at = lives[spread(low, counts)]
        there = self._lives.deaths[at] > self._ticks[which]
        return Meetings(which, at) if there.all() else Meetings(which[there], at[there])
