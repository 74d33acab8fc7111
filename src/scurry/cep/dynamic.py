"""The function that looks for patterns that change while the job runs.

Documents of patterns (:mod:`scurry.cep.updates`) are broadcast, and kept in broadcast state.
Partial matches are state of the key, apart for each version of a pattern. In event time an event is
led through the patterns that hold at its timestamp, when the watermark passes it: by then all
documents up to that time are there. So results depend neither on how the two streams meet, nor on
how the input is cut into micro-batches, nor on the parallelism, as long as no document is late. In
processing time an event is led through the patterns that have arrived.

Events are given to the function in batches. What the conditions of all patterns in force say of an
event alone is judged for all events that are due, on columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from scurry.automaton.stored_matches import StoredMatches
from scurry.cep.bound_pattern import BoundPattern
from scurry.cep.due_events import DueEvent, DueEvents, in_order
from scurry.cep.event_fields import EventFields
from scurry.cep.functions import Match, PatternProcessFunction, TimedOutPartialMatchHandler
from scurry.cep.pattern_history import HeldPattern, PatternHistory
from scurry.cep.pattern_json import PatternDocument, pattern_of
from scurry.cep.rule_search import Judgement, Name, Rule, RuleSearch, States
from scurry.cep.search import Search, is_idle
from scurry.cep.updates import PatternUpdate, read_update
from scurry.cep.waiting import WaitingEvents, needs_timestamps, sort_key
from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.datastream.functions import KeyedBroadcastProcessFunction, RuntimeContext
from scurry.datastream.output_tag import OutputTag
from scurry.datastream.state import MapStateDescriptor
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs
from scurry.runtime.keyed_batches import BatchedFunction, Emitted, Visit, Woken

#: The patterns by their ids, as every slot knows them.
PATTERNS = MapStateDescriptor("patterns")
#: The side output of documents that describe no pattern, and of patterns that fail on an event.
BAD_PATTERNS = OutputTag("bad-patterns")


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


class DynamicMatchFunction(BatchedFunction, KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
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
        #: rules, and from which time until which time they hold, as far as they were read
        self._in_force: list[tuple[int, int, list[Rule]]] = []
        self._searches: dict[Name, tuple[PatternDocument, Search]] = {}
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
        self._in_force = []
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

    def _rules_at(self, patterns: Any, time: int) -> tuple[int, int, list[Rule]]:
        """The rules that hold for events of a time, and from when until when."""
        time = time if self._event_time else 0
        for found in self._in_force:
            if found[0] <= time < found[1]:
                return found
        known = [(id, PatternHistory.read(text)) for id, text in sorted(patterns.items())]
        changes = [since for _, history in known for since, _ in history.later]
        begins = max((since for since in changes if since <= time), default=MIN_WATERMARK)
        ends = min((since for since in changes if since > time), default=MAX_WATERMARK)
        held = [(id, one) for id, history in known if (one := history.at(time)) is not None]
        rules = [rule for id, one in held for rule in self._versions(id, one)]
        self._in_force.append((begins, ends, rules))
        return self._in_force[-1]

    def _versions(self, id: str, held: HeldPattern) -> Iterable[Rule]:
        for version, pattern, keys in held.finishing:
            yield Rule((id, version), keys, False, self._search((id, version), pattern))
        if held.enabled and held.pattern is not None:
            name = id, held.version
            yield Rule(name, held.keys, True, self._search(name, held.pattern))

    def _search(self, name: Name, pattern: PatternDocument) -> Search:
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

    def by_event_time(self) -> bool:
        return self._event_time

    def without_time(self) -> Exception:
        return needs_timestamps()

    def late(self, value: Any) -> list[Any]:
        return self._waiting.refused(value)

    def keep(self, batch: Batch, visit: Visit) -> None:
        assert batch.ts is not None
        self._wait(batch, batch.ts, visit)

    def _wait(self, batch: Batch, times: Longs, visit: Visit) -> None:
        """Have events wait: which patterns will hold for them, nobody knows yet."""
        assert batch.keys is not None
        visit.prefetch(batch.keys)
        for key, time, value in zip(batch.keys, times.tolist(), batch.rows, strict=True):
            visit.enter(key)
            self._waiting.add(time, value, visit.timers)

    def lead(
        self, due: Batch, times: Longs, woken: Woken, until: int, visit: Visit
    ) -> Iterable[Emitted]:
        if due.size and self._order is not None and not self._event_time:
            self._wait(due, times, visit)
            return []
        since = visit.timers.current_watermark() + 1
        waited = self._waited(woken, visit)
        patterns = visit.context.get_broadcast_state(PATTERNS)  # type: ignore[attr-defined]
        late = [one.time for events in waited.values() for one in events]
        rules = self._rules_between(patterns, [*times.tolist(), *late])
        judged = Judgement(rules, due, [one.value for events in waited.values() for one in events])
        events = DueEvents(due, times, woken)
        visit.prefetch(events.keys)
        states = [self._held(key, visit) for key in events.keys]
        pairs = zip(events.keys, states, strict=True)
        events.want([bool(held) or key in woken for key, held in pairs], judged.begins[: due.size])
        events.prepared()
        found: list[Emitted] = []
        for number, (key, before) in enumerate(zip(events.keys, states, strict=True)):
            visit.enter(key)
            these = list(events.of_key(number, lambda at: at))
            if key in woken or self._order is not None:
                these = in_order([*waited.get(key, ()), *these], self._order)
            if these or before:
                search = RuleSearch(self, key, judged, visit, found)
                self._store(before, search.run(before, these, since, until), search, visit)
        for text in self._fields.news():
            visit.warn(text)
        return found

    def rules_of(self, key: Any, time: int, visit: Visit) -> tuple[int, int, list[Rule]]:
        """The rules that hold for events of a key and a time, and from when until when."""
        patterns = visit.context.get_broadcast_state(PATTERNS)  # type: ignore[attr-defined]
        begins, ends, rules = self._rules_at(patterns, time)
        if all(rule.keys is None for rule in rules):
            return begins, ends, rules
        named = visit.context.get_current_key()
        chosen = [rule for rule in rules if rule.keys is None or _among(named, rule.keys)]
        return begins, ends, chosen

    def _rules_between(self, patterns: Any, times: list[int]) -> list[Rule]:
        """All rules that hold for some of these times."""
        found: dict[tuple[Name, bool], Rule] = {}
        time, last = min(times, default=0), max(times, default=-1)
        while time <= last:
            _, time, rules = self._rules_at(patterns, time)
            found.update(((rule.name, rule.begins), rule) for rule in rules)
        return list(found.values())

    def _waited(self, woken: Woken, visit: Visit) -> dict[Any, list[DueEvent]]:
        """The events that have waited for timers, by key, with their numbers."""
        found: dict[Any, list[DueEvent]] = {}
        count = 0
        for key, times in woken.items():
            visit.enter(key)
            held = found[key] = []
            for time in times:
                for value in self._waiting.take(time):
                    count += 1
                    held.append(DueEvent(time, -1, value, -count))
        return found

    def failed(self, rule: Rule, failure: Exception, event: Any) -> tuple[OutputTag, BadPattern]:
        """What is told of a pattern that fails on an event, or when time has come."""
        self._bad.inc()
        document = {"id": rule.name[0], "version": rule.name[1]}
        return BAD_PATTERNS, BadPattern(document, _words(failure), event)

    # --- state

    def _held(self, key: Any, visit: Visit) -> dict[Name, StoredMatches]:
        """The partial matches of a key, by the versions of patterns."""
        visit.enter(key)
        return dict(self._matches.items())

    def _store(
        self, before: dict[Name, StoredMatches], after: States, search: RuleSearch, visit: Visit
    ) -> None:
        for name in before:
            if name not in after or is_idle(after[name]):
                self._matches.remove(name)
        for name, state in after.items():
            stored = before.get(name)
            if is_idle(state) or (stored is not None and state is stored.state):
                continue
            found = search.searches[name]
            found.set_timers(found.start if stored is None else stored.state, state, visit.timers)
            self._matches.put(name, StoredMatches(found.bound.identity, state))


def _words(failure: Exception) -> str:
    """What is wrong; a failure that nobody foresaw is told with its class."""
    return str(failure) if isinstance(failure, ProgramError) else repr(failure)


def _among(key: Any, keys: list[Any]) -> bool:
    """Whether a key is one of those of a document, in which tuples are lists."""
    return key in keys or any(_as_key(one) == key for one in keys)


def _as_key(value: Any) -> Any:
    return tuple(map(_as_key, value)) if isinstance(value, list) else value
