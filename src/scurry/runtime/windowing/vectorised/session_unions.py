"""Sessions of keys whose elements are out of order, on whole columns, where the order is no matter.

A session is a stretch of time with no pause in it. As long as nothing ends too early, it does not
matter in which order its elements come: they are put in the order of their times, together with the
sessions that are open, and a new session begins where the latest end so far lies too far back.

That is *certain* for a key if each element came before its own end, and before the latest end of
what lies before it in its session: no part of a session can then have ended while an element of it
was still to come. A part that ends has an element, or an open session, whose end is the latest; the
next element in order of times would have come after that end, and so would an earlier element after
its own.
"""

from __future__ import annotations

import numpy as np

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Longs
from scurry.runtime.columnar.exact import Array
from scurry.runtime.columnar.partials import Columns, combine, concat, take
from scurry.runtime.columnar.row_runs import spread
from scurry.runtime.windowing.vectorised.session_columns import Sessions

_ROOM = 1 << 62


class Elements:
    """The elements of a batch, sorted by key, each key's in the order they came."""

    def __init__(self, codes: Longs, stamps: Longs, watermarks: Longs, columns: Columns, gap: int):
        self.order = np.argsort(codes, kind="stable")
        self.codes, self.stamps = codes[self.order], stamps[self.order]
        self.watermarks, self.columns = watermarks[self.order], take(columns, self.order)
        self.lasts = np.minimum(self.stamps, MAX_WATERMARK - gap + 1) + (gap - 1)
        changed = self.codes[1:] != self.codes[:-1]
        self.first = np.concatenate(([True], changed))
        #: which of the distinct keys each is of
        self.group = np.cumsum(self.first) - 1
        self.keys = self.codes[self.first]


class Unions:
    """The open sessions from ``begins`` to ``ends`` of the keys that are ``asked`` for, and their
    elements, by time."""

    def __init__(
        self, held: Sessions, elements: Elements, begins: Longs, ends: Longs, asked: Array
    ) -> None:
        self._held, self._elements = held, elements
        #: of each key, whether its sessions follow from this
        self.certain: Array = np.zeros(len(asked), dtype=bool)
        keys = np.flatnonzero(asked)
        counts = (ends - begins)[keys]
        self._places = spread(begins[keys], counts)
        self._rows = np.flatnonzero(asked[elements.group])
        group = np.concatenate((np.repeat(keys, counts), elements.group[self._rows]))
        starts = np.concatenate((held.starts[self._places], elements.stamps[self._rows]))
        lasts = np.concatenate((held.lasts[self._places], elements.lasts[self._rows]))
        before = np.full(len(self._places), MIN_WATERMARK, dtype=np.int64)
        came = np.concatenate((before, elements.watermarks[self._rows]))
        self._order = np.lexsort((starts, group))
        self._group, self._starts = group[self._order], starts[self._order]
        if self._commutes():
            self._look(lasts[self._order], came[self._order], keys)

    def _commutes(self) -> bool:
        """Whether what sessions hold is the same in whichever order elements come: sums of floats
        are not."""
        columns = [*self._held.columns.values(), *self._elements.columns.values()]
        return not any(column.dtype.kind in "fO" for column in columns)

    def _look(self, lasts: Longs, came: Longs, keys: Longs) -> None:
        """Find the sessions, and the keys of which they are certain."""
        width = int(lasts.max()) - int(lasts.min()) + 1
        if width * len(keys) >= _ROOM:
            return
        first = np.append(True, self._group[1:] != self._group[:-1])
        # the numbers of a key lie above those of all keys before it, so that one pass does
        shift = np.cumsum(first) * width - int(lasts.min())
        self._latest = np.maximum.accumulate(lasts + shift) - shift
        before = np.append(MIN_WATERMARK, self._latest[:-1])
        joins = ~first & (self._starts - 1 <= before)
        self._number = np.cumsum(~joins) - 1
        odd = (came >= lasts) | (joins & (came >= before))
        self.certain[keys] = True
        self.certain[self._group[odd]] = False

    def made(self) -> tuple[Sessions, Longs]:
        """The sessions with new elements, of keys of which they are certain; and which of the open
        sessions they take the place of."""
        held = len(self._places)
        fresh = np.bincount(self._number[self._order >= held], minlength=len(self._number)) > 0
        kept = np.flatnonzero(self.certain[self._group] & fresh[self._number])
        order, number = self._order[kept], self._number[kept]
        opens = np.append(True, number[1:] != number[:-1])[: len(number)]
        begins = np.flatnonzero(opens)
        finals = np.append(begins[1:], len(number)) - 1
        parts = [take(self._elements.columns, self._rows)]
        if held:
            parts.insert(0, take(self._held.columns, self._places))
        together = concat(parts, [held, len(self._rows)][-len(parts) :])
        columns = combine(take(together, order), np.cumsum(opens) - 1, len(begins))
        made = Sessions.fresh(
            self._elements.keys[self._group[kept[begins]]],
            self._starts[kept[begins]],
            self._latest[kept[finals]],
            columns,
        )
        return made, self._places[order[order < held]]
