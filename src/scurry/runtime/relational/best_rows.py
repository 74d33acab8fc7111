"""Operators that keep the best row of each key: the last by time or arrival, and top-1.

All rows of a batch are looked at together. They are sorted by key; a running minimum says which of
them are better than all before them, those of earlier batches included. Each of these *winners*
takes the place of the winner before it, so the whole changelog follows from where they are. What a
key keeps after the batch is its last winner.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import MIN_WATERMARK, Longs
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.kept_rows import KeptRowsOperator, Output, RowsOfKeys
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.order_codes import order_codes
from scurry.runtime.relational.relation import (
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    milliseconds,
    take_all,
)
from scurry.runtime.relational.sort_keys import order_words
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Stands for a row that there is not.
_NONE = -1


class RowOfKeyOperator(KeyedRelationalOperator):
    """One that keeps a row for each key, as bytes."""

    state_kind: ClassVar[str] = "a row of each key"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        update_before: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._update_before = update_before
        self._codec = RowCodec(inputs[0])

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._state = self.values_of_keys({"time": np.int64, "row": object}, rows=self.inputs[0])


def times_of(column: pa.Array) -> Longs:
    """Times in milliseconds; null is before all of them."""
    found = milliseconds(column).fill_null(MIN_WATERMARK)
    times: Longs = found.to_numpy(zero_copy_only=False)
    return times


class BestRowOperator(KeptRowsOperator):
    """Sends the best row of each key whenever it is another."""

    state_kind: ClassVar[str] = "columns of a row of each key"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        update_before: bool,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms)
        self._update_before = update_before

    @abstractmethod
    def costs(self, rows: RowsOfKeys) -> Longs | None:
        """A number for each row, which is small: a row wins if its number is below those of all
        rows of its key before it. None if every row wins."""

    def changes(self, rows: RowsOfKeys) -> Output | None:
        costs = self.costs(rows)
        order = rows.order
        wins = np.ones(rows.size, dtype=bool)
        if costs is not None:
            wins = costs[order] < _least_before(costs[order], rows.starts)
        winners = order[wins]
        opens = np.append(True, rows.codes[winners[1:]] != rows.codes[winners[:-1]])
        kept = np.zeros(rows.size, dtype=bool)
        kept[winners[np.append(opens[1:], True)]] = True
        self.keep(rows, kept)
        old = np.append(_NONE, winners[:-1])
        old[opens] = _NONE
        # what a key held is the first that wins
        new = winners >= rows.held
        return self._output(rows, winners[new], old[new]) if new.any() else None

    def _output(self, rows: RowsOfKeys, new: Longs, old: Longs) -> Output:
        """``new`` rows take the place of ``old`` ones."""
        by_input = np.argsort(new)
        new, old = new[by_input], old[by_input]
        fresh = old == _NONE
        at = np.repeat(np.arange(len(new)), 1 + (~fresh & self._update_before))
        before = np.append(at[1:] == at[:-1], False)
        kinds = np.where(fresh[at], INSERT, UPDATE_AFTER)
        kinds = np.where(before, UPDATE_BEFORE, kinds).astype(np.int8)
        columns = take_all(rows.columns, np.where(before, old[at], new[at]))
        return Output(new[at] - rows.held, kinds, columns)


def _least_before(costs: Longs, starts: Longs) -> Longs:
    """For each row the least of the costs of those before it, from the last of ``starts`` on; more
    than any if there is none."""
    width = 2 + int(costs.max())
    sizes = np.diff(np.append(starts, len(costs)))
    # a segment's numbers lie below those of all segments before it, so that one pass does
    offset = np.repeat(np.arange(len(starts))[::-1] * width, sizes)
    least = np.minimum.accumulate(costs + offset) - offset
    before = np.append(width, least[:-1])
    before[starts] = width
    return before


class LastRowOperator(BestRowOperator):
    """The last row of each key, by a time column, of equal times the later one, or by arrival."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        update_before: bool,
        time: int | None,
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms, update_before)
        self._time = time

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"keeps": "last", "time": "none" if arguments[1] is None else f"${arguments[1]}"}

    def costs(self, rows: RowsOfKeys) -> Longs | None:
        if self._time is None:
            return None
        # rows of equal times: the later wins, so that their numbers fall
        by_time = np.argsort(times_of(rows.columns[self._time]), kind="stable")
        made = np.empty_like(by_time)
        made[by_time] = np.arange(rows.size)[::-1]
        return made


class TopRowOperator(BestRowOperator):
    """The first row of each key by an order, the earlier of equal ones."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        update_before: bool,
        order: tuple[SortKey, ...],
    ) -> None:
        super().__init__(spec, columns, inputs, keys, retention_ms, update_before)
        self._order = order

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        return {"keeps": "best", "order": order_words(arguments[1])}

    def costs(self, rows: RowsOfKeys) -> Longs | None:
        return order_codes(rows.columns, self._order)
