"""The automaton: leads partial matches from state to state, event by event.

There is always one partial match that waits for a first event. Every other one is in some state,
and each event may lead it on, or to several states at once, or nowhere: then it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from scurry.automaton.compiler import CompiledPattern
from scurry.automaton.conditions import Condition
from scurry.automaton.indifference import decided, decisive_conditions
from scurry.automaton.matches import Link, MatchQueue, Partial, by_step, links_of
from scurry.automaton.skip_strategy import EventId
from scurry.automaton.states import Action, Kind, State, Transition

#: The events of a match by the names of the steps.
Match = dict[str, list[Any]]
#: What conditions of the event alone say, as far as that is known.
Known = Mapping[Condition, bool]
_NOTHING: Known = {}


class TimedOut(NamedTuple):
    """A partial match that was not complete when its time was over, at ``at``."""

    match: Match
    at: int


class MatchState(NamedTuple):
    """Where the search stands, which is what a key has as its state. It does not change: whoever
    leads it on gets another one."""

    #: as they lie in a queue
    partial: tuple[Partial, ...]
    #: complete, and waiting for those that began before them
    complete: tuple[Partial, ...] = ()
    #: the timestamp of the event taken last, and how many were taken with it
    counted: tuple[int, int] = (0, 0)


class Step(NamedTuple):
    """What an event, or time, leads to."""

    state: MatchState
    matches: list[Match]
    timed_out: list[TimedOut]


class _Turn:
    """An event at a partial match: what its conditions may ask."""

    __slots__ = ("_clock", "_link", "_names", "_timestamp", "known", "value")

    def __init__(self, value: Any, timestamp: int, clock: Callable[[], int], known: Known) -> None:
        self.value = value
        self.known: dict[Condition, bool] = dict(known)
        self._timestamp = timestamp
        self._clock = clock
        self._link: Link | None = None
        self._names: dict[str, list[Link]] | None = None

    def at(self, link: Link | None) -> None:
        """From now on the partial match is the one with these events."""
        self._link, self._names = link, None

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        if self._names is None:
            self._names = by_step(self._link)
        return [link.value for link in self._names.get(name, ())]

    def events(self) -> list[Any]:
        return [link.value for link in links_of(self._link)]

    def timestamp(self) -> int:
        return self._timestamp

    def current_processing_time(self) -> int:
        return self._clock()


class Automaton:
    """Finds a pattern. With ``keep_timed_out`` it tells of matches that were not completed."""

    def __init__(self, pattern: CompiledPattern, keep_timed_out: bool = False) -> None:
        self.pattern = pattern
        self._states = pattern.states
        self._skip = pattern.skip
        self._keep_timed_out = keep_timed_out
        self._decisive = decisive_conditions(pattern)
        self._timed = bool(pattern.window) or any(state.window for state in pattern.states)

    def changes_nothing(self, known: Known) -> bool:
        """Whether any event of which this is known changes nothing, whatever partial matches there
        are."""
        if self._decisive is None:
            return False
        return all(decided(condition, known) is False for condition in self._decisive)

    def may_change_nothing(self, known: Known) -> bool:
        """Whether some events of which this is known may change nothing."""
        if self._decisive is None:
            return False
        return not any(decided(condition, known) for condition in self._decisive)

    def is_indifferent(self, value: Any, known: Known = _NOTHING) -> bool:
        """Whether an event changes nothing, whatever partial matches there are."""
        if self._decisive is None:
            return False
        turn = _Turn(value, 0, _no_clock, known)
        try:
            return not any(condition.test(turn) for condition in self._decisive)
        except Exception:
            # whether anybody asks that condition depends on the partial matches
            return False

    def begins_nothing(self, known: Known) -> bool:
        """Whether no match can begin with an event of which this is known."""
        open_states = [self.pattern.start]
        while open_states:
            for way in open_states.pop().transitions:
                if decided(way.condition, known) is not False:
                    if way.action is Action.TAKE:
                        return False
                    if way.action is Action.PROCEED:
                        open_states.append(way.target)
        return True

    def begin(self) -> MatchState:
        """The state before any event."""
        return MatchState((Partial(self.pattern.start.number, None, None, 0),))

    # --- time

    def due(self, partial: Partial) -> int | None:
        """When a partial match is over, None if never."""
        if partial.start is None:
            return None
        window = self._states[partial.state].window
        times = [partial.start[0] + self.pattern.window] if self.pattern.window else []
        times += [partial.last + window] if window else []
        return min(times, default=None)

    def next_due(self, state: MatchState) -> int | None:
        """When the next partial match is over, None if none ever is."""
        if not self._timed:
            return None
        times = map(self.due, state.partial)
        return min((time for time in times if time is not None), default=None)

    def _over_at(self, one: Partial, time: int) -> int:
        """When a partial match was over: the time between two events counts before the whole."""
        assert one.start is not None
        window = self._states[one.state].window
        if window and one.last + window <= time:
            return one.last + window
        return one.start[0] + self.pattern.window

    def advance(self, state: MatchState, time: int) -> Step:
        """``time`` has come: some matches are complete by that, others are over."""
        over = [one for one in state.partial if (due := self.due(one)) is not None and due <= time]
        if not over:
            return Step(state, [], [])
        pending: list[Partial] = []
        timed_out: list[TimedOut] = []
        for one in over:
            if self._states[one.state].kind is Kind.PENDING:
                pending.append(one)
            elif self._keep_timed_out:
                timed_out.append(TimedOut(_values(one), self._over_at(one, time)))
        gone = set(map(id, over))
        left = MatchQueue(one for one in state.partial if id(one) not in gone)
        return self._completed(state, left, pending, state.counted, timed_out)

    # --- events

    def process(
        self,
        state: MatchState,
        value: Any,
        timestamp: int,
        clock: Callable[[], int],
        known: Known = _NOTHING,
    ) -> Step:
        """Lead all partial matches on by one event. Conditions of the event alone are not asked if
        it is ``known`` what they would say."""
        last, count = state.counted
        event = timestamp, count if timestamp == last else 0
        turn = _Turn(value, timestamp, clock, known)
        kept: list[Partial] = []
        complete: list[Partial] = []
        moved = False
        for one in state.partial:
            turn.at(one.link)
            after = self._led(one, event, turn)
            if len(after) == 1 and after[0] is one:
                kept.append(one)
                continue
            moved = True
            kinds = [self._states[other.state].kind for other in after]
            pairs = list(zip(after, kinds, strict=True))
            complete += [other for other, kind in pairs if kind is Kind.FINAL]
            if Kind.STOP not in kinds:
                kept += [other for other, kind in pairs if kind is not Kind.FINAL]
        if not moved:
            return Step(state, [], [])
        counted = timestamp, event[1] + 1
        return self._completed(state, MatchQueue(kept), complete, counted, [])

    def _led(self, one: Partial, event: EventId, turn: _Turn) -> list[Partial]:
        """What becomes of a partial match."""
        found: list[Partial] = []
        for way in self._ways(self._states[one.state], turn):
            if way.action is Action.TAKE:
                found += self._taken(one, way, event, turn)
            elif one.start is not None:
                # whoever stays where it is, is the same as before
                same = way.target.number == one.state
                found.append(
                    one if same else Partial(way.target.number, one.link, one.start, one.last)
                )
        if one.start is None:
            found.append(one)
        return found

    def _taken(self, one: Partial, way: Transition, event: EventId, turn: _Turn) -> list[Partial]:
        link = Link(way.source.step, event, turn.value, one.link)
        start = event if one.start is None else one.start
        found = [Partial(way.target.number, link, start, event[0])]
        if (final := self._final_behind(way.target, turn)) is not None:
            found.append(Partial(final.number, link, start, event[0]))
        return found

    def _ways(self, state: State, turn: _Turn) -> list[Transition]:
        """The ways by which an event is taken or passed over, from a state or one that it leads to
        without an event."""
        found: list[Transition] = []
        open_states = [state]
        while open_states:
            for way in open_states.pop().transitions:
                if way.condition.test(turn):
                    if way.action is Action.PROCEED:
                        open_states.append(way.target)
                    else:
                        found.append(way)
        return found

    def _final_behind(self, state: State, turn: _Turn) -> State | None:
        """The end, if the automaton can go there from ``state`` without another event."""
        open_states = [state]
        while open_states:
            for way in open_states.pop().transitions:
                if way.action is Action.PROCEED and way.condition.test(turn):
                    if way.target.kind is Kind.FINAL:
                        return way.target
                    open_states.append(way.target)
        return None

    # --- matches

    def _completed(
        self,
        state: MatchState,
        partial: MatchQueue,
        complete: list[Partial],
        counted: tuple[int, int],
        timed_out: list[TimedOut],
    ) -> Step:
        """What comes out, now that ``partial`` are left and ``complete`` are complete. With a
        strategy that skips, a match comes out when none that began before it is left."""
        waiting = MatchQueue.of(state.complete)
        for one in complete:
            waiting.add(one)
        if not self._skip.skips:
            after = MatchState(partial.held(), (), counted)
            return Step(after, [_values(waiting.poll()) for _ in range(len(waiting))], timed_out)
        found: list[Match] = []
        while (match := waiting.first) is not None:
            if (first := partial.first) is not None and match.rank() > first.rank():
                break
            waiting.poll()
            self._drop(match, (partial, waiting))
            found.append(_values(match))
        return Step(MatchState(partial.held(), waiting.held(), counted), found, timed_out)

    def _drop(self, match: Partial, queues: Iterable[MatchQueue]) -> None:
        """Drop what the skip strategy says, given a match that comes out."""
        steps = by_step(match.link).items()
        bound = self._skip.bound({name: [link.event for link in links] for name, links in steps})
        if bound is None:
            return
        for queue in queues:
            queue.discard(
                [one for one in queue if one.start and self._skip.drops(one.start, bound)]
            )


def _no_clock() -> int:
    raise AssertionError("conditions of the event alone know no clock")


def _values(one: Partial) -> Match:
    return {name: [link.value for link in links] for name, links in by_step(one.link).items()}
