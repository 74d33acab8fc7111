"""What conditions and measures of MATCH_RECOGNIZE read from the rows of matches.

A row of a match is an *event* of the automaton: which of the conditions that look at the row alone
are true for it, as bits; the row as bytes; and the values of the columns that other conditions look
at. Conditions are asked row by row, for partial matches; measures are computed for all matches of a
batch at once, on columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from scurry.automaton.automaton import Match
from scurry.automaton.conditions import ALWAYS, And, Condition, OfEvent, OfMatch
from scurry.functions.expressions import (
    Call,
    Expression,
    InputRef,
    SessionExpression,
    conjuncts,
    remap,
)
from scurry.functions.match_calls import AggregateRead, MatchExpression, RowRead
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.expressions import may_fail
from scurry.runtime.relational.aggregates.scratch import aggregate_rows
from scurry.runtime.relational.relation import EvaluatingOperator
from scurry.runtime.relational.rows_out import null_row
from scurry.runtime.relational.scalar_code import row_function, values_aggregate

#: As many conditions of a row alone are bits of one number.
_BITS = 62
#: What a read gives, for an event at a partial match.
Getter = Callable[[Any, Any], Any]


class Event(NamedTuple):
    """A row of a match."""

    bits: int
    row: bytes
    values: tuple[Any, ...]


class MatchRows:
    """Evaluates what is read from rows of ``codec``, by means of ``operator``."""

    def __init__(self, operator: EvaluatingOperator, codec: RowCodec) -> None:
        self._operator = operator
        self._codec = codec
        self._null = null_row(codec)

    def columns(self, reads: Sequence[RowRead | AggregateRead], matches: list[Match]) -> Any:
        """A column for each read, with a value for each match."""
        chosen: dict[tuple[str | None, int, bool], list[pa.Array]] = {}
        made = []
        for read in reads:
            if isinstance(read, AggregateRead):
                made.append(self.aggregated(read, [rows_of(m, read.variable) for m in matches]))
                continue
            place = read.variable, read.offset, read.from_last
            if place not in chosen:
                rows = [_picked(rows_of(match, read.variable), read) for match in matches]
                chosen[place] = self._codec.decode([row or self._null for row in rows])
            made.append(chosen[place][read.column])
        return made

    def evaluate(self, expression: MatchExpression, matches: list[Match]) -> pa.Array:
        """The value of an expression for each match."""
        columns = self.columns(expression.reads, matches)
        table = counted(columns, len(matches), self.names(expression.reads))
        return self._operator.evaluate(expression.tree, table)

    def names(self, reads: Sequence[RowRead | AggregateRead]) -> list[str]:
        """What the columns of reads are called in messages."""
        return [
            read.call.title if isinstance(read, AggregateRead) else read.words(self._codec.schema)
            for read in reads
        ]

    def aggregated(self, read: AggregateRead, groups: list[list[bytes]]) -> pa.Array:
        """The aggregate of each group of rows."""
        there = [number for number, rows in enumerate(groups) if rows]
        result = pa.nulls(len(groups), read.call.type)
        if there:
            rows = [row for number in there for row in groups[number]]
            table = pa.RecordBatch.from_arrays(self._codec.decode(rows), schema=self._codec.schema)
            columns = [self._operator.evaluate(one, table) for one in read.arguments]
            lengths = np.array([len(groups[number]) for number in there], dtype=np.int64)
            starts = np.cumsum(lengths) - lengths
            (found,) = aggregate_rows([read.call], counted(columns, len(rows), []), starts)
            places: list[int | None] = [None] * len(groups)
            for at, number in enumerate(there):
                places[number] = at
            result = found.take(pa.array(places, pa.int64()))
        return result.fill_null(0) if read.call.function == "COUNT" else result


def counted(columns: list[pa.Array], count: int, names: list[str]) -> pa.RecordBatch:
    """Columns as a batch, which knows how many rows it has even without any column."""
    every = [*columns, pa.nulls(count)]
    named = [*names, *(f"${at}" for at in range(len(names), len(every)))]
    return pa.RecordBatch.from_arrays(every, named)


def rows_of(match: Match, variable: str | None) -> list[bytes]:
    """The rows of a variable, or all rows of a match, in order."""
    if variable is not None:
        return [event.row for event in match.get(variable, ())]
    return [event.row for events in match.values() for event in events]


def _picked(rows: list[bytes], read: RowRead) -> bytes | None:
    at = len(rows) - 1 - read.offset if read.from_last else read.offset
    return rows[at] if 0 <= at < len(rows) else None


class Conditions:
    """The conditions of variables, as those of the automaton."""

    def __init__(self, rows: MatchRows, operator: EvaluatingOperator, schema: pa.Schema) -> None:
        self._rows = rows
        self._operator = operator
        self._schema = schema
        #: conditions of a row alone, which are bits of events
        self.alone: list[SessionExpression] = []
        #: the columns whose values events have
        self.columns: list[int] = []

    def of_rows(self, tables: list[pa.RecordBatch], places: Longs) -> tuple[Longs, list[list[Any]]]:
        """The bits of the rows of all tables at ``places``, and the columns that events have."""
        parts = [self._bits(table) for table in tables]
        bits = np.concatenate([*parts, np.zeros(0, dtype=np.int64)])[places]
        columns: list[list[Any]] = []
        for number in self.columns:
            values = [value for table in tables for value in table.column(number).to_pylist()]
            columns.append([values[at] for at in places.tolist()])
        return bits, columns

    def _bits(self, table: pa.RecordBatch) -> Longs:
        bits = np.zeros(table.num_rows, dtype=np.int64)
        for number, condition in enumerate(self.alone):
            bits |= self._operator.truth(condition, table).astype(np.int64) << number
        return bits

    def of(self, variable: str, given: MatchExpression | None) -> tuple[Condition, int]:
        """The condition of a variable, and the bits of which all must be set for it to be true."""
        if given is None:
            return ALWAYS, 0
        alone: list[Expression] = []
        asked: list[Condition] = []
        for part in conjuncts(given.tree.tree):
            reads = [given.reads[at] for at in _read(part)]
            current = all(isinstance(r, RowRead) and r.is_current(variable) for r in reads)
            if not current:
                asked.append(OfMatch(self._function(variable, part, given)))
            elif may_fail(part) or len(self.alone) == _BITS:
                # it must not fail for a row that nobody asks it about
                asked.append(OfEvent(_of_event(self._function(variable, part, given))))
            else:
                alone.append(_on_input(part, given.reads))
        found = asked
        mask = 0
        if alone:
            number = self._bit(alone, given.tree)
            mask = 1 << number
            found = [OfEvent(_bit_test(number)), *asked]
        condition = found[0]
        for one in found[1:]:
            condition = And(condition, one)
        return condition, mask

    def _bit(self, parts: list[Expression], given: SessionExpression) -> int:
        tree = parts[0] if len(parts) == 1 else Call("AND", tuple(parts), given.tree.type)
        self.alone.append(replace(given, tree=tree))
        return len(self.alone) - 1

    def _function(
        self, variable: str, part: Expression, given: MatchExpression
    ) -> Callable[[Any, Any], bool]:
        places = {old: new for new, old in enumerate(_read(part))}
        tree = remap(part, places)
        reads = [given.reads[at] for at in places]
        getters = [self._getter(read, variable) for read in reads]
        code = row_function(tree)
        if code is None:
            return self._on_columns(replace(given.tree, tree=tree), reads, getters)

        def holds(value: Any, turn: Any) -> bool:
            return code([get(value, turn) for get in getters]) is True

        return holds

    def _on_columns(
        self,
        expression: SessionExpression,
        reads: list[RowRead | AggregateRead],
        getters: list[Getter],
    ) -> Callable[[Any, Any], bool]:
        types = [
            read.call.type if isinstance(read, AggregateRead) else self._schema.types[read.column]
            for read in reads
        ]

        names = self._rows.names(reads)

        def holds(value: Any, turn: Any) -> bool:
            columns = [
                pa.array([get(value, turn)], kind) for get, kind in zip(getters, types, strict=True)
            ]
            return bool(self._operator.truth(expression, counted(columns, 1, names))[0])

        return holds

    def _getter(self, read: RowRead | AggregateRead, defined: str) -> Getter:
        events = _events(read.variable, defined)
        if isinstance(read, AggregateRead):
            return self._aggregate(read, events)
        slot, offset, from_last = self._slot(read.column), read.offset, read.from_last
        if read.is_current(defined):
            return lambda value, turn: value.values[slot]

        def of_row(value: Any, turn: Any) -> Any:
            found = events(value, turn)
            at = len(found) - 1 - offset if from_last else offset
            return found[at].values[slot] if 0 <= at < len(found) else None

        return of_row

    def _slot(self, column: int) -> int:
        """Where events have the value of a column."""
        if column not in self.columns:
            self.columns.append(column)
        return self.columns.index(column)

    def _aggregate(self, read: AggregateRead, events: Callable[[Any, Any], list[Event]]) -> Getter:
        slots = {at: self._slot(at) for one in read.arguments for at in _read(one.tree)}
        trees = [remap(one.tree, slots) for one in read.arguments]
        code = values_aggregate(read.call, trees)
        if code is not None:
            return lambda value, turn: code([event.values for event in events(value, turn)])
        aggregated = self._rows.aggregated

        def aggregate(value: Any, turn: Any) -> Any:
            rows = [event.row for event in events(value, turn)]
            return aggregated(read, [rows])[0].as_py()

        return aggregate


def _events(variable: str | None, defined: str) -> Callable[[Any, Any], list[Event]]:
    """The events of a variable so far, with the one in question if it would be one of them."""
    if variable is None:
        return lambda value, turn: [*turn.events(), value]
    if variable == defined:
        return lambda value, turn: [*turn.get_events_for_pattern(variable), value]
    return lambda value, turn: list(turn.get_events_for_pattern(variable))


def _read(tree: Expression) -> list[int]:
    """Which reads an expression has, each once."""
    return list(dict.fromkeys(one.index for one in tree.walk() if isinstance(one, InputRef)))


def _on_input(tree: Expression, reads: tuple[RowRead | AggregateRead, ...]) -> Expression:
    """A condition of a row alone, over the columns of the input."""
    columns = {at: read.column for at, read in enumerate(reads) if isinstance(read, RowRead)}
    return remap(tree, columns)


def _bit_test(number: int) -> Callable[[Any], bool]:
    mask = 1 << number
    return lambda event: bool(event.bits & mask)


def _of_event(holds: Callable[[Any, Any], bool]) -> Callable[[Any], bool]:
    """A condition that asks nothing of the match."""
    return lambda event: holds(event, None)
