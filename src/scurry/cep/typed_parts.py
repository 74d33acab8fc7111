"""A part of a condition whose fields have types: asked of single events, or of whole columns."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.cep.event_fields import EventFields
from scurry.common.data_types import DataType
from scurry.functions.expressions import Expression, InputRef, SessionExpression, rewrite
from scurry.functions.match_calls import AggregateRead, MatchExpression, RowRead
from scurry.runtime.expressions import (
    CompiledExpression,
    EvaluationContext,
    compile_expression,
    may_fail,
)
from scurry.runtime.relational.match_reads import (
    Field,
    Reads,
    aggregated,
    asked_condition,
    counted,
)
from scurry.runtime.relational.relation import true_places

#: For each event whether something is true.
Mask = np.ndarray[Any, np.dtype[np.bool_]]


class TypedPart:
    """Reads the fields ``names``, which are of these ``types``, in the condition of ``step``."""

    def __init__(
        self,
        bound: MatchExpression,
        step: str,
        names: tuple[str, ...],
        types: tuple[DataType, ...],
        fields: EventFields,
    ) -> None:
        self._bound = bound
        self._names = names
        self._types = [kind.arrow_type() for kind in types]
        self._fields = fields
        self._compiled: dict[int, CompiledExpression] = {}
        self._now = 0
        #: whether it could fail for some event, so that it must not be asked in vain
        self.may_fail = may_fail(bound.tree.tree)
        self._asked = asked_condition(bound.tree.tree, bound, step, self)

    def holds(self, value: Any, turn: Any) -> bool:
        """Whether it is true for an event at a partial match; ``turn`` is None where it looks at
        the event alone."""
        if turn is not None:
            self._now = turn.current_processing_time()
        return self._asked(value, turn)

    def on_columns(self, columns: dict[str, Any], count: int) -> Mask:
        """For each of ``count`` events whether it is true: a part that looks at the event alone.
        ``columns`` are Arrow arrays or lists, by the names of the fields."""
        arrays = []
        for name, kind in zip(self._names, self._types, strict=True):
            column = columns[name]
            known = isinstance(column, pa.Array) and column.type == kind
            arrays.append(column if known else pa.array(column, kind))
        table = counted(arrays, count, list(self._names))
        return true_places(self._evaluate(self._of_fields, table))

    @functools.cached_property
    def _of_fields(self) -> SessionExpression:
        """The expression over the columns of fields: every read is one of the event in question."""
        reads = self._bound.reads

        def column(one: Expression) -> Expression:
            if not isinstance(one, InputRef):
                return one
            read = reads[one.index]
            assert isinstance(read, RowRead)
            return InputRef(read.column, one.type, span=one.span)

        return SessionExpression(rewrite(self._bound.tree.tree, column))

    def _evaluate(self, expression: SessionExpression, table: pa.RecordBatch) -> pa.Array:
        compiled = self._compiled.get(id(expression))
        if compiled is None:
            compiled = self._compiled[id(expression)] = compile_expression(expression.tree)
        found = compiled(table, EvaluationContext(now=self._now))
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    def close(self) -> None:
        """Close functions of the user's."""
        for compiled in self._compiled.values():
            compiled.close()

    # --- how events are read

    def field(self, column: int) -> Field:
        """How a field is read from an event."""
        return self._fields.reader(self._names[column])

    def type_of(self, column: int) -> pa.DataType:
        """The type of a field."""
        return self._types[column]

    def aggregate(self, read: AggregateRead, events: list[Any]) -> Any:
        """An aggregate of events."""
        fields = map(self.field, range(len(self._names)))
        pairs = zip(fields, self._types, strict=True)
        arrays = [pa.array([field(event) for event in events], kind) for field, kind in pairs]
        table = counted(arrays, len(events), list(self._names))
        return aggregated(read, table, [len(events)], self._evaluate)[0].as_py()

    def truth(self, expression: SessionExpression, reads: Reads, columns: list[pa.Array]) -> bool:
        """Whether a condition is true, given what it reads as columns of one row."""
        return bool(true_places(self._evaluate(expression, counted(columns, 1, [])))[0])
