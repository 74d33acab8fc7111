"""A pattern whose conditions know the events: the automaton, and what batches are judged by.

Parts of expressions that look at the event alone are *judged* for all events of a batch at once, on
columns. What is known of an event then are two numbers: a bit for each such part that is true, and
a bit for each that was judged at all. A part is not judged if it could fail, or if events do not
have the fields that it reads: then it is asked when a match waits for it, and fails there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from scurry.automaton.automaton import Automaton, Known
from scurry.automaton.compiler import CompiledPattern, compile_pattern
from scurry.automaton.conditions import (
    And,
    Condition,
    Expressed,
    OfEvent,
    OfMatch,
    leaves,
    with_leaves,
)
from scurry.automaton.pattern import GroupPattern, Pattern
from scurry.automaton.stored_matches import identity_of
from scurry.cep.condition_parts import ConditionPart, parts_of
from scurry.cep.event_fields import EventFields, type_of_values
from scurry.cep.typed_parts import Mask
from scurry.runtime.batch import Batch, Longs

#: As many parts are judged on columns.
_MOST = 62
#: Numbers below it are counted instead of sorted.
_FEW = 4096


class Judged(NamedTuple):
    """An event that waits, with what was judged of it, and by which conditions."""

    by: str
    true: int
    judged: int
    event: Any


class EventKind(NamedTuple):
    """What all events have in common for which the same parts are true, and were judged."""

    true: int
    judged: int
    known: Known
    #: whether they change nothing, whatever partial matches there are
    idle: bool
    #: whether some of them may change nothing, which has to be asked
    may_be_idle: bool
    #: whether a match may begin with one
    begins: bool


class EventKinds(NamedTuple):
    """Event i of a batch is of the kind ``kinds[codes[i]]``."""

    codes: Longs
    kinds: list[EventKind]

    def flags(self, name: str) -> Mask:
        """For each event what its kind says."""
        found: Mask = np.array([getattr(one, name) for one in self.kinds], dtype=bool)[self.codes]
        return found


class BoundPattern:
    """``pattern`` for events with these ``fields``; raises MalformedPatternError if it is none, or
    if an expression does not fit the declared type of events."""

    def __init__(self, pattern: Pattern, fields: EventFields, keep_timed_out: bool = False) -> None:
        compiled = compile_pattern(pattern)
        self._fields = fields
        self._parts: list[ConditionPart] = []
        #: parts that are judged, and the conditions that ask them
        self._alone: list[tuple[ConditionPart, Condition]] = []
        self._bind(compiled, tuple(step_names(pattern)))
        self._alone = self._alone[:_MOST]
        #: tells whether what is known of an event was judged by the same conditions
        self.judge = _digest([str(fields.types), *(str(part) for part, _ in self._alone)])
        self.automaton = Automaton(compiled, keep_timed_out)
        self.identity = identity_of(compiled)
        self._kinds: dict[tuple[int, int], EventKind] = {}

    def _bind(self, compiled: CompiledPattern, steps: tuple[str, ...]) -> None:
        ways = [way for state in compiled.states for way in state.transitions]
        places: dict[Condition, Condition] = {}
        for way in ways:
            for leaf in leaves(way.condition):
                if isinstance(leaf, Expressed) and leaf not in places:
                    places[leaf] = self._condition(parts_of(leaf, steps, self._fields))
        for way in ways:
            way.condition = with_leaves(way.condition, places)

    def _condition(self, parts: tuple[ConditionPart, ...]) -> Condition:
        """All parts, those of the event alone first."""
        self._parts += parts
        made: list[Condition] = []
        for part in sorted(parts, key=lambda one: not one.alone):
            if part.alone:
                made.append(OfEvent(part.holds))
                self._alone.append((part, made[-1]))
            else:
                made.append(OfMatch(part.holds))
        condition = made[0]
        for one in made[1:]:
            condition = And(condition, one)
        return condition

    def close(self) -> None:
        """Close functions of the user's that expressions call."""
        for part in self._parts:
            part.close()

    # --- what is known of events

    def waiting(self, event: Any, kind: EventKind) -> Any:
        """An event as it waits, with what is known of it."""
        return Judged(self.judge, kind.true, kind.judged, event) if self._alone else event

    def kind_of(self, waiting: Any) -> tuple[Any, EventKind]:
        """An event that has waited, and what is known of it."""
        if type(waiting) is not Judged:
            return waiting, self.kind(0, 0)
        if waiting.by != self.judge:
            return waiting.event, self.kind(0, 0)
        return waiting.event, self.kind(waiting.true, waiting.judged)

    def kinds(self, batch: Batch) -> EventKinds:
        """What is known of each event of a batch."""
        if not self._alone or not batch.size:
            return EventKinds(np.zeros(batch.size, dtype=np.int64), [self.kind(0, 0)])
        true, judged = self.judgement(batch)
        codes, trues = _numbered(true)
        others, judgements = _numbered(judged)
        # nearly always all events are judged alike, and there are few kinds of them
        both, pairs = _numbered(codes * len(judgements) + others)
        split = [divmod(pair, len(judgements)) for pair in pairs]
        return EventKinds(both, [self.kind(trues[one], judgements[other]) for one, other in split])

    def kind(self, true: int, judged: int) -> EventKind:
        """What is known of an event, and what follows from that."""
        found = self._kinds.get((true, judged))
        if found is None:
            known = {
                condition: bool(true >> number & 1)
                for number, (_, condition) in enumerate(self._alone)
                if judged >> number & 1
            }
            automaton = self.automaton
            found = self._kinds[true, judged] = EventKind(
                true,
                judged,
                known,
                automaton.changes_nothing(known),
                automaton.may_change_nothing(known),
                not automaton.begins_nothing(known),
            )
        return found

    def judgement(self, batch: Batch) -> tuple[Longs, Longs]:
        """For each event of a batch which parts are true, and which were judged."""
        true = np.zeros(batch.size, dtype=np.int64)
        judged = np.zeros(batch.size, dtype=np.int64)
        names = list(dict.fromkeys(name for part, _ in self._alone for name in part.names))
        for places, columns in self._columns(batch, names):
            for number, (part, _) in enumerate(self._alone):
                found = _judged(part, columns, len(places))
                if found is not None:
                    judged[places] |= 1 << number
                    true[places] |= found.astype(np.int64) << number
        return true, judged

    def _columns(self, batch: Batch, names: list[str]) -> Iterator[tuple[Longs, dict[str, Any]]]:
        """The fields of events that can be judged together, and the places of these events."""
        order = list(self._fields.types or ())
        if batch.columns is not None and batch.columns.num_columns == len(order):
            held = {name: batch.columns.column(order.index(name)) for name in names}
            yield np.arange(batch.size), held
            return
        rows = batch.rows
        for places in _alike(list(map(type, rows))):
            some = rows if len(places) == len(rows) else [rows[at] for at in places.tolist()]
            columns = _read(self._fields, some, names)
            if columns is not None:
                yield from self._of_one_type(places, columns)

    def _of_one_type(
        self, places: Longs, columns: dict[str, Any]
    ) -> Iterator[tuple[Longs, dict[str, Any]]]:
        """Events of the same types, field by field; None is of any type."""
        mixed = [column for column in columns.values() if len(set(map(type, column)) - _NONE) > 1]
        if self._fields.types is not None or not mixed:
            yield places, columns
            return
        for some in _alike(list(zip(*(map(type, column) for column in mixed), strict=True))):
            at = some.tolist()
            yield places[some], {n: [column[i] for i in at] for n, column in columns.items()}


