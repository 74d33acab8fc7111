"""Events that are due, key by key, in the order of time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from scurry.cep.typed_parts import Mask
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys


class DueEvent(NamedTuple):
    """An event at its time, and its place in the batch; -1 if it has waited in state. ``kind`` is
    what is known of it."""

    time: int
    record: int
    value: Any
    kind: Any


class DueEvents:
    """The events of a batch by key and time; those of one time are in the order of arrival.

    Rows are made of columns only for events that somebody wants: see :meth:`want`.
    """

    def __init__(
        self, batch: Batch, times: Longs, woken: Iterable[Any], dropped: Mask | None = None
    ) -> None:
        """Of keys that have events, or are ``woken``; without the events that are ``dropped``."""
        kept = np.arange(batch.size)
        if dropped is not None and dropped.any():
            kept = np.flatnonzero(~dropped)
            batch, times = batch.take(kept), times[kept]
        found = batch_keys(batch, None)
        self.keys: list[Any] = list(dict.fromkeys([*found.keys, *woken]))
        self._batch = batch
        self._all_times = times
        #: the places of events in the batch that was given
        self._given = kept
        places = np.lexsort((times, found.codes))
        self._put(places, found.codes[places])

    def _put(self, places: Longs, codes: Longs) -> None:
        self._places = places
        self._codes = codes
        self._begins = np.searchsorted(codes, np.arange(len(self.keys) + 1)).tolist()

    def want(self, busy: list[bool], begins: Mask) -> None:
        """Leave out events before the first with which something ``begins``, for keys that are not
        ``busy`` with anything before it. ``begins`` is of the events of the batch."""
        first = np.full(len(self.keys), len(self._places))
        starting = np.flatnonzero(begins[self._given[self._places]])[::-1]
        first[self._codes[starting]] = starting
        first[np.array(busy, dtype=bool)] = 0
        wanted = np.arange(len(self._places)) >= first[self._codes]
        self._put(self._places[wanted], self._codes[wanted])

    def prepared(self) -> None:
        """Have the rows of all events that are left."""
        self._rows = self._batch.take(self._places).rows if len(self._places) else []
        self._times = self._all_times[self._places].tolist()
        self._records = self._given[self._places].tolist()

    def has_events(self, number: int) -> bool:
        """Whether any event of a key is left."""
        return bool(self._begins[number] < self._begins[number + 1])

    def of_key(self, number: int, kind_of: Callable[[int], Any]) -> Iterator[DueEvent]:
        """The events of a key; ``kind_of`` says what is known of an event, by its place in the
        batch."""
        times, records, rows = self._times, self._records, self._rows
        for at in range(self._begins[number], self._begins[number + 1]):
            record = records[at]
            yield DueEvent(times[at], record, rows[at], kind_of(record))


def in_order(events: list[DueEvent], order: Callable[[Any], Any] | None) -> list[DueEvent]:
    """Events of a key by time; those of one time as they came, or as ``order`` says."""
    if order is None:
        return sorted(events, key=lambda one: one.time)
    return sorted(events, key=lambda one: (one.time, order(one.value)))
