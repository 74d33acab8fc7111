"""The function that leads the automaton of a pattern through the events of each key.

In event time the events of a key wait until the watermark has passed them, so that the automaton
sees them in the order of their timestamps; those of one timestamp come in the order in which they
arrived, or in that of a comparator. Whoever arrives behind the watermark is late. In processing
time events are looked at as they arrive.

The function is given whole batches. Where conditions are expressions, what they say of an event
alone is judged for all events of a batch, on columns. Nothing is called for events that change
nothing, and of a key without partial matches for those before the first with which one can begin.
Only events that the watermark has not passed when their batch ends are put into state; with them is
kept what was judged of them. If the conditions have changed when a job goes on from its checkpoint,
that is worth nothing, and the automaton asks them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from scurry.automaton.automaton import MatchState
from scurry.automaton.pattern import Pattern
from scurry.automaton.stored_matches import StoredMatches
from scurry.cep.bound_pattern import BoundPattern
from scurry.cep.due_events import DueEvent, DueEvents, in_order
from scurry.cep.event_fields import EventFields
from scurry.cep.functions import PatternProcessFunction, TimedOutPartialMatchHandler
from scurry.cep.search import Search, is_idle
from scurry.cep.waiting import WaitingEvents, needs_timestamps, sort_key
from scurry.common.errors import StateError
from scurry.common.type_information import TypeInformation
from scurry.datastream.functions import KeyedProcessFunction, RuntimeContext
from scurry.datastream.output_tag import OutputTag
from scurry.datastream.state import ValueStateDescriptor
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.keyed_batches import BatchedFunction, Emitted, Visit, Woken


class MatchFunction(BatchedFunction, KeyedProcessFunction):
    """Finds ``pattern`` among the events of each key and calls ``function`` for each match; events
    are of the type ``type_info``, if that is declared."""

    def __init__(
        self,
        pattern: Pattern,
        type_info: TypeInformation | None,
        function: PatternProcessFunction,
        event_time: bool,
        late: OutputTag | None,
        comparator: Callable[..., Any] | None,
        drop_changed: bool,
    ) -> None:
        self._pattern = pattern
        self._type_info = type_info
        self._function = function
        self._event_time = event_time
        self._late = late
        self._comparator = comparator
        self._drop_changed = drop_changed

    def open(self, runtime_context: RuntimeContext) -> None:
        tells = isinstance(self._function, TimedOutPartialMatchHandler)
        self._fields = EventFields(self._type_info)
        self._bound = BoundPattern(self._pattern, self._fields, tells)
        self._search = Search(self._bound, self._function, self._event_time)
        #: by what events of one timestamp are sorted
        self._order = None if self._comparator is None else sort_key(self._comparator)
        self._matches = runtime_context.get_state(ValueStateDescriptor("matches"))
        self._waiting = WaitingEvents(runtime_context, self._event_time, self._late)
        self._function.open(runtime_context)

    def close(self) -> None:
        self._bound.close()
        self._function.close()

    # --- events and time

    def by_event_time(self) -> bool:
        return self._event_time

    def without_time(self) -> Exception:
        return needs_timestamps()

    def late(self, value: Any) -> list[Any]:
        return self._waiting.refused(value)

    def keep(self, batch: Batch, visit: Visit) -> None:
        self._wait(batch, batch.ts, visit)

    def _wait(self, batch: Batch, times: Any, visit: Visit) -> None:
        """Have those events of a batch wait that may change anything."""
        bound, found = self._bound, self._bound.kinds(batch)
        places = np.flatnonzero(~found.flags("idle"))
        kept = batch.take(places)
        assert kept.keys is not None
        visit.prefetch(kept.keys)
        kinds = map(found.kinds.__getitem__, found.codes[places].tolist())
        for key, time, value, kind in zip(
            kept.keys, times[places].tolist(), kept.rows, kinds, strict=True
        ):
            if not (kind.may_be_idle and bound.automaton.is_indifferent(value, kind.known)):
                visit.enter(key)
                self._waiting.add(time, bound.waiting(value, kind), visit.timers)

    def lead(
        self, due: Batch, times: Longs, woken: Woken, until: int, visit: Visit
    ) -> Iterable[Emitted]:
        if due.size and self._order is not None and not self._event_time:
            # they are sorted when no more of the same millisecond can come
            self._wait(due, times, visit)
            return []
        kinds = self._bound.kinds(due)
        events = DueEvents(due, times, woken, kinds.flags("idle"))
        visit.prefetch(events.keys)
        states = [self._held(key, visit) for key in events.keys]
        start = self._search.start
        busy = [
            state is not start or key in woken
            for key, state in zip(events.keys, states, strict=True)
        ]
        events.want(busy, kinds.flags("begins"))
        events.prepared()
        codes, known = kinds.codes.tolist(), kinds.kinds
        found: list[Emitted] = []
        for number, (key, state) in enumerate(zip(events.keys, states, strict=True)):
            if key not in woken and not events.has_events(number):
                # partial matches that are over would have woken it
                continue
            these: Iterable[DueEvent] = events.of_key(number, lambda at: known[codes[at]])
            visit.enter(key)
            if key in woken:
                these = in_order([*self._waited(woken[key]), *these], self._order)
            elif self._order is not None:
                these = in_order(list(these), self._order)
            after = self._search.run(state, these, key, until, visit, found)
            self._store(state, after, visit.timers)
        for text in self._fields.news():
            visit.warn(text)
        return found

    def _waited(self, woken: list[int]) -> Iterable[DueEvent]:
        """The events of the key that have waited for timers."""
        for time in woken:
            for waiting in self._waiting.take(time):
                value, kind = self._bound.kind_of(waiting)
                yield DueEvent(time, -1, value, kind)

    # --- state

    def _held(self, key: Any, visit: Visit) -> MatchState:
        visit.enter(key)
        stored: StoredMatches | None = self._matches.value()
        if stored is None:
            return self._search.start
        if stored.pattern == self._bound.identity:
            return stored.state
        if self._drop_changed:
            return self._search.start
        raise StateError(
            "The checkpoint has partial matches of another pattern: steps, quantifiers or "
            "contiguity have changed since, so nobody can say where these matches stand now. Give "
            "the operator another uid to begin anew, or call drop_changed_matches() on the pattern "
            "stream to drop partial matches and keep events that wait for the watermark."
        )

    def _store(self, before: MatchState, after: MatchState, timers: Any) -> None:
        if after is before:
            return
        self._search.set_timers(before, after, timers)
        if is_idle(after):
            self._matches.clear()
        else:
            self._matches.update(StoredMatches(self._bound.identity, after))
