"""Operators that keep the best row of each key: the last by time or arrival, and top-1.

All rows of a batch are looked at together. They are sorted by key; a running minimum says which of
them are better than all before them, those of earlier batches included. Each of these *winners*
takes the place of the winner before it, so the whole changelog follows from where they are. What a
key keeps after the batch is its last winner, and only that becomes bytes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import SortKey
from scurry.runtime.batch import MIN_WATERMARK, Batch, Longs
from scurry.runtime.columnar.batch_keys import batch_keys
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.relational.aggregates.segments import Mask, stable_order
from scurry.runtime.relational.keyed import KeyedRelationalOperator
from scurry.runtime.relational.order_codes import dense, order_codes
from scurry.runtime.relational.relation import (
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    milliseconds,
)
from scurry.runtime.relational.sort_keys import order_words
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext

#: Stands for a row that there is not.
_NONE = -1


class RowOfKeyOperator(KeyedRelationalOperator):
    """One that keeps a row for each key."""

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


def times_of(columns: pa.RecordBatch, index: int) -> Longs:
    """The times of rows in milliseconds."""
    found = milliseconds(columns.column(index)).fill_null(MIN_WATERMARK)
    times: Longs = found.to_numpy(zero_copy_only=False)
    return times


class Contest:
    """The rows of a batch in the order of their keys, and the rows that their keys hold.

    Rows of the batch have their places in it as numbers; the row that the i-th key of ``where``
    holds has ``size + i``, if ``held`` says that there is one. Columns of both are made only when
    they are asked for."""

    def __init__(self, columns: pa.RecordBatch, codes: Longs, distinct: int) -> None:
        self.columns = columns
        self.size = columns.num_rows
        self.order = stable_order(codes, distinct)
        in_order = codes[self.order]
        begins = np.append(True, in_order[1:] != in_order[:-1])
        self.starts = np.flatnonzero(begins)
        self.groups = in_order[self.starts]
        self.segment = np.cumsum(begins) - 1
        self.where: Longs = self.groups
        self.held: Mask = np.zeros(len(self.groups), dtype=bool)

    def before(self, numbers: Longs, first: Longs) -> Longs:
        """For each row what ``numbers`` has for the row before it of the same key, and ``first``
        for the first row of each key."""
        made = np.empty(self.size, dtype=np.int64)
        made[1:] = numbers[:-1]
        made[self.starts] = first
        return made

    def least(self, costs: Longs, first: Longs) -> Longs:
        """For each row the least cost among the rows of its key before it, ``first`` included; all
        are below some small number."""
        width = 1 + int(max(costs.max(initial=0), first.max(initial=0)))
        # a segment's numbers lie below those of all segments before it, so that one pass does
        offset = (len(self.starts) - 1 - self.segment) * width
        lowered = costs.copy()
        lowered[self.starts] = np.minimum(costs[self.starts], first)
        return self.before(np.minimum.accumulate(lowered + offset) - offset, first)


class BestRowOperator(RowOfKeyOperator):
    """Sends the best row of each key whenever it is another."""

    def process(self, batch: Batch, port: int = 0) -> None:
        if not batch.size:
            return
        keys = batch_keys(batch, self.picked[0])
        places = self._state.positions(keys.keys)
        rows = Contest(self.columns_of(batch), keys.codes, len(keys.keys))
        rows.where = places[rows.groups]
        rows.held = self._state.alive[rows.where]
        self._send_winners(batch, rows, np.flatnonzero(self.wins(rows)))

    @abstractmethod
    def wins(self, rows: Contest) -> Mask:
        """For each row, in order of keys, whether it takes the place of its key's best row."""

    def times(self, columns: pa.RecordBatch) -> Longs:
        """The times of rows, to be kept beside them; zeros where they do not count."""
        return np.zeros(columns.num_rows, dtype=np.int64)

    def united(self, rows: Contest, needed: Mask) -> list[pa.Array]:
        """The columns of the batch, behind them those of the rows that keys hold; null for keys of
        which they are not ``needed``."""
        if not needed.any():
            return list(rows.columns.columns)
        stored = self._codec.decode(self._state.column("row")[rows.where[needed]].tolist())
        index = pa.array(np.cumsum(needed) - 1, mask=~needed)
        return [
            pa.concat_arrays([column, held.take(index)])
            for column, held in zip(rows.columns.columns, stored, strict=True)
        ]

    def _send_winners(self, batch: Batch, rows: Contest, winners: Longs) -> None:
        if not len(winners):
            return
        segment = rows.segment[winners]
        opens = np.append(True, segment[1:] != segment[:-1])
        new = rows.order[winners]
        old = np.empty(len(winners), dtype=np.int64)
        old[1:] = new[:-1]
        first = segment[opens]
        old[opens] = np.where(rows.held[first], rows.size + first, _NONE)
        final = np.append(opens[1:], True)
        needed = np.zeros(len(rows.starts), dtype=bool)
        needed[first] = rows.held[first] & self._update_before
        united = self.united(rows, needed)
        self._keep(rows, segment[final], new[final])
        by_input = np.argsort(new)
        self._send_changes(batch, united, new[by_input], old[by_input])

    def _send_changes(self, batch: Batch, united: list[pa.Array], new: Longs, old: Longs) -> None:
        """Send that ``new`` rows take the place of ``old`` ones."""
        fresh = old == _NONE
        halves = ~fresh & self._update_before
        at = np.repeat(np.arange(len(new)), 1 + halves)
        before = halves[at]
        before[1:] &= at[1:] != at[:-1]
        kinds = np.where(fresh[at], INSERT, UPDATE_AFTER)
        kinds = np.where(before, UPDATE_BEFORE, kinds).astype(np.int8)
        chosen = pa.array(np.where(before, old[at], new[at]))
        self.send(batch, [column.take(chosen) for column in united], new[at], kinds)

    def _keep(self, rows: Contest, segments: Longs, chosen: Longs) -> None:
        """Remember the best rows of keys."""
        where = rows.where[segments]
        kept = rows.columns.take(pa.array(chosen))
        encoded = np.empty(len(where), dtype=object)
        encoded[:] = self._codec.encode(kept.columns)
        self._state.column("row")[where] = encoded
        self._state.column("time")[where] = self.times(kept)
        self._state.touch(where)


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

    def times(self, columns: pa.RecordBatch) -> Longs:
        if self._time is None:
            return np.zeros(columns.num_rows, dtype=np.int64)
        return times_of(columns, self._time)

    def wins(self, rows: Contest) -> Mask:
        if self._time is None:
            return np.ones(rows.size, dtype=bool)
        times = self.times(rows.columns)[rows.order]
        both = dense(np.concatenate([times, self._state.column("time")[rows.where]]))
        costs = int(both.max()) - both
        first = np.where(rows.held, costs[rows.size :], int(costs.max()) + 1)
        wins: Mask = costs[: rows.size] <= rows.least(costs[: rows.size], first)
        return wins


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

    def wins(self, rows: Contest) -> Mask:
        united = self.united(rows, rows.held)
        codes = order_codes(united, self._order)
        first = np.full(len(rows.starts), int(codes.max()) + 1, dtype=np.int64)
        if len(codes) > rows.size:
            first[rows.held] = codes[rows.size :][rows.held]
        costs = codes[rows.order]
        better: Mask = costs < rows.least(costs, first)
        return better
