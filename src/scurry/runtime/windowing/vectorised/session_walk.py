"""Sessions of one key, an element at a time: for elements that are out of order, or late.

What a session holds is a list of plain numbers here, in the order of the columns they come from.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, TypeVar

import numpy as np

from scurry.common.values import Merge
from scurry.functions.window_aggregates import less
from scurry.runtime.batch import MAX_WATERMARK
from scurry.runtime.columnar.exact import Array
from scurry.runtime.columnar.partials import Columns, objects

#: What a session holds: a number for each column, None for a least or greatest of nothing.
Values = list[Any]
#: start, last instant, whether it has fired, what it holds
Session = list[Any]
#: A number that is summed.
N = TypeVar("N", int, float)


class Walk:
    """Goes through the elements of keys; collects what fires, and which elements are late."""

    def __init__(self, gap: int, lateness: int, names: list[str]) -> None:
        self._gap, self._lateness = gap, lateness
        self._ways = [_way(name) for name in names]
        #: code, session as it was when it fired, the record it fired for (None: time passed)
        self.fired: list[tuple[int, Session, int | None]] = []
        self.late: list[int] = []

    def key(
        self, code: int, sessions: list[Session], elements: list[tuple[int, int, int, Values]]
    ) -> list[Session]:
        """The sessions of a key after ``elements``: number, timestamp, watermark, values."""
        for at, stamp, watermark, values in elements:
            sessions = self._passed(code, sessions, watermark)
            last = min(stamp + self._gap - 1, MAX_WATERMARK)
            low = high = bisect_right(sessions, last + 1, key=_start)
            while low and sessions[low - 1][1] >= stamp - 1:
                low -= 1
            merged: Session = [stamp, last, False, values]
            for other in reversed(sessions[low:high]):
                held = [
                    way(a, b) for way, a, b in zip(self._ways, other[3], merged[3], strict=True)
                ]
                merged = [min(other[0], merged[0]), max(other[1], merged[1]), False, held]
            if self._cleanup(merged) <= watermark:
                self.late.append(at)
                continue
            sessions[low:high] = [merged]
            if merged[1] <= watermark:
                merged[2] = True
                self.fired.append((code, list(merged), at))
        return sessions

    def _passed(self, code: int, sessions: list[Session], watermark: int) -> list[Session]:
        over = 0
        for session in sessions:
            if session[1] > watermark:
                break
            if not session[2]:
                session[2] = True
                self.fired.append((code, list(session), None))
            over += self._cleanup(session) <= watermark
        return sessions[over:]

    def _cleanup(self, session: Session) -> int:
        return int(min(session[1] + self._lateness, MAX_WATERMARK))


def values_of(columns: Columns, names: list[str]) -> list[Values]:
    """Rows of columns as lists."""
    return list(map(list, zip(*(columns[name].tolist() for name in names), strict=True)))


def columns_of(values: list[Values], names: list[str], like: Columns) -> Columns:
    """Lists as columns again."""
    lists = list(zip(*values, strict=True)) if values else [()] * len(names)
    return {
        name: _column(list(column), like[name]) for name, column in zip(names, lists, strict=True)
    }


def _column(values: Values, like: Array) -> Array:
    if like.dtype == object:
        return objects(values)
    try:
        return np.array(values, dtype=like.dtype)
    except OverflowError:
        return objects(values)


def _start(session: Session) -> int:
    start: int = session[0]
    return start


def _way(name: str) -> Merge:
    return {"min": _least, "max": _greatest}.get(name.partition(":")[0], _sum)


def _sum(a: N, b: N) -> N:
    return a + b


def _least(a: object, b: object) -> object:
    if a is None or b is None:
        return b if a is None else a
    return b if less(b, a) else a


def _greatest(a: object, b: object) -> object:
    if a is None or b is None:
        return b if a is None else a
    return b if less(a, b) else a
