"""The function that leads the automaton of a pattern through the events of each key.

In event time the events of a key wait until the watermark has passed them, so that the automaton
sees them in the order of their timestamps; those of one timestamp come in the order in which they
arrived, or in that of a comparator. Whoever arrives behind the watermark is late. In processing
time events are looked at as they arrive.

Where conditions are expressions, what they say of an event alone is judged for whole batches, on
columns, before the function is called; for events that change nothing it is not called at all. An
event that waits keeps what was judged of it. If the conditions have changed when a job goes on from
its checkpoint, that is worth nothing, and the automaton asks them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from scurry.automaton.automaton import MatchState
from scurry.automaton.pattern import Pattern
from scurry.automaton.stored_matches import StoredMatches
from scurry.cep.bound_pattern import BoundPattern, Judged
from scurry.cep.event_fields import EventFields
from scurry.cep.functions import PatternProcessFunction, TimedOutPartialMatchHandler
from scurry.cep.search import Search, is_idle
from scurry.cep.waiting import WaitingEvents, sort_key
from scurry.common.errors import StateError
from scurry.common.type_information import TypeInformation
from scurry.datastream.functions import KeyedProcessFunction, RuntimeContext
from scurry.datastream.output_tag import OutputTag
from scurry.datastream.state import ValueStateDescriptor
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.failures import ElementFailed
from scurry.runtime.screening import BatchScreen


class MatchFunction(KeyedProcessFunction, BatchScreen):
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
        self._bound = BoundPattern(self._pattern, EventFields(self._type_info), tells)
        self._automaton = self._bound.automaton
        self._search = Search(self._bound, self._function, self._event_time)
        #: what was judged of the elements that come next
        self._coming: Iterator[tuple[int, int]] = iter(())
        #: by what events of one timestamp are sorted
        self._order = None if self._comparator is None else sort_key(self._comparator)
        self._matches = runtime_context.get_state(ValueStateDescriptor("matches"))
        self._waiting = WaitingEvents(runtime_context, self._event_time, self._late)
        self._function.open(runtime_context)

    def close(self) -> None:
        self._bound.close()
        self._function.close()

    # --- events and time

    def screened(self, batch: Batch, watermark: int) -> Batch:
        """Leaves out events that change nothing, as far as expressions tell; late ones stay."""
        if not self._bound.judges or not batch.size:
            return batch
        true, judged = self._bound.judgement(batch)
        wanted = ~self._bound.indifferent(true, judged)
        if self._event_time:
            wanted |= True if batch.ts is None else batch.ts <= passed(batch, watermark)
        places = np.flatnonzero(wanted)
        self._coming = iter(zip(true[places].tolist(), judged[places].tolist(), strict=True))
        return batch if len(places) == batch.size else batch.take(places)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        waiting = value
        if self._bound.judges:
            waiting = Judged(self._bound.judge, *next(self._coming), value)
        if self._event_time:
            return self._keep(value, waiting, ctx)
        known = self._bound.known_of(waiting)[1]
        if self._automaton.is_indifferent(value, known):
            return ()
        timers = ctx.timer_service()
        now = timers.current_processing_time()
        if self._order is not None:
            self._waiting.add(now, waiting, timers)
            return ()
        before = self._held()
        out, state = self._search.advanced(before, now, timers)
        found, state = self._search.met(state, value, known, now, timers)
        self._store(before, state, timers)
        return out + found

    def _keep(self, value: Any, waiting: Any, ctx: Any) -> Iterable[Any]:
        """Have an event wait for the watermark, unless that has passed."""
        if self._waiting.is_late(ctx):
            return self._waiting.refused(value)
        if not self._automaton.is_indifferent(*self._bound.known_of(waiting)):
            self._waiting.add(ctx.timestamp(), waiting, ctx.timer_service())
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        events = self._waiting.take(timestamp)
        if (order := self._order) is not None:
            events = sorted(events, key=lambda one: order(self._bound.known_of(one)[0]))
        before = self._held()
        out, state = self._search.advanced(before, timestamp, timers)
        for number, waiting in enumerate(events):
            value, known = self._bound.known_of(waiting)
            try:
                found, state = self._search.met(state, value, known, timestamp, timers)
            except Exception as failure:
                # what is complete goes out first, and if that was all, only this event is given up
                given_up = 0 if out else 1
                self._waiting.wait_again(timestamp, events[number + given_up :], timers)
                self._store(before, state, timers)
                if given_up:
                    raise ElementFailed(value) from failure
                return out
            out += found
        self._store(before, state, timers)
        return out

    # --- state

    def _held(self) -> MatchState:
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


def passed(batch: Batch, watermark: int) -> Longs | int:
    """The watermark in force at each record, given the one before the batch."""
    if batch.wm is None:
        return watermark
    return np.maximum.accumulate(np.maximum(batch.wm, watermark))
