"""From a pattern to an automaton.

Steps are translated from the last to the first, each in front of what follows it. A step that must
occur is a state with a way to *take* an event to the next state; one that may be passed over has a
way to *ignore* events; one that may be missing has a way to *proceed*. A step that occurs several
times is as many states, and one without an upper bound ends in a state that leads to itself. Steps
that must not occur become ways to a *stop* state, which ends the match.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from scurry.automaton.conditions import ALWAYS, And, Condition, Not
from scurry.automaton.errors import MalformedPatternError
from scurry.automaton.pattern import GroupPattern, Pattern, WithinType
from scurry.automaton.quantifier import ConsumingStrategy, Times
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy
from scurry.automaton.states import Action, Kind, State

_NOT_NEXT, _NOT_FOLLOW = ConsumingStrategy.NOT_NEXT, ConsumingStrategy.NOT_FOLLOW
#: The name of the state in which a match is complete.
END = "$end$"


@dataclass(frozen=True)
class CompiledPattern:
    """States by their numbers; ``window`` is how long a match may take, 0 for ever."""

    states: tuple[State, ...]
    start: State
    window: int
    skip: AfterMatchSkipStrategy


def compile_pattern(pattern: Pattern) -> CompiledPattern:
    """The automaton that finds ``pattern``; raises :class:`MalformedPatternError`."""
    return _Compiler(pattern).compile()


@dataclass
class _Place:
    """Where in a pattern the compiler is."""

    current: Pattern
    following: Pattern | None = None
    group: GroupPattern | None = None


@dataclass
class _Compiler:
    pattern: Pattern
    states: list[State] = field(default_factory=list)
    window: int = 0

    def compile(self) -> CompiledPattern:
        skip = self.pattern.get_after_match_skip_strategy()
        self._check(skip)
        self._stops: dict[str, State] = {}
        #: the names of steps that have a state
        self._named: set[str] = set()
        #: what a greedy loop proceeds to when its until condition has come true, by state
        self._originals: dict[State, State] = {}
        #: whether the head of a group stands for its first round
        self._first: dict[GroupPattern, bool] = {}
        self._place = _Place(self.pattern)
        self._narrow(self.pattern)
        sink = self._middle(self._made(END, Kind.FINAL))
        start = self._converted(sink)
        start.start = True
        self._check_windows()
        return CompiledPattern(tuple(self.states), start, self.window, skip)

    # --- what patterns are refused

    def _check(self, skip: AfterMatchSkipStrategy) -> None:
        names: set[str] = set()
        self._check_names(self.pattern, names)
        if skip.name is not None and skip.name not in names:
            raise MalformedPatternError(
                f"The pattern name specified in AfterMatchSkipStrategy can not be found in the "
                f"given Pattern: {skip.name!r} is none of {', '.join(sorted(names))}."
            )
        last = self.pattern
        if last.get_quantifier().consuming is _NOT_FOLLOW and not (_gap(last) or _windows(last)):
            raise MalformedPatternError(
                "NotFollowedBy is not supported without windowTime as a last part of a Pattern! "
                "Say with within(...) how long no such event may come."
            )

    def _check_windows(self) -> None:
        longest = max((state.window or 0 for state in self.states), default=0)
        if 0 < self.window < longest:
            raise MalformedPatternError(
                "The window length between the previous and current event cannot be larger than "
                "the window length between the first and last event for a Pattern: "
                f"{longest} ms are more than {self.window} ms."
            )

    def _check_names(self, pattern: Pattern | None, names: set[str]) -> None:
        chain: list[Pattern] = []
        while pattern is not None:
            chain.append(pattern)
            pattern = pattern.get_previous()
        for step in reversed(chain):
            if isinstance(step, GroupPattern):
                if step.get_quantifier().kind == "looping" and _may_be_empty(step.group):
                    raise MalformedPatternError(
                        "A group that loops needs a step that is not optional, or it could go "
                        "round for ever without an event."
                    )
                self._check_names(step.group, names)
                continue
            name = step.get_name()
            if name in names:
                raise MalformedPatternError(
                    f"Duplicate pattern name: {name}. Names must be unique."
                )
            names.add(name)

    # --- states

    def _made(self, step: str, kind: Kind = Kind.NORMAL) -> State:
        state = State(len(self.states), step, kind)
        self.states.append(state)
        return state

    def _state(self, kind: Kind = Kind.NORMAL, waits: bool = False) -> State:
        """A state that waits for the current step; with ``waits`` because an event was passed over,
        from when on only the time of the whole counts.

        The time between the times of a step holds, as in Flink, for all of its states but the one
        that is made first, which is that of its last time or of its loop.
        """
        current = self._place.current
        name = current.get_name()
        state = self._made(name, kind)
        times = current.get_times()
        if times is None:
            state.window = current.get_window_size(WithinType.PREVIOUS_AND_CURRENT)
        elif name in self._named:
            state.window = times.window
        if waits:
            state.window = None
        self._named.add(name)
        return state

    def _stop(self, condition: Condition, name: str) -> State:
        if name not in self._stops:
            self._stops[name] = self._made(name, Kind.STOP)
            self._stops[name].take(self._stops[name], condition)
        return self._stops[name]

    def _narrow(self, pattern: Pattern) -> None:
        """The shortest time that any step gives holds for the whole."""
        window = pattern.get_window_size()
        if window is not None and (self.window == 0 or window < self.window):
            self.window = window

    # --- chains of steps

    def _middle(self, sink: State) -> State:
        """All steps but the first of the chain that ends with the current one."""
        place = self._place
        while (before := place.current.get_previous()) is not None:
            consuming = place.current.get_quantifier().consuming
            if consuming is _NOT_FOLLOW:
                if sink.kind is Kind.FINAL and (_gap(place.current) or _windows(self.pattern)):
                    sink = self._pending()
            elif consuming is _NOT_NEXT:
                sink = self._not_next(sink)
            else:
                sink = self._converted(sink)
            place.following, place.current = place.current, before
            self._narrow(before)
        return sink

    def _pending(self) -> State:
        """A last step that must not occur before the time is over."""
        denied = self._taken(self._place.current)
        waiting = self._state(Kind.PENDING)
        waiting.proceed(self._stop(denied, self._place.current.get_name()), denied)
        waiting.ignore(waiting, Not(denied))
        return waiting

    def _not_next(self, sink: State) -> State:
        denied = self._taken(self._place.current)
        state = self._state()
        if sink.kind is Kind.FINAL:
            # so that the match is not complete before there is a next event
            state.ignore(sink, Not(denied))
        else:
            state.proceed(sink, Not(denied))
        state.proceed(self._stop(denied, self._place.current.get_name()), denied)
        return state

    def _converted(self, sink: State) -> State:
        """The states of the current step in front of ``sink``."""
        quantifier = self._place.current.get_quantifier()
        if quantifier.kind == "looping":
            assert quantifier.times is not None
            self._set_first(False)
            looping = self._looping(self._without_nots(sink))
            self._set_first(True)
            last = self._repeated(looping, sink, quantifier.times)
        elif quantifier.kind == "times":
            assert quantifier.times is not None
            last = self._repeated(sink, sink, quantifier.times)
        else:
            last = self._single(sink)
        self._add_stops(last)
        return last

    # --- one step

    def _single(self, sink: State) -> State:
        current = self._place.current
        return self._singleton(
            sink,
            sink,
            self._taken(current),
            self._ignored(current),
            current.get_quantifier().optional,
        )

    def _singleton(
        self,
        sink: State,
        onward: State | None,
        taken: Condition,
        ignored: Condition | None,
        optional: bool,
    ) -> State:
        """A state that takes one event to ``sink``, or proceeds ``onward`` if it may."""
        current = self._place.current
        if isinstance(current, GroupPattern):
            return self._grouped(current, sink, onward, optional)
        state = self._state()
        # once an event is taken, what must not occur before an optional step does not matter
        sink = self._without_nots(sink)
        state.take(sink, taken)
        if optional:
            assert onward is not None
            self._proceed(state, onward)
        if ignored is not None:
            if optional or self._heads_optional_group(current):
                waiting = self._state(waits=True)
                waiting.take(sink, taken)
                waiting.ignore(waiting, ignored)
                self._add_stops(waiting)
            else:
                waiting = state
            state.ignore(waiting, ignored)
        return state

    def _proceed(self, state: State, onward: State) -> None:
        until, free = self._place.current.get_until_condition(), self._free()
        if until is None or not self._place.current.get_quantifier().greedy:
            state.proceed(onward, free)
            return
        state.proceed(self._originals.get(onward, onward), _both(free, until))
        state.proceed(onward, _both(free, Not(until)))

    def _repeated(self, sink: State, onward: State, times: Times) -> State:
        """The current step as often as ``times`` says, in front of ``sink``."""
        self._set_first(False)
        current = self._place.current
        until = current.get_until_condition()
        ignored = _until(self._ignored_within(current), until, takes=False)
        taken = _until(self._taken(current), until, takes=True)
        assert taken is not None
        if current.get_quantifier().greedy and times.least != times.most:
            if until is not None:
                self._originals[onward] = self._copy(onward)
            _add(onward, Not(taken))
        last = sink
        for _ in range(times.most - times.least):
            last = self._singleton(last, onward, taken, ignored, True)
            self._add_stops_of_loop(last)
        for _ in range(times.least - 1):
            last = self._singleton(last, None, taken, ignored, False)
            self._add_stops_of_loop(last)
        self._set_first(True)
        outer = self._ignored(current)
        return self._singleton(last, onward, taken, outer, current.get_quantifier().optional)

    def _looping(self, sink: State) -> State:
        """A state that takes events again and again, or proceeds to ``sink``."""
        current = self._place.current
        if isinstance(current, GroupPattern):
            return self._looping_group(current, sink)
        until = current.get_until_condition()
        ignored = _until(self._ignored_within(current), until, takes=False)
        taken = _until(self._taken(current), until, takes=True)
        assert taken is not None
        state = self._state()
        if current.get_quantifier().greedy:
            if until is not None:
                self._originals[sink] = self._copy(sink)
                state.proceed(self._originals[sink], _both(self._free(), until))
                state.proceed(sink, _both(self._free(), Not(until)))
            else:
                state.proceed(sink, self._free())
            _add(sink, Not(self._taken(current)))
        else:
            state.proceed(sink, self._free())
        state.take(state, taken)
        self._add_stops_of_loop(state)
        if ignored is not None:
            waiting = self._state(waits=True)
            waiting.take(state, taken)
            waiting.ignore(waiting, ignored)
            state.ignore(waiting, ignored)
            self._add_stops_of_loop(waiting)
        return state

    # --- groups

    def _grouped(
        self, group: GroupPattern, sink: State, onward: State | None, optional: bool
    ) -> State:
        outside, free = self._place, self._free()
        self._place = _Place(group.group, outside.following, group)
        self._narrow(group.group)
        head = self._converted(self._middle(sink))
        if optional:
            assert onward is not None
            head.proceed(onward, free)
        self._place = outside
        return head

    def _looping_group(self, group: GroupPattern, sink: State) -> State:
        outside, free = self._place, self._free()
        end_of_round = self._state()
        self._place = _Place(group.group, outside.following, group)
        self._narrow(group.group)
        head = self._converted(self._middle(end_of_round))
        head.proceed(sink, free)
        end_of_round.proceed(head, free)
        self._place = outside
        return head

    def _heads(self, pattern: Pattern) -> bool:
        """Whether it is the first step of a group."""
        return self._place.group is not None and pattern.get_previous() is None

    def _set_first(self, first: bool) -> None:
        if isinstance(self._place.current, GroupPattern):
            self._first[self._place.current] = first

    def _is_first(self) -> bool:
        group = self._place.group
        return group is None or self._first.get(group, True)

    def _heads_optional_group(self, pattern: Pattern) -> bool:
        """Whether it is the first step of a group that may be missing, in its first round."""
        group = self._place.group
        if group is None or not self._heads(pattern):
            return False
        return self._is_first() and group.get_quantifier().optional

    # --- what must not occur

    def _denied(self) -> list[tuple[Condition, str]]:
        """What must not occur before the current step, beyond optional steps."""
        found: list[tuple[Condition, str]] = []
        pattern = self._place.current
        while (before := pattern.get_previous()) is not None:
            quantifier = before.get_quantifier()
            if not (quantifier.optional or quantifier.consuming is _NOT_FOLLOW):
                break
            pattern = before
            if quantifier.consuming is _NOT_FOLLOW:
                found.append((self._taken(pattern), pattern.get_name()))
        return found

    def _add_stops(self, state: State) -> None:
        for condition, name in self._denied():
            state.proceed(self._stop(condition, name), condition)

    def _add_stops_of_loop(self, state: State) -> None:
        following = self._place.following
        if following is not None and following.get_quantifier().consuming is _NOT_FOLLOW:
            condition = self._taken(following)
            state.proceed(self._stop(condition, following.get_name()), condition)

    def _without_nots(self, sink: State) -> State:
        """``sink`` without the stops that hold only as long as the current step is missing."""
        denied = {name for _, name in self._denied()}
        if not denied or not self._place.current.get_quantifier().optional:
            return sink
        return self._stripped(sink, denied)

    def _stripped(self, sink: State, denied: set[str]) -> State:
        made = self._made(sink.step, sink.kind)
        for way in sink.transitions:
            target = made if way.target is sink else way.target
            if way.action is Action.PROCEED and target is not made:
                if target.kind is Kind.STOP and target.step in denied:
                    continue
                if target.kind is not Kind.STOP:
                    target = self._stripped(target, denied)
            made.add(way.action, target, way.condition)
        return made

    def _copy(self, state: State) -> State:
        made = self._made(state.step, state.kind)
        for way in state.transitions:
            target = made if way.target is state else way.target
            made.add(way.action, target, way.condition)
        return made

    # --- conditions

    def _taken(self, pattern: Pattern) -> Condition:
        group = self._place.group
        until = None if group is None else group.get_until_condition()
        taken = _until(pattern.get_condition(), until, takes=True)
        assert taken is not None
        return taken

    def _free(self) -> Condition:
        """Which events let the automaton go on without one: all, but none that ends the group."""
        group = self._place.group
        until = None if group is None else group.get_until_condition()
        return ALWAYS if until is None else Not(until)

    def _ignored(self, pattern: Pattern) -> Condition | None:
        """Which events may be passed over before the current step begins."""
        strategy = pattern.get_quantifier().consuming
        if self._heads(pattern):
            group = self._place.group
            assert group is not None
            outer = group.get_quantifier()
            strategy = outer.consuming if self._is_first() else outer.inner
        return self._ignored_by(strategy, pattern)

    def _ignored_within(self, pattern: Pattern) -> Condition | None:
        """Which events may be passed over between two events of the current step."""
        strategy = pattern.get_quantifier().inner
        if self._heads(pattern):
            group = self._place.group
            assert group is not None
            strategy = group.get_quantifier().inner
        return self._ignored_by(strategy, pattern)

    def _ignored_by(self, strategy: ConsumingStrategy, pattern: Pattern) -> Condition | None:
        if strategy is ConsumingStrategy.SKIP_TILL_ANY:
            ignored: Condition | None = ALWAYS
        elif strategy is ConsumingStrategy.SKIP_TILL_NEXT:
            ignored = Not(pattern.get_condition())
        else:
            ignored = None
        group = self._place.group
        return _until(ignored, None if group is None else group.get_until_condition(), takes=False)


def _until(condition: Condition | None, until: Condition | None, takes: bool) -> Condition | None:
    """``condition``, as long as ``until`` is not true."""
    if until is None or (condition is None and not takes):
        return condition
    return Not(until) if condition is None else And(Not(until), condition)


def _both(left: Condition, right: Condition) -> Condition:
    return right if left is ALWAYS else And(left, right)


def _add(state: State, condition: Condition) -> None:
    """Have all ways out of a state ask for ``condition``, too."""
    for way in state.transitions:
        way.condition = And(way.condition, condition)


def _may_be_empty(pattern: Pattern | None) -> bool:
    """Whether a chain has no step that takes an event in any case."""
    while pattern is not None:
        quantifier = pattern.get_quantifier()
        empty = quantifier.optional or quantifier.consuming in (_NOT_NEXT, _NOT_FOLLOW)
        if isinstance(pattern, GroupPattern):
            empty = empty or _may_be_empty(pattern.group)
        if not empty:
            return False
        pattern = pattern.get_previous()
    return True


def _gap(pattern: Pattern) -> bool:
    """Whether there is a time for the event of a step alone."""
    return bool(pattern.get_window_size(WithinType.PREVIOUS_AND_CURRENT))


def _windows(pattern: Pattern | None) -> bool:
    """Whether any step of a chain has a time for the whole."""
    while pattern is not None:
        if pattern.get_window_size():
            return True
        pattern = pattern.get_previous()
    return False
