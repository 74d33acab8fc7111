"""A pattern on its way through the events of a key: what is found goes to the user's function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scurry.automaton.automaton import MatchState, Step
from scurry.cep.bound_pattern import BoundPattern
from scurry.cep.due_events import DueEvent
from scurry.cep.functions import Match, MatchContext, PatternProcessFunction
from scurry.cep.functions import TimedOutPartialMatchHandler as Handler
from scurry.common.copies import own, take
from scurry.datastream.output_tag import OutputTag
from scurry.runtime.keyed_batches import Emitted, Visit


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


class Search:
    """Leads the automaton of a pattern, and calls ``function`` for each match. ``made`` is what a
    match is for the function."""

    def __init__(
        self,
        bound: BoundPattern,
        function: PatternProcessFunction,
        event_time: bool,
        made: Callable[[Match], Match] = dict,
    ) -> None:
        self.bound = bound
        self.automaton = bound.automaton
        self._function = function
        self._event_time = event_time
        self._made = made
        #: the state of a key before any event
        self.start = self.automaton.begin()

    def run(
        self,
        state: MatchState,
        events: Iterable[DueEvent],
        key: Any,
        until: int,
        visit: Visit,
        found: list[Emitted],
    ) -> MatchState:
        """The state after events of a key, and after time has passed up to ``until``. What goes out
        is added to ``found``."""
        automaton, clock = self.automaton, visit.timers.current_processing_time
        idle, due = is_idle(state), automaton.next_due(state)
        for time, record, value, kind in events:
            if due is not None and due <= time:
                state = self._passed(state, key, record, time, visit, found)
                idle, due = is_idle(state), automaton.next_due(state)
            if idle and not kind.begins:
                continue
            try:
                step = automaton.process(state, value, time, clock, kind.known)
                out = self.told(step, time, visit) if step.matches else ()
            except Exception as failure:
                found.append(Emitted(time, key, record, visit.failed(value, failure, time)))
                continue
            if step.state is not state:
                state = step.state
                idle, due = is_idle(state), automaton.next_due(state)
            if out:
                found.append(Emitted(time, key, record, out))
        return self._passed(state, key, -1, until, visit, found)

    def _passed(
        self,
        state: MatchState,
        key: Any,
        record: int,
        until: int,
        visit: Visit,
        found: list[Emitted],
    ) -> MatchState:
        """The state after time has passed: what is over ends, one time after the other."""
        while (due := self.automaton.next_due(state)) is not None and due <= until:
            before = state
            try:
                step = self.automaton.advance(state, due)
                state = step.state
                out = self.told(step, due, visit)
            except Exception as failure:
                out = visit.failed(None, failure, due)
            if out:
                found.append(Emitted(due, key, record, out))
            if state is before:
                break
        return state

    def set_timers(self, before: MatchState, after: MatchState, timers: Any) -> None:
        """Have timers fire when partial matches are over that have begun since."""
        due = self.automaton.due
        known = {due(one) for one in before.partial}
        for time in {due(one) for one in after.partial} - known:
            if time is not None:
                self.set_timer(time, timers)

    def set_timer(self, time: int, timers: Any) -> None:
        """Have a timer fire."""
        if self._event_time:
            timers.register_event_time_timer(time)
        else:
            timers.register_processing_time_timer(time)

    def told(self, step: Step, time: int, visit: Visit) -> list[Any]:
        """What the user's function makes of matches and of those that are over."""
        out: list[Any] = []
        if not (step.matches or step.timed_out):
            return out
        visit.at(time)
        clock = visit.timers.current_processing_time
        for match in step.matches:
            context = _Context(out, time if self._event_time else None, clock)
            take(out, self._function.process_match(self._made(_owned(match)), context) or ())
        if isinstance(self._function, Handler):
            for timed_out in step.timed_out:
                context = _Context(out, timed_out.at, clock)
                match = self._made(_owned(timed_out.match))
                take(out, self._function.process_timed_out_match(match, context) or ())
        return out


def is_idle(state: MatchState) -> bool:
    """Whether no match has begun."""
    return all(one.start is None for one in state.partial) and not state.complete


def _owned(match: Match) -> Match:
    """The events of a match, which a function may change: other matches have them, too."""
    return {name: [own(value) for value in values] for name, values in match.items()}
