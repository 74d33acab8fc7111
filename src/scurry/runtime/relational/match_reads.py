"""Conditions of patterns that are asked event by event: what they read, and how they are computed.

A condition reads values of the event in question and of events that the match has already, and it
may aggregate these. Where comparisons and arithmetic of plain types are all there is, it becomes a
Python function of single values (:mod:`scurry.runtime.relational.scalar_code`); everything else is
evaluated on columns of one row. What an event is, whoever asks knows: a row of MATCH_RECOGNIZE, or
an object of a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from scurry.functions.expressions import Expression, InputRef, SessionExpression, remap
from scurry.functions.match_calls import AggregateRead, MatchExpression, RowRead
from scurry.runtime.relational.aggregates.scratch import aggregate_rows
from scurry.runtime.relational.scalar_code import row_function, values_aggregate

#: What a condition reads, each of it a column.
Reads: TypeAlias = Sequence[RowRead | AggregateRead]
#: What a read gives, for an event at a partial match.
Getter = Callable[[Any, Any], Any]
#: The value of a field of an event.
Field = Callable[[Any], Any]


class EventReader(Protocol):
    """Knows what events are."""

    def field(self, column: int) -> Field:
        """How the value of a column is read from an event."""

    def type_of(self, column: int) -> pa.DataType:
        """The type of a column."""

    def aggregate(self, read: AggregateRead, events: list[Any]) -> Any:
        """An aggregate of events."""

    def truth(self, expression: SessionExpression, reads: Reads, columns: list[pa.Array]) -> bool:
        """Whether a condition is true, given what it reads as columns of one row."""


def asked_condition(
    part: Expression, given: MatchExpression, defined: str, reader: EventReader
) -> Callable[[Any, Any], bool]:
    """A part of the condition ``given`` of the step ``defined``, as a function of an event and of
    the turn that it is at."""
    places = {old: new for new, old in enumerate(indexes_read(part))}
    tree = remap(part, places)
    reads = [given.reads[at] for at in places]
    getters = [_getter(read, defined, reader) for read in reads]
    code = row_function(tree)
    if code is None:
        return _on_columns(replace(given.tree, tree=tree), reads, getters, reader)

    def holds(value: Any, turn: Any) -> bool:
        return code([get(value, turn) for get in getters]) is True

    return holds


def _on_columns(
    expression: SessionExpression, reads: Reads, getters: list[Getter], reader: EventReader
) -> Callable[[Any, Any], bool]:
    types = [
        read.call.type if isinstance(read, AggregateRead) else reader.type_of(read.column)
        for read in reads
    ]

    def holds(value: Any, turn: Any) -> bool:
        pairs = zip(getters, types, strict=True)
        columns = [pa.array([get(value, turn)], kind) for get, kind in pairs]
        return reader.truth(expression, reads, columns)

    return holds


def _getter(read: RowRead | AggregateRead, defined: str, reader: EventReader) -> Getter:
    events = events_of(read.variable, defined)
    if isinstance(read, AggregateRead):
        return _aggregate(read, events, reader)
    field, offset, from_last = reader.field(read.column), read.offset, read.from_last
    if read.is_current(defined):
        return lambda value, turn: field(value)

    def of_row(value: Any, turn: Any) -> Any:
        found = events(value, turn)
        at = len(found) - 1 - offset if from_last else offset
        return field(found[at]) if 0 <= at < len(found) else None

    return of_row


def _aggregate(
    read: AggregateRead, events: Callable[[Any, Any], list[Any]], reader: EventReader
) -> Getter:
    columns = list(dict.fromkeys(at for one in read.arguments for at in indexes_read(one.tree)))
    fields = [reader.field(at) for at in columns]
    places = {at: number for number, at in enumerate(columns)}
    code = values_aggregate(read.call, [remap(one.tree, places) for one in read.arguments])
    if code is None:
        return lambda value, turn: reader.aggregate(read, events(value, turn))

    def of_values(value: Any, turn: Any) -> Any:
        return code([[field(event) for field in fields] for event in events(value, turn)])

    return of_values


def events_of(variable: str | None, defined: str) -> Callable[[Any, Any], list[Any]]:
    """The events of a step so far, with the one in question if it would be one of them; of all
    steps if ``variable`` is None."""
    if variable is None:
        return lambda value, turn: [*turn.events(), value]
    if variable == defined:
        return lambda value, turn: [*turn.get_events_for_pattern(variable), value]
    return lambda value, turn: list(turn.get_events_for_pattern(variable))


def indexes_read(tree: Expression) -> list[int]:
    """Which columns an expression reads, each once."""
    return list(dict.fromkeys(one.index for one in tree.walk() if isinstance(one, InputRef)))


def counted(columns: list[pa.Array], count: int, names: list[str]) -> pa.RecordBatch:
    """Columns as a batch, which knows how many rows it has even without any column."""
    every = [*columns, pa.nulls(count)]
    named = [*names, *(f"${at}" for at in range(len(names), len(every)))]
    return pa.RecordBatch.from_arrays(every, named)


def aggregated(
    read: AggregateRead,
    table: pa.RecordBatch,
    lengths: list[int],
    evaluate: Callable[[SessionExpression, pa.RecordBatch], pa.Array],
) -> pa.Array:
    """The aggregate of each group of rows; the groups follow each other in ``table``."""
    there = [number for number, length in enumerate(lengths) if length]
    result = pa.nulls(len(lengths), read.call.type)
    if there:
        columns = [evaluate(one, table) for one in read.arguments]
        counts = np.array([lengths[number] for number in there], dtype=np.int64)
        starts = np.cumsum(counts) - counts
        (found,) = aggregate_rows([read.call], counted(columns, table.num_rows, []), starts)
        places: list[int | None] = [None] * len(lengths)
        for at, number in enumerate(there):
            places[number] = at
        result = found.take(pa.array(places, pa.int64()))
    return result.fill_null(0) if read.call.function == "COUNT" else result
