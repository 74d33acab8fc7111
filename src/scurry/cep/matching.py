"""The function that leads the automaton of a pattern through the events of each key.

In event time the events of a key wait until the watermark has passed them, so that the automaton
sees them in the order of their timestamps; those of one timestamp come in the order in which they
arrived, or in that of a comparator. Whoever arrives behind the watermark is late. In processing
time events are looked at as they arrive.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from scurry.automaton.automaton import Automaton, MatchState, Step
from scurry.automaton.compiler import compile_pattern
from scurry.automaton.pattern import Pattern
from scurry.automaton.stored_matches import StoredMatches, identity_of
from scurry.cep.functions import MatchContext, PatternProcessFunction, TimedOutPartialMatchHandler
from scurry.common.copies import own, take
from scurry.common.errors import ProgramError, StateError
from scurry.datastream.functions import KeyedProcessFunction, RuntimeContext
from scurry.datastream.output_tag import OutputTag
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.runtime.failures import ElementFailed


class _Context(MatchContext):
    """Side outputs go where the matches go, in one order with them."""

    def __init__(self, out: list[Any], timestamp: int | None, clock: Callable[[], int]) -> None:
        self._out = out
        self._timestamp = timestamp
        self._clock = clock

    def timestamp(self) -> int | None:
        return self._timestamp

    def current_processing_time(self) -> int:
        return self._clock()

    def output(self, tag: OutputTag, value: Any) -> None:
        self._out.append((tag, own(value)))


class MatchFunction(KeyedProcessFunction):
    """Finds ``pattern`` among the events of each key and calls ``function`` for each match."""

    def __init__(
        self,
        pattern: Pattern,
        function: PatternProcessFunction,
        event_time: bool,
        late: OutputTag | None,
        comparator: Callable[..., Any] | None,
        drop_changed: bool,
    ) -> None:
        self._pattern = pattern
        self._function = function
        self._event_time = event_time
        self._late = late
        self._comparator = comparator
        self._drop_changed = drop_changed

    def open(self, runtime_context: RuntimeContext) -> None:
        compiled = compile_pattern(self._pattern)
        self._identity = identity_of(compiled)
        self._tells = isinstance(self._function, TimedOutPartialMatchHandler)
        self._automaton = Automaton(compiled, keep_timed_out=self._tells)
        self._start = self._automaton.begin()
        #: by what events of one timestamp are sorted
        self._order = None if self._comparator is None else _sort_key(self._comparator)
        self._matches = runtime_context.get_state(ValueStateDescriptor("matches"))
        #: events that wait for the watermark, by timestamp
        self._waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))
        self._dropped = runtime_context.get_metrics_group().counter("numLateRecordsDropped")
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    # --- events and time

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if self._event_time:
            return self._keep(value, ctx)
        if self._automaton.is_indifferent(value):
            return ()
        timers = ctx.timer_service()
        now = timers.current_processing_time()
        if self._order is not None:
            self._wait(now, value)
            timers.register_processing_time_timer(now + 1)
            return ()
        before = self._held()
        out, state = self._advanced(before, now, timers)
        found, state = self._met(state, value, now, timers)
        self._store(before, state, timers)
        return out + found

    def _keep(self, value: Any, ctx: Any) -> Iterable[Any]:
        """Have an event wait for the watermark, unless that has passed."""
        timestamp = ctx.timestamp()
        if timestamp is None:
            raise ProgramError(
                "The events of a pattern in event time need timestamps: call "
                "assign_timestamps_and_watermarks on the stream, or in_processing_time() on the "
                "pattern stream."
            )
        timers = ctx.timer_service()
        if timestamp > timers.current_watermark():
            if not self._automaton.is_indifferent(value):
                self._wait(timestamp, value)
                timers.register_event_time_timer(timestamp)
        elif self._late is not None:
            return [(self._late, value)]
        else:
            self._dropped.inc()
        return ()

    def _wait(self, time: int, value: Any) -> None:
        self._waiting.put(time, [*(self._waiting.get(time) or ()), value])

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        # in processing time events wait for the next millisecond
        at = timestamp if self._event_time else timestamp - 1
        events = self._waiting.get(at) or []
        if events:
            self._waiting.remove(at)
            if self._order is not None:
                events = sorted(events, key=self._order)
        before = self._held()
        out, state = self._advanced(before, timestamp, timers)
        for number, value in enumerate(events):
            try:
                found, state = self._met(state, value, timestamp, timers)
            except Exception as failure:
                # what is complete goes out first, and if that was all, only this event is given up
                given_up = 0 if out else 1
                self._wait_again(at, timestamp, events[number + given_up :], timers)
                self._store(before, state, timers)
                if given_up:
                    raise ElementFailed(value) from failure
                return out
            out += found
        self._store(before, state, timers)
        return out

    def _wait_again(self, at: int, time: int, events: list[Any], timers: Any) -> None:
        """Have ``events`` come once more, at the same time."""
        if events:
            self._waiting.put(at, events)
            self._set_timer(time, timers)

    def _advanced(self, state: MatchState, time: int, timers: Any) -> tuple[list[Any], MatchState]:
        """``time`` has come: what goes out, and the state."""
        step = self._automaton.advance(state, time)
        return self._told(step, time, timers), step.state

    def _met(
        self, state: MatchState, value: Any, time: int, timers: Any
    ) -> tuple[list[Any], MatchState]:
        """An event has come: what goes out, and the state."""
        step = self._automaton.process(state, value, time, timers.current_processing_time)
        return self._told(step, time, timers) if step.matches else [], step.state

    # --- state

    def _held(self) -> MatchState:
        stored: StoredMatches | None = self._matches.value()
        if stored is None:
            return self._start
        if stored.pattern == self._identity:
            return stored.state
        if self._drop_changed:
            return self._start
        raise StateError(
            "The checkpoint has partial matches of another pattern: steps, quantifiers or "
            "contiguity have changed since, so nobody can say where these matches stand now. Give "
            "the operator another uid to begin anew, or call drop_changed_matches() on the pattern "
            "stream to drop partial matches and keep events that wait for the watermark."
        )

    def _store(self, before: MatchState, after: MatchState, timers: Any) -> None:
        if after is before:
            return
        due = self._automaton.due
        known = {due(one) for one in before.partial}
        for time in {due(one) for one in after.partial} - known:
            if time is not None:
                self._set_timer(time, timers)
        if all(one.start is None for one in after.partial) and not after.complete:
            self._matches.clear()
        else:
            self._matches.update(StoredMatches(self._identity, after))

    def _set_timer(self, time: int, timers: Any) -> None:
        if self._event_time:
            timers.register_event_time_timer(time)
        else:
            timers.register_processing_time_timer(time)

    # --- matches

    def _told(self, step: Step, time: int, timers: Any) -> list[Any]:
        """What the user's function makes of matches and of those that are over."""
        out: list[Any] = []
        clock = timers.current_processing_time
        for match in step.matches:
            context = _Context(out, time if self._event_time else None, clock)
            take(out, self._function.process_match(_owned(match), context) or ())
        if self._tells:
            assert isinstance(self._function, TimedOutPartialMatchHandler)
            for timed_out in step.timed_out:
                context = _Context(out, timed_out.at, clock)
                told = self._function.process_timed_out_match(_owned(timed_out.match), context)
                take(out, told or ())
        return out


def _owned(match: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The events of a match, which a function may change: other matches have them, too."""
    return {name: [own(value) for value in values] for name, values in match.items()}


def _sort_key(comparator: Callable[..., Any]) -> Callable[[Any], Any]:
    two = len(inspect.signature(comparator).parameters) > 1
    return functools.cmp_to_key(comparator) if two else comparator
