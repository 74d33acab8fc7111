"""MATCH_RECOGNIZE: a pattern in the rows of each key, in the order of time.

In event time rows wait until the watermark has passed them. Then those of a key are led through the
automaton (:mod:`scurry.automaton`) one after the other; what it holds of partial matches is state
of the key. In processing time rows are led through it as they come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.automaton.automaton import Automaton, MatchState
from scurry.automaton.compiler import compile_pattern
from scurry.automaton.stored_matches import StoredMatches, identity_of
from scurry.common.keys import forms_of
from scurry.functions.aggregate_calls import SortKey
from scurry.functions.match_calls import MatchSpec, PatternStep, RowRead, pattern_words
from scurry.functions.match_patterns import search_pattern
from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.columnar.batch_keys import BatchKeys, batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.emissions import Emissions
from scurry.runtime.failures import NO_ELEMENT
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.match_rows import Conditions, Event, Found, MatchRows
from scurry.runtime.relational.relation import milliseconds
from scurry.runtime.relational.sort_keys import sort_keys
from scurry.runtime.relational.waiting import WaitingOperator, due_rows
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.runtime.timers import PROCESSING, timer_queue

_NONE = np.zeros(0, dtype=np.int64)


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
        self._waiting = self.rows_of_keys("waiting", self.inputs[0], 8, "time", "number")
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
        else:
            self._sort_in(batch, columns, self._time)

    def _sort_in(self, batch: Batch, columns: pa.RecordBatch, time: int) -> None:
        """In event time: rows that the watermark passes within their batch are due at once, others
        wait; late ones are dropped."""
        stamps = milliseconds(columns.column(time)).fill_null(MIN_WATERMARK)
        times = stamps.to_numpy(zero_copy_only=False)
        passed = self.passed(batch)
        until = max(self.reached, int(passed[-1]))
        now = np.flatnonzero((times > passed) & (times <= until))
        later = np.flatnonzero(times > until)
        if len(now) + len(later) < batch.size:
            late = batch.size - len(now) - len(later)
            self.context.report.count(f"late:{self.spec.uid}", late)
        if len(later):
            part = batch.take(later)
            self.take_in(part, self.columns_of(part), self._waiting, self._codec, time)
        self.reached = until
        keys = batch_keys(batch.take(now), self.picked[0])
        self._lead(keys, columns.take(pa.array(now)), times[now], until)

    def fire(self, until: int) -> None:
        self._lead(BatchKeys(_NONE, []), None, _NONE, until)

    def on_due(self, keys: list[Any], until: int) -> None:
        raise AssertionError("rows are due together with those of a batch")

    def _lead(
        self, fresh: BatchKeys, columns: pa.RecordBatch | None, times: Longs, until: int
    ) -> None:
        """Lead rows that are due through the automaton: those of a batch, and those that have
        waited. In processing time there are none, only partial matches whose time is over."""
        keys = list(fresh.keys)
        numbers = {key: number for number, key in enumerate(keys)}
        timers = self.timers
        woken: set[int] = set()
        while timers.next_due <= until and (due := timers.pop_due(until)) is not None:
            if due[1] not in numbers:
                numbers[due[1]] = len(keys)
                keys.append(due[1])
            woken.add(numbers[due[1]])
        if not keys:
            return
        rows = self._due(keys, woken, until) if self._time is not None else _Rows()
        if columns is not None:
            rows.add(columns, self._codec.encode(columns.columns), fresh.codes, times)
        found = self._led(keys, rows, until)
        if not found:
            return
        # keys that have matches at the same time are in an order that no cut changes
        forms = forms_of(keys)
        placed = sorted(found, key=lambda one: (one.time, forms[one.key]))
        measured = self._measured(placed)
        if self._time is None:
            self._send_passed(measured, [one.time for one in placed])
        else:
            self.send_timed(measured, np.array([one.time for one in placed], dtype=np.int64))

    def _due(self, keys: list[Any], woken: set[int], until: int) -> _Rows:
        """The rows of keys that have waited and are due."""
        found = _Rows()
        numbers = sorted(woken)
        held = self._waiting.of([keys[number] for number in numbers])
        due = [due_rows(one, until) for one in held]
        every = [row for rows in due for row in rows]
        if not every:
            return found
        for one, rows in zip(held, due, strict=True):
            for row in rows:
                one.remove(row.stored)
        stored = [row.row for row in every]
        table = pa.RecordBatch.from_arrays(self._codec.decode(stored), schema=self.inputs[0])
        codes = np.repeat(np.array(numbers, dtype=np.int64), [len(rows) for rows in due])
        found.add(table, stored, codes, np.array([row.time for row in every], dtype=np.int64))
        return found

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

    def _take(self, batch: Batch, columns: pa.RecordBatch) -> None:
        """In processing time: rows as they come."""
        now = self.context.now
        keys = batch_keys(batch, self.picked[0])
        rows = _Rows()
        stored = self._codec.encode(columns.columns)
        rows.add(columns, stored, keys.codes, np.full(batch.size, now, dtype=np.int64))
        found = sorted(self._led(keys.keys, rows, now), key=lambda one: one.row)
        if found:
            measured = self._measured(found)
            self.send(batch, measured, np.array([one.row for one in found], dtype=np.int64))

    # --- matches

    def _led(self, keys: list[Any], rows: _Rows, until: int) -> list[Found]:
        """Lead the rows of each key through the automaton, and time up to ``until``."""
        places = self._held.positions(keys)
        held, search = self._held.column("matches"), self._search
        ordered = rows.ordered(len(keys), self._order, self._conditions, search.starts)
        found: list[Found] = []
        changed, gone = [], []
        for number, at in enumerate(places.tolist()):
            stored = held[at]
            if stored is None and not ordered.may_begin[number]:
                continue
            before = search.begin if stored is None else stored.state
            try:
                after = search.run(before, ordered, number, until, found)
            except Exception as failure:
                raise self.failed(failure, self._shown(ordered.asked)) from failure
            if after is before:
                continue
            if search.is_idle(after):
                if stored is not None:
                    held[at] = None
                    gone.append(at)
                continue
            held[at] = search.stored(after)
            changed.append(at)
            if (due := search.due(after)) is not None:
                self.timers.register(due, keys[number])
        self._held.touch(np.array(changed, dtype=np.int64))
        self._held.clear(np.array(gone, dtype=np.int64))
        return found

    def _shown(self, row: bytes | None) -> Any:
        """A row for a message."""
        if row is None:
            return NO_ELEMENT
        columns = self._codec.decode([row])
        names = self.inputs[0].names
        return {name: one[0].as_py() for name, one in zip(names, columns, strict=True)}

    def _measured(self, found: list[Found]) -> list[pa.Array]:
        """The key columns and the measures of matches."""
        keys = [RowRead(at, None) for at in self.keys[0]]
        columns = self._rows.columns(keys, found)
        columns += [self._rows.evaluate(one, found) for one in self._match.measures]
        pairs = zip(columns, self.columns.types, strict=True)
        return [one if one.type == kind else one.cast(kind) for one, kind in pairs]


class OrderedRows:
    """Rows in the order of their keys, then of time: those of key k are from ``begins[k]`` up to
    ``begins[k + 1]``. ``may_begin`` says of each key whether a match can begin with one of them."""

    def __init__(
        self,
        rows: _Rows,
        places: Longs,
        begins: Longs,
        conditions: Conditions,
        starts: int,
    ) -> None:
        #: the row that the automaton was given last
        self.asked: bytes | None = None
        stored = [row for part in rows.stored for row in part]
        listed = places.tolist()
        self.numbers = listed
        self.begins = begins.tolist()
        self.times = np.concatenate([*rows.times, _NONE])[places].tolist()
        self._stored = [stored[at] for at in listed]
        bits, self._values = conditions.of_rows(rows.tables, places)
        self.bits = bits.tolist()
        may = (bits & starts) != 0 if starts else np.ones(len(bits), dtype=bool)
        counted = np.concatenate([[0], np.cumsum(may)])
        self.may_begin = (counted[begins[1:]] > counted[begins[:-1]]).tolist()

    def event(self, at: int) -> Event:
        """A row for the automaton."""
        self.asked = self._stored[at]
        values = tuple(column[at] for column in self._values)
        return Event(self.bits[at], self.asked, values)


class _Rows:
    """Rows that are due, in the order in which they came."""

    def __init__(self) -> None:
        self.tables: list[pa.RecordBatch] = []
        self.stored: list[list[bytes]] = []
        self.codes: list[Longs] = []
        self.times: list[Longs] = []

    def add(self, table: pa.RecordBatch, stored: list[bytes], codes: Longs, times: Longs) -> None:
        """More rows, with the numbers of their keys and their times."""
        self.tables.append(table)
        self.stored.append(stored)
        self.codes.append(codes)
        self.times.append(times)

    def ordered(
        self, keys: int, order: tuple[SortKey, ...], conditions: Conditions, starts: int
    ) -> OrderedRows:
        """The rows in order, those of the same key and time in that of ``order``, or of arrival."""
        codes = np.concatenate([*self.codes, _NONE])
        times = np.concatenate([*self.times, _NONE])
        if order:
            named = [key for table in self.tables for key in sort_keys(table.columns, order)]
            rank = {key: number for number, key in enumerate(sorted(set(named)))}
            ranks = np.array([rank[key] for key in named], dtype=np.int64)
            places = np.lexsort((ranks, times, codes))
        else:
            places = np.lexsort((times, codes))
        begins = np.searchsorted(codes[places], np.arange(keys + 1))
        return OrderedRows(self, places, begins, conditions, starts)


class _Search:
    """The automaton of a clause, and what it needs to be led through rows."""

    def __init__(self, match: MatchSpec, conditions: Conditions) -> None:
        defined = dict(match.definitions)
        made = {
            step.variable: conditions.of(step.variable, defined.get(step.variable))
            for step in match.steps
        }
        conditions_of = {name: condition for name, (condition, _) in made.items()}
        self._automaton = Automaton(compile_pattern(search_pattern(match, conditions_of)))
        self._identity = identity_of(self._automaton.pattern)
        #: the bits of which a row must have one to begin a match; 0 if any row may
        self.starts = _starting(match.steps, {name: bits for name, (_, bits) in made.items()})
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
        self, state: MatchState, rows: OrderedRows, key: int, until: int, out: list[Found]
    ) -> MatchState:
        """The state after the rows of a key, and after time has passed up to ``until``."""
        automaton, starts = self._automaton, self.starts
        times, bits = rows.times, rows.bits
        idle, due = self.is_idle(state), self.due(state)
        for at in range(rows.begins[key], rows.begins[key + 1]):
            time = times[at]
            if due is not None and due <= time:
                state = self._passed(state, key, time, out)
                idle, due = self.is_idle(state), self.due(state)
            if idle and starts and not bits[at] & starts:
                continue
            step = automaton.process(state, rows.event(at), time, _no_clock)
            if step.state is not state:
                state = step.state
                idle, due = self.is_idle(state), self.due(state)
            out += [Found(time, key, rows.numbers[at], match) for match in step.matches]
        return self._passed(state, key, until, out)

    def _passed(self, state: MatchState, key: int, until: int, out: list[Found]) -> MatchState:
        while (due := self.due(state)) is not None and due <= until:
            step = self._automaton.advance(state, due)
            out += [Found(due, key, 0, match) for match in step.matches]
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
