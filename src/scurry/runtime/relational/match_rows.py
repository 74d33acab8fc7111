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
    SessionExpression,
    conjuncts,
    remap,
)
from scurry.functions.match_calls import AggregateRead, MatchExpression, RowRead, TimeRead
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.expressions import may_fail
from scurry.runtime.relational.match_reads import (
    Field,
    Reads,
    aggregated,
    asked_condition,
    counted,
    indexes_read,
)
from scurry.runtime.relational.relation import EvaluatingOperator
from scurry.runtime.relational.rows_out import null_row

#: As many conditions of a row alone are bits of one number.
_BITS = 62


class Event(NamedTuple):
    """A row of a match."""

    bits: int
    row: bytes
    values: tuple[Any, ...]


class Found(NamedTuple):
    """A match, when it was found, the number of its key, and that of the row that led to it."""

    time: int
    key: int
    row: int
    match: Match


class MatchRows:
    """Evaluates what is read from rows of ``codec``, by means of ``operator``."""

    def __init__(self, operator: EvaluatingOperator, codec: RowCodec) -> None:
        self._operator = operator
        self._codec = codec
        self._null = null_row(codec)

    def columns(self, reads: Sequence[RowRead | AggregateRead], found: list[Found]) -> Any:
        """A column for each read, with a value for each match."""
        chosen: dict[tuple[str | None, int, bool], list[pa.Array]] = {}
        matches = [one.match for one in found]
        made = []
        for read in reads:
            if isinstance(read, AggregateRead):
                made.append(self.aggregated(read, [rows_of(m, read.variable) for m in matches]))
                continue
            if isinstance(read, TimeRead):
                times = pa.array([one.time for one in found], pa.timestamp("ms"))
                made.append(times.cast(self._codec.schema.types[read.column]))
                continue
            place = read.variable, read.offset, read.from_last
            if place not in chosen:
                rows = [_picked(rows_of(match, read.variable), read) for match in matches]
                chosen[place] = self._codec.decode([row or self._null for row in rows])
            made.append(chosen[place][read.column])
        return made

    def evaluate(self, expression: MatchExpression, found: list[Found]) -> pa.Array:
        """The value of an expression for each match."""
        columns = self.columns(expression.reads, found)
        table = counted(columns, len(found), self.names(expression.reads))
        return self._operator.evaluate(expression.tree, table)

    def names(self, reads: Sequence[RowRead | AggregateRead]) -> list[str]:
        """What the columns of reads are called in messages."""
        return [
            read.call.title if isinstance(read, AggregateRead) else read.words(self._codec.schema)
            for read in reads
        ]

    def aggregated(self, read: AggregateRead, groups: list[list[bytes]]) -> pa.Array:
        """The aggregate of each group of rows."""
        rows = [row for group in groups for row in group]
        table = pa.RecordBatch.from_arrays(self._codec.decode(rows), schema=self._codec.schema)
        return aggregated(read, table, list(map(len, groups)), self._operator.evaluate)


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
            reads = [given.reads[at] for at in indexes_read(part)]
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
        return asked_condition(part, given, variable, self)

    def field(self, column: int) -> Field:
        """How the value of a column is read from an event."""
        if column not in self.columns:
            self.columns.append(column)
        slot = self.columns.index(column)
        return lambda event: event.values[slot]

    def type_of(self, column: int) -> pa.DataType:
        """The type of a column."""
        return self._schema.types[column]

    def aggregate(self, read: AggregateRead, events: list[Event]) -> Any:
        """An aggregate of events."""
        return self._rows.aggregated(read, [[event.row for event in events]])[0].as_py()

    def truth(self, expression: SessionExpression, reads: Reads, columns: list[pa.Array]) -> bool:
        """Whether a condition is true, given what it reads as columns of one row."""
        table = counted(columns, 1, self._rows.names(reads))
        return bool(self._operator.truth(expression, table)[0])


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
