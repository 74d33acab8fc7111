"""Inner interval joins on columns: pairs of equal keys whose times are within two bounds.

Rows are kept as a regular join keeps them (:mod:`scurry.runtime.relational.join`), each with the
time from which on no partner can come any more; then it expires, by event time, or by the clock
where the join is one of processing time. The rows of a batch and those that are kept for its keys
are put in the order of keys and times, so that the partners of a record are a stretch of rows,
which binary search finds. A pair is sent when its second row comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch, Longs
from scurry.runtime.columnar.equal_rows import distinct
from scurry.runtime.columnar.row_runs import spread
from scurry.runtime.event_time import delayed
from scurry.runtime.kinds import Kinds
from scurry.runtime.relational.join import JoinOperator
from scurry.runtime.relational.join_sides import Arrivals, Side, give_codes
from scurry.runtime.relational.kept_rows import Output
from scurry.runtime.relational.relation import INSERT, milliseconds, take_all
from scurry.runtime.specs import OperatorSpec

#: A row expires at the time that is noted with it: that time, plus this, is not above the clock.
_SOON = 1


class IntervalPairsOperator(JoinOperator):
    """Joins left rows at ``t`` with right rows from ``t + lower`` to ``t + upper``."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
        kind: str,
        lower: int,
        upper: int,
        left_time: int | None,
        right_time: int | None,
        condition: Any,
    ) -> None:
        ends = (_SOON, _SOON)
        super().__init__(spec, columns, inputs, keys, 0, kind, condition, (), ends)
        self._numbered = True
        self._event_time = left_time is not None
        self._times = left_time, right_time
        #: by side: how far before and after a row its partners can be
        self._reach = (lower, upper), (-upper, -lower)
        # a pair is sent when its later row comes, and may go on by the time of the earlier one
        self.delay = max(upper, -lower) if self._event_time else 0
        self._clock = MIN_WATERMARK

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        kind, lower, upper = arguments[:3]
        return {"join": str(kind), "lower bound": str(lower), "upper bound": str(upper)}

    def numbers_of_rows(self) -> list[str]:
        return ["partners", "until"]

    def begin(self, watermark: int) -> None:
        super().begin(watermark)
        self._clock = watermark

    def advance(self, watermark: int) -> None:
        self._clock = max(self._clock, watermark)

    def _now(self) -> int:
        return self._clock if self._event_time else self.context.now

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        #: the clock at each tick, of which the first is that before the batch
        self._clocks = np.full(batch.size + 1, self._now(), dtype=np.int64)
        if self._event_time and batch.wm is not None:
            self._clocks[1:] = np.maximum(batch.wm, self._clock)
            np.maximum.accumulate(self._clocks, out=self._clocks)
        super().process_ports(batch, ports)
        if self._event_time:
            self._clock = int(self._clocks[-1])

    def send(
        self,
        batch: Batch,
        columns: Sequence[pa.Array],
        origin: Longs | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        assert origin is not None
        made = pa.RecordBatch.from_arrays(list(columns), schema=self.columns)
        sent = batch.caused(made, self.codec, origin, None)
        if self.delay and sent.wm is not None:
            sent.wm = delayed(sent.wm, self.delay)
        self.emit(sent)

    def _alone(self, columns: pa.RecordBatch, port: int) -> Any:
        alone, index = super()._alone(columns, port), self._times[port]
        if index is not None and columns.column(index).null_count:
            # a row without a time is within no bounds
            alone = alone | columns.column(index).is_null().to_numpy(zero_copy_only=False)
        return alone

    def _joined(self, arrivals: Sequence[Arrivals], last: int) -> list[Output]:
        comes = [distinct(one.hashes[~one.alone]) for one in arrivals]
        found = [self._tables[port].find(comes[1 - port]) for port in (0, 1)]
        sides = [Side(*pair, last) for pair in zip(found, arrivals, strict=True)]
        give_codes(sides, self.keys, self._sure)
        times = [self._times_of(side, port) for port, side in enumerate(sides)]
        sent = [self._met(sides, times, port) for port in (0, 1)]
        for port, side in enumerate(sides):
            self._keep_rows(port, side, times[port])
        ticks = np.concatenate([one[0] for one in sent])
        if not len(ticks):
            return []
        order = np.argsort(ticks, kind="stable")
        rows = [np.concatenate([one[side] for one in sent])[order] for side in (1, 2)]
        columns = [
            column for side in (0, 1) for column in take_all(sides[side].columns, rows[side])
        ]
        return [Output(ticks[order] - 1, np.full(len(ticks), INSERT, dtype=np.int8), columns)]

    def _times_of(self, side: Side, port: int) -> Longs:
        """The times of the rows of a side, in milliseconds."""
        index = self._times[port]
        if index is not None:
            stamps = milliseconds(side.columns[index]).fill_null(0)
            return np.asarray(stamps.to_numpy(zero_copy_only=False), dtype=np.int64)
        now = np.full(side.size, self.context.now, dtype=np.int64)
        # of rows that are kept it is known when they expire
        ends = side.found.numbers[1] if side.old else now[:0]
        now[: side.old] = ends + _SOON - self._reach[port][1]
        return now

    def _met(
        self, sides: Sequence[Side], times: Sequence[Longs], port: int
    ) -> tuple[Longs, Longs, Longs]:
        """The ticks of the records of a side and the pairs they cause, as left and right rows."""
        side, other = sides[port], sides[1 - port]
        records = np.arange(side.old, side.size)[~side.alone[side.old :]]
        there = np.flatnonzero(~other.alone)
        low, high = (times[port][records] + bound for bound in self._reach[port])
        there, first, counts = _stretches(
            other.codes, times[1 - port], there, side.codes[records], low, high
        )
        mine, others = np.repeat(records, counts), there[spread(first, counts)]
        ends = times[1 - port][others] + self._reach[1 - port][1]
        ticks = side.ticks[mine]
        # the other row was there, and kept when it came, and has not expired since
        kept = (other.ticks[others] < ticks) & (self._clocks[ticks] < ends)
        mine, others, ticks = mine[kept], others[kept], ticks[kept]
        left, right = (others, mine) if port else (mine, others)
        if self._condition is not None and len(mine):
            true = self._true(sides, left, right)
            left, right, ticks = left[true], right[true], ticks[true]
        return ticks, left, right

    def _keep_rows(self, port: int, side: Side, times: Longs) -> None:
        """Keep the records that a partner can come for."""
        ends = np.minimum(times + self._reach[port][1], MAX_WATERMARK)
        staying = ~side.alone & (self._clocks[-1] < ends)
        staying[: side.old] = False
        rows = np.flatnonzero(staying)
        if len(rows):
            columns = side.arrivals.columns.take(pa.array(rows - side.old))
            numbers = np.stack([np.zeros(len(rows), dtype=np.int64), ends[rows] - _SOON])
            self._tables[port].add(side.hashes[rows], columns, numbers)


def _stretches(
    codes: Longs, times: Longs, rows: Longs, asked: Longs, low: Longs, high: Longs
) -> tuple[Longs, Longs, Longs]:
    """``rows`` in the order of their codes and times, and for each code that is ``asked`` for where
    those from ``low`` to ``high`` begin, and how many they are."""
    known = np.unique(times[rows])
    width = len(known) + 1
    places = codes[rows] * width + known.searchsorted(times[rows])
    order = np.argsort(places, kind="stable")
    places = places[order]
    first = places.searchsorted(asked * width + known.searchsorted(low))
    counts = places.searchsorted(asked * width + known.searchsorted(high, "right")) - first
    return rows[order], first, np.maximum(counts, 0)
