"""MATCH_RECOGNIZE: a pattern in the rows of each key, in the order of time.

In event time rows wait until the watermark has passed them. Then those of a key are led through the
automaton (:mod:`scurry.automaton`) one after the other; what it holds of partial matches is state
of the key. In processing time rows are led through it as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.automaton.automaton import Automaton, Match, MatchState
from scurry.automaton.compiler import compile_pattern
from scurry.automaton.pattern import Pattern
from scurry.automaton.skip_strategy import AfterMatchSkipStrategy
from scurry.automaton.stored_matches import StoredMatches, identity_of
from scurry.functions.aggregate_calls import SortKey
from scurry.functions.match_calls import MatchSpec, PatternStep, RowRead, pattern_words
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.emissions import Emissions
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.match_rows import Conditions, Event, MatchRows
from scurry.runtime.relational.sort_keys import sort_keys
from scurry.runtime.relational.waiting import WaitingOperator, due_rows
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.timers import PROCESSING, timer_queue

#: A row with its time.
Timed = tuple[int, Event]


class Found(NamedTuple):
    """A match, when it was found, and the number of the row that led to it; -1 if that was time."""

    time: int
    row: int
    match: Match


class MatchOperator(WaitingOperator):
    """Sends a row for each match: the key columns, then the measures."""

    state_kind: ClassVar[str] = "partial matches"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        match: MatchSpec,
        time: int | None,
        order: tuple[SortKey, ...],
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._match = match
        self._time = time
        self._order = order
        self._codec = RowCodec(inputs[0])

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"pattern": pattern_words(arguments[0].steps)}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        if self._time is None:
            self.timers = timer_queue(store_of(context), self.spec.uid, PROCESSING)
        self._waiting = self.rows_of_keys("waiting")
        self._held = self.values_of_keys({"matches": object}, "matches")
        self._rows = MatchRows(self, self._codec)
        self._conditions = Conditions(self._rows, self, self.inputs[0])
        self._search = _Search(self._match, self._conditions)

    # --- time and rows

    def begin(self, watermark: int) -> None:
        super().begin(watermark)
        if self._time is None:
            self.fire(self.context.now)

    def advance(self, watermark: int) -> None:
        if self._time is not None:
            super().advance(watermark)

    def process(self, batch: Batch, port: int = 0) -> None:
        if not batch.size:
            return
        columns = self.columns_of(batch)
        if self._time is None:
            self._take(batch, columns)
            return
        self.take_in(batch, columns, self._waiting, self._codec, self._time)
        self.advance(int(self.passed(batch)[-1]))

    def on_due(self, keys: list[Any], until: int) -> None:
        """In event time rows are due, or the time of partial matches is over; in processing time
        only the latter."""
        rows = self._due(keys, until) if self._time is not None else [[] for _ in keys]
        found = self._led(keys, rows, until)
        placed = sorted((one for ones in found for one in ones), key=lambda one: one.time)
        if not placed:
            return
        columns = self._measured([one.match for one in placed])
        if self._time is None:
            self._send_passed(columns, [one.time for one in placed])
        else:
            self.send_timed(columns, np.array([one.time for one in placed], dtype=np.int64))

    def _send_passed(self, columns: list[pa.Array], times: list[int]) -> None:
        """Send rows for which processing time is the cause."""
        places = Emissions()
        places.fired = [(time, self.reached, self.reached) for time in times]
        places.values, places.ends = list(times), list(range(1, len(times) + 1))
        places.source = [-1 - number for number in range(len(times))]
        placed = places.batch(None)
        made = pa.RecordBatch.from_arrays(columns, schema=self.columns)
        self.emit(
            Batch(
                None, columns=made, codec=self.codec,
                ts=placed.ts, wm=placed.wm, pos=placed.pos, tick=placed.tick,
            )
        )  # fmt: skip

    def _due(self, keys: list[Any], until: int) -> list[list[Timed]]:
        """The rows of each key that are due, in order."""
        held = self._waiting.of(keys)
        due = [due_rows(one, until) for one in held]
        every = [row for rows in due for row in rows]
        if not every:
            return [[] for _ in keys]
        table = pa.RecordBatch.from_arrays(
            self._codec.decode([row.row for row in every]), schema=self.inputs[0]
        )
        events = self._conditions.events(table, [row.row for row in every])
        places = sort_keys(table.columns, self._order) if self._order else []
        found: list[list[Timed]] = []
        begin = 0
        for one, rows in zip(held, due, strict=True):
            numbers = list(range(begin, begin + len(rows)))
            begin += len(rows)
            if self._order:
                numbers.sort(key=lambda at: (every[at].time, places[at], at))
            found.append([(every[at].time, events[at]) for at in numbers])
            for row in rows:
                one.remove(row.stored)
        return found

    def _take(self, batch: Batch, columns: pa.RecordBatch) -> None:
        """In processing time: rows as they come."""
        now = self.context.now
        events = self._conditions.events(columns, self._codec.encode(columns.columns))
        keys = batch_keys(batch, self.picked[0])
        rows: list[list[Timed]] = [[] for _ in keys.keys]
        places: list[list[int]] = [[] for _ in keys.keys]
        for at, code in enumerate(keys.codes.tolist()):
            rows[code].append((now, events[at]))
            places[code].append(at)
        caused = [
            (places[code][max(one.row, 0)], one.match)
            for code, found in enumerate(self._led(keys.keys, rows, now))
            for one in found
        ]
        if caused:
            caused.sort(key=lambda pair: pair[0])
            measured = self._measured([match for _, match in caused])
            self.send(batch, measured, np.array([at for at, _ in caused], dtype=np.int64))

    # --- matches

    def _led(self, keys: list[Any], rows: list[list[Timed]], until: int) -> list[list[Found]]:
        """Lead the rows of each key through the automaton, and time up to ``until``."""
        places = self._held.positions(keys)
        held, search = self._held.column("matches"), self._search
        found: list[list[Found]] = []
        changed, gone = [], []
        for key, at, mine in zip(keys, places.tolist(), rows, strict=True):
            before = search.begin if held[at] is None else held[at].state
            out: list[Found] = []
            try:
                after = search.run(before, mine, until, out)
            except Exception as failure:
                raise self.failed(failure) from failure
            found.append(out)
            if after is before:
                continue
            if search.is_idle(after):
                held[at] = None
                gone.append(at)
                continue
            held[at] = search.stored(after)
            changed.append(at)
            if (due := search.due(after)) is not None:
                self.timers.register(due, key)
        self._held.touch(np.array(changed, dtype=np.int64))
        self._held.clear(np.array(gone, dtype=np.int64))
        return found

    def _measured(self, matches: list[Match]) -> list[pa.Array]:
        """The key columns and the measures of matches."""
        keys = [RowRead(at, None) for at in self.keys[0]]
        columns = self._rows.columns(keys, matches)
        columns += [self._rows.evaluate(one, matches) for one in self._match.measures]
        pairs = zip(columns, self.columns.types, strict=True)
        return [one if one.type == kind else one.cast(kind) for one, kind in pairs]


class _Search:
    """The automaton of a clause, and what it needs to be led through rows."""

    def __init__(self, match: MatchSpec, conditions: Conditions) -> None:
        defined = dict(match.definitions)
        made = {
            step.variable: conditions.of(step.variable, defined.get(step.variable))
            for step in match.steps
        }
        self._automaton = Automaton(compile_pattern(_pattern(match, made)))
        self._identity = identity_of(self._automaton.pattern)
        #: the bits of which a row must have one to begin a match; 0 if any row may
        self._starts = _starting(match.steps, {name: bits for name, (_, bits) in made.items()})
        self.begin = self._automaton.begin()

    def stored(self, state: MatchState) -> StoredMatches:
        """A state as it is kept."""
        return StoredMatches(self._identity, state)

    def is_idle(self, state: MatchState) -> bool:
        """Whether no match has begun."""
        return not state.complete and all(one.start is None for one in state.partial)

    def due(self, state: MatchState) -> int | None:
        """When the next partial match is over, None if never."""
        if not self._automaton.pattern.window:
            return None
        times = map(self._automaton.due, state.partial)
        return min((time for time in times if time is not None), default=None)

    def run(
        self, state: MatchState, rows: Sequence[Timed], until: int, out: list[Found]
    ) -> MatchState:
        """The state after ``rows``, and after time has passed up to ``until``."""
        automaton, starts = self._automaton, self._starts
        idle = self.is_idle(state)
        due = self.due(state)
        for number, (time, event) in enumerate(rows):
            if due is not None and due <= time:
                state = self._passed(state, time, out)
                idle, due = self.is_idle(state), self.due(state)
            if idle and starts and not event.bits & starts:
                continue
            step = automaton.process(state, event, time, _no_clock)
            if step.state is not state:
                state = step.state
                idle, due = self.is_idle(state), self.due(state)
            out += [Found(time, number, match) for match in step.matches]
        return self._passed(state, until, out)

    def _passed(self, state: MatchState, until: int, out: list[Found]) -> MatchState:
        while (due := self.due(state)) is not None and due <= until:
            step = self._automaton.advance(state, due)
            out += [Found(due, -1, match) for match in step.matches]
            state = step.state
        return state


def _no_clock() -> int:
    raise AssertionError("conditions of MATCH_RECOGNIZE know no clock")


def _starting(steps: Iterable[PatternStep], bits: dict[str, int]) -> int:
    """The bits of the variables that the first row of a match can be of."""
    found = 0
    for step in steps:
        if not bits[step.variable]:
            return 0
        found |= bits[step.variable]
        if step.least:
            break
    return found


def _pattern(match: MatchSpec, conditions: dict[str, Any]) -> Pattern:
    skip = _SKIPS[match.skip](match.skip_to)
    made: Pattern | None = None
    for step in match.steps:
        name = step.variable
        made = Pattern.begin(name, skip) if made is None else made.next(name)
        made = _quantified(made.where(conditions[name][0]), step)
    assert made is not None
    return made if match.within_ms is None else made.within(match.within_ms)


def _quantified(made: Pattern, step: PatternStep) -> Pattern:
    if step.single:
        return made
    if (step.least, step.most) == (0, 1):
        return made.optional()
    if step.most is None:
        made = made.times_or_more(max(step.least, 1)).consecutive()
        made = made if step.least else made.optional()
    else:
        made = made.times(step.least, step.most).consecutive()
    return made.greedy() if step.greedy and step.least != step.most else made


_SKIPS = {
    "NEXT ROW": lambda name: AfterMatchSkipStrategy.skip_to_next(),
    "PAST LAST ROW": lambda name: AfterMatchSkipStrategy.skip_past_last_event(),
    "FIRST": lambda name: AfterMatchSkipStrategy.skip_to_first(name).throw_exception_on_miss(),
    "LAST": lambda name: AfterMatchSkipStrategy.skip_to_last(name).throw_exception_on_miss(),
}
