"""Open sessions as columns: the state of the vectorised session operator.

In memory all open sessions of a slot are one table, sorted by key and start. In the store they lie
by the time at which they end. Sessions that a micro-batch has changed are added there as new rows,
and the earlier rows are neither looked up nor replaced. That is possible because sessions only
grow: if of two rows of a key one lies within the other, it is an earlier version of it. When the
watermark has passed a span of ends, all rows of the span are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Longs
from scurry.runtime.columnar.exact import Array
from scurry.runtime.columnar.key_codes import KeyCodes
from scurry.runtime.columnar.partials import (
    Columns,
    concat,
    take,
)
from scurry.runtime.windowing.slices import SliceIndex, row_of, start_of
from scurry.runtime.windowing.vectorised.column_slices import CodedKeys, Part, Translate
from scurry.state.journal import Change, in_groups
from scurry.state.slot_store import SlotStore

#: Ends are stored in spans of at least this many milliseconds.
_SPAN = 10_000
_START, _LAST = "@start", "@last"


@dataclass
class Sessions:
    """Sessions in columns; ``lasts`` are their last instants."""

    codes: Longs
    starts: Longs
    lasts: Longs
    columns: Columns
    #: whether they have fired, and whether the store does not know them as they are
    fired: Array
    dirty: Array

    @classmethod
    def none(cls) -> Sessions:
        """No sessions."""
        empty, no = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        return cls(empty, empty, empty, {}, no, no)

    @classmethod
    def fresh(cls, codes: Longs, starts: Longs, lasts: Longs, columns: Columns) -> Sessions:
        """Sessions that have not fired yet and are not stored."""
        size = len(codes)
        fired, dirty = np.zeros(size, dtype=bool), np.ones(size, dtype=bool)
        return cls(codes, starts, lasts, columns, fired, dirty)

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.codes)

    def take(self, index: Array) -> Sessions:
        """Those at ``index``."""
        columns = take(self.columns, index)
        beside = (self.codes, self.starts, self.lasts, self.fired, self.dirty)
        codes, starts, lasts, fired, dirty = (column[index] for column in beside)
        return Sessions(codes, starts, lasts, columns, fired, dirty)

    @classmethod
    def of_all(cls, parts: list[Sessions]) -> Sessions:
        """The sessions of all parts."""
        parts = [part for part in parts if part.size]
        if not parts:
            return cls.none()
        if len(parts) == 1:
            return parts[0]
        columns = concat([part.columns for part in parts], [part.size for part in parts])
        names = ("codes", "starts", "lasts", "fired", "dirty")
        beside = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        return cls(columns=columns, **beside)


class SessionColumns(CodedKeys, SliceIndex):
    """The open sessions of one operator and slot."""

    def __init__(self, name: str, store: SlotStore, gap: int, lateness: int) -> None:
        SliceIndex.__init__(self, name, store)
        CodedKeys.__init__(self, store.max_parallelism)
        self._span = max(_SPAN, 4 * gap)
        self._lateness = lateness
        self.open = Sessions.none()
        #: by stored span, the last instant of the sessions that were written to it
        self._last_in: dict[int, int] = {}
        #: before this watermark no stored span of ends is over
        self._next_end = MAX_WATERMARK + 1

    def load(self, watermark: int) -> None:
        """A micro-batch starts: read the sessions, if memory does not have them."""
        spans = self.begin()
        if spans is None:
            return
        records = [found for span in spans for found in self._records(span)]
        parts = [_sessions(part) for part in self.read([data for _, data in records])]
        epochs = [
            np.full(part.size, int.from_bytes(address[8:16], "big"))
            for (address, _), part in zip(records, parts, strict=True)
        ]
        # with another gap, spans were of another length
        for (address, _), part in zip(records, parts, strict=True):
            self._written(start_of(address), int(part.lasts.max(initial=MIN_WATERMARK)))
        everything = Sessions.of_all(parts)
        if everything.size:
            self.open = _newest(everything, np.concatenate(epochs))
            self.open.fired = self.open.lasts <= watermark
            self.open.dirty = np.zeros(self.open.size, dtype=bool)
        self._look_ahead()
        self.end(watermark)

    def replace(self, gone: Array, new: list[Sessions]) -> None:
        """Take out the sessions where ``gone`` is true, put others in."""
        kept = self.open.take(~gone) if gone.any() else self.open
        whole = Sessions.of_all([kept, *new])
        self.open = whole.take(np.lexsort((whole.starts, whole.codes)))

    def end(self, watermark: int) -> None:
        """Forget sessions that no element can join any more."""
        over = self.open.lasts <= watermark - self._lateness
        if watermark == MAX_WATERMARK:
            over[:] = True
        if over.any():
            self.open = self.open.take(~over)
        if self._next_end <= watermark:
            assert self._stored is not None
            for span in [span for span in self._stored if self._end_of(span) <= watermark]:
                self.drop(span)
                self._last_in.pop(span, None)
            self._look_ahead()

    def _end_of(self, span: int) -> int:
        return min(self._last_in[span] + self._lateness, MAX_WATERMARK)

    def _written(self, span: int, last: int) -> None:
        self._last_in[span] = max(self._last_in.get(span, last), last)

    def _look_ahead(self) -> None:
        assert self._stored is not None
        self._next_end = min(map(self._end_of, self._stored), default=MAX_WATERMARK + 1)

    def _forget_slice(self, start: int) -> None:
        """Does nothing: in memory, sessions are not held by span."""

    @in_groups
    def changes(self) -> Iterator[Change]:
        yield from self._deletions()
        changed = self.open.take(self.open.dirty)
        if not changed.size:
            return
        epoch = self._slot.epoch.to_bytes(8, "big")
        spans = changed.lasts // self._span
        for number in np.unique(spans).tolist():
            part = changed.take(spans == number)
            columns = {**part.columns, _START: part.starts, _LAST: part.lasts}
            record = self.packed(Part(part.codes, columns))
            yield self.name, row_of(number * self._span) + epoch, record

    def settle(self) -> None:
        """The changes are in the store now."""
        assert self._stored is not None
        self._dropped.clear()
        lasts = self.open.lasts[self.open.dirty]
        for number in np.unique(lasts // self._span).tolist():
            span = number * self._span
            self._stored.add(span)
            self._written(span, int(lasts[lasts // self._span == number].max()))
        self.open.dirty = np.zeros(self.open.size, dtype=bool)
        self._look_ahead()
        self._tidy(self.open.size)

    def forget(self) -> None:
        super().forget()
        self._last_in.clear()
        self.open = Sessions.none()
        self.keys = KeyCodes(self._max_parallelism)

    def _translate(self, translate: Translate) -> None:
        self.open.codes = translate(self.open.codes)
        order = np.lexsort((self.open.starts, self.open.codes))
        self.open = self.open.take(order)


def _newest(found: Sessions, epochs: Longs) -> Sessions:
    """Without the rows that lie within another of the same key, and older ones of the same span."""
    order = np.lexsort((-epochs, -found.lasts, found.starts, found.codes))
    found = found.take(order)
    codes = found.codes
    begins = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    kept = np.ones(found.size, dtype=bool)
    for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), found.size], strict=True):
        if end - begin > 1:
            furthest = np.maximum.accumulate(found.lasts[begin:end])
            kept[begin + 1 : end] = found.lasts[begin + 1 : end] > furthest[:-1]
    return found.take(kept)


def _sessions(part: Part) -> Sessions:
    columns = dict(part.columns)
    starts, lasts = columns.pop(_START), columns.pop(_LAST)
    return Sessions.fresh(part.codes, starts, lasts, columns)
