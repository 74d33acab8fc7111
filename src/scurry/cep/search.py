"""A pattern on its way through the events of a key: what is found goes to the user's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.automaton.automaton import Known, MatchState, Step
from scurry.cep.bound_pattern import BoundPattern
from scurry.cep.functions import Match, MatchContext, PatternProcessFunction
from scurry.cep.functions import TimedOutPartialMatchHandler as Handler
from scurry.common.copies import own, take
from scurry.datastream.output_tag import OutputTag


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

    def advanced(self, state: MatchState, time: int, timers: Any) -> tuple[list[Any], MatchState]:
        """``time`` has come: what goes out, and the state."""
        step = self.automaton.advance(state, time)
        return self.told(step, time, timers), step.state

    def met(
        self, state: MatchState, value: Any, known: Known, time: int, timers: Any
    ) -> tuple[list[Any], MatchState]:
        """An event has come: what goes out, and the state."""
        step = self.automaton.process(state, value, time, timers.current_processing_time, known)
        return self.told(step, time, timers), step.state

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

    def told(self, step: Step, time: int, timers: Any) -> list[Any]:
        """What the user's function makes of matches and of those that are over."""
        out: list[Any] = []
        if not (step.matches or step.timed_out):
            return out
        clock = timers.current_processing_time
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
