"""Table aggregates: a function of the user's that makes several rows of each group.

After each row the rows that the group had before are deleted, and those that it has now are
inserted, as Flink does. A group vanishes with its last row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.common.data_types import data_type_from_arrow
from scurry.common.types import Row
from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.expressions.user_values import from_user, to_user
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.relation import DELETE, INSERT, UPDATE_AFTER, take_all
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class TableAggregateOperator(KeyedRelationalOperator):
    """Rows that a function makes of each group."""

    state_kind: ClassVar[str] = "accumulators of groups"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        call: AggregateCall,
        retracting: bool,
        update_before: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._call = call
        self._retracting = retracting
        self._update_before = update_before
        self._types = columns.types[len(keys[0]) :]

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"aggregates": arguments[0].title}

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._state = self.values_of_keys({"rows": np.int64, "object": object})
        self.start_user_function(self._call.function)

    def close(self) -> None:
        super().close()
        self._call.function.close()

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        keys = batch_keys(batch, self.picked[0])
        places = self._state.positions(keys.keys)
        given_columns = (columns.column(index) for index in self._call.arguments)
        lists = [to_user(one, data_type_from_arrow(one.type)) for one in given_columns]
        arguments: list[Any] = list(zip(*lists, strict=True)) or [()] * batch.size
        kinds = batch.kinds
        listed = [INSERT] * batch.size if kinds is None else kinds.tolist()
        made: list[Sequence[Any]] = []
        sent: list[int] = []
        origin: list[int] = []
        given: tuple[Any, ...] = ()
        try:
            for at, (code, given, kind) in enumerate(
                zip(keys.codes.tolist(), arguments, listed, strict=True)
            ):
                comes = kind in (INSERT, UPDATE_AFTER)
                old, new = self._step(int(places[code]), given, comes)
                for shown, rows in ((DELETE, old), (INSERT, new)):
                    made += rows
                    sent += [shown] * len(rows)
                    origin += [at] * len(rows)
        except Exception as failure:
            raise self.failed(failure, given) from failure
        if not made:
            return
        by = np.array(origin, dtype=np.int64)
        name = type(self._call.function).__name__
        results = [
            from_user(one, data_type_from_arrow(kind), name)
            for one, kind in zip(zip(*made, strict=True), self._types, strict=True)
        ]
        heads = take_all([columns.column(index) for index in self.keys[0]], by)
        self.send(batch, [*heads, *results], by, np.array(sent, dtype=np.int8))

    def _step(
        self, place: int, given: tuple[Any, ...], comes: bool
    ) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
        """A row of the group at ``place`` comes or goes; returns the group's rows before, as far as
        they have to be deleted, and after."""
        state, function = self._state, self._call.function
        where = np.array([place])
        first = not state.alive[place]
        if first and not comes:
            return [], []
        held = function.create_accumulator() if first else state.column("object")[place]
        old = [] if first or not self._update_before else self._rows(held)
        if comes:
            function.accumulate(held, *given)
        else:
            function.retract(held, *given)
        count = int(state.column("rows")[place]) + (1 if comes else -1)
        if count == 0 and self._retracting:
            state.clear(where)
            return old, []
        state.column("object")[place] = held
        state.column("rows")[place] = count
        state.touch(where)
        return old, self._rows(held)

    def _rows(self, held: Any) -> list[Sequence[Any]]:
        """The rows of a group."""
        found: Iterable[Any] | None = self._call.function.emit_value(held)
        return [_fields(row) for row in found or ()]


def _fields(row: Any) -> Sequence[Any]:
    if type(row) is Row:
        return row._values
    return row if isinstance(row, tuple) else (row,)
