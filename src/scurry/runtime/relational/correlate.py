"""Tables made of single rows: UNNEST, and table functions of the user's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.data_types import data_type_from_arrow
from scurry.common.errors import TypeMismatchError
from scurry.common.types import Row
from scurry.functions.aggregate_calls import TableCall, Unnest
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.expressions.user_values import from_user, to_user
from scurry.runtime.relational.relation import EvaluatingOperator, take_all
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Columns of the rows of all tables, and for each row the record it was made of.
Tables = tuple[list[pa.Array], Longs]


class CorrelateOperator(EvaluatingOperator):
    """Each row beside the rows of the table made of it."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        table: Unnest | TableCall,
        left: bool,
        condition: Any,
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._table = table
        self._left = left
        self._condition = condition
        self._types = columns.types[len(inputs[0]) :]

    def open(self, context: TaskContext) -> None:
        super().open(context)
        if isinstance(self._table, TableCall):
            self.start_user_function(self._table.function)

    def close(self) -> None:
        super().close()
        if isinstance(self._table, TableCall):
            self._table.function.close()

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        made, origin = self._tables(columns)
        whole = [*take_all(columns.columns, origin), *made]
        if self._condition is not None:
            pairs = pa.RecordBatch.from_arrays(whole, schema=self.columns)
            kept = np.flatnonzero(self.truth(self._condition, pairs))
            whole, origin = take_all(whole, kept), origin[kept]
        if self._left:
            whole, origin = self._padded(columns, whole, origin)
        kinds = batch.kinds
        if len(origin):
            self.send(batch, whole, origin, None if kinds is None else kinds[origin])

    def _padded(
        self, columns: pa.RecordBatch, whole: list[pa.Array], origin: Longs
    ) -> tuple[list[pa.Array], Longs]:
        """The rows, and those for which there is none, with nulls, in the order of the input."""
        missing = np.setdiff1d(np.arange(columns.num_rows), origin)
        if not len(missing):
            return whole, origin
        nulls = [pa.nulls(len(missing), kind) for kind in self._types]
        padding = [*take_all(columns.columns, missing), *nulls]
        both = np.concatenate([origin, missing])
        order = np.argsort(both, kind="stable")
        united = [pa.concat_arrays(pair) for pair in zip(whole, padding, strict=True)]
        return take_all(united, order), both[order]

    def _tables(self, columns: pa.RecordBatch) -> Tables:
        if isinstance(self._table, Unnest):
            operand = self.evaluate(self._table.operand, columns)
            made, origin = unnested(operand, skip_null_rows=not self._table.ordinality)
            if self._table.multiset:
                made, origin = _repeated(made[0], made[1], origin)
            if self._table.ordinality:
                made.append(pa.array(_numbers(origin), self._types[-1]))
            return made, origin
        return self._called(self._table, columns)

    def _called(self, table: TableCall, columns: pa.RecordBatch) -> Tables:
        evaluated = (self.evaluate(one, columns) for one in table.operands)
        operands = [to_user(one, data_type_from_arrow(one.type)) for one in evaluated]
        rows: list[Sequence[Any]] = []
        origin: list[int] = []
        call, width = table.function.eval, len(self._types)
        arguments: tuple[Any, ...] = ()
        try:
            for at in range(columns.num_rows):
                arguments = tuple(operand[at] for operand in operands)
                for row in _yielded(call(*arguments)):
                    rows.append(_fields(row, width))
                    origin.append(at)
        except Exception as failure:
            raise self.failed(failure, arguments) from failure
        lists: list[Any] = list(zip(*rows, strict=True)) or [()] * width
        name = type(table.function).__name__
        made = [
            from_user(one, data_type_from_arrow(kind), name)
            for one, kind in zip(lists, self._types, strict=True)
        ]
        return made, np.array(origin, dtype=np.int64)


def unnested(column: pa.Array, skip_null_rows: bool = False) -> Tables:
    """The elements of all arrays, maps or multisets of a column, as columns. Where the elements are
    rows, Flink leaves those that are NULL themselves out, unless it has to number them."""
    kind = column.type
    if pa.types.is_map(kind):
        lengths, places = _inside(column)
        keys, items = column.keys.take(places), column.items.take(places)
        return [keys, items], np.repeat(np.arange(len(column)), lengths)
    lengths, places = _inside(column)
    elements = column.values.take(places)
    origin = np.repeat(np.arange(len(column)), lengths)
    if pa.types.is_struct(elements.type):
        if skip_null_rows and elements.null_count:
            there = elements.is_valid().to_numpy(zero_copy_only=False)
            elements, origin = elements.filter(pa.array(there)), origin[there]
        return list(elements.flatten()), origin
    return [elements], origin


def _repeated(elements: pa.Array, counts: pa.Array, origin: Longs) -> Tables:
    """The elements of multisets, each as often as it is in its multiset."""
    times = counts.to_numpy(zero_copy_only=False)
    places = np.repeat(np.arange(len(elements)), times)
    found = elements.take(pa.array(places))
    fields = found.flatten() if pa.types.is_struct(found.type) else [found]
    return list(fields), origin[places]


def _inside(column: pa.Array) -> tuple[Longs, pa.Array]:
    """How many elements each value has, and where these lie among all elements."""
    offsets = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    starts, lengths = offsets[:-1], np.diff(offsets)
    lengths = np.where(column.is_null().to_numpy(zero_copy_only=False), 0, lengths)
    before = np.cumsum(lengths) - lengths
    places = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
    return lengths, pa.array(places)


def _numbers(origin: Longs) -> Longs:
    """1, 2, ... for the rows of each record."""
    if not len(origin):
        return origin
    first = np.flatnonzero(np.concatenate(([True], origin[1:] != origin[:-1])))
    lengths = np.diff(np.append(first, len(origin)))
    numbers: Longs = np.arange(len(origin)) - np.repeat(first, lengths) + 1
    return numbers


def _yielded(result: Any) -> Iterable[Any]:
    """What a table function returned, as rows: an iterable of rows, or one row."""
    if result is None:
        return ()
    if isinstance(result, (Row, tuple, str, bytes)) or not isinstance(result, Iterable):
        return (result,)
    return result


def _fields(row: Any, width: int) -> Sequence[Any]:
    fields = row._values if type(row) is Row else row if isinstance(row, tuple) else (row,)
    if len(fields) != width:
        raise TypeMismatchError(
            f"the table function returned {row!r}, which has {len(fields)} columns; "
            f"its result type has {width}"
        )
    return fields