_NONE = {type(None)}


def _judged(part: ConditionPart, columns: dict[str, Any], count: int) -> Mask | None:
    """For each event whether a part is true, None if it cannot be judged."""
    try:
        typed = part.declared
        if typed is None:
            typed = part.typed(tuple(type_of_values(name, columns[name]) for name in part.names))
        return None if typed.may_fail else typed.on_columns(columns, count)
    except Exception:
        # who waits for such an event asks the part again, and is told what is wrong
        return None


def _read(fields: EventFields, rows: list[Any], names: list[str]) -> dict[str, Any] | None:
    try:
        return {name: fields.column(rows, name) for name in names}
    except Exception:
        return None


def _alike(kinds: list[Any]) -> list[Longs]:
    """The places of what is equal."""
    if len(set(kinds)) < 2:
        return [np.arange(len(kinds))] if kinds else []
    found: dict[Any, list[int]] = {}
    for at, kind in enumerate(kinds):
        found.setdefault(kind, []).append(at)
    return [np.array(places, dtype=np.int64) for places in found.values()]


def _numbered(values: Longs) -> tuple[Longs, list[int]]:
    """The number of each value among those that there are, and these."""
    if int(values.max()) >= _FEW:
        distinct, numbers = np.unique(values, return_inverse=True)
        return numbers, distinct.tolist()
    distinct = np.flatnonzero(np.bincount(values))
    numbers = np.zeros(_FEW, dtype=np.int64)
    numbers[distinct] = np.arange(len(distinct))
    return numbers[values], distinct.tolist()


def _digest(texts: list[str]) -> str:
    return hashlib.blake2b("\x00".join(texts).encode(), digest_size=8).hexdigest()


def step_names(pattern: Pattern | None) -> Iterator[str]:
    """The names of all steps, those of groups included."""
    while pattern is not None:
        if isinstance(pattern, GroupPattern):
            yield from step_names(pattern.group)
        else:
            yield pattern.get_name()
        pattern = pattern.get_previous()
