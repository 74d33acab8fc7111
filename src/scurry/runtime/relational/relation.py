"""What all operators on relations have in common: columns in, columns out, kinds beside them.

A batch of a relation has the columns of the relation's schema, in order. Where records come as
Python objects, from a source or because streams of different forms meet, columns are made of them
first. What an operator sends has the place and the times of the record that caused it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.types import Row, RowKind
from scurry.functions.expressions import (
    Call,
    Expression,
    InputRef,
    SessionExpression,
    UdfCall,
    references,
)
from scurry.functions.udfs import FunctionContext
from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.columns import ElementCodec
from scurry.runtime.expressions import (
    CompiledExpression,
    EvaluationContext,
    EvaluationError,
    compile_expression,
)
from scurry.runtime.failures import NO_ELEMENT
from scurry.runtime.kinds import Kinds, only_changes
from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: The numbers of the kinds of changes, as kind columns have them.
INSERT, UPDATE_BEFORE = RowKind.INSERT.value, RowKind.UPDATE_BEFORE.value
UPDATE_AFTER, DELETE = RowKind.UPDATE_AFTER.value, RowKind.DELETE.value
#: The only function that knows the watermarks of rows.
_WATERMARK = "CURRENT_WATERMARK"
#: Evaluates an expression on all rows of a batch, given the watermark at each.
Evaluate = Callable[[pa.RecordBatch, Longs | None], pa.Array]


def signs_of(kinds: Kinds | None) -> Longs | None:
    """1 for rows that come, -1 for rows that go; None if all come."""
    if kinds is None:
        return None
    return np.where((kinds == UPDATE_BEFORE) | (kinds == DELETE), -1, 1).astype(np.int64)


class RelationalOperator(Operator):
    """Turns relations into a relation with the columns of ``columns``; ``inputs`` are the columns
    of what comes in."""

    def __init__(
        self, spec: OperatorSpec, columns: pa.Schema, inputs: tuple[pa.Schema, ...]
    ) -> None:
        super().__init__(spec)
        self.columns = columns
        self.inputs = inputs
        self.codec = ElementCodec.of_relation(columns)

    def columns_of(self, batch: Batch, port: int = 0) -> pa.RecordBatch:
        """The records of ``batch`` as columns of the input ``port``."""
        schema = self.inputs[port]
        found = batch.columns
        if found is None:
            return columns_of_rows(batch.rows, schema)
        if found.schema.equals(schema):
            return found
        return recast(found, schema)

    def send(
        self,
        batch: Batch,
        columns: Sequence[pa.Array],
        origin: Longs | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        """Emit rows, the i-th of them caused by record ``origin[i]`` of ``batch``; without
        ``origin`` there are as many rows as records."""
        made = pa.RecordBatch.from_arrays(list(columns), schema=self.columns)
        self.emit(batch.caused(made, self.codec, origin, only_changes(kinds)))

    # --- windows: in the times of their rows, unless these are shown in a zone ------------------

    def local_times(self, instants: Longs) -> Longs:
        """The times in which windows are made, of rows at these points in time."""
        return instants

    def instants_of(self, local: Longs) -> Longs:
        """The points in time at which it is that time in windows."""
        return local

    def shown_bounds(self, starts: Longs, ends: Longs) -> dict[str, Longs]:
        """What the columns of windows have."""
        return {"start": starts, "end": ends, "time": self.instants_of(ends - 1)}


class EvaluatingOperator(RelationalOperator):
    """One that evaluates expressions."""

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._compiled: dict[int, Evaluate] = {}
        self._expressions: list[CompiledExpression] = []
        self._functions = FunctionContext(
            context.report.metrics.group(self.spec),
            dict(context.place.parameters),
            self.spec.name,
            number_of_parallel_subtasks=self.spec.parallelism,
            max_number_of_parallel_subtasks=context.place.max_parallelism,
            index_of_this_subtask=context.place.index,
        )

    def close(self) -> None:
        for compiled in self._expressions:
            compiled.close()

    def start_user_function(self, function: Any) -> None:
        """Open a function of the user's."""
        try:
            function.open(self._functions)
        except Exception as failure:
            raise self.failed(failure) from failure

    def evaluate(
        self, expression: Any, columns: pa.RecordBatch, watermarks: Longs | None = None
    ) -> pa.Array:
        """The value of ``expression`` for each row; ``watermarks`` are those in force at the rows,
        for CURRENT_WATERMARK."""
        try:
            compiled = self._compiled.get(id(expression))
            if compiled is None:
                compiled = self._compiled[id(expression)] = self._compile(expression)
            found = compiled(columns, watermarks)
        except EvaluationError as failure:
            values = self._failing_values(failure, expression, columns, watermarks)
            raise self.failed(failure, values) from failure
        except Exception as failure:
            raise self.failed(failure) from failure
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    def _failing_values(
        self,
        failure: EvaluationError,
        expression: Any,
        columns: pa.RecordBatch,
        watermarks: Longs | None,
    ) -> Any:
        """What the first row for which ``expression`` fails has in the columns it reads. The batch
        is halved until that row is left; functions of the user's are not called again for it, so
        of these there are the arguments that ``failure`` knows."""
        tree = expression.tree if isinstance(expression, SessionExpression) else expression
        compiled = self._compiled.get(id(expression))
        if compiled is None or any(isinstance(one, UdfCall) for one in tree.walk()):
            return failure.element
        low, high = 0, columns.num_rows
        while high - low > 1:
            middle = (low + high) // 2
            passed = None if watermarks is None else watermarks[low:middle]
            try:
                compiled(columns.slice(low, middle - low), passed)
                low = middle
            except EvaluationError:
                high = middle
        names = columns.schema.names
        read = sorted(references(tree))
        return {names[at]: columns.column(at)[low].as_py() for at in read} if read else NO_ELEMENT

    def truth(
        self, condition: Any, columns: pa.RecordBatch, watermarks: Longs | None = None
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """For each row whether ``condition`` is true, neither false nor unknown."""
        return true_places(self.evaluate(condition, columns, watermarks))

    def _compile(self, expression: Any) -> Evaluate:
        """What evaluates a typed tree, or a callable on a batch and the task's context."""
        if isinstance(expression, Expression):
            expression = SessionExpression(expression)
        if not isinstance(expression, SessionExpression):
            return lambda columns, watermarks: expression(columns, self.context)
        tree = expression.tree
        if isinstance(tree, InputRef):
            index = tree.index
            return lambda columns, watermarks: columns.column(index)
        compiled = compile_expression(tree)
        self._expressions.append(compiled)
        marked = any(isinstance(one, Call) and one.function == _WATERMARK for one in tree.walk())
        return lambda columns, watermarks: compiled(
            columns, self._surroundings(expression, watermarks if marked else None)
        )

    def _surroundings(
        self, expression: SessionExpression, watermarks: Longs | None
    ) -> EvaluationContext:
        """What the expression can know beside the rows. The time is that of the micro-batch, so
        that a micro-batch that is run again computes the same."""
        known = None
        if watermarks is not None:
            known = pa.array(watermarks, mask=watermarks == MIN_WATERMARK)
        return EvaluationContext(
            zone=expression.zone,
            now=self.context.now,
            query_start=expression.query_start,
            watermarks=known,
            database=expression.database,
            functions=self._functions,
            asynchronous=expression.asynchronous,
        )


def true_places(mask: pa.Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Where a column of booleans is true; null is not."""
    found: np.ndarray[Any, np.dtype[np.bool_]] = mask.fill_null(False).to_numpy(
        zero_copy_only=False
    )
    return found


def columns_of_rows(rows: list[Any], schema: pa.Schema) -> pa.RecordBatch:
    """Rows, or tuples, as columns of ``schema``; what is neither is the only column's value."""
    values = [
        row._values if type(row) is Row else row if isinstance(row, tuple) else (row,)
        for row in rows
    ]
    lists: list[Any] = list(zip(*values, strict=True)) or [()] * len(schema)
    arrays = [pa.array(one, field.type) for one, field in zip(lists, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def recast(columns: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same columns under the names, and of the types, of ``schema``."""
    arrays = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(columns.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def take_all(columns: Sequence[pa.Array], index: Longs) -> list[pa.Array]:
    """The rows of several columns at ``index``."""
    places = pa.array(index)
    return [column.take(places) for column in columns]


def milliseconds(column: pa.Array) -> pa.Array:
    """A column of timestamps as milliseconds since 1970 (int64), rounded down; nulls stay."""
    if not pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    per = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}[column.type.unit]
    whole = column.cast(pa.int64())
    if column.type.unit == "s":
        return pa.compute.multiply(whole, 1000)
    if per == 1:
        return whole
    valid = whole.is_null().to_numpy(zero_copy_only=False)
    numbers = np.floor_divide(whole.fill_null(0).to_numpy(zero_copy_only=False), per)
    return pa.array(numbers, mask=valid)


def timestamps(milli: Longs, kind: pa.DataType) -> pa.Array:
    """Milliseconds since 1970 as a column of the timestamp type ``kind``."""
    per = {"s": 1, "ms": 1, "us": 1_000, "ns": 1_000_000}[kind.unit]
    numbers = milli // 1000 if kind.unit == "s" else milli * per
    return pa.array(numbers, pa.int64()).cast(kind)
