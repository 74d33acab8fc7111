"""Patterns that change, on their way through the events of a key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from scurry.automaton.automaton import MatchState
from scurry.automaton.stored_matches import StoredMatches
from scurry.cep.bound_pattern import EventKind
from scurry.cep.due_events import DueEvent
from scurry.cep.search import Search, is_idle
from scurry.runtime.batch import Batch
from scurry.runtime.keyed_batches import Emitted, Visit

#: Names a version of a pattern.
Name = tuple[str, int]
States = dict[Name, MatchState]


class Rule(NamedTuple):
    """A version of a pattern that is looked for; without ``begins`` no more matches of it begin."""

    name: Name
    keys: list[Any] | None
    begins: bool
    search: Search


class Rules(Protocol):
    """Knows the patterns."""

    def rules_of(self, key: Any, time: int, visit: Visit) -> tuple[int, int, list[Rule]]:
        """The rules that hold for events of a key and a time, and from when until when."""

    def failed(self, rule: Rule, failure: Exception, event: Any) -> Any:
        """What goes out if a pattern fails on an event, or on none when time has come."""


class Judgement:
    """What the conditions of rules say of events alone. Event ``at`` is that of the batch, and
    event -1 the first of those that have ``waited``."""

    def __init__(self, rules: list[Rule], batch: Batch, waited: list[Any]) -> None:
        self._kinds: dict[Name, list[EventKind]] = {}
        #: of each event, whether a match of any rule may begin with it
        self.begins = np.zeros(batch.size + len(waited), dtype=bool)
        for rule in rules:
            bound = rule.search.bound
            parts = [bound.kinds(batch), bound.kinds(Batch(waited))]
            if rule.begins:
                self.begins |= np.concatenate([part.flags("begins") for part in parts])
            kinds = [part.kinds[code] for part in parts for code in part.codes.tolist()]
            self._kinds[rule.name] = _backwards(kinds, batch.size)
        #: the same by the numbers of events
        self.may_begin: list[bool] = _backwards(self.begins.tolist(), batch.size)

    def kind(self, name: Name, at: int) -> EventKind:
        """What is known of an event."""
        return self._kinds[name][at]


class RuleSearch:
    """Leads the rules in force through the events of one key."""

    def __init__(
        self, rules: Rules, key: Any, judged: Judgement, visit: Visit, found: list[Emitted]
    ) -> None:
        self._source = rules
        self._key = key
        self._judged = judged
        self._visit = visit
        self._found = found
        self._rules: list[Rule] = []
        self._valid = (0, 0)
        #: the searches of all rules that were looked for
        self.searches: dict[Name, Search] = {}

    def run(
        self, held: dict[Name, StoredMatches], events: Iterable[DueEvent], since: int, until: int
    ) -> States:
        """The partial matches after events, and after time has passed from ``since`` up to
        ``until``."""
        states = self._at(since, {name: stored.state for name, stored in held.items()})
        states = {
            name: state
            for name, state in states.items()
            if held[name].pattern == self.searches[name].bound.identity
        }
        due = self._next_due(states)
        for event in events:
            if due is not None and due <= event.time:
                states = self._passed(states, event.record, event.time)
                due = self._next_due(states)
            states = self._at(event.time, states)
            if not states and not self._judged.may_begin[event.kind]:
                continue
            after = self._met(states, event)
            if after is not states:
                states = after
                due = self._next_due(states)
        return self._passed(states, -1, until)

    def _at(self, time: int, states: States) -> States:
        """The partial matches of versions that hold at a time; others end."""
        if self._valid[0] <= time < self._valid[1]:
            return states
        begins, ends, self._rules = self._source.rules_of(self._key, time, self._visit)
        self._valid = begins, ends
        kept: States = {}
        for rule in self._rules:
            self.searches[rule.name] = rule.search
            state = states.get(rule.name)
            if state is not None:
                kept[rule.name] = state if rule.begins else _begun(state)
        return kept

    def _next_due(self, states: States) -> int | None:
        times = [self.searches[name].automaton.next_due(state) for name, state in states.items()]
        return min((time for time in times if time is not None), default=None)

    def _passed(self, states: States, record: int, until: int) -> States:
        """Time passes: what is over ends, one time after the other."""
        while (due := self._next_due(states)) is not None and due <= until:
            states = self._at(due, states)
            out: list[Any] = []
            moved = False
            for rule in self._rules:
                before = states.get(rule.name)
                if before is None:
                    continue
                try:
                    step = rule.search.automaton.advance(before, due)
                except Exception as failure:
                    out.append(self._source.failed(rule, failure, None))
                    continue
                moved = moved or step.state is not before
                states = {**states, rule.name: step.state}
                try:
                    out += rule.search.told(step, due, self._visit)
                except Exception as failure:
                    out += self._visit.failed(None, failure, due)
            if out:
                self._found.append(Emitted(due, self._key, record, out))
            if not moved:
                break
        return states

    def _met(self, states: States, event: DueEvent) -> States:
        """An event has come. If the user's function fails on it, states stay as they were."""
        after: States | None = None
        out: list[Any] = []
        clock = self._visit.timers.current_processing_time
        for rule in self._rules:
            kind = self._judged.kind(rule.name, event.kind)
            state = states.get(rule.name)
            if kind.idle or (state is None and not (rule.begins and kind.begins)):
                continue
            search = rule.search
            before = search.start if state is None else state
            try:
                step = search.automaton.process(before, event.value, event.time, clock, kind.known)
            except Exception as failure:
                out.append(self._source.failed(rule, failure, event.value))
                continue
            if step.state is not before:
                after = dict(states) if after is None else after
                after[rule.name] = step.state
                if is_idle(step.state):
                    del after[rule.name]
            if step.matches:
                try:
                    out += search.told(step, event.time, self._visit)
                except Exception as failure:
                    out = self._visit.failed(event.value, failure, event.time)
                    after = None
                    break
        if out:
            self._found.append(Emitted(event.time, self._key, event.record, out))
        return states if after is None else after


def _backwards(values: list[Any], count: int) -> list[Any]:
    """``values`` with those behind the first ``count`` in reverse, so that -1 names the first."""
    return values[:count] + values[count:][::-1]


def _begun(state: MatchState) -> MatchState:
    """Partial matches without the one that waits for a first event: no more of them begin."""
    return state._replace(partial=tuple(one for one in state.partial if one.start is not None))
