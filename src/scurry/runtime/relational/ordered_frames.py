"""Results of OVER for rows that are all there, in order: ranks, neighbours, aggregates of frames.

The rows of all partitions stand one after the other, each partition in its order. Rows that compare
as equal are *peers*. A frame is the rows from ``low`` up to, not including, ``high``. What begins
at the first row of the partition is computed in one go for all rows; other frames are put one after
the other and aggregated as groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall, Frame
from scurry.runtime.batch import Longs
from scurry.runtime.relational.aggregates.numbers import numbers
from scurry.runtime.relational.aggregates.scratch import aggregate_rows, running_results
from scurry.runtime.relational.relation import milliseconds


@dataclass(frozen=True)
class OrderedRows:
    """Rows in order. ``starts`` are the first rows of partitions; ``equal`` says of each row but
    the first whether it is a peer of the row before; ``by`` is the column of the order, if there is
    one, and ``ascending`` its direction."""

    table: pa.RecordBatch
    starts: Longs
    equal: np.ndarray[Any, np.dtype[np.bool_]]
    by: pa.Array | None = None
    ascending: bool = True

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.table.num_rows)

    def bounds(self, firsts: Longs) -> tuple[Longs, Longs]:
        """For each row where its group begins and where the next one does, given the first rows of
        groups."""
        lengths = np.diff(np.append(firsts, self.size))
        return np.repeat(firsts, lengths), np.repeat(firsts + lengths, lengths)

    def partitions(self) -> tuple[Longs, Longs]:
        """For each row the bounds of its partition."""
        return self.bounds(self.starts)

    def peer_starts(self) -> Longs:
        """The first row of each group of peers."""
        begins = np.append(True, ~self.equal)
        begins[self.starts] = True
        return np.flatnonzero(begins)

    def peers(self) -> tuple[Longs, Longs]:
        """For each row the bounds of its peers."""
        return self.bounds(self.peer_starts())


def over_results(
    calls: tuple[AggregateCall, ...], rows: OrderedRows, frame: Frame
) -> list[pa.Array]:
    """The result of each call for each row."""
    return [_result(call, rows, frame) for call in calls]


def _result(call: AggregateCall, rows: OrderedRows, frame: Frame) -> pa.Array:
    rank = _RANKS.get(call.function) if isinstance(call.function, str) else None
    if rank is not None:
        return pa.array(rank(rows, call)).cast(call.type)
    if call.function in ("LAG", "LEAD"):
        return _neighbour(call, rows)
    low, high = _frames(rows, frame)
    if np.array_equal(low, rows.partitions()[0]):
        found = running_results(call, rows.table, rows.starts)
        return _or_empty(found, high - 1, low < high, call)
    return _aggregated(call, rows, low, high)


# --- ranks ----------------------------------------------------------------------------------------


def _row_number(rows: OrderedRows, call: AggregateCall) -> Longs:
    return np.arange(rows.size) - rows.partitions()[0] + 1


def _rank(rows: OrderedRows, call: AggregateCall | None = None) -> Longs:
    return rows.peers()[0] - rows.partitions()[0] + 1


def _dense_rank(rows: OrderedRows, call: AggregateCall) -> Longs:
    marks = np.zeros(rows.size, dtype=np.int64)
    marks[rows.peer_starts()] = 1
    counted: Longs = np.cumsum(marks)
    return counted - counted[rows.partitions()[0]] + 1


def _percent_rank(rows: OrderedRows, call: AggregateCall) -> Any:
    begin, end = rows.partitions()
    return (_rank(rows) - 1) / np.maximum(end - begin - 1, 1)


def _cume_dist(rows: OrderedRows, call: AggregateCall) -> Any:
    begin, end = rows.partitions()
    return (rows.peers()[1] - begin) / (end - begin)


def _ntile(rows: OrderedRows, call: AggregateCall) -> Longs:
    """The first groups have one row more than the last ones, where the rows cannot be divided."""
    begin, end = rows.partitions()
    at, size, groups = np.arange(rows.size) - begin, end - begin, int(call.constants[0])
    small, larger = size // groups, size % groups
    edge = larger * (small + 1)
    rest = larger + (at - edge) // np.maximum(small, 1)
    found: Longs = np.where(at < edge, at // (small + 1), rest) + 1
    return found


_RANKS: dict[str, Callable[[OrderedRows, AggregateCall], Any]] = {
    "ROW_NUMBER": _row_number,
    "RANK": _rank,
    "DENSE_RANK": _dense_rank,
    "PERCENT_RANK": _percent_rank,
    "CUME_DIST": _cume_dist,
    "NTILE": _ntile,
}


def _neighbour(call: AggregateCall, rows: OrderedRows) -> pa.Array:
    """LAG and LEAD: the value some rows before or after, or what stands for it."""
    by = int(call.constants[0]) if call.constants else 1
    begin, end = rows.partitions()
    place = np.arange(rows.size) + (by if call.function == "LEAD" else -by)
    there = (place >= begin) & (place < end)
    found = rows.table.column(call.arguments[0]).take(pa.array(place, mask=~there))
    if len(call.constants) > 1:
        default = pa.scalar(call.constants[1]).cast(found.type)
        found = pa.compute.if_else(pa.array(there), found, default)
    return found.cast(call.type)


# --- frames ---------------------------------------------------------------------------------------


def _frames(rows: OrderedRows, frame: Frame) -> tuple[Longs, Longs]:
    """For each row the bounds of its frame; an empty one ends where it begins."""
    begin, end = rows.partitions()
    if frame.rows:
        at = np.arange(rows.size)
        low = begin if frame.preceding is None else np.maximum(begin, at - frame.preceding)
        high = end if frame.following is None else np.minimum(end, at + frame.following + 1)
    else:
        low = begin if frame.preceding is None else _near(rows, -frame.preceding, low=True)
        high = end if frame.following is None else _near(rows, frame.following, low=False)
    low = np.minimum(low, end)
    return low, np.maximum(low, high)


def _near(rows: OrderedRows, distance: int, low: bool) -> Longs:
    """Where the rows begin, or end, whose value is ``distance`` after each row's own."""
    first, last = rows.peers()
    found = (first if low else last).copy()
    if not distance:
        return found
    assert rows.by is not None
    values = numbers(milliseconds(rows.by) if pa.types.is_timestamp(rows.by.type) else rows.by)
    if not rows.ascending:
        values = -values
    valid = rows.by.is_valid().to_numpy(zero_copy_only=False)
    for begin, end in zip(rows.starts, np.append(rows.starts[1:], rows.size), strict=True):
        usable = begin + np.flatnonzero(valid[begin:end])
        if len(usable):
            mine = values[usable]
            reached = mine + distance
            side: Literal["left", "right"] = "left" if low else "right"
            found[usable] = usable[0] + mine.searchsorted(reached, side)
    return found


def _aggregated(call: AggregateCall, rows: OrderedRows, low: Longs, high: Longs) -> pa.Array:
    lengths = high - low
    there = lengths > 0
    if not there.any():
        return _or_empty(pa.nulls(0, call.type), np.cumsum(there) - 1, there, call)
    sizes = lengths[there]
    starts = np.cumsum(sizes) - sizes
    places = np.repeat(low[there] - starts, sizes) + np.arange(int(sizes.sum()))
    table = rows.table.take(pa.array(places))
    (found,) = aggregate_rows([call], table, starts)
    return _or_empty(found, np.cumsum(there) - 1, there, call)


def _or_empty(found: pa.Array, places: Longs, there: Any, call: AggregateCall) -> pa.Array:
    """The results at ``places``; of an empty frame a count is 0, and everything else null."""
    taken = found.take(pa.array(places, mask=~there))
    return taken.fill_null(0) if call.function == "COUNT" else taken
