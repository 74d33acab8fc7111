"""What a batch does to open sessions of a fixed gap, on whole columns.

The elements of a batch are sorted by key. Where those of a key come in the order of their times,
and none of them behind the watermark, sessions can be read off the columns: a new one begins where
the last is too far back, or has ended before the element came. Where elements are out of order, but
no session has ended before an element came that belongs to it, sessions follow from the elements in
order of their times (:mod:`~scurry.runtime.windowing.vectorised.session_unions`). Only keys of
which neither is true are gone through one element at a time
(:mod:`~scurry.runtime.windowing.vectorised.session_walk`).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from scurry.runtime.batch import MAX_WATERMARK, Batch, Longs
from scurry.runtime.columnar.exact import Array
from scurry.runtime.columnar.partials import Columns, combine, concat, take
from scurry.runtime.windowing.vectorised.session_columns import SessionColumns, Sessions
from scurry.runtime.windowing.vectorised.session_unions import Elements, Unions
from scurry.runtime.windowing.vectorised.session_walk import Session, Walk, columns_of, values_of


class Ended(Protocol):
    """Takes sessions that fire, in their order."""

    def placed(
        self,
        codes: Longs,
        starts: Longs,
        lasts: Longs,
        columns: Columns,
        batch: Batch | None = None,
        at: Longs | None = None,
    ) -> None:
        """``at`` says for each session which record of ``batch`` made it fire; -1, or no ``at``,
        means that time reached its last instant."""


class SessionSteps:
    """Takes elements into the open sessions, and lets sessions fire as time passes."""

    def __init__(self, sessions: SessionColumns, gap: int, lateness: int = 0) -> None:
        self._sessions = sessions
        self._gap, self._lateness = gap, lateness

    def take(
        self,
        batch: Batch,
        codes: Longs,
        stamps: Longs,
        watermarks: Longs,
        columns: Columns,
        results: Ended,
    ) -> Longs:
        """Take in the elements of a batch that is not empty; returns which of them are late."""
        elements = Elements(codes, stamps, watermarks, columns, self._gap)
        held = self._sessions.open
        begins = np.searchsorted(held.codes, elements.keys, "left")
        ends = np.searchsorted(held.codes, elements.keys, "right")
        has = ends > begins
        #: of each key's sessions the last, the one that an element in order can join
        latest = np.where(has, ends - 1, 0)
        before = held.lasts[latest] if held.size else np.zeros(len(latest), dtype=np.int64)
        walked = self._out_of_order(elements, has, before)
        gone = np.zeros(held.size, dtype=bool)
        new = []
        in_columns = ~walked
        if walked.any() and not self._lateness:
            unions = Unions(held, elements, begins, ends, walked)
            if unions.certain.any():
                walked &= ~unions.certain
                made, touched = unions.made()
                gone[touched] = True
                new.append(made)
        if in_columns.any():
            gone[latest[has & in_columns]] = True
            new.append(self._in_columns(elements, has, latest, in_columns))
        walk = None
        if walked.any():
            walk, made = self._one_by_one(elements, begins, ends, walked)
            for begin, end in zip(begins[walked].tolist(), ends[walked].tolist(), strict=True):
                gone[begin:end] = True
            new.append(made)
        self._sessions.replace(gone, new)
        self.fire(int(watermarks[-1]), results, batch, watermarks, walk)
        return np.array([] if walk is None else sorted(walk.late), dtype=np.int64)

    def _out_of_order(self, elements: Elements, has: Array, before: Longs) -> Array:
        """For each key, whether its elements must be gone through one by one."""
        stamps, lasts, watermarks, first = (
            elements.stamps,
            elements.lasts,
            elements.watermarks,
            elements.first,
        )
        previous = np.empty_like(lasts)
        previous[1:] = lasts[:-1]
        previous[first] = before
        follows = ~first
        follows[first] = has
        odd = (lasts <= watermarks) | (follows & (lasts < previous))
        if self._lateness:
            # the session has fired and is not over: it fires again, later
            odd |= follows & (stamps - 1 <= previous) & (previous <= watermarks)
        walked = np.zeros(len(elements.keys), dtype=bool)
        walked[elements.group[odd]] = True
        return walked

    def _in_columns(self, elements: Elements, has: Array, latest: Longs, chosen: Array) -> Sessions:
        """The last sessions of chosen keys, and those that their elements make."""
        held = self._sessions.open.take(latest[has & chosen])
        rows = np.flatnonzero(chosen[elements.group])
        codes = np.concatenate((held.codes, elements.codes[rows]))
        # stable: what was held comes before what has come
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        starts = np.concatenate((held.starts, elements.stamps[rows]))[order]
        lasts = np.concatenate((held.lasts, elements.lasts[rows]))[order]
        fresh = np.concatenate((np.zeros(held.size, dtype=bool), np.ones(len(rows), dtype=bool)))
        fresh = fresh[order]
        watermarks = np.concatenate((held.lasts, elements.watermarks[rows]))[order]
        ended = np.minimum(lasts[:-1], MAX_WATERMARK - self._lateness) + self._lateness
        apart = np.ones(len(codes), dtype=bool)
        apart[1:] = (
            (codes[1:] != codes[:-1]) | (starts[1:] - 1 > lasts[:-1]) | (ended <= watermarks[1:])
        )
        number = np.cumsum(apart) - 1
        begins = np.flatnonzero(apart)
        finals = np.concatenate((begins[1:], [len(codes)])) - 1
        both = (
            [held.columns, take(elements.columns, rows)]
            if held.size
            else [take(elements.columns, rows)]
        )
        sizes = [held.size, len(rows)] if held.size else [len(rows)]
        columns = combine(take(concat(both, sizes), order), number, len(begins))
        made = Sessions.fresh(codes[begins], starts[begins], lasts[finals], columns)
        untouched = ~fresh[finals]
        made.fired = np.zeros(made.size, dtype=bool)
        which = np.flatnonzero(order < held.size)
        kept = untouched[number[which]]
        made.fired[number[which][kept]] = held.fired[order[which][kept]]
        made.dirty[number[which][kept]] = held.dirty[order[which][kept]]
        return made

    def _one_by_one(
        self, elements: Elements, begins: Longs, ends: Longs, walked: Array
    ) -> tuple[Walk, Sessions]:
        """The sessions of keys that are gone through."""
        held = self._sessions.open
        rows = np.flatnonzero(walked[elements.group])
        ranges = list(zip(begins[walked].tolist(), ends[walked].tolist(), strict=True))
        places = np.concatenate([np.arange(begin, end) for begin, end in ranges])
        parts = [take(held.columns, places), take(elements.columns, rows)]
        sizes = [len(places), len(rows)]
        like = concat(parts, sizes) if len(places) else parts[1]
        names = list(like)
        values = values_of(like, names)
        walk = Walk(self._gap, self._lateness, names)
        beside = (held.starts, held.lasts, held.fired)
        known = zip(*(column[places].tolist() for column in beside), values, strict=False)
        open_sessions = [list(session) for session in known]
        come = list(
            zip(
                elements.order[rows].tolist(),
                elements.stamps[rows].tolist(),
                elements.watermarks[rows].tolist(),
                values[len(places) :],
                strict=True,
            )
        )
        counts = np.bincount(elements.group[rows], minlength=len(walked))[walked].tolist()
        codes, made = [], []
        at = row = 0
        for code, (begin, end), count in zip(
            elements.keys[walked].tolist(), ranges, counts, strict=True
        ):
            sessions = open_sessions[at : at + end - begin]
            after = walk.key(code, sessions, come[row : row + count])
            codes += [code] * len(after)
            made += after
            at, row = at + end - begin, row + count
        self._like, self._names = like, names
        return walk, self._sessions_of(codes, made)

    def _sessions_of(self, codes: list[int], made: list[Session]) -> Sessions:
        columns = columns_of([session[3] for session in made], self._names, self._like)
        found = Sessions.fresh(
            np.array(codes, dtype=np.int64),
            np.array([session[0] for session in made], dtype=np.int64),
            np.array([session[1] for session in made], dtype=np.int64),
            columns,
        )
        found.fired = np.array([session[2] for session in made], dtype=bool)
        return found

    def fire(
        self,
        until: int,
        results: Ended,
        batch: Batch | None = None,
        watermarks: Longs | None = None,
        walk: Walk | None = None,
    ) -> None:
        """Fire what has ended, together with what a walk has fired; forget what is over."""
        held = self._sessions.open
        due = ~held.fired & (held.lasts <= until)
        parts = []
        if due.any():
            parts.append(held.take(due))
            held.fired = held.fired | due
        causes: list[int | None] = [None] * int(due.sum())
        if walk is not None and walk.fired:
            codes = [code for code, _, _ in walk.fired]
            parts.append(self._sessions_of(codes, [session for _, session, _ in walk.fired]))
            causes += [cause for _, _, cause in walk.fired]
        if parts:
            self._place(Sessions.of_all(parts), causes, results, batch, watermarks)
        self._sessions.end(until)

    def _place(
        self,
        found: Sessions,
        causes: list[int | None],
        results: Ended,
        batch: Batch | None,
        watermarks: Longs | None,
    ) -> None:
        """Put sessions that fire into the order in which they do."""
        ranks = [*self._sessions.keys.ranks(found.codes), found.lasts]
        if batch is None or watermarks is None:
            order = np.lexsort(ranks)
            _send(found.take(order), results, None, None)
            return
        again = np.array([cause is not None for cause in causes], dtype=bool)
        at = np.searchsorted(watermarks, found.lasts, "left")
        at[again] = [cause for cause in causes if cause is not None]
        order = np.lexsort([*ranks, again, at])
        _send(found.take(order), results, batch, np.where(again, at, -1)[order])


def _send(found: Sessions, results: Ended, batch: Batch | None, at: Longs | None) -> None:
    results.placed(found.codes, found.starts, found.lasts, found.columns, batch, at)
