"""The function that looks for patterns that change while the job runs.

Documents of patterns (:mod:`scurry.cep.updates`) are broadcast, and kept in broadcast state.
Partial matches are state of the key, apart for each version of a pattern. In event time an event is
led through the patterns that hold at its timestamp, when the watermark passes it: by then all
documents up to that time are there. So results depend neither on how the two streams meet, nor on
how the input is cut into micro-batches, nor on the parallelism, as long as no document is late. In
processing time an event is led through the patterns that have arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from scurry.automaton.automaton import MatchState
from scurry.automaton.stored_matches import StoredMatches
from scurry.cep.bound_pattern import BoundPattern
from scurry.cep.event_fields import EventFields
from scurry.cep.functions import Match, PatternProcessFunction, TimedOutPartialMatchHandler
from scurry.cep.pattern_history import HeldPattern, PatternHistory
from scurry.cep.pattern_json import PatternDocument, pattern_of
from scurry.cep.search import Search, is_idle
from scurry.cep.updates import PatternUpdate, read_update
from scurry.cep.waiting import WaitingEvents, sort_key
from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.datastream.functions import KeyedBroadcastProcessFunction, RuntimeContext
from scurry.datastream.output_tag import OutputTag
from scurry.datastream.state import MapStateDescriptor
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK
from scurry.runtime.failures import ElementFailed

#: The patterns by their ids, as every slot knows them.
PATTERNS = MapStateDescriptor("patterns")
#: The side output of documents that describe no pattern, and of patterns that fail on an event.
BAD_PATTERNS = OutputTag("bad-patterns")
#: Names a version of a pattern.
_Name = tuple[str, int]
_States = dict[_Name, MatchState]


class BadPattern(NamedTuple):
    """A ``document`` that describes no pattern, or the id and version of a pattern that failed on
    an event, in which case that event was passed over; and what is wrong."""

    document: Any
    error: str
    event: Any = None


class PatternMatch(dict[str, list[Any]]):
    """The events of a match by the names of the steps, and which pattern it is of."""

    def __init__(self, pattern_id: str, version: int, steps: Match) -> None:
        super().__init__(steps)
        self.pattern_id = pattern_id
        self.version = version

    def __reduce__(self) -> tuple[Any, ...]:
        return PatternMatch, (self.pattern_id, self.version, dict(self))


class _Rule(NamedTuple):
    """A version of a pattern that is looked for; without ``begins`` no more matches of it begin."""

    name: _Name
    keys: list[Any] | None
    begins: bool
    search: Search


class DynamicMatchFunction(KeyedBroadcastProcessFunction):
    """Finds patterns among the events of each key and calls ``function`` for each match; events are
    of the type ``type_info``, if that is declared."""

    def __init__(
        self,
        type_info: TypeInformation | None,
        function: PatternProcessFunction,
        event_time: bool,
        late: OutputTag | None,
        comparator: Callable[..., Any] | None,
    ) -> None:
        self._type_info = type_info
        self._function = function
        self._event_time = event_time
        self._late = late
        self._comparator = comparator

    def open(self, runtime_context: RuntimeContext) -> None:
        self._fields = EventFields(self._type_info)
        self._order = None if self._comparator is None else sort_key(self._comparator)
        self._rules: list[_Rule] = []
        #: from which time until which time the rules hold; None if they have to be read
        self._valid: tuple[int, int] | None = None
        self._searches: dict[_Name, tuple[PatternDocument, Search]] = {}
        self._matches = runtime_context.get_map_state(MapStateDescriptor("matches"))
        self._waiting = WaitingEvents(runtime_context, self._event_time, self._late)
        metrics = runtime_context.get_metrics_group()
        self._ignored = metrics.counter("numPatternsIgnored")
        self._bad = metrics.counter("numBadPatterns")
        # every instance is given every document, and one of them tells
        self._tells = runtime_context.get_index_of_this_subtask() == 0
        self._function.open(runtime_context)

    def close(self) -> None:
        for _, search in self._searches.values():
            search.bound.close()
        self._function.close()

    # --- patterns

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        patterns = ctx.get_broadcast_state(PATTERNS)
        try:
            update = read_update(value)
            if update.pattern is not None:
                BoundPattern(pattern_of(update.pattern), self._fields)
            history = self._changed(PatternHistory.read(patterns.get(update.id)), update, ctx)
        except Exception as failure:
            # whatever a document leads to, it must not stop the job
            if not self._tells:
                return ()
            self._bad.inc()
            return [(BAD_PATTERNS, BadPattern(value, _words(failure)))]
        if history is None:
            self._ignored.inc(1 if self._tells else 0)
            return ()
        patterns.put(update.id, history.written())
        self._valid = None
        return ()

    def _changed(
        self, history: PatternHistory, update: PatternUpdate, ctx: Any
    ) -> PatternHistory | None:
        """What is known of a pattern after a document, None if that comes too late.

        Slots may be given a document at different watermarks, so they may differ in what is past.
        When the micro-batch ends all of them have passed these watermarks, so that does not matter.
        """
        if not self._event_time:
            changed = history.after(update, 0)
            return None if changed is None else changed.passed(0)
        watermark, timestamp = ctx.current_watermark(), ctx.timestamp()
        since = watermark if timestamp is None else max(timestamp, watermark)
        changed = history.passed(watermark).after(update, since)
        return None if changed is None else changed.passed(watermark)

    def _in_force(self, ctx: Any, time: int) -> list[_Rule]:
        """The versions of patterns that are looked for in events of a time and of this key."""
        if self._valid is None or not self._valid[0] <= time < self._valid[1]:
            self._read_rules(ctx.get_broadcast_state(PATTERNS), time if self._event_time else 0)
        if all(rule.keys is None for rule in self._rules):
            return self._rules
        key = ctx.get_current_key()
        return [rule for rule in self._rules if rule.keys is None or _among(key, rule.keys)]

    def _read_rules(self, patterns: Any, time: int) -> None:
        """Find out what holds for events of a time, and how long."""
        known = [(id, PatternHistory.read(text)) for id, text in sorted(patterns.items())]
        changes = [since for _, history in known for since, _ in history.later]
        begins = max((since for since in changes if since <= time), default=MIN_WATERMARK)
        ends = min((since for since in changes if since > time), default=MAX_WATERMARK)
        self._valid = begins, ends
        held = [(id, found) for id, history in known if (found := history.at(time)) is not None]
        self._rules = [rule for id, one in held for rule in self._versions(id, one)]

    def _versions(self, id: str, held: HeldPattern) -> Iterable[_Rule]:
        for version, pattern, keys in held.finishing:
            yield _Rule((id, version), keys, False, self._search((id, version), pattern))
        if held.enabled and held.pattern is not None:
            name = id, held.version
            yield _Rule(name, held.keys, True, self._search(name, held.pattern))

    def _search(self, name: _Name, pattern: PatternDocument) -> Search:
        known = self._searches.get(name)
        if known is None or known[0] != pattern:
            tells = isinstance(self._function, TimedOutPartialMatchHandler)
            bound = BoundPattern(pattern_of(pattern), self._fields, tells)

            def made(steps: Match) -> Match:
                return PatternMatch(*name, steps)

            known = pattern, Search(bound, self._function, self._event_time, made)
            self._searches[name] = known
        return known[1]

    # --- events and time

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        timers = ctx.timer_service()
        if not self._event_time:
            now = timers.current_processing_time()
            if self._order is None:
                return self._led(now, [value], ctx)
            self._waiting.add(now, value, timers)
            return ()
        if self._waiting.is_late(ctx):
            return self._waiting.refused(value)
        self._waiting.add(ctx.timestamp(), value, timers)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        events = self._waiting.take(timestamp)
        if self._order is not None:
            events = sorted(events, key=self._order)
        return self._led(timestamp, events, ctx, waited=True)

    def _led(self, time: int, events: list[Any], ctx: Any, waited: bool = False) -> list[Any]:
        """``time`` has come, and events with it. If the user's function fails on an event, state
        stays as it was before that event, and those behind it wait for another timer."""
        timers, rules = ctx.timer_service(), self._in_force(ctx, time)
        before = self._held(rules)
        out, states = self._passed(before, rules, time, timers)
        for number, value in enumerate(events):
            try:
                found, states = self._met(states, rules, value, time, timers)
            except Exception as failure:
                given_up = 0 if out and waited else 1
                self._store(before, states, rules, timers)
                if waited:
                    self._waiting.wait_again(time, events[number + given_up :], timers)
                if given_up:
                    raise ElementFailed(value) from failure
                return out
            out += found
        self._store(before, states, rules, timers)
        return out

    def _passed(
        self, states: _States, rules: list[_Rule], time: int, timers: Any
    ) -> tuple[list[Any], _States]:
        """Time has come: what goes out, and the states."""
        out: list[Any] = []
        after = dict(states)
        for rule in rules:
            if rule.name in states:
                try:
                    step = rule.search.automaton.advance(states[rule.name], time)
                except Exception as failure:
                    out.append(self._failed(rule, failure, None))
                    continue
                after[rule.name] = step.state
                out += rule.search.told(step, time, timers)
        return out, after

    def _met(
        self, states: _States, rules: list[_Rule], value: Any, time: int, timers: Any
    ) -> tuple[list[Any], _States]:
        """An event has come: what goes out, and the states."""
        out: list[Any] = []
        after = dict(states)
        clock = timers.current_processing_time
        for rule in rules:
            automaton = rule.search.automaton
            state = after.get(rule.name, rule.search.start if rule.begins else None)
            if state is None or automaton.is_indifferent(value):
                continue
            try:
                step = automaton.process(state, value, time, clock)
            except Exception as failure:
                out.append(self._failed(rule, failure, value))
                continue
            after[rule.name] = step.state
            out += rule.search.told(step, time, timers)
        return out, after

    def _failed(self, rule: _Rule, failure: Exception, event: Any) -> tuple[OutputTag, BadPattern]:
        """What is told of a pattern that fails on an event, or when time has come."""
        self._bad.inc()
        document = {"id": rule.name[0], "version": rule.name[1]}
        return BAD_PATTERNS, BadPattern(document, _words(failure), event)

    # --- state

    def _held(self, rules: list[_Rule]) -> _States:
        """The partial matches of the key. Those of versions that are over end here."""
        found: _States = {}
        wanted = {rule.name: rule for rule in rules}
        for name, stored in list(self._matches.items()):
            rule = wanted.get(name)
            if rule is None or stored.pattern != rule.search.bound.identity:
                self._matches.remove(name)
            else:
                found[name] = stored.state if rule.begins else _begun(stored.state)
        return found

    def _store(self, before: _States, after: _States, rules: list[_Rule], timers: Any) -> None:
        for rule in rules:
            name, state = rule.name, after.get(rule.name)
            was = before.get(name, rule.search.start)
            if state is None or state is was:
                continue
            rule.search.set_timers(was, state, timers)
            if not is_idle(state):
                self._matches.put(name, StoredMatches(rule.search.bound.identity, state))
            elif name in before:
                self._matches.remove(name)


def _begun(state: MatchState) -> MatchState:
    """Partial matches without the one that waits for a first event: no more of them begin."""
    return state._replace(partial=tuple(one for one in state.partial if one.start is not None))


def _words(failure: Exception) -> str:
    """What is wrong; a failure that nobody foresaw is told with its class."""
    return str(failure) if isinstance(failure, ProgramError) else repr(failure)


def _among(key: Any, keys: list[Any]) -> bool:
    """Whether a key is one of those of a document, in which tuples are lists."""
    return key in keys or any(_as_key(one) == key for one in keys)


def _as_key(value: Any) -> Any:
    return tuple(map(_as_key, value)) if isinstance(value, list) else value
